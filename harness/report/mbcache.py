# SPDX-License-Identifier: GPL-2.0
"""The mail of 2015 on the rewrite of mbcache, answered."""

import functools
import statistics
from pathlib import Path

from bench.cases import mbcache as bench_mbcache
from bench.cases import xattr as bench_xattr
from report.losses import group, noise
from report.page import EQUAL, OPEN, PART, Section, Table

TITLE = "ext4: mbcache rewrite (J. Kara, 2015)"

# The mail's own table: a block for each V, a line for each F, a word for each P.
SEED = Path(__file__).with_name("mbcache-2015.txt")
# What a word of it has; "referenced" is what was merged, and what 6.12 has.
VARIANTS = ("old", "list", "list_lru", "referenced", "disabled")
MOST = 3  # object files in the sentence
ENDS = 8  # rows at each end of a table
FEW = 0.005  # instructions that the series must save before mbcache's part is told


@functools.cache
def seed():
    """{(V, F, P): seconds of each variant}; where the machine died there are fewer."""
    found, values, processes = {}, 0, []
    for line in SEED.read_text().splitlines():
        if line.startswith("V="):
            values = int(line[2:])
        elif line.startswith("F"):
            processes = [int(word) for word in line.split()[1:]]
        elif line:
            files, *cells = line.split()
            for number, cell in zip(processes, cells):
                times = [None if one == "N/A" else float(one) for one in cell.split(",")]
                found[values, int(files), number] = dict(zip(VARIANTS, times))
    return found


def sections(results):
    return [whole_table(results), disabled(results), beyond(results), alone(results), variants()]


def where(system, cell):
    return dict(zip(("values", "files", "processes"), cell)) | {"system": system}


def ran(result):
    """The cells of the mail's table that were run."""
    return [cell for cell in seed() if result.runs("count", kernel="ours", **where("ext4", cell))]


def seconds(result, kernel, system, cell):
    found = result.runs("seconds", kernel=kernel, **where(system, cell))
    return statistics.median(one["seconds"] for one in found) if found else None


def counts(result, system, cell, what):
    """Instructions of mainline, the mean of its runs, and of the series."""
    (ours,) = result.runs("count", kernel="ours", **where(system, cell))
    below = [
        run[what]
        for name in ("base", "again")
        for run in result.runs("count", kernel=name, **where(system, cell))
    ]
    return statistics.fmean(below), ours[what]


def shown(number):
    return "-" if number is None else f"{number:.3f}"


def row(result, cell):
    cells = [*cell, *(shown(seed()[cell][name]) for name in VARIANTS)]
    for system in bench_xattr.SYSTEMS:
        base, ours = counts(result, system, cell, "insns")
        cells += [shown(seconds(result, name, system, cell)) for name in ("base", "ours")]
        cells.append(f"{ours / base:.3f}")
    return cells


def cache_shares(result):
    """Of the instructions saved in a cell, those of mbcache itself; below 0 it takes more."""
    for cell in ran(result):
        for system in bench_xattr.SYSTEMS:
            base, ours = counts(result, system, cell, "insns")
            if base - ours > FEW * base:
                own_base, own = counts(result, system, cell, "mbcache_insns")
                yield (own_base - own) / (base - ours)


def cache_part(result):
    """What mbcache executes of a cell's instructions in the series, at most."""
    return max(
        counts(result, system, cell, "mbcache_insns")[1] / counts(result, system, cell, "insns")[1]
        for cell in ran(result)
        for system in bench_xattr.SYSTEMS
    )


def whole_table(results):
    result = results.get("xattr")
    there = ran(result)
    insns = group(results, "xattr", "instructions")
    saved = [1 - cell.ratio for cell in insns.cells if 1 - cell.ratio > FEW]
    run = result.runs("seconds")[0]
    rounds = len({one["round"] for one in result.runs("seconds")})
    found = slower(results)
    ratios = [cell.ratio for cell in found.cells]
    answer = (
        f"Seconds do not decide: in {rounds} round{'s' * (rounds > 1)} a cell takes "
        f"{min(ratios):.2f} to {max(ratios):.2f} times mainline's, the median {found.ratio:.3f}, "
        f"and {len(found.above)} of {len(ratios)} cells take longer. "
    )
    if saved:
        shares = list(cache_shares(result))
        answer += (
            f"By instructions {len(saved)} of {len(insns.cells)} cells take {min(saved):.1%} to "
            f"{max(saved):.1%} less. This is not mbcache: it takes more itself in "
            f"{sum(one < 0 for one in shares)} of these cells, and gives at most "
            f"{max(shares):.0%} of what the others save. {savings(result)}"
        )
    return Section(
        "The table of V, F and P",
        "Is setting attributes out of a pool of V values faster with a cache that follows memory?",
        PART,
        f"{results.command('xattr')}, on ext4 and ext2: {len(there)} of the mail's {len(seed())} "
        f"cells, {run['sets']:,} sets of each process for the mail's 50,000, two emulated "
        f"processors for the mail's 24, {rounds} round{'s' * (rounds > 1)} of seconds for the "
        "mail's 5. Instructions are counted on one processor. The other cells were not run "
        "(``make bench-xattr LONG=1``).",
        answer,
        f"instructions {noise(results, 'xattr', 'instructions')}, seconds "
        f"{noise(results, 'xattr', 'seconds')}",
        [
            Table(
                "2015: seconds of the five variants of the mail. Today: seconds, and instructions "
                "of the series divided by mainline's.",
                (
                    "V",
                    "F",
                    "P",
                    *VARIANTS,
                    *(
                        f"{system}{what}"
                        for system in bench_xattr.SYSTEMS
                        for what in (" mainline", " series", " insns")
                    ),
                ),
                [row(result, cell) for cell in there],
            ),
            *difference_tables(result),
        ],
        [*seconds_lost(results), *own_lost(results)],
    )


