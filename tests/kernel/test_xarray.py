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
    *("include/linux", "include/asm-generic", "lib", "arch/x86/include", "tools/arch"),
    *("tools/build", "tools/include", "tools/lib", "tools/scripts", FOLDER, "tools/testing/shared"),
]


def result(folder, program):
    """(status, tests that passed, tests)"""
    words = ["make", "-s", "-j2", program]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=300)
    done = subprocess.run([f"./{program}"], cwd=folder, text=True, capture_output=True, timeout=600)
    found = re.search(r": (\d+) of (\d+) tests passed", done.stdout)
    return (done.returncode, *(map(int, found.groups()) if found else (0, 0)))


@pytest.fixture(scope="module")
def folder(tree, tmp_path_factory):
    """In a copy of the sources: these tests are built where they stand."""
    copy = tmp_path_factory.mktemp("radix-tree")
    words = ["git", "archive", "HEAD", *PARTS]
    archive = subprocess.run(words, cwd=tree, check=True, capture_output=True)
    subprocess.run(["tar", "x", "-C", copy], input=archive.stdout, check=True)
    return copy / FOLDER


@pytest.mark.parametrize(
    "program, least",
    [
        ("xarray", 100_000_000),  # lib/test_xarray.c among them
        ("multiorder", 0),
        # lib/test_ida.c and those of the IDR.
        pytest.param("idr-test", 10_000_000, marks=pytest.mark.long),
        pytest.param("maple", 0, marks=pytest.mark.long),
    ],
)
def test_user_space(folder, program, least):
    status, passed, tests = result(folder, program)
    assert status == 0 and passed == tests >= least
