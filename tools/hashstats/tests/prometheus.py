# SPDX-License-Identifier: GPL-2.0
"""Programs of Debian's package prometheus, which is unpacked and not installed:
it would start a server on the machine of a developer."""

import fcntl
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from toyhashstats import FOLDER

BUILD = FOLDER.parents[1] / "build"
UNPACKED = BUILD / "prometheus"


@functools.cache
def program(name):
    """The path of prometheus or promtool; the test is skipped if there is none."""
    found = shutil.which(name)
    if found:
        return Path(found)
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "prometheus.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not UNPACKED.is_dir():
            unpack()
    path = UNPACKED / "usr/bin" / name
    if not path.is_file():
        pytest.skip("no prometheus here, and its package cannot be had")
    return path


def unpack():
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        done = subprocess.run(
            ["sh", "-c", "apt-get -q download prometheus && dpkg -x prometheus_*.deb unpacked"],
            cwd=folder,
            capture_output=True,
        )
        if done.returncode == 0:
            (Path(folder) / "unpacked").rename(UNPACKED)
