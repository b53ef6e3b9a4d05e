# SPDX-License-Identifier: GPL-2.0
"""make test and make test-long: prepare, then hand over to pytest."""

import os
import shlex

from common import BUILD, ROOT, setting
from common.packages import ensure_packages, ensure_venv

# Emulation uses one processor for a guest, so two files of tests run at once.
# What TESTS names runs without workers, whose start costs more than few tests.
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
