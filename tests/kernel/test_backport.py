# SPDX-License-Identifier: GPL-2.0
"""The series on the older kernels that it is for: built, booted, and tested by KUnit.

All other tests of the kernel are of the base in use, by default the newest.
"""

import re

import pytest

import otherbase
from series import source, topics

pytestmark = [
    pytest.mark.stage("kernel"),
    pytest.mark.parametrize(
        "base", topics.bases()[topics.bases().index(source.base_name()) + 1 :], scope="module"
    ),
]

TABLE = re.compile(r"^name: (\S+)\n(?:.+\n)*?objects: (\d+)$", re.MULTILINE)
RAN = re.compile(r"Ran (\d+) tests: passed: (\d+)(?:, skipped: (\d+))?$", re.MULTILINE)


def test_make_boot(base):
    said = otherbase.make("boot", base, V="1").replace("\r", "")
    assert f"build/{base}." in said  # where the kernel is
    objects = dict(TABLE.findall(said))
    assert {"dentry", "inode", "uid", "mbcache"} <= objects.keys()
    assert int(objects["dentry"]) > 0


def test_kunit_suites(base):
    ran = RAN.search(otherbase.make("kunit", base))
    assert ran, "KUnit's report ends with no sum, or with failures"
    assert int(ran[1]) > 300
    assert int(ran[2]) + int(ran[3] or 0) == int(ran[1])
