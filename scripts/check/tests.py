# SPDX-License-Identifier: GPL-2.0
"""make test and make test-long: prepare, then hand over to pytest."""

import os
import shlex

from common import BUILD, ROOT, setting
from common.packages import ensure_packages, ensure_venv

# Guests are emulated on one processor each; the tests of a few files share
# what they prepare, and their output is easier to follow without workers.
WORKERS = ["--numprocesses=2"]


def pytest(marker):
    ensure_packages("source", "build", "boot", "check")
    venv = ensure_venv()
    words = shlex.split(setting("TESTS"))
    command = [
        str(venv / "bin/python"),
        "-m",
        "pytest",
        "-m",
        marker,
        "-v",
        "--durations=20",
        f"--junitxml={BUILD / 'tests.xml'}",
        *(words or WORKERS),
    ]
    os.chdir(ROOT)
    os.execv(command[0], command)


def test():
    pytest("not long")


def test_long():
    pytest("long")
