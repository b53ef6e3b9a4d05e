# SPDX-License-Identifier: GPL-2.0
"""Size of the dentry table, and how eagerly the dentry cache is shrunk."""

import re
import statistics
from fractions import Fraction
from typing import NamedTuple

from bench.lib import record, usermode
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.rounds import alternate, run_turns
from common import die
from guest import uml
from series import compose

# Of the default.  "again" is the default once more; its difference is noise.
SIZES = {
    "1_64": Fraction(1, 64),
    "1_16": Fraction(1, 16),
    "1_4": Fraction(1, 4),
    "1": Fraction(1),
    "4": Fraction(4),
    "again": Fraction(1),
}
DEFAULT = "1"
MEMORY = 4096  # MiB
BUCKET_BYTES = 8
SETS = ("small", "among", "large")
OPS = ("hit", "miss", "path")
CACHES = ("hot", "shared", "cold")
LIMIT = 600
TIE = 1.05

PRESSURES = (100, 200, 1000)
PRESSURE_SIZES = ("1_64", "1", "4")
PRESSURE_MEMORY = 256


class Load(NamedTuple):
    rounds: int
    samples: int  # of each case, while there is time
    budget_ms: int
    large: int  # names of the large set
    steps: int  # of the load under pressure


LOADS = {
    "quick": Load(3, 40, 60, 250_000, 500_000),
    "usual": Load(5, 100, 200, 250_000, 500_000),
    "long": Load(9, 100, 500, 250_000, 2_000_000),
}

CASE = re.compile(
    r"^dentry_bench: set (\w+) op (\w+) cache (\w+) names (\d+) hot (\d+) "
    r"min_ps (\d+) median_ps (\d+) millinodes (\d+)$",
    re.M,
)
PRESSURE = re.compile(
    r"^dentry_bench: pressure (\d+) lookups (\d+) hits (\d+) millinodes (\d+) "
    r"median_ps (\d+) names (\d+) made (\d+) pages (\d+) step_ps (\d+)$",
    re.M,
)
BUCKETS = re.compile(r"^dentry_bench: buckets (\d+)$", re.M)

