# SPDX-License-Identifier: GPL-2.0
"""make bench and make bench-NAME: measure, print tables, keep the result.

make bench-compare compares the last two results of each benchmark.  Each folder of
bench/ with a case.py is a benchmark.
"""

import importlib
import os
import sys
from typing import Any

from bench.lib.benchmark import EXACT, NEAR, NOISY, Benchmark
from bench.lib.record import Result, figure_table, kept, newest, table
from common import ROOT, Failure, die, flag
from common.packages import ensure_packages
from guest import vm
from series import source

SIZES = ("quick", "usual", "long")
CLOSE = 0.01


def found() -> dict[str, Benchmark]:
    """The benchmarks in the order of `make bench`: the shortest first."""
    names = sorted(path.parent.name for path in ROOT.glob("bench/*/case.py"))
    every = {name: case(name).BENCH for name in names}
    return dict(sorted(every.items(), key=lambda item: item[1].seconds[1]))


def case(name: str) -> Any:
    return importlib.import_module(f"bench.{name}.case")


BENCHMARKS = found()


def size() -> str:
    """Of the loads: all benchmarks take minutes, hours, or days."""
    if flag("QUICK") and flag("LONG"):
        die("QUICK=1 and LONG=1 at once; accepted: one of them, or neither")
    return "quick" if flag("QUICK") else "long" if flag("LONG") else "usual"


def measure(name: str) -> None:
    """Run a benchmark, which fills a Result and prints its tables."""
    ensure_packages("source", "build", "boot")
    benchmark = BENCHMARKS[name]
    if benchmark.base not in ("", source.base_name()):
        die(
            f"bench-{name}: Linux {source.base_name()} cannot run it; "
            f"accepted: BASE={benchmark.base}"
        )
    result = Result(name, size(), benchmark)
    case(name).measure(result, benchmark.loads[size()])
    path = result.save()
    figure_table(result.data["figures"])
    print(f"  written: {os.path.relpath(path, ROOT)}")


def bench(name: str) -> int:
    """make bench, and make bench-NAME."""
    if name == "all":
        return every()
    if name not in BENCHMARKS:
        die(f"bench-{name}: expected one of {', '.join(sorted(BENCHMARKS))}")
    try:
        measure(name)
    except vm.GuestError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def every() -> int:
    """make bench: a benchmark that fails is named at the end; the others run."""
    failed: list[str] = []
    wanted = [name for name, one in BENCHMARKS.items() if one.base in ("", source.base_name())]
    for number, name in enumerate(wanted):
        left = sum(map(seconds, wanted[number:]))
        print(
            f"\n== bench-{name}, {number + 1} of {len(wanted)}: {case(name).__doc__.rstrip('.')}\n"
            f"   about "
            f"{duration(seconds(name))} of {duration(left)} left, without builds"
        )
        try:
            measure(name)
        except (vm.GuestError, Failure) as error:
            print(f"bench-{name}: {error}", file=sys.stderr)
            failed.append(name)
    print(
        f"\n{len(wanted) - len(failed)} benchmarks done"
        + (f", {len(failed)} failed: {', '.join(failed)}" if failed else "")
    )
    return bool(failed)


def seconds(name: str) -> float:
    """As long as the last run on this machine, or else as declared."""
    last = newest(name, size=size())
    return last["seconds"] if last else BENCHMARKS[name].seconds[SIZES.index(size())]


def duration(value: float) -> str:
    if value < 100:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def compare() -> int:
    """make bench-compare: whether two runs on this machine agree."""
    pairs = {name: kept(name, size=size())[-2:] for name in BENCHMARKS}
    pairs = {name: pair for name, pair in pairs.items() if len(pair) == 2}
    if not pairs:
        die(
            "expected two results of one benchmark, found none; run `make bench` "
            "twice, with the same QUICK=1 or LONG=1 as here"
        )
    rows = [differences(name, *pair) for name, pair in pairs.items()]
    table(
        [row for row, _ in rows],
        ("benchmark", "figures", "equal", "within 1 %", "noisy", "worst noisy", "differ"),
    )
    for row, bad in rows:
        for line in bad:
            print(f"  {row[0]}: {line}")
    bad = [row[0] for row, bad in rows if bad]
    print(
        f"\n{len(rows) - len(bad)} benchmarks repeated themselves"
        + (f", not {', '.join(bad)}" if bad else "")
    )
    return bool(bad)


def differences(
    name: str, before: dict[str, Any], after: dict[str, Any]
) -> tuple[tuple[Any, ...], list[str]]:
    """A row of the table, and the figures that should have repeated."""
    count = {EXACT: 0, NEAR: 0, NOISY: 0}
    worst = 0.0
    bad: list[str] = []
    figures = before["figures"].keys() | after["figures"].keys()
    for figure in sorted(figures):
        values = [one["figures"].get(figure, {}).get("value") for one in (before, after)]
        kind = compared(values, BENCHMARKS[name].figure(figure).repeats)
        if kind == NOISY and None not in values:
            worst = max(worst, apart(*values))
        if kind in count:
            count[kind] += 1
        else:
            bad.append(f"{figure} {values[0]} {values[1]}")
    return (name, len(figures), *count.values(), f"{worst:.1%}", len(bad)), bad


def compared(values: list[Any], repeats: str) -> str:
    """How a figure of two runs compares."""
    if values[0] == values[1]:
        return EXACT
    if repeats == NOISY:
        return NOISY
    if None in values:
        return "missing"
    return NEAR if repeats == NEAR and apart(*values) <= CLOSE else "differs"


def apart(one: float, other: float) -> float:
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
