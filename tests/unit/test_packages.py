# SPDX-License-Identifier: GPL-2.0
"""What a machine lacks is one line: rights, network, disk, Python, apt itself."""

import os
import re
import subprocess

import pytest

from common import Failure, packages
from kernel import build
from toykernel import ROOT

OFFLINE = "Failed to fetch http://deb.example/dists/x/InRelease  Could not connect to proxy:3128"


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


# --- rights -----------------------------------------------------------------------


def test_neither_root_nor_sudo(machine, monkeypatch):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    said = refusal(packages.ensure_packages, "types")
    assert said == (
        "packages are missing and neither root nor sudo is at hand; "
        "run as root: apt-get install pahole"
    )


def test_sudo_refuses(machine, monkeypatch):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    program(machine, "sudo", "exit 1\n")
    said = refusal(packages.ensure_packages, "types")
    assert said.startswith("packages are missing and sudo is refused; run as root: apt-get")


# --- network ------------------------------------------------------------------------


def test_lists_cannot_be_fetched(machine):
    program(
        machine,
        "apt-get",
        f"""case "$*" in
*update*) echo "W: {OFFLINE}" ;;
*) echo "E: Unable to locate package pahole"; exit 100 ;;
esac
""",
    )
    said = refusal(packages.ensure_packages, "types")
    assert said.startswith("apt-get could not install pahole: Failed to fetch http://deb")
    assert (
        "Could not connect to proxy:3128 (is there a network, and does apt know the proxy?)" in said
    )


def test_package_cannot_be_fetched(machine):
    program(machine, "apt-get", f'echo "E: {OFFLINE}"; exit 100\n')
    assert "Could not connect to proxy:3128 (is there" in refusal(packages.install, ["x"])


def test_broken_list_of_a_third_party_is_not_blamed_for_dpkg(machine):
    program(
        machine,
        "apt-get",
        f"""case "$*" in
*update*) echo "W: {OFFLINE}" ;;
*) echo "E: Sub-process /usr/bin/dpkg returned an error code (1)"; exit 100 ;;
esac
""",
    )
    assert "x: Sub-process /usr/bin/dpkg returned" in refusal(packages.install, ["x"])


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
    assert refusal(packages.ensure_packages, "source", "xfs") == (
        "this machine has no apt-get to install what is missing: xz, mkfs.xfs"
        if not os.path.exists("/usr/sbin/mkfs.xfs")
        else "this machine has no apt-get to install what is missing: xz"
    )


def test_without_apt_what_is_there_is_used(machine, capfd):
    (machine / "apt-get").unlink()
    for name in ("git", "xz"):
        program(machine, name, "")
    packages.ensure_packages("source", "python")
    assert capfd.readouterr() == ("", "")


def test_headers_are_looked_for():
    assert packages.found("stdio.h", "")
    assert not packages.found("no-such-header.h", "")


def test_each_group_without_programs_has_none():
    """A group that is new names its programs, or is one of these."""
    assert packages.GROUPS.keys() - packages.PROGRAMS.keys() == {
        "debian-source",
        "python",
        "picture",
    }


# --- is there such a package? -----------------------------------------------------------


def test_package_that_apt_does_not_know(machine):
    assert not packages.available("linux-source-6.12")


def test_package_that_apt_knows_after_an_update(machine, tmp_path):
    program(machine, "apt-get", f": > {tmp_path}/lists\n")
    program(machine, "apt-cache", f"[ ! -e {tmp_path}/lists ] || echo Version: 6.12.9-1\n")
    assert packages.available("linux-source-6.12")


def test_no_apt_knows_no_package(machine):
    program(machine, "apt-cache", "echo Version: 6.12.9-1\n")
    (machine / "apt-get").unlink()
    assert not packages.available("linux-source-6.12")


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
