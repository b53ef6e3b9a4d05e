# SPDX-License-Identifier: GPL-2.0
"""The mail of 2015 on the rewrite of mbcache, answered."""

import statistics

from bench.cases import mbcache as bench_mbcache
from bench.cases import xattr as bench_xattr
from report.page import AGAIN, EQUAL, OPEN, Section, Table

TITLE = "ext4: mbcache rewrite (J. Kara, 2015)"

# {V: {F: {P: (seconds of the old mbcache, of the rewrite)}}}, the columns that
# are run here; the rewrite is what 6.12 has.
PROCESSES = (1, 2, 4, 8)
SEED = {
    10: {
        10: ((0.158, 0.155), (0.208, 0.229), (0.500, 0.305), (0.798, 0.384)),
        100: ((0.172, 0.135), (0.279, 0.222), (0.520, 0.273), (0.825, 0.333)),
        1000: ((0.185, 0.153), (0.297, 0.227), (0.445, 0.272), (0.767, 0.324)),
    },
    100: {
        10: ((0.162, 0.126), (0.200, 0.165), (0.362, 0.208), (0.671, 0.379)),
        100: ((0.153, 0.130), (0.221, 0.217), (0.404, 0.270), (0.945, 0.322)),
        1000: ((0.215, 0.212), (0.303, 0.246), (0.471, 0.300), (0.960, 0.347)),
    },
    1000: {
        10: ((0.151, 0.160), (0.210, 0.193), (0.326, 0.204), (0.685, 0.365)),
        100: ((0.154, 0.159), (0.211, 0.191), (0.276, 0.228), (0.687, 0.400)),
        1000: ((0.145, 0.175), (0.202, 0.220), (0.449, 0.276), (0.899, 0.318)),
    },
    10_000: {
        10: ((0.161, 0.158), (0.198, 0.190), (0.296, 0.229), (0.662, 0.368)),
        100: ((0.176, 0.155), (0.236, 0.202), (0.326, 0.241), (0.711, 0.387)),
        1000: ((0.199, 0.183), (0.240, 0.225), (1.159, 1.036), (2.286, 2.019)),
    },
    100_000: {
        10: ((0.171, 0.163), (0.204, 0.192), (0.285, 0.218), (0.692, 0.367)),
        100: ((0.151, 0.171), (0.220, 0.201), (0.295, 0.242), (0.720, 0.387)),
        1000: ((0.192, 0.184), (0.249, 0.218), (1.162, 1.024), (2.257, 2.004)),
    },
}


def sections(results):
    return [*(values_table(results, values) for values in SEED), beyond(results), alone(results)]


def values_table(results, values):
    result = results.get("xattr")
    rows, ratios = [], []
    for files, by_processes in SEED[values].items():
        for processes, (old, new) in zip(PROCESSES, by_processes):
            row, ratio = cell_row(result, files, processes, values)
            if row:
                ratios += ratio
                rows.append((files, processes, f"{old:.3f}", f"{new:.3f}", *row))
    section = Section(
        f"Table V={values}",
        "Is setting attributes out of a pool of "
        f"{values} values faster with a cache that follows memory?",
        AGAIN,
        f"{results.command('xattr')}, on ext4 and ext2; the old mbcache is "
        "gone, so its seconds stand for comparison only.",
        "",
    )
    if not rows:
        section.kind = OPEN
        section.answer = "``make bench-xattr`` has all five values, with ``QUICK=1`` it has not."
        return section
    section.answer = (
        f"It takes {min(ratios):.3f} to {max(ratios):.3f} of the instructions "
        "of 6.12: the number of files bounds the entries below the cap."
    )
    section.blocks = [
        Table(
            "Seconds, and instructions of ours divided by those of 6.12.",
            (
                "F",
                "P",
                "2015 old",
                "2015 new",
                "ext4 6.12",
                "ours",
                "insns",
                "ext2 6.12",
                "ours",
                "insns",
            ),
            rows,
        )
    ]
    return section