def savings(result):
    """The object files whose code saves most, and the one that takes most back."""
    sentences = []
    for one in result.runs("differences"):
        saved = bench_xattr.saving(one["insns"])
        if saved <= 0:
            continue
        most = sorted(one["objects"].items(), key=lambda item: -bench_xattr.saving(item[1]))
        of_these = [
            f"{bench_xattr.saving(insns) / saved:.0%} in {name}" for name, insns in most[:MOST]
        ]
        grown, insns = most[-1]
        lost = -bench_xattr.saving(insns) / saved
        sentences.append(
            f"On {one['system']} all cells together save {saved / one['insns'][0]:.1%} of their "
            f"instructions: {', '.join(of_these)} of this"
            + (f"; {lost:.0%} are lost in {grown}" if lost > 0 else "")
            + "."
        )
    return " ".join(sentences) or "Where the rest comes from is not known."


def difference_tables(result):
    """The object files, and the functions, that save most and that grow most."""
    runs = result.runs("differences")
    for what, title in (("objects", "object files"), ("functions", "functions")) if runs else ():
        found = {(one["system"], name): insns for one in runs for name, insns in one[what].items()}
        names = sorted(found, key=lambda name: -bench_xattr.saving(found[name]))
        yield Table(
            f"The {ENDS} {title} that save most and the {ENDS} that grow most: thousands of "
            "instructions of all cells of a file system. The code of one function can be compiled "
            "into another.",
            (title[:-1], "mainline", "mainline again", "series", "saved"),
            [
                (
                    f"{', '.join(name)}",
                    *(
                        f"{insns / 1000:.0f}"
                        for insns in (base, again, ours, bench_xattr.saving(found[name]))
                    ),
                )
                for name in dict.fromkeys(names[:ENDS] + names[-ENDS:])
                for base, ours, again in [found[name]]
            ],
        )


def own_lost(results):
    """The code of mbcache itself."""
    found = group(results, "xattr", "instructions of mbcache")
    if not found.lost:
        return []
    return [
        f"The code of mbcache takes more instructions than mainline's in {len(found.lost)} of "
        f"{len(found.cells)} cells: the median is {found.ratio:.2f} times, the worst "
        f"{found.worst.ratio:.2f}. It executes at most {cache_part(results.get('xattr')):.1%} of a "
        "cell's instructions."
    ]


def slower(results):
    return group(results, "xattr", "seconds")


def seconds_lost(results):
    found = slower(results)
    if found.ratio <= 1:
        return []
    worst = {
        system: max(cell.ratio for cell in found.cells if cell.name.startswith(system))
        for system in bench_xattr.SYSTEMS
    }
    return [
        f"Setting attributes takes longer in {len(found.above)} of {len(found.cells)} cells of "
        f"the mail's table: the median is {found.ratio:.3f} times mainline's seconds, the worst "
        + " and ".join(f"{ratio:.2f} on {system}" for system, ratio in worst.items())
        + "."
    ]


def disabled(results):
    """The mail: a disabled cache is up to about twice as fast."""
    result = results.get("xattr")
    least, most = (
        end(one["referenced"] / one["disabled"] for one in seed().values()) for end in (min, max)
    )
    section = Section(
        "The disabled cache",
        "What would a load gain that disables the cache? (About twice the speed, the mail says.)",
        OPEN,
        "``make bench-xattr`` mounts ext4 with nombcache as one more kernel; the stored results "
        "are older.",
        "Not run. In the mail's table the rewrite takes "
        f"{least:.2f} to {most:.2f} times the seconds of the disabled cache; below 1 the cache "
        "gains.",
    )
    both = {
        cell: (*(seconds(result, kernel, "ext4", cell) for kernel in ("base", "ours")), off)
        for cell in ran(result)
        if (off := seconds(result, "disabled", "ext4", cell))
    }
    if not both:
        return section
    ratios = [base / off for base, _, off in both.values()]
    of_series = [ours / off for _, ours, off in both.values()]
    section.kind = PART
    section.run = (
        f"{results.command('xattr')}: ext4 with nombcache in mainline, and with the cache in both."
    )
    section.answer = (
        f"Mainline takes {min(ratios):.2f} to {max(ratios):.2f} times the seconds of the disabled "
        f"cache, the median {statistics.median(ratios):.2f}, and the series "
        f"{min(of_series):.2f} to {max(of_series):.2f} times, the median "
        f"{statistics.median(of_series):.2f}. The mail's rewrite takes {least:.2f} to {most:.2f} "
        "times."
    )
    section.noise = noise(results, "xattr", "seconds")
    section.blocks = [
        Table(
            "Seconds on ext4.",
            ("V", "F", "P", "mainline", "series", "disabled"),
            [(*cell, *map(shown, times)) for cell, times in both.items()],
        ),
    ]
    return section


