# SPDX-License-Identifier: GPL-2.0
"""make test, test-long, test-arch and test-machine: prepare, then hand over to pytest."""

import os
import shlex
from typing import NoReturn

from common import BUILD, ROOT, die, setting
from common.packages import ensure_packages, ensure_venv
from kernel import architectures, configurations

# Emulation runs a guest on one processor, so two files of tests run at once.
# Not in test-long: its loads last a fixed time, and half a machine would do
# half as much.  Tests that TESTS names run without workers and start at once.
WORKERS = "--numprocesses=2"


def pytest(marker: str, *options: str) -> NoReturn:
    # A bad value would end pytest with a traceback, after hours.
    configurations.seeds()
    tests = words()
    ensure_packages("source", "build", "boot", "check", "picture")
    venv = ensure_venv()
    command = [
        str(venv / "bin/python"),
        "-m",
        "pytest",
        "-m",
        marker,
        "-v",
        "--durations=20",
        f"--junitxml={BUILD / 'tests.xml'}",
        *(tests or options),
    ]
    os.chdir(ROOT)
    os.execv(command[0], command)


def words() -> list[str]:
    try:
        return shlex.split(setting("TESTS"))
    except ValueError as error:
        die(f"TESTS={setting('TESTS')}: {error}; accepted: words for pytest, quoted as for a shell")


def test() -> None:
    pytest("not long", WORKERS)


def test_long() -> None:
    pytest("long")


def test_arch() -> None:
    """The part of it that builds and boots whole kernels of ARCH=, else of each."""
    # The end of a test's name is the architecture.
    names = [f"{one.name}]" for one in architectures.named(setting("ARCH"))]
    pytest("long", "tests/long/test_architectures.py", "-k", " or ".join(names))


def test_machine() -> None:
    """The part of it that builds Debian's configuration."""
    pytest("long", "tests/long/test_machine.py")
