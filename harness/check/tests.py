# SPDX-License-Identifier: GPL-2.0
"""make test, test-long, test-arch and test-machine: prepare, then hand over to pytest."""

import json
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


# What tests of a folder need besides Python, which tells make test TESTS= what to install.
# Builds of a kernel and some tests install more.
EVERYTHING = ("source", "build", "boot", "check", "picture")
NEEDS = {
    "tests/lint": ("source",),
    "tests/unit": ("source",),
    "tests/series": ("source", "build", "check"),
    "tools/hashstats/tests": ("check", "build"),
}
# Minutes on two idle processors with an empty compiler cache.
USUAL = {"test": 75, "test-long": 1330, "test-arch": 220, "test-machine": 40}
# {target: minutes of its last whole run here}, which tests/conftest.py writes.
TIMES = BUILD / "test-minutes.json"
TARGET = "BOOTHASH_TARGET"  # the key of the run in TIMES


def groups(tests: list[str]) -> tuple[str, ...]:
    """Packages that the words of TESTS= need; all, where they name no file."""
    files = [word for word in tests if word.startswith(("tests/", "tools/"))]
    found: list[str] = []
    for file in files:
        places = [place for place in NEEDS if file.startswith(place)]
        found += NEEDS[max(places, key=len)] if places else EVERYTHING
    return tuple(dict.fromkeys(found)) if files else EVERYTHING


def duration(target: str) -> str:
    """How long a whole run takes."""
    last = json.loads(TIMES.read_text()) if TIMES.is_file() else {}
    if target in last:
        return f"about {last[target]} min, as the last time here"
    return f"about {USUAL[target]} min on two idle processors"


def pytest(target: str, marker: str, *options: str) -> NoReturn:
    # A bad value would end pytest with a traceback, after hours.
    configurations.seeds()
    tests = words()
    ensure_packages(*groups(tests))
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
    os.environ.pop(TARGET, None)
    if not tests:
        print(f"  make {target} takes {duration(target)}", flush=True)
        os.environ[TARGET] = target
    os.chdir(ROOT)
    os.execv(command[0], command)


def words() -> list[str]:
    """TESTS= as words."""
    try:
        return shlex.split(setting("TESTS"))
    except ValueError as error:
        die(f"TESTS={setting('TESTS')}: {error}; accepted: words for pytest, quoted as for a shell")


def test() -> None:
    """make test."""
    pytest("test", "not long", WORKERS)


def test_long() -> None:
    """make test-long."""
    pytest("test-long", "long")


def test_arch() -> None:
    """The part of it that builds and boots whole kernels of ARCH=, else of each."""
    # The end of a test's name is the architecture.
    names = [f"{one.name}]" for one in architectures.named(setting("ARCH"))]
    options = ("tests/long/test_architectures.py", "-k", " or ".join(names))
    pytest("test-arch", "long", *options)


def test_machine() -> None:
    """The part of it that builds Debian's configuration."""
    pytest("test-machine", "long", "tests/long/test_machine.py")
