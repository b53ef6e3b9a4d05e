# SPDX-License-Identifier: GPL-2.0
"""make litmus: compare what herd7 finds in each litmus test with its `Result:` line.

Of Debian's releases, only sid has herd7.  It runs with sid's C library and with the
memory model of the base kernel.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import ROOT, archive, die, lock
from series import gitcmd, source

TESTS = ROOT / "Documentation/litmus-tests/boothash"
MODEL = "tools/memory-model"
SUITE = "sid"
OTHERWISE = "no litmus test can run"
# What herd7 loads; the C library of an older release does not run it.
LIBRARIES = ("libc6", "libgmp10")
MACHINE = "x86_64"
# Each test takes a fraction of a second; one with more threads could take hours.
LIMIT = 60

RESULT = re.compile(r"^ \* Result: (\w+)$", re.MULTILINE)
OBSERVED = re.compile(r"^Observation \S+ (\w+) ", re.MULTILINE)
FLAG = re.compile(r"^Flag (.*)$", re.MULTILINE)
NAME = re.compile(r"^C (\S+)$", re.MULTILINE)
EXISTS = re.compile(r"^exists .*", re.MULTILINE | re.DOTALL)
# A twin is named after the right test: wake_up_var and wake_up_var+no-mb.
TWIN = "+"

Command = list[str]


def herd() -> Command:
    """The words that start herd7."""
    machine = os.uname().machine
    if machine != MACHINE:
        die(f"herd7 runs on {MACHINE} here, and this machine is {machine}; {OTHERWISE}")
    program = archive.fetch_package("herdtools7", SUITE, OTHERWISE) / "usr"
    folders = [
        archive.fetch_package(name, SUITE, OTHERWISE) / f"usr/lib/{MACHINE}-linux-gnu"
        for name in LIBRARIES
    ]
    words = [
        folders[0] / "ld-linux-x86-64.so.2",
        "--library-path",
        ":".join(map(str, folders)),
        program / "bin/herd7",
        "-set-libdir",
        program / "share/herdtools7/herd",
        "-conf",
        "linux-kernel.cfg",
    ]
    return [str(word) for word in words]


def model() -> Path:
    """A folder with the memory model of the base kernel."""
    linux = source.linux()
    folder = linux.folder / "memory-model"
    with lock(folder.with_suffix(".lock")):
        if not (folder / MODEL / "linux-kernel.cfg").is_file():
            folder.mkdir(exist_ok=True)
            packed = folder / "model.tar"
            gitcmd.git("archive", f"--output={packed}", linux.commit, MODEL, repo=linux.repo)
            subprocess.run(["tar", "-xf", packed, "-C", folder], check=True)
            packed.unlink()
    return folder / MODEL


def tests(folder: Path) -> list[Path]:
    """The litmus tests of a folder."""
    return sorted(folder.glob("*.litmus")) or die(f"{folder}: has no *.litmus file")


def wrong_result(test: Path, command: Command, where: Path) -> str:
    """What is wrong with a test; empty if herd7 finds what its `Result:` line says."""
    try:
        done = subprocess.run(
            [*command, test], cwd=where, text=True, capture_output=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"herd7 takes more than {LIMIT} s"
    observed = OBSERVED.search(done.stdout)
    if done.returncode or not observed:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        return f"herd7 ended with status {done.returncode}: {said[-1]}"
    if flags := FLAG.findall(done.stdout):
        return f"herd7 found {', '.join(flags)}"
    expected = " ".join(RESULT.findall(test.read_text()))
    return "" if observed[1] == expected else f"expected {expected}, herd7 says {observed[1]}"


def results(command: Command, found: list[Path]) -> list[str]:
    """One line for each test in which herd7 finds something else than it says."""
    where = model()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda test: wrong_result(test, command, where), found)
    return [f"{test.stem}: {why}" for test, why in zip(found, said) if why]


def form(found: Iterable[Path]) -> list[str]:
    """One line for each test whose form is wrong.

    A right test is `Never` and has a broken twin, which asks for the same and is
    `Sometimes`: so the twin is what makes the right test fail without its barrier.
    """
    texts = {path.stem: path.read_text() for path in found}
    wrong = []
    for name, text in texts.items():
        right, twin, _ = name.partition(TWIN)
        result = RESULT.findall(text)
        if NAME.findall(text) != [name]:
            wrong.append(f"{name}: the first line must be 'C {name}'")
        elif twin and right not in texts:
            wrong.append(f"{name}: there is no {right}.litmus of which it is the broken twin")
        elif twin and EXISTS.findall(text) != EXISTS.findall(texts[right]):
            wrong.append(f"{name}: the 'exists' clause differs from that of {right}")
        elif twin and result != ["Sometimes"]:
            wrong.append(f"{name}: ' * Result:' must be Sometimes, as the twin of {right}")
        elif not twin and result != ["Never"]:
            wrong.append(f"{name}: expected one line ' * Result: Never', found {result}")
        elif not twin and not any(other.startswith(name + TWIN) for other in texts):
            wrong.append(f"{name}: has no broken twin {name}{TWIN}*.litmus")
    return wrong


def check(command: Command, folder: Path) -> list[str]:
    """One line for each failure in a folder."""
    found = tests(folder)
    return form(found) + results(command, found)


def litmus() -> int:
    """1 if a test fails, after all of them have run."""
    command = herd()
    start = time.monotonic()
    failed = check(command, TESTS)
    for line in failed:
        print(f"  {line}")
    count, seconds = len(tests(TESTS)), time.monotonic() - start
    print(f"{count} litmus tests in {seconds:.0f} s, {len(failed)} failures")
    return 1 if failed else 0
