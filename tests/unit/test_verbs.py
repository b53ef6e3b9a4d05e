# SPDX-License-Identifier: GPL-2.0
"""make help names every verb, and each verb leads to a function of a script."""

import ast
import errno
import importlib
import re
import subprocess

import pytest

import cli
from bench.run import BENCHMARKS
from common import BUILD, DISK_FULL
from toykernel import ROOT, Toy

# What serves other targets and has no line in help.
HIDDEN = {"help", "python", "bench-all"}
# What a user of the scripts may set but nobody needs to: ACCEL forces what is
# found out otherwise.
UNLISTED = {"ACCEL"}
# Read by the Makefile and by tests, not by scripts.
ELSEWHERE = {"PYTHON", "LTP"}


def make(*words):
    """What make says, with our own variables for it left out."""
    return subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, *words],
        text=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin"},
    )


def printed(*words):
    done = make(*words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


HELP = printed("help")
VERBS = sorted(set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)", HELP)))
VARIABLES = {
    name
    for line in re.findall(r"^  [A-Z][A-Z0-9_]*=.*", HELP, re.M)
    for name in re.findall(r"\b([A-Z][A-Z0-9_]*)=", line)
}


def called(verb):
    """Words for cli.py of each call that make would do."""
    lines = printed("-n", verb).splitlines()
    return [line.split()[2:] for line in lines if line.startswith("python3 harness/cli.py ")]


def targets():
    """Names of targets that are no files, as make itself understands them."""
    done = make("-rpnq", "help")
    return set(re.search(r"^\.PHONY: (.*)$", done.stdout, re.MULTILINE)[1].split())


def test_make_alone_is_help():
    assert printed() == HELP


def test_help_names_every_target():
    former = {
        name
        for name in targets() - set(VERBS) - HIDDEN
        if re.search(rf"make {name} is now make [a-z-]+", printed("-n", name))
    }
    assert targets() - HIDDEN - former == set(VERBS)


@pytest.mark.parametrize("verb", [*VERBS, *(f"bench-{name}" for name in BENCHMARKS)])
def test_verb_has_a_function(verb):
    words = called(verb)
    assert len(words) == 1
    place, arguments = cli.function(words[0])
    module, _, name = place.partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    assert arguments in ([], [verb.removeprefix("bench-")], ["all"])


def test_verb_that_is_none():
    assert make("-n", "tset").returncode == 2


@pytest.mark.parametrize(
    "setting,said",
    [
        ("SEED=word", "SEED=word: expected a number"),
        ("KEEP=true", "KEEP=true: not a switch; accepted: 1 or 0"),
        ("TESTS=-k 'word", "TESTS=-k 'word: No closing quotation; accepted: words for pytest, "),
    ],
)
def test_bad_setting_of_tests_is_named(setting, said):
    done = make("test-long", setting)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(f"boothash: {said}")


@pytest.mark.parametrize("setting", ["V=x", "FORCE=maybe"])
@pytest.mark.parametrize("verb", ["tree", "uninstall-tools", "bench-none"])
def test_bad_switch_is_named_by_each_verb(verb, setting):
    done = make(verb, setting, "DESTDIR=/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith(f"boothash: {setting}: not a switch; accepted: 1 or 0\n")


@pytest.mark.parametrize(
    "verb,setting,said",
    [
        ("deb", "DEBUG=maybe", "not a switch; accepted: 1 or 0"),
        ("deb", "FLAVOUR=none", "accepted: amd64, cloud"),
        ("deb", "CONFIG=/none", "no such file; accepted: "),
        ("kunit", "MEM=some", ""),
    ],
)
def test_bad_value_is_refused_before_any_work(verb, setting, said):
    done = make(verb, setting)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"boothash: {setting}: {said}")


def test_help_names_every_benchmark():
    listed = re.search(r"\bmake bench-NAME [^(]*\(([^)]*)\)", HELP)[1]
    assert sorted(re.findall(r"\w+", listed)) == sorted(BENCHMARKS)


def read_by(*functions):
    """Names of variables that scripts read with setting() or flag()."""
    for path in (ROOT / "harness").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(ast.Name(function), [ast.Constant(name), *_]):
                    if function in functions:
                        yield name


def test_every_switch_is_checked_first():
    assert {*cli.SWITCHES, "DEBUG"} == set(read_by("flag"))


def test_help_names_every_variable():
    read = set(read_by("setting", "flag"))
    assert read - UNLISTED | ELSEWHERE == VARIABLES


def test_make_accepts_every_variable():
    assert "no such variable" not in printed(
        "-n", "-j2", "lint", *(f"{name}=1" for name in VARIABLES)
    )


@pytest.mark.parametrize(
    "words,name",
    [
        (["deb", "FLAVOR=cloud"], "FLAVOR"),
        (["install-tools", "PREFX=/usr", "APPEND=word more=less"], "PREFX"),
        (["bench", "NAME=atomics"], "NAME"),
    ],
)
def test_misspelt_variable_is_named(words, name):
    done = make(*words)
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"boothash: {name}: no such variable; accepted: KERNEL ")
    assert done.returncode == 2 and done.stdout == "" and all("***" in line for line in rest)


