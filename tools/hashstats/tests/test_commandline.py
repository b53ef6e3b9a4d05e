# SPDX-License-Identifier: GPL-2.0
"""hashstats: forms of the command line, what it suggests, its exit status."""

import errno
import os
import subprocess
import sys

import pytest

from hashstats_tool import cli, counting, sources
from toyhashstats import FOLDER, SAMPLES, TOOL, environment, file, hashstats, said, table

AFTER = SAMPLES / "after.hashstats"
GOOD = file(table("dentry", 10, 5))
BAD = file(table("dentry", 0, 0, 0, 0, 0, 0, 0, 64))


@pytest.mark.parametrize(
    "words,same",
    [
        (["-f", AFTER], ["show", "-f", AFTER]),
        (["dentry", "-f", AFTER], ["show", "dentry", "-f", AFTER]),
        (["-f", AFTER, "dentry"], ["show", "dentry", "-f", AFTER]),
        (["-f", AFTER, "show", "inode"], ["show", "inode", "-f", AFTER]),
        (["--check", "-f", AFTER, "advise"], ["advise", "-f", AFTER]),
        (["-j", "dentry", "-f", AFTER], ["json", "dentry", "-f", AFTER]),
        (["show", "-j", "-f", AFTER], ["json", "-f", AFTER]),
        (["advise", "-j", "-f", AFTER], ["advise", "--json", "-f", AFTER]),
        (["-V"], ["--version"]),
        (["help"], ["--help"]),
        (["help", "diff"], ["diff", "--help"]),
        (["help", "help"], ["--help"]),
        (["-q", "help"], ["--help"]),
        (["-f", AFTER, "help", "diff"], ["diff", "--help"]),
    ],
    ids=str,
)
def test_forms_that_mean_the_same(words, same):
    assert said(*words) == said(*same)


