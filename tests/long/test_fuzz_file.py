# SPDX-License-Identifier: GPL-2.0
"""Writes to /proc/hashstats, fuzzed in a guest: see tests/programs/badwrites.c.

The program knows the answer to each write, and readers run at the same time.
"""

import re
import subprocess

import pytest

import sections
from guest import hashstats_file, initramfs, vm

pytestmark = pytest.mark.long

SECONDS = 600
ANSWERS = ("accepted", "EINVAL", "EFAULT", "EPERM")
SCRIPT = """
echo "=== one writer"
badwrites -t {seconds} -r 1
echo "=== several writers"
badwrites -t {seconds} -r 2 -w 3
echo off > /proc/hashstats
echo reset > /proc/hashstats
echo "=== after"
cat /proc/hashstats
"""


def check_writes(kernel, seconds, **options):
    half = max(seconds // 2, 1)
    result = vm.run(kernel, SCRIPT.format(seconds=half), timeout=3 * seconds + 120, **options)
    parts = sections.named(result.output)
    for name in ("one writer", "several writers"):
        found = {what: int(number) for what, number in re.findall(r"(\w+): (\d+)", parts[name])}
        print(name, found)
        assert sum(found[answer] for answer in ANSWERS) == found["writes"]
        assert all(found[answer] for answer in ANSWERS) and found["reads"]
        # With several writers, nobody knows what the last one wrote.
        assert bool(found["checks"]) == (name == "one writer")
    after = hashstats_file.parse(parts["after"])
    assert after.header["counting"] == "off"
    assert "dentry" in after and "lookups" not in after["dentry"]


def test_any_write_is_answered(kernel):
    check_writes(kernel, SECONDS)


def test_lockdep_and_kasan_find_nothing(debug_kernel):
    check_writes(debug_kernel, SECONDS, mem="1G", parallel=True)


def test_wrong_answer_is_found(tmp_path):
    """A file that takes each write."""
    path = tmp_path / "file"
    path.write_bytes(b"")
    words = [initramfs.tools() / "badwrites", "-f", path, "-n", "100"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert "badwrites: write" in done.stderr and "expected -" in done.stderr
