# SPDX-License-Identifier: GPL-2.0
"""make test and make test-long: prepare, then hand over to pytest."""

import os
import shlex

from common import ROOT, setting
from common.packages import ensure_packages, ensure_venv
from kernel import build


def pytest(marker):
    ensure_packages("source", "build", "boot", "check")
    venv = ensure_venv()
    # Built here, where progress can be seen; the tests find it done.
    build.kernel()
    words = shlex.split(setting("TESTS")) or [str(ROOT / "tests")]
    command = [
        str(venv / "bin/python"),
        "-m",
        "pytest",
        "-m",
        marker,
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(ROOT),
        "-v",
        "--durations=10",
        *words,
    ]
    os.chdir(ROOT)
    os.execv(command[0], command)


def test():
    pytest("not long")


def test_long():
    pytest("long")