@pytest.mark.parametrize(
    "words,meant",
    [
        (["shwo"], "show"),
        (["advice"], "advise"),
        (["hlep"], "help"),
        (["help", "shwo"], "show"),
        (["-f", AFTER, "repotr"], "report"),
        (["-f", AFTER, "dentri"], "dentry"),
        (["hist", "inodes", "-f", AFTER], "inode"),
        (["show", "--chekc"], "--check"),
        (["advise", "--budgte", "1%"], "--budget"),
    ],
    ids=str,
)
def test_what_was_meant(words, meant):
    done = hashstats(*words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"(did you mean {meant}?)" in done.stderr


@pytest.mark.parametrize("command", ["watch", "help"])
def test_options_of_a_command_before_it(command):
    done = hashstats("-n", "1", command, "-f", AFTER)
    assert done.returncode == 2 and f"accepted: hashstats {command} [OPTION]" in done.stderr


def test_diff_wants_before_only():
    assert "required: BEFORE;" in hashstats("diff").stderr


@pytest.mark.parametrize(
    "words,option",
    [
        (["show", "-f", ""], "-f/--file"),
        (["show", "--core="], "--core"),
        (["show", "--kallsyms=", "-f", AFTER], "--kallsyms"),
        (["show", "--sort=", "-f", AFTER], "--sort"),
        (["hist", "dentry", "-f", AFTER, "-f", ""], "-f/--file"),
        (["hist", "dentry", "-f", AFTER, "--png", ""], "--png"),
        (["openmetrics", "-f", AFTER, "-o", ""], "-o/--output"),
        (["advise", "-f", AFTER, "--memory", ""], "--memory"),
        (["advise", "-f", AFTER, "--apply-grub", "--grub-file", ""], "--grub-file"),
        (["record", "-f", AFTER, "-o", ""], "-o/--output"),
        (["diff", AFTER, ""], "[AFTER] [TABLE ...]"),
    ],
    ids=str,
)
def test_empty_value_is_refused(words, option):
    """An empty variable of a script is not the same as no option."""
    done = hashstats(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"argument {option}: expected one argument, not ''" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["show", "-f", "/none", "-f", AFTER],
        ["-f", "/none", "show", "-f", AFTER],
        ["diff", AFTER, "-f", "/none", "-f", AFTER],
        ["show", "--core", "/none", "--core", AFTER],
        ["show", "--core", "/none", "--kallsyms", "/none", "--kallsyms", AFTER],
    ],
    ids=str,
)
def test_file_that_would_not_be_read(words):
    done = hashstats(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert ": given twice, expected it once" in done.stderr


@pytest.mark.parametrize(
    "words,accepted",
    [
        (["show", "-f", AFTER, "--source", "kcore"], "-f and --source kcore; accepted: one"),
        (["diff", AFTER, AFTER, "--source", "proc"], "--source proc; accepted: one of them"),
        (["-V", "dentry"], "accepted: -V alone"),
        (["help", "show", "dentry"], "accepted: one command"),
        (["watch", "--count", "1_0", "-f", AFTER], "--count '1_0'; accepted: 1 to"),
        (["reset", "--check"], "accepted: see hashstats reset --help"),
    ],
    ids=str,
)
def test_words_that_would_be_ignored(words, accepted):
    done = hashstats(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert accepted in done.stderr


def test_quiet_prints_no_notes():
    text = GOOD.replace("counting:", "new-label: 1\ncounting:")
    assert "note: " in hashstats("-f", "-", text=text).stderr
    done = hashstats("-q", "-f", "-", text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("text,status", [(GOOD, 0), (BAD, 1), ("nonsense\n", 2)], ids=str)
def test_quiet_is_for_the_status(text, status):
    done = hashstats("-q", "--check", "-f", "-", text=text)
    assert (done.returncode, done.stdout) == (status, "")
    assert bool(done.stderr) == (status == 2)


def test_closed_pipe_is_no_verdict():
    """With --check a reader that leaves early must not make it 0."""
    for words, status in ((["-f"], 0), (["--check", "-f"], 2)):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, TOOL, *words, AFTER],
            text=True,
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (status, "")


def test_example_of_the_manual_tells_a_bad_state_from_an_error(tmp_path):
    """`--check || ...` would also run if the file cannot be read."""
    manual = (FOLDER / "hashstats.1").read_text().replace("\\-", "-")
    [line] = [line for line in manual.splitlines() if "--check;" in line]
    (tmp_path / "hashstats").symlink_to(TOOL)
    (tmp_path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    env = environment()
    for text, said_so in ((GOOD, False), (BAD, True), ("nonsense\n", False)):
        done = subprocess.run(
            ["sh", "-c", line.replace("--check;", "--check -f -;")],
            input=text,
            text=True,
            capture_output=True,
            env=env | {"PATH": f"{tmp_path}:{env['PATH']}"},
        )
        assert ("crowded or skewed" in done.stdout) == said_so


# --- on, off, reset -----------------------------------------------------------


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A file in place of the kernel's."""
    path = tmp_path / "hashstats"
    monkeypatch.setattr(sources, "KERNEL", str(path))
    return path


@pytest.mark.parametrize("word", ["on", "off", "reset"])
def test_counting(word, kernel, capsys):
    kernel.write_text("")
    assert cli.main([word]) == 0
    assert kernel.read_text() == f"{word}\n"
    assert capsys.readouterr().out == counting.DONE[word] + "\n"


def test_counting_without_such_a_kernel(kernel, capsys):
    assert cli.main(["on"]) == 2
    assert "expected a kernel with CONFIG_HASHSTATS" in capsys.readouterr().err
    assert not kernel.exists()


def test_counting_without_the_right(kernel, capsys):
    kernel.mkdir()
    assert cli.main(["on"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# --- names of tables ----------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """The names that each reading asks for; the kernel has one table."""
    result = []

    def read(path, names=()):
        result.append(list(names))
        return file(table("uid", 8, 1)).encode()

    monkeypatch.setattr(sources, "read", read)
    return result


@pytest.mark.parametrize("words", [["show"], ["hist"], ["watch", "--count", "1"]])
def test_commands_ask_for_the_named_tables(words, asked):
    assert cli.main([*words, "uid"]) == 0
    assert asked == [["uid"]]


def test_an_unknown_name_is_answered_with_all_names(asked, capsys):
    assert cli.main(["show", "nosuch"]) == 2
    assert asked == [["nosuch"], []]
    assert "accepted: uid" in capsys.readouterr().err


def test_a_kernel_that_refuses_names_shows_all_tables(kernel, monkeypatch):
    def refuse(descriptor, data):
        raise OSError(errno.EINVAL, "refused")

    kernel.write_text(file(table("uid", 8, 1), table("dentry", 8, 1)))
    monkeypatch.setattr(os, "write", refuse)
    assert sources.read(str(kernel), ["uid"]) == kernel.read_bytes()


def test_example_of_the_page_for_administrators():
    """Its second worked example is what the tool prints of a sample."""
    page = (FOLDER.parents[1] / "Documentation/admin-guide/hashstats-debian.rst").read_text()
    example = page.partition("# hashstats advise --shrink inode dentry page\n")[2]
    lines = said(
        "advise", "--shrink", "inode", "dentry", "page", "--memory", "512M", "-f", AFTER
    ).splitlines()
    assert example.splitlines()[: len(lines)] == [f"\t{line}" if line else "" for line in lines]
