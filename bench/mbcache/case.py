# SPDX-License-Identifier: GPL-2.0
"""Time of lookups in the cache of extended attributes."""

import re
import statistics

from bench.lib import usermode
from bench.lib.benchmark import NOISY, Benchmark, Figure
from bench.lib.record import table
from bench.lib.rounds import run_turns, same_again
from bench.lib.sides import note_kernels
from common import die
from guest import uml
from kernel import variants
from series import compose

# ext2 selects the cache; nothing is mounted.
CACHE = "CONFIG_BLOCK=y\nCONFIG_EXT2_FS=y\nCONFIG_EXT2_FS_XATTR=y\n"
OLD_SIZE = ("hash_entries=mbcache:1024", "mbcache.max_entries=16384")
# {side: (kernel, MiB of memory, words for its command line, buckets)}
SIDES = {
    "base": ("base", 1024, (), 1024),
    "ours": ("patched", 1024, (), 16384),
    "ours_old_size": ("patched", 1024, OLD_SIZE, 1024),
    "ours_512m": ("patched", 512, (), 8192),
    "ours_2g": ("patched", 2048, (), 32768),
}
OPS = ("hit", "miss", "create_delete")
CACHES = ("hot", "cold")
SMALL, FULL = 1000, 16384  # entries; the base's cache holds no more than FULL
LIMIT = 300
# Rounds, and samples of an operation out of cache.
LOADS = {"quick": (2, 10), "usual": (3, 30), "long": (11, 100)}

RESULT = re.compile(
    r"^mbcache_bench: op (\w+) cache (\w+) entries (\d+) buckets (\d+) "
    r"min_ps (\d+) median_ps (\d+)$",
    re.M,
)
BENCH = Benchmark(
    seconds=(20, 40, 600),
    loads=LOADS,
    figures=(Figure("*", "ratio", NOISY),),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    kernels = note_kernels(result, build_all())
    rounds, samples = load
    evicted = 4 * uml.cache_mb()
    settings = [f"mbcache_bench.samples={samples}", f"mbcache_bench.evict_mb={evicted}"]
    turns = [(number, side) for number in range(rounds) for side in SIDES]
    run_turns(
        "time the cache of extended attributes",
        turns,
        lambda number, side: one_run(result, kernels, side, settings, number),
    )
    result.machine(
        evicted_mb=evicted, huge_pages=all(one["huge_pages"] for one in result.runs("mbcache"))
    )
    figures(result)
    tables(result)


def build_all():
    """{kernel: build}"""
    base, ours = variants.base_commit(), compose.compose()
    return {
        name: uml.kernel("mbcache", f"mbcache-{name}", commit, fragments=[config])
        for name, commit, config in (("base", base, CACHE), ("patched", ours, CACHE))
    }


def one_run(result, kernels, side, settings, number):
    """Run one kernel, which times all cases and ends."""
    name, mem, words, buckets = SIDES[side]
    output = usermode.run(result, side, kernels[name], mem, [*settings, *words], LIMIT)
    result.run(
        "mbcache",
        side=side,
        round=number,
        huge_pages=uml.HUGE in output,
        cases=parse(output, buckets),
    )


def parse(output, buckets):
    """The cases that one kernel timed."""
    usermode.check_end("mbcache_bench", output)
    found = []
    for op, cache, *numbers in RESULT.findall(output):
        entries, had, least, median = map(int, numbers)
        if had != buckets:
            die(f"the cache has {had} buckets, not {buckets}")
        # Out of cache a sample is one key, whose place in its chain varies.
        time = least if cache == "hot" else median
        found.append({"op": op, "cache": cache, "entries": entries, "ns": time / 1000})
    full = {(one["op"], one["cache"]) for one in found if one["entries"] == FULL}
    if len(full) != len(OPS) * len(CACHES):
        die(f"a cache with {FULL} entries was not timed")
    return found


def times(result, side, op, cache, entries):
    """A time from each round; empty if the cap is below this number of entries."""
    return [
        case["ns"]
        for one in result.runs("mbcache")
        if one["side"] == side
        for case in one["cases"]
        if (case["op"], case["cache"], case["entries"]) == (op, cache, entries)
    ]


def ratio(result, side, *case):
    """A side divided by the base, each by the median of its rounds."""
    return statistics.median(times(result, side, *case)) / statistics.median(
        times(result, "base", *case)
    )


def figures(result):
    for op in OPS:
        for cache, mark in zip(CACHES, ("", "_cold")):
            for side in list(SIDES)[1:]:
                name = f"{op}_ratio{mark}{side.removeprefix('ours')}"
                result.figure(name, ratio(result, side, op, cache, FULL))
            result.figure(f"{op}_ratio_small{mark}", ratio(result, "ours", op, cache, SMALL))
            result.figure(f"aa_{op}{mark}", same_again(times(result, "base", op, cache, FULL)))


def tables(result):
    sizes = sorted({case["entries"] for one in result.runs("mbcache") for case in one["cases"]})
    print("\n  ns an operation, median of the rounds; behind it to the base")
    table(
        [row(result, op, cache, entries) for op in OPS for cache in CACHES for entries in sizes],
        ("operation, cache, entries", *(side.replace("ours", "series") for side in SIDES)),
    )


def row(result, *case):
    cells = []
    base = times(result, "base", *case)
    for side in SIDES:
        ours = times(result, side, *case)
        cell = f"{statistics.median(ours):.1f}" if ours else "-"
        if ours and base and side != "base":
            cell += f" ({ratio(result, side, *case):.3f})"
        cells.append(cell)
    return (" ".join(map(str, case)), *cells)
