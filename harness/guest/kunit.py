# SPDX-License-Identifier: GPL-2.0
"""make kunit, and KUnit results out of a guest's console.

The kernel's own kunit.py reads the console in both cases.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from common import BUILD, StrPath, die, run, setting, step
from common.packages import ensure_packages
from guest import limits, vm
from kernel import build
from series import compose, gitcmd, source

Suites = dict[str, dict[str, str]]  # suite, case, status

PARSER = "tools/testing/kunit/kunit.py"
CONSOLE = BUILD / "kunit.log"
# ext4's slow case is a benchmark.  With KMSAN, it takes longer than KUnit lets a case run.
ENABLE = "kunit.enable=1 kunit.filter=speed>slow"
SECONDS = 60  # time limit of all suites with KVM
# Lines of the outermost level of KTAP, behind printk's time stamp.
STAMP = r"^(?:\[ *[0-9.]+\] )?"
PLAN = re.compile(STAMP + r"1\.\.(\d+)$", re.M)
VERDICT = re.compile(STAMP + r"(?:not )?ok (\d+) (\S+).*\n", re.M)


def parse(src: StrPath, console: str) -> Suites:
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


def cases(group: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for case in group["test_cases"]:
        yield prefix + case["name"], case["status"]
    for inner in group["sub_groups"]:
        yield from cases(inner, f"{prefix}{inner['name']}/")


def problems(suites: Suites, name: str, least: dict[str, int]) -> list[str]:
    """What is wrong with a suite, in words; nothing if all is well.

    least: prefix of the names of cases -> how many there must be.
    """
    if name not in suites:
        return [f"suite {name} is missing"]
    suite = suites[name]
    found = [f"{case}: {end}" for case, end in suite.items() if end not in ("PASS", "SKIP")]
    for prefix, number in least.items():
        passed = sum(end == "PASS" and case.startswith(prefix) for case, end in suite.items())
        if passed < number:
            found.append(f"{passed} cases {prefix}* passed, at least {number} must")
    return found


def suites_of_guest() -> set[str]:
    """Names of the suites in the guest's kernel: those of the series and of ext4."""
    brought = {name for patch in compose.patches() for name in patch.brings}
    found = ["grep", "--no-color", "-hA4", "struct kunit_suite .* = {", compose.compose(), "--"]
    repo = source.base_repo()
    lines = gitcmd.git(*found, "fs/ext4", *sorted(brought), repo=repo, check=False).stdout
    return set(re.findall(r'\.name\s*=\s*"([^"]+)"', lines))


def refuse_unknown(wanted: list[str], known: Iterable[str]) -> None:
    for name in wanted:
        if name not in known:
            die(
                f"SUITES={' '.join(wanted)}: no suite {name!r}; accepted: {' '.join(sorted(known))}"
            )


def kunit() -> int:
    """make kunit: run the suites in one guest; its status is kunit.py's."""
    wanted = setting("SUITES").split()
    if wanted:
        refuse_unknown(wanted, suites_of_guest())
    options: dict[str, Any] = {
        "cpus": limits.cpus(setting("CPUS")),
        "mem": f"{limits.memory(setting('MEM')) >> 10}K",
        "append": f"{ENABLE} {setting('APPEND')}",
    }
    ensure_packages("boot")
    kernel = build.guest()
    accel = vm.accelerator(kernel)
    print(f"  {accel}", flush=True)
    try:
        with step(f"run the KUnit suites on {options['cpus']} CPUs"):
            result = vm.run(
                kernel, "true", timeout=SECONDS, accel=accel, complaints=True, **options
            )
    except vm.GuestError as error:
        print(error, file=sys.stderr)
        return 1
    console = result.console
    CONSOLE.write_text(only(console, wanted) if wanted else console)
    status = subprocess.call([sys.executable, "-B", kernel.src / PARSER, "parse", CONSOLE])
    for line in vm.complaints(console):
        print(f"  the kernel complained: {line}")
    print(f"  log: {CONSOLE}")
    return status or bool(vm.complaints(console))


def only(console: str, wanted: list[str]) -> str:
    """The console with these suites alone, as if only they had been run."""
    plan = PLAN.search(console)
    if not plan:
        die("the guest's console has no KUnit results")
    found: dict[str, tuple[str, str]] = {}
    start = plan.end() + 1
    for verdict in VERDICT.finditer(console, start):
        found[verdict[2]] = (
            console[start : verdict.start(1)],
            console[verdict.end(1) : verdict.end()],
        )
        start = verdict.end()
    refuse_unknown(wanted, found)
    kept = "".join(
        f"{before}{number}{after}"
        for number, (before, after) in enumerate((found[name] for name in dict.fromkeys(wanted)), 1)
    )
    return f"{console[: plan.start(1)]}{len(set(wanted))}\n{kept}"
