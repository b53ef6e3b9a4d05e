# SPDX-License-Identifier: GPL-2.0
"""The targets of make: help, what each leads to, and what is refused."""

import errno
import importlib
import re
import subprocess

import pytest

import cli
from common import BUILD, DISK_FULL
from common.settings import VARIABLES
from toykernel import ROOT, Toy

# Read by the Makefile and by tests, not by the harness.
ELSEWHERE = {"PYTHON", "LTP"}


def make(*words):
    """What make says, with our own variables for it left out."""
    return subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, *words],
        text=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin"},
    )


def refused(*words):
    """The one line of ours with which make ends, before any work."""
    done = make(*words)
    first, *rest = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, ""), done
    assert all("***" in line for line in rest), done.stderr
    return first.removeprefix("boothash: ")


def test_make_alone_is_help():
    done = make()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == make("help").stdout
    for name in cli.TARGETS:
        assert f"  make {name}" in done.stdout
    assert "APPEND='...'" in done.stdout and "ACCEL" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= cli.WIDTH


@pytest.mark.parametrize("target", [*cli.TARGETS, "bench-xattr"])
def test_target_has_a_function(target):
    place, arguments = cli.function([target])
    module, _, name = place.partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    assert arguments == {"bench": ["all"], "bench-xattr": ["xattr"]}.get(target, [])
    assert set(cli.TARGETS.get(target, cli.BENCH).reads.split()) <= VARIABLES.keys()


def test_each_variable_is_read():
    text = "".join(
        path.read_text() for path in (*ROOT.glob("harness/**/*.py"), *ROOT.glob("bench/**/*.py"))
    )
    read = set(re.findall(r"\b(?:setting|flag)\(['\"](\w+)", text))
    assert read | ELSEWHERE == VARIABLES.keys()
    switches = set(re.findall(r"\bflag\(['\"](\w+)", text))
    assert switches == {name for name, one in VARIABLES.items() if one.switch}


@pytest.mark.parametrize(
    "words,said",
    [
        ("tset", "tset: no such target; accepted: help boot "),
        ("lint tset", "tset: no such target; accepted: help boot "),
        ("bench-none", "bench-none: expected one of "),
        ("test-long SEED=word", "SEED=word: expected a number"),
        ("test-long KEEP=true", "KEEP=true: not a switch; accepted: 1 or 0"),
        ("test TESTS=-k'word", "TESTS=-k'word: No closing quotation; accepted: words for pytest, "),
        ("uninstall-tools V=x", "V=x: not a switch; accepted: 1 or 0"),
        ("tree FORCE=maybe", "FORCE=maybe: not a switch; accepted: 1 or 0"),
        ("deb DEBUG=maybe", "DEBUG=maybe: not a switch; accepted: 1 or 0"),
        ("deb FLAVOUR=none", "FLAVOUR=none: accepted: amd64, cloud"),
        ("deb CONFIG=/none", "CONFIG=/none: no such file; accepted: "),
        ("kunit MEM=some", "MEM=some: accepted: "),
        ("deb FLAVOR=cloud", "FLAVOR: no such variable; accepted: KERNEL "),
        ("install-tools PREFX=/usr APPEND=more=less", "PREFX: no such variable; accepted: KERNEL "),
    ],
)
def test_bad_words_are_named_before_any_work(words, said):
    assert refused(*words.split()).startswith(said)


def test_variables_of_a_make_that_calls_this_one_are_not_ours(tmp_path):
    (tmp_path / "Makefile").write_text(f"all:\n\t@$(MAKE) -C {ROOT} help\n")
    done = subprocess.run(
        ["make", "-C", tmp_path, "CC=gcc"], text=True, capture_output=True, env={"PATH": "/usr/bin"}
    )
    assert done.returncode == 0 and "no such variable" not in done.stdout


@pytest.mark.parametrize(
    "error,said",
    [
        (
            PermissionError(errno.EACCES, "Permission denied", f"{BUILD}/log"),
            f"{BUILD}/log: Permission denied; accepted: a folder {BUILD} in which this user "
            "can write",
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


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    return toy


def make_in(toy, *words):
    words = ["make", *words]
    return subprocess.run(
        words, cwd=toy.repo, text=True, env=toy.environment(), capture_output=True
    )


def test_build_that_is_a_file_is_named(tmp_path):
    toy = Toy(tmp_path)
    (toy.repo / "build").write_text("")
    assert f"{toy.repo}/build" in toy.refused("tree")


def test_clean_drops_no_work_and_nothing_that_is_slow_to_get(toy):
    """Commits that were not exported, on this branch or another, and a stash."""
    toy.commit("mm: work", mm__first_dot_c="work\n")
    done = make_in(toy, "clean")
    assert done.returncode == 2 and "make export" in done.stderr
    toy.git("checkout", "-q", "-b", "work")
    toy.git("branch", "-q", "-f", toy.branch, "HEAD~")
    toy.git("checkout", "-q", toy.branch)
    assert "has commits on work that" in toy.refused("clean")
    toy.git("branch", "-q", "-D", "work")
    (toy.src / "mm/first.c").write_text("work\n")
    toy.git("stash")
    assert "has commits on stash that" in toy.refused("clean")
    assert toy.src.is_dir()
    for name in ("venv", "ccache", "downloads"):
        (toy.repo / "build" / name).mkdir()
    assert make_in(toy, "clean", "FORCE=1").returncode == 0
    assert {p.name for p in (toy.repo / "build").iterdir()} == {"venv", "ccache", "downloads"}


def test_distclean_removes_all(toy):
    assert make_in(toy, "distclean").returncode == 0
    assert not (toy.repo / "build").exists()
