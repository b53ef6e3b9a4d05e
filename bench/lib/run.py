# SPDX-License-Identifier: GPL-2.0
"""make bench and make bench-NAME: measure, print tables, keep the result.

make bench-compare compares the last two results of each benchmark.
"""

import re
import sys
from types import ModuleType
from typing import Any, NamedTuple

from bench.cases import (
    atomics,
    buffer,
    contention,
    crowd,
    dentry,
    functions,
    halfmd4,
    hashstats,
    herd,
    htree,
    index,
    inode,
    lines,
    mbcache,
    multiuser,
    readers,
    spread,
    wake,
    xattr,
)
from bench.record import Result, kept, newest, table
from common import ROOT, Failure, die, flag
from common.packages import ensure_packages
from guest import vm
from series import source


class Benchmark(NamedTuple):
    """Seconds of each size without builds, on two processors without KVM.

    Three patterns say how figures repeat.  `noisy` matches figures that change
    from run to run: times, what concurrent processors do, and keys that are
    addresses.  `near` matches figures that repeat to 1 %: instructions, and
    what depends on the order of tasks.  All other figures repeat exactly.
    `base` is the one that alone can run it.
    """

    module: ModuleType
    quick: int
    usual: int
    long: int
    noisy: str = ""
    near: str = r".*insn"
    base: str = ""


NEAR = 0.01

# In the order of `make bench`: the shortest first.
BENCHMARKS = {
    "spread": Benchmark(spread, 2, 250, 800, r"ns_ratio"),
    # The keys of a guest are addresses, which depend on earlier allocations.
    "functions": Benchmark(
        functions,
        10,
        100,
        400,
        r"(page|buffer|dentry|name|inode)_|hash_|pair_|"
        r"const_|random_|constant_\w+_worst$",
    ),
    "halfmd4": Benchmark(halfmd4, 15, 160, 700, r".*"),
    "contention": Benchmark(contention, 10, 120, 1200, r".*", base="7.3"),
    "mbcache": Benchmark(mbcache, 20, 40, 600, r".*"),
    "hashstats": Benchmark(hashstats, 30, 60, 900, r"read_ms|longest_stretch"),
    # Linux 7.3 lets no other file add an entry to the queue of a folio.
    "wake": Benchmark(wake, 70, 250, 1300, r"(?!boot_size)", base="6.12"),
    # With so few operations, the total includes many instructions of the clock.
    "inode": Benchmark(inode, 80, 150, 7200, r"ops_ratio|.*lock|insn_total", near=r".*insn|nodes"),
    "xattr": Benchmark(xattr, 90, 900, 21600, r"seconds", near=r".*insn|disk"),
    # The ucounts, ksm and khugepaged tables hash addresses.
    "crowd": Benchmark(
        crowd,
        130,
        800,
        7400,
        r"ucounts|ksm_mm|khugepaged_mm|worst|kept_|"
        r"uid_.*_at_128_buckets",
        near=r".*",
    ),
    "herd": Benchmark(herd, 100, 1200, 7800, r"(?!foreign_calls_per_wake(_256)?$)"),
    "htree": Benchmark(htree, 45, 1000, 6600),
    "index": Benchmark(index, 30, 220, 3600, r"(?!bytes)"),
    "buffer": Benchmark(buffer, 90, 480, 7200, r".*contentions"),
    # Linux 7.3 hides vfs_cache_pressure from other files.
    "dentry": Benchmark(dentry, 60, 230, 1200, r"(?!nodes)", base="6.12"),
    "atomics": Benchmark(atomics, 30, 90, 600, r"(aa_)?atomics"),
    "lines": Benchmark(lines, 400, 1500, 5400),
    "multiuser": Benchmark(multiuser, 110, 1200, 6000, r"scripts|throughput|nodes"),
    "readers": Benchmark(
        readers, 80, 500, 5400, r"(mapped_)?readers_ratio|random_read_hash|.*lock"
    ),
}


def size() -> str:
    """Of the loads: all benchmarks take minutes, hours, or days."""
    if flag("QUICK") and flag("LONG"):
        die("QUICK=1 and LONG=1 at once; accepted: one of them, or neither")
    return "quick" if flag("QUICK") else "long" if flag("LONG") else "usual"


def measure(name: str) -> None:
    """Run a benchmark, which fills a Result and prints its tables."""
    ensure_packages("source", "build", "boot")
    base = BENCHMARKS[name].base
    if base not in ("", source.base_name()):
        die(f"bench-{name}: Linux {source.base_name()} cannot run it; accepted: BASE={base}")
    result = Result(name, size())
    module = BENCHMARKS[name].module
    module.measure(result, module.LOADS[size()])
    path = result.save()
    print("\n  figures")
    for figure, value in result.data["figures"].items():
        print(f"    {figure}: {value:g}")
    print(f"  written: {path.relative_to(ROOT)}")


def bench(name: str) -> int:
    """make bench, and make bench-NAME."""
    if name == "all":
        return every()
    if name not in BENCHMARKS:
        die(f"bench-{name}: expected one of {', '.join(BENCHMARKS)}")
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
            f"\n== bench-{name}, {number + 1} of {len(wanted)}, about "
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
    """As long as the last run on this machine, or else as in BENCHMARKS."""
    last = newest(name, size=size())
    return last["seconds"] if last else getattr(BENCHMARKS[name], size())


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
    count = {"equal": 0, "near": 0, "noisy": 0}
    worst = 0.0
    bad: list[str] = []
    figures = before["figures"].keys() | after["figures"].keys()
    for figure in sorted(figures):
        values = [one["figures"].get(figure) for one in (before, after)]
        kind = compared(figure, values, BENCHMARKS[name])
        if kind == "noisy" and None not in values:
            worst = max(worst, apart(*values))
        if kind in count:
            count[kind] += 1
        else:
            bad.append(f"{figure} {values[0]} {values[1]}")
    return (name, len(figures), *count.values(), f"{worst:.1%}", len(bad)), bad


def compared(figure: str, values: list[Any], benchmark: Benchmark) -> str:
    """How a figure of two runs compares."""
    if values[0] == values[1]:
        return "equal"
    if benchmark.noisy and re.match(benchmark.noisy, figure):
        return "noisy"
    if None in values:
        return "missing"
    if re.match(benchmark.near, figure) and apart(*values) <= NEAR:
        return "near"
    return "differs"


def apart(one: float, other: float) -> float:
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