def test_variables_of_a_make_that_calls_this_one_are_not_ours(tmp_path):
    (tmp_path / "Makefile").write_text(f"all:\n\t@$(MAKE) -n -C {ROOT} lint\n")
    done = subprocess.run(
        ["make", "-C", tmp_path, "CC=gcc"], text=True, capture_output=True, env={"PATH": "/usr/bin"}
    )
    assert done.returncode == 0 and "no such variable" not in done.stdout


@pytest.mark.parametrize(
    "error,said",
    [
        (
            PermissionError(errno.EACCES, "Permission denied", f"{BUILD}/log"),
            f"{BUILD}/log: Permission denied; accepted: a folder {BUILD} in which this user can write",
        ),
        (OSError(errno.EROFS, "Read-only file system", "/x"), "/x: Read-only file system"),
        (OSError(errno.ENOSPC, "No space left on device"), DISK_FULL),
    ],
)
def test_file_that_cannot_be_written_is_one_line(monkeypatch, capsys, error, said):
    def call(words):
        raise error

    monkeypatch.setattr(cli, "call", call)
    assert cli.main() == 2
    assert capsys.readouterr().err == f"boothash: {said}\n"


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "no", "/x"), OSError(5, "io")])
def test_other_errors_of_files_keep_their_traceback(monkeypatch, error):
    def call(words):
        raise error

    monkeypatch.setattr(cli, "call", call)
    with pytest.raises(OSError):
        cli.main()


def test_build_that_is_a_file_is_named(tmp_path):
    toy = Toy(tmp_path)
    (toy.repo / "build").write_text("")
    assert f"{toy.repo}/build" in toy.refused("tree")


def test_clean_refuses_to_drop_work(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    toy.commit("mm: work", mm__first_dot_c="work\n")
    done = subprocess.run(
        ["make", "clean"], cwd=toy.repo, text=True, env=toy.environment(), capture_output=True
    )
    assert done.returncode == 2 and "make export" in done.stderr
    assert toy.src.is_dir()


@pytest.mark.parametrize("kept", ["branch", "stash"])
def test_clean_refuses_to_drop_what_is_not_checked_out(tmp_path, kept):
    toy = Toy(tmp_path)
    toy.good("tree")
    if kept == "branch":
        toy.git("checkout", "-q", "-b", "work")
        toy.commit("mm: work", mm__first_dot_c="work\n")
        toy.git("checkout", "-q", "boothash")
    else:
        (toy.src / "mm/first.c").write_text("work\n")
        toy.git("stash")
    name = "work" if kept == "branch" else kept
    assert f"has commits on {name} that" in toy.refused("clean")
    assert toy.src.is_dir()
    toy.good("clean", FORCE="1")


def test_clean_keeps_what_is_slow_to_get(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    for name in ("venv", "ccache", "downloads"):
        (toy.repo / "build" / name).mkdir()
    subprocess.run(
        ["make", "clean"], cwd=toy.repo, env=toy.environment(), capture_output=True, check=True
    )
    assert {p.name for p in (toy.repo / "build").iterdir()} == {"venv", "ccache", "downloads"}


def test_distclean_removes_all(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    subprocess.run(
        ["make", "distclean"], cwd=toy.repo, env=toy.environment(), capture_output=True, check=True
    )
    assert not (toy.repo / "build").exists()
