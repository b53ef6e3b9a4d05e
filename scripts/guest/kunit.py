# SPDX-License-Identifier: GPL-2.0
"""KUnit results out of a guest's console, read by the kernel's own parser."""

import json
import sys
import tempfile
from pathlib import Path

from common import die, run

PARSER = "tools/testing/kunit/kunit.py"


def parse(src, console):
    """{suite: {case: status}}; src is the kernel tree that was booted.

    The case of a parametrized test is named `test/parameter`.  Statuses are
    PASS, SKIP, FAIL and ERROR (crashed, or no result at all).
    """
    tool = Path(src) / PARSER
    if not tool.is_file():
        die(f"{tool}: not there; accepted: a kernel tree")
    with tempfile.TemporaryDirectory() as folder:
        log, results = Path(folder, "console"), Path(folder, "results.json")
        log.write_text(console)
        # It fails when a case fails, so its status says nothing more.
        done = run(
            [sys.executable, "-B", tool, "parse", f"--json={results}", log], check=False, cwd=folder
        )
        if not results.is_file():
            die(f"{PARSER} gave no results: {done.stderr.strip()[-200:]}")
        tree = json.loads(results.read_text())
    return {suite["name"]: dict(cases(suite)) for suite in tree["sub_groups"]}


def cases(group, prefix=""):
    for case in group["test_cases"]:
        yield prefix + case["name"], case["status"]
    for inner in group["sub_groups"]:
        yield from cases(inner, f"{prefix}{inner['name']}/")


def problems(suites, name, least):
    """What is wrong with a suite, in words; nothing if all is well.

    least: prefix of the names of cases -> how many there must be.
    """
    if name not in suites:
        return [f"suite {name} is missing"]
    found = [
        f"{case}: {status}"
        for case, status in suites[name].items()
        if status not in ("PASS", "SKIP")
    ]
    for prefix, number in least.items():
        passed = [
            case
            for case, status in suites[name].items()
            if case.startswith(prefix) and status == "PASS"
        ]
        if len(passed) < number:
            found.append(f"{len(passed)} cases {prefix}* passed, at least {number} must")
    return found