def variants():
    return Section(
        "Other caches of the mail",
        "Are a list, list_lru or rhashtable better?",
        OPEN,
        "The mail's list and list_lru variants were never merged. The mail rejects rhashtable, "
        "which took no duplicate keys then; rhltable takes them since 4.9.",
        "Not run. The first table of this document quotes the mail's seconds.",
    )


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
    return Section(
        "Beyond the table: more values than the cache may hold",
        "What does mainline's cap of 16384 entries cost with more files than the mail's 1000?",
        EQUAL,
        f"{results.command('xattr')}: {one['files']:,} files with values out of {one['values']:,}.",
        beyond_answer(results),
        noise(results, "xattr", "instructions beyond the cap"),
        [
            Table(
                "Each file set once.",
                ("file system, kernel", "instructions a set", "of mbcache", "blocks"),
                rows,
            )
        ],
    )


def beyond_answer(results):
    ext4, ext2, blocks = (
        results.figure("xattr", f"{name}_ratio_beyond_cap{end}")
        for name, end in (("insn", "_ext4"), ("insn", "_ext2"), ("disk", ""))
    )
    one = results.get("xattr").runs("beyond")[0]
    return (
        f"With {one['files']:,} files and {one['values']:,} values, more than mainline's cache may "
        f"hold, the series takes {ext4:.2f} of mainline's instructions on ext4 and {ext2:.2f} on "
        f"ext2, and {blocks:.2f} of its blocks on the disk: it shares blocks again."
    )


def called(kernel):
    return {
        "base": "mainline",
        "ours": "series",
        "again": "mainline again",
        "buckets": "series, cap of mainline",
        "entries": "series, buckets of mainline",
    }.get(kernel, kernel)


def alone(results):
    result = results.get("mbcache")
    full, same, cold, cold_same = (
        [
            bench_mbcache.ratio(result, side, op, cache, bench_mbcache.FULL)
            for op in bench_mbcache.OPS
        ]
        for cache in ("hot", "cold")
        for side in ("ours", "ours_old_size")
    )
    rows = [
        alone_row(result, op, cache) for op in bench_mbcache.OPS for cache in bench_mbcache.CACHES
    ]
    return Section(
        "Beyond the table: the cache alone",
        "What does one operation of the cache take, without a file system?",
        EQUAL,
        f"{results.command('mbcache')}: user-mode Linux, 16384 entries.",
        f"With the buckets of 1 GiB an operation in the CPU's cache takes {min(full):.2f} to "
        f"{max(full):.2f} of mainline's time; with mainline's 1024 buckets {min(same):.2f} to "
        f"{max(same):.2f}. Out of the CPU's caches it takes {min(cold):.2f} to {max(cold):.2f}, "
        f"with 1024 buckets {min(cold_same):.2f} to {max(cold_same):.2f}.",
        f"hot {hot_noise(result):.0%}, cold {noise(results, 'mbcache', 'ns')}",
        [
            Table(
                "ns of mainline; the series divided by it, with the buckets of mainline and those "
                "of machines of three sizes; the same with few entries; odd rounds of mainline "
                "divided by even ones.",
                (
                    "operation, caches",
                    "mainline",
                    "1024 buckets",
                    "512 MiB",
                    "1 GiB",
                    "2 GiB",
                    "few entries",
                    "itself",
                ),
                rows,
            )
        ],
        alone_lost(result),
    )


def hot_noise(result):
    """How much mainline's rounds differ, of the operations in the CPU's cache."""
    found = [
        bench_mbcache.times(result, "base", op, "hot", bench_mbcache.FULL)
        for op in bench_mbcache.OPS
    ]
    return max(max(one) / min(one) for one in found) - 1


def alone_lost(result):
    few = {op: result.data["figures"][f"{op}_ratio_small"] for op in bench_mbcache.OPS}
    worst = max(few, key=few.__getitem__)
    if few[worst] <= 1.05:
        return []
    return [
        f"With {bench_mbcache.SMALL} entries a {worst.replace('_', ' and ')} "
        f"takes {few[worst]:.2f} times mainline's: a larger table leaves the inner caches sooner."
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
