# SPDX-License-Identifier: GPL-2.0
"""The series on the newest kernel that it is for: built, booted, and tested by KUnit."""

import os
import re
import subprocess
import sys

import pytest

from common import ROOT
from series import topics

pytestmark = pytest.mark.stage("kernel")

NEWEST = topics.bases()[0]
TABLE = re.compile(r"^name: (\S+)\n(?:.+\n)*?objects: (\d+)$", re.MULTILINE)
RAN = re.compile(r"Ran (\d+) tests: passed: (\d+)(?:, skipped: (\d+))?$", re.MULTILINE)


def make(verb):
    done = subprocess.run(
        [sys.executable, "scripts/cli.py", verb],
        cwd=ROOT,
        env=os.environ | {"BASE": NEWEST},
        text=True,
        capture_output=True,
    )
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_make_boot():
    said = make("boot").replace("\r", "")
    assert f"build/{NEWEST}." in said  # where the kernel is
    objects = dict(TABLE.findall(said))
    assert {"dentry", "inode", "uid", "mbcache"} <= objects.keys()
    assert int(objects["dentry"]) > 0


def test_kunit_suites():
    ran = RAN.search(make("kunit"))
    assert ran, "KUnit's report ends with no sum, or with failures"
    assert int(ran[1]) > 300
    assert int(ran[2]) + int(ran[3] or 0) == int(ran[1])
