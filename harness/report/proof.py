# SPDX-License-Identifier: GPL-2.0
"""The page of long tests: which of them ran, on which kernel, and how they ended.

`make test-long KEEP=1` stores the outcomes, of all long tests or of those that TESTS
names, and writes the page.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from common import BUILD, ROOT, lock, run, write_if_changed
from report.page import LICENSE, heading, simple_table, wrapped
from series import source, topics

STORED = ROOT / "results/tests.json"
PAGE = ROOT / "results/proof.rst"
OUTCOMES = ("passed", "failed", "skipped")
INTRODUCTION = (
    "`make test` runs on each change. These tests take longer. The page says what each did "
    "when it ran last, and lists those that have not run. A row is a test function. The "
    "columns of counts say how many of its cases passed, failed, were skipped or have not run. "
    "If a row ran in part, a line below the table names the cases that have not run. Date and kernel "
    "are those of its oldest case. The kernel is the commit that `make tree` makes of "
    "the patches; the same patches have the same commit. To run a row again: `make test-long "
    "KEEP=1 BASE=6.12 TESTS='tests/FILE -k FUNCTION'`. What has changed in the patches since a "
    "row ran: `git log --since=DATE -- series fs include lib mm`."
)
WHY_NOT = (
    "Rows have not run because machine time is limited: most of them build kernels and boot "
    "them under emulation. test_ltp also needs an installed LTP (LTP=PATH)."
)
NOT_USED = (
    "Three tools are not used. blktests has no test of the only change to the block layer: how a "
    "task waits while another one claims the same device. quota-tools has no tests. smatch is "
    "not in Debian."
)


def store(outcomes: dict[str, tuple[str, float]], commit: str, path: Path = STORED) -> None:
    """Keep {test: (outcome, seconds)} of a run instead of what these tests did before."""
    ran = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "kernel": commit[:12]}
    new = {
        test: {"outcome": outcome, "seconds": round(seconds)} | ran
        for test, (outcome, seconds) in outcomes.items()
    }
    with lock(BUILD / "results.lock"):
        kept = read(path)
        kept[source.base_name()] = kept.get(source.base_name(), {}) | new
        write_if_changed(path, json.dumps(kept, indent=1, sort_keys=True) + "\n")


def read(path: Path = STORED) -> dict[str, dict]:
    return json.loads(path.read_text()) if path.is_file() else {}


def long_tests(base: str) -> list[str]:
    """What pytest calls the long tests of a base."""
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "long"]
    found = run(words, cwd=ROOT, env=os.environ | {"BASE": base}).stdout
    return [line for line in found.splitlines() if "::" in line]


def function(test: str) -> str:
    """tests/long/test_a.py::test_b[c] -> long/test_a.py test_b"""
    return re.sub(r"\[.*", "", test).removeprefix("tests/").replace("::", " ")


def page(kept: dict[str, dict], names: dict[str, list[str]]) -> str:
    """`names` are the long tests of each base."""
    parts = [LICENSE, heading("Long tests: what ran, and what did not", "=")]
    parts += [wrapped(INTRODUCTION), wrapped(WHY_NOT), wrapped(NOT_USED)]
    for base in names:
        cases = kept.get(base, {})
        parts += [heading(f"Linux {base}", "-"), wrapped(sums(cases, names[base]))]
        parts += [table(cases, names[base])]
        parts += [wrapped(line, first="- ", rest="  ") for line in not_run(cases, names[base])]
    return "\n".join(parts)


def sums(kept: dict[str, dict], names: list[str]) -> str:
    outcomes = [kept[name]["outcome"] for name in names if name in kept]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in OUTCOMES)
    return f"Of {len(names)} cases, {len(outcomes)} have run: {counts}."


def table(kept: dict[str, dict], names: Iterable[str]) -> str:
    functions: dict[str, list[dict]] = {}
    for name in names:
        functions.setdefault(function(name), []).append(kept.get(name, {}))
    return simple_table(
        ("test", *OUTCOMES, "not run", "minutes", "date", "kernel"),
        [row(name, cases) for name, cases in functions.items()],
    )


def not_run(kept: dict[str, dict], names: Iterable[str]) -> list[str]:
    """The cases that have not run, of each function that ran in part."""
    ran = {function(name) for name in names if name in kept}
    cases: dict[str, list[str]] = {}
    for name in names:
        if name not in kept and function(name) in ran:
            cases.setdefault(function(name), []).append(name.partition("[")[2].rstrip("]"))
    return [f"Not run, {name}: {', '.join(found)}." for name, found in cases.items()]


def row(name: str, cases: list[dict]) -> tuple:
    ran = [case for case in cases if case]
    counts = [sum(case["outcome"] == outcome for case in ran) for outcome in OUTCOMES]
    if not ran:
        return (name, *counts, len(cases), "-", "-", "-")
    oldest = min(ran, key=lambda case: case["date"])
    minutes = sum(case["seconds"] for case in ran) / 60
    return (
        name,
        *counts,
        len(cases) - len(ran),
        f"{minutes:.1f}",
        oldest["date"],
        oldest["kernel"],
    )


def write() -> None:
    names = {base: long_tests(base) for base in reversed(topics.bases())}
    write_if_changed(PAGE, page(read(), names))
