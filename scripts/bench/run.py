# SPDX-License-Identifier: GPL-2.0
"""make bench and make bench-NAME: measure, print tables, keep the result.

make bench-compare holds the last two results of each against each other.
"""

import re
import sys
from types import ModuleType
from typing import NamedTuple

from bench.cases import atomics as bench_atomics
from bench.cases import buffer as bench_buffer
from bench.cases import crowd as bench_crowd
from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import hashstats as bench_hashstats
from bench.cases import herd as bench_herd
from bench.cases import htree as bench_htree
from bench.cases import index as bench_index
from bench.cases import inode as bench_inode
from bench.cases import mbcache as bench_mbcache
from bench.cases import multiuser as bench_multiuser
from bench.cases import readers as bench_readers
from bench.cases import spread as bench_spread
from bench.cases import wake as bench_wake
from bench.cases import xattr as bench_xattr
from bench.record import Result, kept, newest, table
from common import ROOT, Failure, die, flag
from common.packages import ensure_packages
from guest import vm


class Benchmark(NamedTuple):
    """Seconds it takes after the builds, on two cores without KVM.

    `noisy` are the figures that no second run repeats: those of clocks, of
    processors that run at once, and of keys that are addresses.  `near` are
    repeated to 1 %: instructions, and what the order of tasks has a part in.
    Of the rest a second run has the same.
    """

    module: ModuleType
    quick: int
    usual: int
    long: int
    noisy: str = ""
    near: str = r".*insn"


NEAR = 0.01

# In the order of `make bench`: what takes little time first.
BENCHMARKS = {
    "spread": Benchmark(bench_spread, 2, 250, 800, r"ns_ratio"),
    # What keys a guest has depends on who came first.
    "functions": Benchmark(
        bench_functions,
        10,
        100,
        400,
        r"(page|buffer|dentry|name|inode)_|hash_|pair_|"
        r"const_|random_|constant_\w+_worst$",
    ),
    "halfmd4": Benchmark(bench_halfmd4, 15, 160, 700, r".*"),
    "mbcache": Benchmark(bench_mbcache, 20, 40, 600, r".*"),
    "hashstats": Benchmark(bench_hashstats, 30, 60, 900, r"read_ms|longest_stretch"),
    "wake": Benchmark(bench_wake, 20, 90, 1800, r"(?!boot_size)"),
    # All instructions of so few operations are those of the clock as well.
    "inode": Benchmark(
        bench_inode, 80, 150, 7200, r"ops_ratio|.*lock|insn_total", near=r".*insn|nodes"
    ),
    "xattr": Benchmark(bench_xattr, 90, 600, 21600, r"seconds", near=r".*insn|disk"),
    # Users of a name space and address spaces are found by their address.
    "crowd": Benchmark(
        bench_crowd,
        130,
        600,
        7200,
        r"ucounts|ksm_mm|khugepaged_mm|worst|"
        r"uid_.*_at_128_buckets",
        near=r".*",
    ),
    "herd": Benchmark(bench_herd, 100, 480, 6000, r"(?!foreign_calls_per_wake(_256)?$)"),
    "htree": Benchmark(bench_htree, 40, 1000, 4000),
    "index": Benchmark(bench_index, 30, 150, 3600, r"(?!bytes)"),
    "buffer": Benchmark(bench_buffer, 90, 480, 7200, r".*contentions"),
    "dentry": Benchmark(bench_dentry, 60, 230, 1200, r"(?!nodes)"),
    "atomics": Benchmark(bench_atomics, 30, 90, 600, r"(aa_)?atomics"),
    "multiuser": Benchmark(bench_multiuser, 110, 1200, 6000, r"scripts|throughput|nodes"),
    "readers": Benchmark(
        bench_readers, 40, 120, 3600, r"(mapped_)?readers_ratio|random_read_hash|.*lock"
    ),
}


def size():
    """Of the loads: minutes for all benchmarks, hours, or days."""
    if flag("QUICK") and flag("LONG"):
        die("QUICK=1 and LONG=1 at once; accepted: one of them, or neither")
    return "quick" if flag("QUICK") else "long" if flag("LONG") else "usual"


def measure(name):
    """A benchmark fills a Result and prints its tables."""
    ensure_packages("source", "build", "boot")
    result = Result(name, size())
    module = BENCHMARKS[name].module
    module.measure(result, module.LOADS[size()])
    path = result.save()
    print("\n  figures")
    for figure, value in result.data["figures"].items():
        print(f"    {figure}: {value:g}")
    print(f"  written: {path.relative_to(ROOT)}")


def bench(name):
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


def every():
    """make bench: one that fails is named at the end and stops no other."""
    failed = []
    for number, name in enumerate(BENCHMARKS):
        left = sum(map(seconds, list(BENCHMARKS)[number:]))
        print(
            f"\n== bench-{name}, {number + 1} of {len(BENCHMARKS)}, about "
            f"{duration(seconds(name))} of {duration(left)} left, and its "
            "builds"
        )
        try:
            measure(name)
        except (vm.GuestError, Failure) as error:
            print(f"bench-{name}: {error}", file=sys.stderr)
            failed.append(name)
    print(
        f"\n{len(BENCHMARKS) - len(failed)} benchmarks done"
        + (f", {len(failed)} failed: {', '.join(failed)}" if failed else "")
    )
    return bool(failed)


def seconds(name):
    """As long as the last time on this machine, or on ours."""
    last = newest(name, size=size())
    return last["seconds"] if last else getattr(BENCHMARKS[name], size())


def duration(value):
    if value < 100:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def compare():
    """make bench-compare: what two runs on this machine have in common."""
    pairs = {name: kept(name, size=size())[-2:] for name in BENCHMARKS}
    pairs = {name: pair for name, pair in pairs.items() if len(pair) == 2}
    if not pairs:
        die(
            "there are no two results of one benchmark; run `make bench` "
            "twice, and say QUICK=1 or LONG=1 here if it was said there"
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


def differences(name, before, after):
    """A row of the table, and what should be the same and is not."""
    count = {"equal": 0, "near": 0, "noisy": 0}
    worst, bad = 0.0, []
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


def compared(figure, values, benchmark):
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


def apart(one, other):
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