def cell_row(result, files, processes, values):
    """Cells of both file systems, and their ratios; nothing if not run."""
    row, ratios = [], []
    for system in bench_xattr.SYSTEMS:
        where = {"system": system, "files": files, "processes": processes, "values": values}
        count = result.runs("count", kernel="ours", **where)
        if not count:
            return [], []
        below = [
            run["insns"]
            for name in ("base", "again")
            for run in result.runs("count", kernel=name, **where)
        ]
        ratios.append(count[0]["insns"] / statistics.fmean(below))
        for name in ("base", "ours"):
            seconds = statistics.median(
                one["seconds"] for one in result.runs("seconds", kernel=name, **where)
            )
            row.append(f"{seconds:.3f}")
        row.append(f"{ratios[-1]:.3f}")
    return row, ratios


def beyond(results):
    result = results.get("xattr")
    rows = []
    for one in result.runs("beyond"):
        rows.append(
            (
                f"{one['system']}, {called(one['kernel'])}",
                f"{one['insns'] / one['sets']:.0f}",
                f"{one['mbcache_insns'] / one['sets']:.0f}",
                f"{one['blocks']:.0f}",
            )
        )
    insns, blocks = (
        results.figure("xattr", f"{name}_ratio_beyond_cap") for name in ("insn", "disk")
    )
    return Section(
        "Beyond the table: more values than the cache may hold",
        "What does a fixed cap of 16384 entries cost who has more files than the mail's 1000?",
        EQUAL,
        f"{results.command('xattr')}: {one['files']:,} files with values out of {one['values']:,}.",
        f"Blocks are shared again: {insns:.2f} of the instructions and "
        f"{blocks:.2f} of the blocks on the disk.",
        [
            Table(
                "Each file set once.",
                ("file system, kernel", "instructions a set", "of mbcache", "blocks"),
                rows,
            )
        ],
    )


def called(kernel):
    return {
        "base": "6.12",
        "again": "6.12 again",
        "buckets": "ours, cap of 6.12",
        "entries": "ours, buckets of 6.12",
    }.get(kernel, kernel)


def alone(results):
    result = results.get("mbcache")
    full = [
        bench_mbcache.ratio(result, "ours", op, "hot", bench_mbcache.FULL)
        for op in bench_mbcache.OPS
    ]
    rows = [
        alone_row(result, op, cache) for op in bench_mbcache.OPS for cache in bench_mbcache.CACHES
    ]
    return Section(
        "Beyond the table: the cache alone",
        "What does one operation of the cache take, without a file system?",
        EQUAL,
        f"{results.command('mbcache')}: user-mode Linux, 16384 entries.",
        f"With the buckets of 1 GiB an operation takes {min(full):.2f} to "
        f"{max(full):.2f} of the time of 6.12.",
        [
            Table(
                "ns of 6.12; ours divided by it, with the buckets of 6.12 and "
                "those of machines of three sizes; the same with few entries; "
                "6.12 by itself.",
                (
                    "operation, caches",
                    "6.12",
                    "1024 buckets",
                    "512 MiB",
                    "1 GiB",
                    "2 GiB",
                    "few entries",
                    "again",
                ),
                rows,
            )
        ],
        alone_lost(result),
    )


def alone_lost(result):
    few = {op: result.data["figures"][f"{op}_ratio_small"] for op in bench_mbcache.OPS}
    worst = max(few, key=few.__getitem__)
    if few[worst] <= 1.05:
        return []
    return [
        f"With {bench_mbcache.SMALL} entries a {worst.replace('_', ' and ')} "
        f"takes {few[worst]:.2f} of the time of 6.12: a larger table is "
        "out of the inner caches sooner."
    ]


def alone_row(result, op, cache):
    cold = "_cold" if cache == "cold" else ""
    figures = result.data["figures"]
    base = statistics.median(bench_mbcache.times(result, "base", op, cache, bench_mbcache.FULL))
    return (
        f"{op.replace('_', ' and ')}, {cache}",
        f"{base:.1f}",
        *(
            f"{figures[f'{op}_ratio{end}']:.3f}"
            for end in (f"{cold}_old_size", f"{cold}_512m", cold, f"{cold}_2g", f"_small{cold}")
        ),
        f"{figures[f'aa_{op}{cold}']:.3f}",
    )
