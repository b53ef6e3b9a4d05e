# SPDX-License-Identifier: GPL-2.0
"""What a machine lacks is one line: rights, network, disk, Python, apt itself."""

import os
import re
import subprocess

import pytest

from common import Failure, packages
from kernel import build
from toykernel import ROOT

OFFLINE = "Failed to fetch http://deb.example/dists/x/InRelease Could not connect to proxy:3128"


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with apt on which nothing is installed; give programs more text."""
    programs = tmp_path / "bin"
    program(programs, "dpkg-query", "exit 1\n")
    program(programs, "apt-get", "exit 0\n")
    program(programs, "apt-cache", "exit 0\n")
    for name in ("sh", "env"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages, "BUILD", tmp_path)
    monkeypatch.setattr(packages, "UPDATE_LOG", tmp_path / "update.log")
    return programs


def refusal(call, *words):
    """The line with which something ends."""
    with pytest.raises(Failure) as caught:
        call(*words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


UNKNOWN = "Unable to locate package pahole"
DPKG = "Sub-process /usr/bin/dpkg returned an error code (1)"
APT = """case "$*" in
*update*) [ -z "{update}" ] || echo "W: {update}" ;;
*) echo "E: {install}"; exit 100 ;;
esac
"""


@pytest.mark.parametrize(
    "user, programs, said",
    [
        (
            1000,
            {},
            "packages are missing and neither root nor sudo is at hand; "
            "run as root: apt-get install pahole",
        ),
        (
            1000,
            {"sudo": "exit 1\n"},
            "packages are missing and sudo is refused; run as root: apt-get install pahole",
        ),
        (
            0,
            {"apt-get": APT.format(update=OFFLINE, install=UNKNOWN)},
            f"apt-get could not install pahole: {OFFLINE} "
            "(is there a network, and does apt know the proxy?)",
        ),
        (
            0,
            {"apt-get": APT.format(update="", install=OFFLINE)},
            f"apt-get could not install pahole: {OFFLINE} "
            "(is there a network, and does apt know the proxy?)",
        ),
        # The broken list of a third party is not blamed for dpkg.
        (
            0,
            {"apt-get": APT.format(update=OFFLINE, install=DPKG)},
            f"apt-get could not install pahole: {DPKG}",
        ),
    ],
    ids=["neither", "sudo", "lists", "package", "dpkg"],
)
def test_package_that_cannot_be_installed(machine, monkeypatch, user, programs, said):
    monkeypatch.setattr(packages.os, "geteuid", lambda: user)
    for name, text in programs.items():
        program(machine, name, text)
    assert refusal(packages.ensure_packages, "types").partition("; full log")[0] == said


@pytest.mark.parametrize(
    "printed,said",
    [
        (
            "WARNING: Retrying (Retry(total=4)) after connection broken by 'ProxyError(...)'\n"
            "ERROR: No matching distribution found for pytest",
            "its index cannot be reached (is there a network, and does https_proxy name",
        ),
        ("ERROR: No matching distribution found for pytest", "No matching distribution found"),
    ],
)
def test_pip_fails(tmp_path, monkeypatch, printed, said):
    """A Python environment whose pip prints this and fails."""

    def run(cmd, log, check=True, **more):
        log.parent.mkdir(exist_ok=True)
        log.write_text(printed)
        return subprocess.CompletedProcess(cmd, "pip" in str(cmd[0]))

    monkeypatch.setattr(packages, "BUILD", tmp_path)
    monkeypatch.setattr(packages, "VENV", tmp_path / "venv")
    monkeypatch.setattr(packages, "ensure_packages", lambda *groups: None)
    monkeypatch.setattr(packages, "run", run)
    assert said in refusal(packages.ensure_venv)


# --- no apt -----------------------------------------------------------------------------


def test_without_apt_the_missing_programs_are_named(machine):
    (machine / "apt-get").unlink()
    program(machine, "git", "")
    assert refusal(packages.ensure_packages, "source", "python") == (
        "this machine has no apt-get to install what is missing: xz"
    )
    program(machine, "xz", "")
    packages.ensure_packages("source", "python")


def test_each_group_without_programs_has_none():
    """A group that is new names its programs, or is one of these."""
    assert packages.GROUPS.keys() - packages.PROGRAMS.keys() == {"python", "picture"}


# --- disk and Python ---------------------------------------------------------------------


def test_too_little_disk_is_said_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "BUILD", tmp_path / "build")
    monkeypatch.setattr(build, "BYTES", 1e15)
    monkeypatch.setattr(build.worktree, "tree", lambda: pytest.fail("the source was asked for"))
    assert re.fullmatch(
        r"the source and the build of a kernel needs? 931322.6 GiB of disk; .* GiB free",
        refusal(build.patched),
    )


@pytest.mark.parametrize("text", ["No space left on device", "fatal: error writing to /tmp"])
def test_full_disk_is_one_line(tmp_path, monkeypatch, text, capsys):
    """Of a command that says so, and of one whose last words found no room."""
    monkeypatch.setattr(packages.run.__globals__["shutil"], "disk_usage", lambda path: FULL)
    said = refusal(packages.run, ["sh", "-c", f"echo '{text}' >&2; exit 1"])
    assert said.startswith("sh -c ") and "is full; free some and run make again" in said
    assert capsys.readouterr().err == ""


class FULL:
    free = 0


@pytest.mark.parametrize(
    "text,said",
    [
        (None, "not found"),
        ("exit 1\n", "does not run"),
        ("echo no such option >&2\n", "does not run"),
        ('case "$1" in -V) echo Python 3.9.2 ;; *) echo False ;; esac\n', "is Python 3.9.2"),
    ],
)
def test_python_that_cannot_run_the_scripts(tmp_path, text, said):
    """Nothing is installed in its place."""
    programs = tmp_path / "bin"
    for name in ("apt-get", "sudo"):
        program(programs, name, f": > {tmp_path}/called\n")
    if text is not None:
        program(programs, "python-of-the-test", text)
    done = subprocess.run(
        ["make", "-s", "-C", ROOT, "boot", "PYTHON=python-of-the-test"],
        text=True,
        capture_output=True,
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
    )
    assert done.returncode == 2 and done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first == f"boothash: PYTHON=python-of-the-test: {said}; accepted: Python 3.11 or newer"
    assert all("***" in line for line in rest)
    assert not (tmp_path / "called").exists()
