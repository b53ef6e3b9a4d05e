# SPDX-License-Identifier: GPL-2.0
"""How long tests ended: `make test-long KEEP=1` stores it in build/tests.json.

It prints the cells of these tests for the table in results/proof.rst.
"""

import json
import time
from pathlib import Path

from common import BUILD, lock, write_if_changed
from series import source

STORED = BUILD / "tests.json"
OUTCOMES = ("passed", "failed", "skipped")


def store(outcomes: dict[str, tuple[str, float]], commit: str, path: Path = STORED) -> None:
    """Keep {test: (outcome, seconds)} of a run instead of what these tests did before."""
    ran = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "kernel": commit[:12]}
    new = {
        test: {"outcome": outcome, "seconds": f"{seconds:.0f}"} | ran
        for test, (outcome, seconds) in outcomes.items()
    }
    with lock(BUILD / "results.lock"):
        kept = read(path)
        kept[source.base_name()] = kept.get(source.base_name(), {}) | new
        write_if_changed(path, json.dumps(kept, indent=1, sort_keys=True) + "\n")


def read(path: Path = STORED) -> dict[str, dict[str, dict[str, str]]]:
    return json.loads(path.read_text()) if path.is_file() else {}


def rows(path: Path = STORED) -> list[str]:
    """A line for each base and test file: how many cases ended how, and the oldest date."""
    found = []
    for base, tests in read(path).items():
        files: dict[str, list[dict[str, str]]] = {}
        for test, case in tests.items():
            files.setdefault(test.partition("::")[0].removeprefix("tests/"), []).append(case)
        for file, cases in sorted(files.items()):
            ended = [case["outcome"] for case in cases]
            counts = [f"{ended.count(one)} {one}" for one in OUTCOMES if one in ended]
            date = min(case["date"] for case in cases)
            found.append(f"{base}  {file}  {', '.join(counts)}  {date}")
    return found