BENCH = Benchmark(
    seconds=(60, 230, 1200),
    loads=LOADS,
    figures=(
        Figure("nodes_*", "nodes", EXACT),
        Figure("ns_default_*", "ns", NOISY),
        Figure("ns_lookup_*", "ns", NOISY),
        Figure("*_names_*", "names", NOISY),
        Figure("*_pages_*", "pages", NOISY),
        Figure("pressure_nodes_*", "nodes", NOISY),
        Figure("*_ratio_*", "ratio", NOISY),
        Figure("pressure_lookup_ns_*", "ns", NOISY),
        Figure("best_size_*", "share of the default", NOISY),
        Figure("*", "ratio", NOISY),
    ),
    base="6.12",
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    kernel = uml.kernel("dentry", "dentry-patched", compose.compose())
    result.kernel(kernel)
    time_sizes(result, kernel, load)
    press(result, kernel, load)
    figures(result)
    draw(result)


def entries(size, default):
    """Words for the command line; none for the default size."""
    if size in (DEFAULT, "again"):
        return []
    return [f"hash_entries=dentry:{int(SIZES[size] * default)}"]


def default_buckets(mem):
    """A bucket for 8 KiB of memory."""
    return mem << 7


# Sizes.


def time_sizes(result, kernel, load):
    evicted = 2 * max(uml.cache_mb(), uml.cache_mb(3))
    settings = [
        f"dentry_bench.samples={load.samples}",
        f"dentry_bench.budget_ms={load.budget_ms}",
        f"dentry_bench.large={load.large}",
        f"dentry_bench.evict_mb={evicted}",
    ]
    turns = list(alternate(load.rounds, list(SIZES)))

    def one_kernel(number, size):
        append = [*settings, *entries(size, default_buckets(MEMORY))]
        output = usermode.run(result, f"size-{size}", kernel, MEMORY, append, LIMIT)
        result.run(
            "size",
            size=size,
            round=number,
            huge_pages=uml.HUGE in output,
            **parse_sizes(output, size),
        )

    run_turns("time lookups of names by the size of the table", turns, one_kernel)
    result.machine(
        evicted_mb=evicted,
        default_buckets=default_buckets(MEMORY),
        uml_memory_mb=MEMORY,
        huge_pages=all(one["huge_pages"] for one in result.runs("size")),
    )


def buckets_of(output, size, mem):
    found = [int(count) for count in BUCKETS.findall(output)]
    wanted = int(SIZES[size] * default_buckets(mem))
    if found != [wanted]:
        die(
            f"{size} times the default is {wanted} buckets of the table "
            f"`dentry`; the kernel has {found[0] if found else 'not said'}"
        )
    return wanted


def parse_sizes(output, size):
    """The cases that one kernel timed."""
    usermode.check_end("dentry_bench", output)
    found = [
        {
            "set": set_,
            "op": op,
            "cache": cache,
            "names": int(names),
            "hot": int(hot),
            "min_ns": int(least) / 1000,
            "median_ns": int(median) / 1000,
            "nodes": int(nodes) / 1000,
        }
        for set_, op, cache, names, hot, least, median, nodes in CASE.findall(output)
    ]
    names = [(one["set"], one["op"], one["cache"]) for one in found]
    wanted = [(set_, op, cache) for set_ in SETS for op in OPS for cache in CACHES]
    if names != wanted:
        die(f"the kernel timed {len(names)} cases of {len(wanted)}, or others than these")
    buckets = buckets_of(output, size, MEMORY)
    return {"buckets": buckets, "bytes": buckets * BUCKET_BYTES, "cases": found}


def cases_of(result, size, set_, op, cache):
    return [
        case
        for one in result.runs("size")
        if one["size"] == size
        for case in one["cases"]
        if (case["set"], case["op"], case["cache"]) == (set_, op, cache)
    ]


def nanoseconds(result, size, set_, op, cache):
    """Minimum of the rounds; the median if each sample has other names."""
    varied = cache == "cold" or set_ == "large"
    what = "median_ns" if varied else "min_ns"
    found = [case[what] for case in cases_of(result, size, set_, op, cache)]
    return statistics.median(found) if varied else min(found)


def nodes(result, size, set_, op):
    return cases_of(result, size, set_, op, "hot")[0]["nodes"]


def ratio(result, size, *case):
    return nanoseconds(result, size, *case) / nanoseconds(result, DEFAULT, *case)


def best(result, *case):
    """The smallest size that is as fast as the fastest, within noise."""
    times = {size: nanoseconds(result, size, *case) for size in SIZES if size != "again"}
    return next(size for size, time in times.items() if time <= TIE * min(times.values()))


# The load.


def press(result, kernel, load):
    def one_kernel(number, case):
        pressure, size = case
        append = [
            f"dentry_bench.pressure={pressure}",
            f"dentry_bench.steps={load.steps}",
            *entries(size, default_buckets(PRESSURE_MEMORY)),
        ]
        output = usermode.run(
            result, f"pressure-{pressure}-{size}", kernel, PRESSURE_MEMORY, append, LIMIT
        )
        result.run(
            "pressure",
            pressure=pressure,
            size=size,
            round=number,
            **parse_pressure(output, pressure, size),
        )

    cases = [(pressure, size) for size in PRESSURE_SIZES for pressure in PRESSURES]
    run_turns("use names while memory is short", list(alternate(load.rounds, cases)), one_kernel)


def parse_pressure(output, pressure, size):
    """What one kernel counted in the second half of its load."""
    usermode.check_end("dentry_bench", output)
    found = [tuple(map(int, numbers)) for numbers in PRESSURE.findall(output)]
    if len(found) != 1 or found[0][0] != pressure:
        die(
            f"the kernel reported {len(found)} loads, expected one with "
            f"vfs_cache_pressure {pressure}"
        )
    _, lookups, hits, millinodes, median, names, made, pages, step_ps = found[0]
    if not lookups or hits > lookups:
        die(f"the kernel counted {hits} hits of {lookups} lookups")
    return {
        "buckets": buckets_of(output, size, PRESSURE_MEMORY),
        "lookups": lookups,
        "hits": hits,
        "hit_rate": hits / lookups,
        "nodes": millinodes / 1000,
        "lookup_ns": median / 1000,
        "names": names,
        "made": made,
        "pages": pages,
        "step_ns": step_ps / 1000,
    }


def pressed(result, pressure, size, what):
    """Median of the rounds."""
    return statistics.median(
        one[what]
        for one in result.runs("pressure")
        if (one["pressure"], one["size"]) == (pressure, size)
    )


# Figures.


def figures(result):
    for set_ in SETS:
        for size in SIZES:
            if size != DEFAULT:
                size_figures(result, size, set_)
        for cache in CACHES:
            name = f"best_size_{set_}" + ("" if cache == "hot" else f"_{cache}")
            result.figure(name, float(SIZES[best(result, set_, "hit", cache)]))
        result.figure(f"ns_default_{set_}", nanoseconds(result, DEFAULT, set_, "hit", "hot"))
        for size, mark in (DEFAULT, ""), ("1_16", "1_16_"):
            name = f"ns_lookup_{mark}{set_}"
            result.figure(name, nanoseconds(result, size, set_, "hit", "hot"))
    pressure_figures(result)


def size_figures(result, size, set_):
    for op in OPS:
        for cache in CACHES:
            words = [size, set_] + [word for word in (op, cache) if word not in ("hit", "hot")]
            result.figure(
                "aa_ns_" + "_".join(words[1:]) if size == "again" else "ns_" + "_".join(words),
                ratio(result, size, set_, op, cache),
            )
    if size != "again":
        result.figure(f"nodes_{size}_{set_}", nodes(result, size, set_, "hit"))


def pressure_figures(result):
    for size in PRESSURE_SIZES:
        mark = "" if size == DEFAULT else f"_{size}"
        for pressure in PRESSURES:
            for what in ("hit_rate", "nodes", "lookup_ns", "names", "pages"):
                result.figure(
                    f"pressure_{what}_{pressure}{mark}", pressed(result, pressure, size, what)
                )
            for what in ("lookup_ns", "step_ns"):
                result.figure(
                    f"pressure_{what}_ratio_{pressure}{mark}",
                    pressed(result, pressure, size, what)
                    / pressed(result, PRESSURES[0], size, what),
                )


def draw(result):
    bytes_of = {one["size"]: one["bytes"] for one in result.runs("size")}
    titles = ("nothing but lookups", "other memory is read in between", "out of all caches")
    record.draw(
        "dentry",
        x=f"KiB of the dentry table; default: {bytes_of[DEFAULT] >> 10}",
        y="ns a lookup",
        logarithms=(2, 10),
        columns=len(CACHES),
        panels={
            title: {
                f"{set_} set, {op}": [
                    (bytes_of[size] / 1024, nanoseconds(result, size, set_, op, cache))
                    for size in SIZES
                    if size != "again"
                ]
                for set_ in SETS
                for op in OPS[:2]
            }
            for cache, title in zip(CACHES, titles)
        },
    )
