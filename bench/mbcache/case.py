# SPDX-License-Identifier: GPL-2.0
"""Time of lookups in the cache of extended attributes."""

import re
import statistics

from bench.lib import usermode
from bench.lib.benchmark import NOISY, Benchmark, Figure
from bench.lib.rounds import run_turns, same_again
from common import die
from guest import uml

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
    kernels = usermode.kernels(result, "mbcache", [CACHE], [CACHE])
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


def figures(result):
    for op in OPS:
        for cache, mark in zip(CACHES, ("", "_cold")):
            case = {"op": op, "cache": cache}
            base = times(result, "base", entries=FULL, **case)
            noise = same_again(base)
            for side in list(SIDES)[1:]:
                ours = times(result, side, entries=FULL, **case)
                name = f"{op}_ratio{mark}{side.removeprefix('ours')}"
                compare(result, name, base, ours, noise)
            base, ours = (times(result, side, entries=SMALL, **case) for side in ("base", "ours"))
            compare(result, f"{op}_ratio_small{mark}", base, ours, same_again(base))
            result.figure(f"aa_{op}{mark}", noise)


def compare(result, name, base, ours, noise):
    """Each side by the median of its rounds."""
    medians = [statistics.median(one) for one in (base, ours)]
    result.compare(name, *medians, again=noise * medians[0])


def times(result, side, **wanted):
    """A time from each round; empty if the cap is below this number of entries."""
    return [
        case["ns"]
        for one in result.runs("mbcache", side=side)
        for case in one["cases"]
        if all(case[name] == value for name, value in wanted.items())
    ]
