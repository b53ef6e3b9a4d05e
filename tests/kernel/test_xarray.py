# SPDX-License-Identifier: GPL-2.0
"""The kernel's own tests of the XArray and what is built on it, unchanged.

They run in user space (tools/testing/radix-tree), with checks of their own that
a kernel does not make, under the address sanitizer.  With these checks a walk
that carries a wrong shift ends the program.
"""

import re
import subprocess

import pytest

FOLDER = "tools/testing/radix-tree"
# What these build from, but for what git does not have.
PARTS = [
    "include/linux",
    "include/asm-generic",
    "lib",
    "arch/x86/include",
    "tools/arch",
    "tools/build",
    "tools/include",
    "tools/lib",
    "tools/scripts",
    "tools/testing/radix-tree",
    "tools/testing/shared",
]
WRONG = ("xa_to_node(entry), shift);", "xa_to_node(entry), shift ? shift - 1 : 0);")


def unpack(tree, folder):
    """A copy of the sources: these tests are built where they stand."""
    archive = subprocess.run(
        ["git", "archive", "HEAD", *PARTS], cwd=tree, check=True, capture_output=True
    )
    subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
    return folder / FOLDER


def result(folder, program):
    """(status, tests that passed, tests)"""
    subprocess.run(
        ["make", "-s", "-j2", program],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=300,
    )
    done = subprocess.run([f"./{program}"], cwd=folder, text=True, capture_output=True, timeout=600)
    found = re.search(r": (\d+) of (\d+) tests passed", done.stdout)
    return (done.returncode, *(map(int, found.groups()) if found else (0, 0)))


@pytest.fixture(scope="module")
def folder(tree, tmp_path_factory):
    return unpack(tree, tmp_path_factory.mktemp("radix-tree"))


def test_xarray(folder):
    """lib/test_xarray.c among them."""
    status, passed, tests = result(folder, "xarray")
    assert status == 0 and passed == tests > 100_000_000


def test_entries_of_many_indices(folder):
    assert result(folder, "multiorder")[0] == 0


@pytest.mark.long
def test_numbers(folder):
    """lib/test_ida.c and those of the IDR."""
    status, passed, tests = result(folder, "idr-test")
    assert status == 0 and passed == tests > 10_000_000


@pytest.mark.long
def test_maple_tree(folder):
    assert result(folder, "maple")[0] == 0


def test_wrong_shift_is_seen(tree, tmp_path):
    folder = unpack(tree, tmp_path)
    source = tmp_path / "lib/xarray.c"
    text = source.read_text()
    assert text.count(WRONG[0]) == 1
    source.write_text(text.replace(*WRONG))
    assert result(folder, "multiorder")[0] != 0
