# SPDX-License-Identifier: GPL-2.0
"""The report of 2000 on hash tables of the kernel, answered."""

import statistics

from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from report.page import AGAIN, EQUAL, Picture, Section, Table

TITLE = "Linux kernel hash tables (C. Lever, CITI TR 00-1, 2000)"

# kernel, buckets, scripts an hour with 16, 32, 48, 64 scripts, elapsed.
PAGES = (
    ("reference", 2048, 1864.7, 1800.8, 1739.9, 1644.6, "50:25"),
    ("13-bit", 8192, 1875.8, 1834.0, 1765.5, 1683.3, "49:43"),
    ("14-bit", 16384, 1877.2, 1830.8, 1770.5, 1694.3, "49:35"),
    ("15-bit", 32768, 1875.4, 1832.4, 1770.3, 1691.2, "49:36"),
    ("offset", 16384, 1880.0, 1843.7, 1774.5, 1685.4, "49:40"),
    ("mult", 16384, 1876.4, 1836.8, 1773.7, 1691.7, "49:29"),
    ("rbtree", "-", 1874.9, 1817.0, 1755.3, 1670.8, "50:03"),
)
# Buckets, scripts an hour: average, without the first, maximum; elapsed.
PAGE_SIZES = (
    (2048, 4282.8, 4295.2, 4313.0, "12:57"),
    (8192, 4387.3, 4398.5, 4407.5, "12:40"),
    (32768, 4405.3, 4407.4, 4413.8, "12:49"),
)
BUFFERS = (
    ("reference", 32768, 4282.8, 4295.2, 4313.0, "12:57"),
    ("mult, shift 16", 32768, 4369.3, 4376.4, 4393.2, "12:45"),
    ("mult, shift 11", 32768, 4380.8, 4382.8, 4394.0, "12:50"),
    ("shift-add", 32768, 4388.9, 4397.2, 4415.5, "12:31"),
    ("mult, shift 11", 16384, 4350.5, 4394.6, 4417.2, "12:41"),
    ("mult, shift 17", 16384, 4343.7, 4369.9, 4390.2, "12:46"),
    ("shift-add", 16384, 4390.2, 4399.6, 4408.3, "12:37"),
    ("mult, shift 18", 8192, 4328.9, 4333.7, 4349.6, "12:41"),
    ("shift-add", 8192, 4362.5, 4362.8, 4382.3, "12:45"),
)
# Scripts an hour: average, deviation, maximum; elapsed.
DENTRIES = (
    ("reference", 4282.8, 29.96, 4313.0, "12:57"),
    ("14 bit", 4375.2, 25.92, 4397.4, "12:42"),
    ("mult, shift 11", 4368.7, 62.65, 4406.2, "12:39"),
    ("mult, shift 17", 4375.9, 10.40, 4389.0, "12:40"),
    ("shrink", 4368.7, 33.36, 4390.7, "12:40"),
    ("shrink + mult 11", 4380.4, 13.53, 4396.5, "12:35"),
    ("shrink + mult 17", 4368.5, 16.21, 4383.6, "12:42"),
)
INODES = (
    ("reference", 4282.8, 29.96, "12:57"),
    ("12 bit", 4361.3, 11.15, "12:36"),
    ("mult", 4346.0, 20.87, "12:52"),
    ("14 bit", 4368.3, 20.41, "12:54"),
)
ALL = (
    ("Reference", 4300.7, 15.73, 4321.1, "26:41"),
    ("Kernel A", 4582.9, 12.55, 4592.8, "25:24"),
    ("Kernel B", 4577.9, 16.22, 4602.0, "25:18"),
    ("Kernel C", 4596.2, 22.30, 4619.5, "25:18"),
    ("Kernel D", 4591.3, 10.98, 4608.9, "25:15"),
)
# Histogram -> the keys that rebuild it, and the function there.
HISTOGRAMS = {
    1: ("paper-buffers", "original"),
    2: ("paper-buffers-after", "original"),
    3: ("paper-buffers", "mult-11"),
    4: ("paper-buffers-after", "mult-11"),
    5: ("paper-inodes", "original"),
}
# What a function of today is called; the others are the report's.
TODAY = {
    "slot": "page hash",
    "mainline": "6.12",
    "in-lookup": "6.12, in look-up",
    "pair": "hash_pair()",
    "hash-32": "hash_32()",
    "hash-64": "hash_64()",
    "const-32": "2654435761",
}
# What a rate of scripts may differ by under emulation and say nothing.
SEEN = 0.1
# What each kernel of the multi-user load is called.
SIDES = {
    "base": "6.12",
    "ours": "ours",
    "quarter": "ours, tables at 1/4",
    "four": "ours, tables at 4 times",
    "small": "ours, 1024 names, 256 inodes",
}


def sections(results):
    return [
        pages(results),
        page_sizes(results),
        buffers(results),
        dentries(results),
        inodes(results),
        combined(results),
        *(histogram(results, number) for number in HISTOGRAMS),
        constants(results),
    ]


# The multi-user load.


def rates(result, side, users):
    return [one["rate"] for one in result.runs("rate", kernel=side, users=users)]


def users_of(result):
    return sorted({one["users"] for one in result.runs("rate")})


def sides_of(result):
    return list(dict.fromkeys(one["kernel"] for one in result.runs("rate")))


def load_rows(result):
    """As the paper has them: scripts an hour, deviation, for each N."""
    rows = []
    for side in sides_of(result):
        cells = []
        for users in users_of(result):
            found = rates(result, side, users)
            spread = statistics.stdev(found) if len(found) > 1 else 0
            cells += [
                f"{statistics.fmean(found):.0f}",
                f"{spread:.1f}" if len(found) > 1 else "-",
                f"{max(found):.0f}",
            ]
        elapsed = (
            sum(one["hundredths"] for one in result.runs("rate") if one["kernel"] == side) / 100
        )
        rows.append((SIDES.get(side, f"ours, {side} of 6.12"), *cells, f"{elapsed:.0f} s"))
    return rows


def load_table(result):
    return Table(
        "Today: scripts an hour of N users, deviation, most; all rounds together.",
        (
            "kernel",
            *(f"{what} N={users}" for users in users_of(result) for what in ("mean", "s", "most")),
            "elapsed",
        ),
        load_rows(result),
    )


def table_share(result, users):
    """Of the base kernel's instructions, those of the tables' code."""
    one = result.runs("count", kernel="base", users=users)[0]
    return one["table_insns"] / one["kernel_insns"]


# What functions make of keys.


def function_table(results, kind):
    result = results.get("functions")
    rows = []
    for function in bench_functions.FUNCTIONS[kind]:
        full = bench_functions.full_rows(result, kind, function)
        every = bench_functions.all_rows(result, kind, function)
        (time,) = result.runs("time", key=kind, function=function)
        rows.append(
            (
                called(kind, function),
                f"{bench_functions.worst(full):.3f}",
                f"{bench_functions.worst(full, 'miss'):.3f}",
                f"{bench_functions.worst(every):.3f}",
                max(row["longest"] for row in full),
                f"{time['waits_ns']:.2f}",
            )
        )
    return Table(
        f"Functions on the {kind} keys of a running kernel: nodes that a look-"
        "up examines, found and failed, divided by those of chance, at a load "
        "near 1; worst of all sizes; longest chain; ns of a hash. Of today's, "
        "hash_64() and 2654435761 (the same with that constant) take the sum "
        "of a key's words.",
        ("function", "found", "failed", "worst", "longest", "ns"),
        rows,
    )


def called(kind, function):
    name = TODAY.get(function, function)
    return f"{name}, ours" if function == bench_functions.OURS[kind] else name


def ran(results, kind):
    return (
        f"{results.command('functions')} puts each function on the {kind} keys of a running kernel"
    )


def worst_figure(results, kind, side):
    return results.figure("functions", f"{kind}_{side}_worst_vs_ideal")


def pages(results):
    return Section(
        "Table 1",
        "Do more buckets or another function for the page cache make the machine faster?",
        EQUAL,
        f"{ran(results, 'page')}: the page cache has no global hash since "
        "2.5; its tree, red-black trees and hashes are compared in Figures 1 "
        "to 3 of the document of 2005, below.",
        "On today's keys the original function takes up to "
        f"{worst_figure(results, 'page', 'paper'):.2f} times the nodes of "
        "chance, the multiplicative one "
        f"{worst_figure(results, 'page', 'paper_mult'):.2f}, that of our page "
        f"hash {worst_figure(results, 'page', 'ours'):.2f}.",
        [
            Table(
                "2000: scripts an hour of 16 to 64 users.",
                ("kernel", "buckets", 16, 32, 48, 64, "elapsed"),
                PAGES,
            ),
            function_table(results, "page"),
        ],
    )


def page_sizes(results):
    result = results.get("multiuser")
    return Section(
        "Table 2 (sizes of the page cache's table)",
        "What do larger tables give a large machine?",
        EQUAL,
        f"{results.command('multiuser')}: all tables of ours at a quarter of, "
        "at, and at four times their default sizes.",
        size_answer(results),
        [
            Table(
                "2000: scripts an hour of 128 users.",
                ("buckets", "average", "without the first", "most", "elapsed"),
                PAGE_SIZES,
            ),
            load_table(result),
        ],
    )


def size_answer(results):
    result = results.get("multiuser")
    most = users_of(result)[-1]
    ours = statistics.fmean(rates(result, "ours", most))
    quarter, four = (
        statistics.fmean(rates(result, side, most)) / ours for side in ("quarter", "four")
    )
    less, more = (
        results.figure("multiuser", f"table_insn_ratio_{most}{end}")
        / results.figure("multiuser", f"table_insn_ratio_{most}")
        for end in ("_quarter", "_four")
    )
    answer = (
        f"With {most} users a quarter of the sizes gives {quarter:.3f} "
        "of the scripts an hour of the default sizes, four times the "
        f"sizes {four:.3f}; the tables' code takes {less:.3f} and "
        f"{more:.3f} of the instructions"
    )
    if max(abs(quarter - 1), abs(four - 1)) <= SEEN:
        answer += ", too little for the scripts to show under emulation"
    return answer + "."


def buffers(results):
    return Section(
        "Table 3",
        "Which function for the buffer cache, and with how many buckets?",
        AGAIN,
        f"{ran(results, 'buffer')}, with tables of 2^8 buckets and more.",
        "The original function (xor and mask) takes up to "
        f"{worst_figure(results, 'buffer', 'paper'):.2f} times the nodes of "
        "chance, the multiplicative one with a full shift "
        f"{worst_figure(results, 'buffer', 'paper_mult'):.2f}, hash_pair() "
        f"{worst_figure(results, 'buffer', 'ours'):.2f}.",
        [
            Table(
                "2000: scripts an hour of 128 users.",
                ("function", "buckets", "average", "without the first", "most", "elapsed"),
                BUFFERS,
            ),
            function_table(results, "buffer"),
        ],
    )


def dentries(results):
    return Section(
        "Table 4",
        "More buckets, another function, or fewer names for the dentry cache?",
        AGAIN,
        f"{ran(results, 'dentry')}; {results.command('dentry')} takes "
        "the table's size and vfs_cache_pressure.",
        dentry_answer(results),
        [
            Table(
                "2000: scripts an hour of 128 users.",
                ("kernel", "average", "s", "most", "elapsed"),
                DENTRIES,
            ),
            function_table(results, "dentry"),
            *dentry_blocks(results),
        ],
        dentry_lost(results),
    )


NAMES = {"small": "10,000 names", "among": "these among 250,000", "large": "250,000 names"}


def dentry_answer(results):
    result = results.get("dentry")
    few, many = (
        bench_dentry.ratio(result, "1_16", name, "hit", "hot") for name in ("small", "among")
    )
    path = bench_dentry.ratio(result, "1_16", "small", "path", "hot")
    return (
        f"1/16 of the default table takes {few:.2f} of the time for "
        f"10,000 names alone ({path:.2f} of a whole path) and {many:.1f} "
        "times as long for these among 250,000: the default is right for "
        "a machine that has much in its cache, and larger than a small "
        "load needs."
    )


def dentry_blocks(results):
    result = results.get("dentry")
    yield Picture(
        "dentry",
        "Nanoseconds of a look-up by bytes of the "
        "dentry table, for few and many names, in and out of the "
        "caches",
    )
    sizes = [size for size in bench_dentry.SIZES if size != "again"]
    bytes_of = {one["size"]: one["bytes"] for one in result.runs("size")}
    rows = [
        (
            f"{NAMES[name]}, {op}, {cache}",
            *(f"{bench_dentry.nanoseconds(result, size, name, op, cache):.1f}" for size in sizes),
            f"{bench_dentry.ratio(result, 'again', name, op, cache):.2f}",
        )
        for name in bench_dentry.SETS
        for op in bench_dentry.OPS
        for cache in bench_dentry.CACHES
    ]
    yield Table(
        "Size of the dentry table, user-mode Linux, 4 GiB: ns of a "
        "look-up (again: the default by itself).",
        ("names, look-up, caches", *(f"{bytes_of[size] >> 10} KiB" for size in sizes), "again"),
        rows,
    )
    yield Table(
        "The paper's shrink, by vfs_cache_pressure, 256 MiB of memory.",
        ("pressure, table", "found", "nodes", "ns"),
        [
            (
                f"{pressure}, {size.replace('_', '/')} of the default",
                *(
                    f"{bench_dentry.pressed(result, pressure, size, what):{form}}"
                    for what, form in (("hit_rate", ".4f"), ("nodes", ".2f"), ("lookup_ns", ".0f"))
                ),
            )
            for size in bench_dentry.PRESSURE_SIZES
            for pressure in bench_dentry.PRESSURES
        ],
    )


def dentry_lost(results):
    result = results.get("dentry")
    usual, eager = (
        bench_dentry.pressed(result, pressure, "1", "hit_rate") for pressure in (100, 1000)
    )
    large = bench_dentry.pressed(result, 100, "4", "lookup_ns") / bench_dentry.pressed(
        result, 1000, "1", "lookup_ns"
    )
    return [
        '"Shrink more aggressively" makes look-ups faster today, too, but '
        f"finds {eager:.1%} of the names in use for {usual:.1%}; a table "
        f"of four times the size takes {large:.1f} times as long as that "
        "and loses none."
    ]


def inodes(results):
    return Section(
        "Table 5",
        "Is the inode cache's table too small, and its function good enough?",
        AGAIN,
        f"{ran(results, 'inode')}; {results.command('spread')} draws many "
        "addresses of super blocks.",
        "Mainline's function takes up to "
        f"{worst_figure(results, 'inode', 'base'):.2f} times the nodes of "
        "chance on these keys, hash_pair() "
        f"{worst_figure(results, 'inode', 'ours'):.2f}; over 38 patterns of "
        "numbers and many addresses the worst of mainline is "
        f"{results.figure('spread', 'inode_worst_vs_ideal_base'):.0f}, of "
        "hash_pair() "
        f"{results.figure('spread', 'inode_worst_vs_ideal'):.2f}.",
        [
            Table(
                "2000: scripts an hour of 128 users.", ("kernel", "average", "s", "elapsed"), INODES
            ),
            function_table(results, "inode"),
        ],
    )


def combined(results):
    result = results.get("multiuser")
    most = users_of(result)[-1]
    ratio = results.figure("multiuser", f"throughput_ratio_{most}")
    insns = results.figure("multiuser", f"table_insn_ratio_{most}")
    share = table_share(result, most)
    return Section(
        "Table 6",
        "What do all tables together give a multi-user load?",
        AGAIN,
        f"{results.command('multiuser')}: users that run cc, ed, nroff "
        "and spell at the same time, as the report's did.",
        f"With {most} users ours does {ratio:.3f} of the scripts of 6.12 an "
        f"hour, and the tables' code takes {insns:.3f} of the instructions, "
        f"{share:.1%} of the kernel's in 6.12: "
        + (
            "this load has little to gain from them any more."
            if share < 0.05
            else "there is something to gain."
        ),
        [
            Table("2000: scripts an hour.", ("kernel", "average", "s", "most", "elapsed"), ALL),
            load_table(result),
        ],
        ["7 % more throughput in 2000 cannot be had from these tables today."]
        if ratio < 1.03
        else [],
    )


# Histograms.


def histogram(results, number):
    result = results.get("functions")
    name, function = HISTOGRAMS[number]
    kind = bench_functions.papers()[name].kind
    (mine,) = result.runs("histogram", set=name, function=function)
    (ours,) = result.runs("histogram", set=name, function=bench_functions.OURS[kind])
    theirs = bench_functions.printed_histogram(number)
    rows = [
        (size, buckets, held, done, *mine["rows"][at][1:], *ours["rows"][at][1:])
        for at, (size, buckets, held, done) in enumerate(theirs.rows)
    ]
    (spread,) = result.runs("spread", set=name, function=function)
    (best,) = result.runs("spread", set=name, function=bench_functions.OURS[kind])
    blocks: list[Table | Picture] = [
        Table(
            f"Chains of {theirs['buckets']} buckets: the paper's "
            f"{theirs['objects']} objects; {mine['objects']} keys like them with "
            f"its function, and with ours.",
            (
                "size",
                *(
                    cell
                    for who in ("paper", "again", "ours")
                    for cell in (f"{who}: buckets", "objects", "sum-pct")
                ),
            ),
            rows,
        )
    ]
    if number == 1:
        blocks.insert(
            0,
            Picture(
                "functions",
                "Buckets by length of their chain in the paper's "
                "situations, for each function and for chance",
            ),
        )
    return Section(
        f"Histogram {number}",
        f"How does the function {function!r} spread "
        f"{mine['objects']} {kind}s over {theirs['buckets']} buckets?",
        AGAIN,
        f"{results.command('functions')}: the paper's keys are not "
        "published; keys of the same regularity and number stand for them.",
        f"The longest chain was {theirs['longest']}, is {spread['longest']} "
        f"with the same function and {best['longest']} with ours; a "
        f"successful look-up examines {spread['hit']:.2f} and "
        f"{best['hit']:.2f} nodes, chance {spread['hit_ideal']:.2f}.",
        blocks,
    )


def constants(results):
    figure = results.figure
    worst = figure("functions", "constant_32_vs_64_worst")
    far = figure("functions", "constant_32_vs_64_worst_far")
    low = figure("functions", "constant_32_low_vs_64_worst_far")
    return Section(
        "Beyond the tables: another constant for 64 bits?",
        "The paper leaves open whether words of 64 bits need another multiplier than 2654435761.",
        AGAIN,
        f"{results.command('functions')}: the prime of 32 bits and "
        "GOLDEN_RATIO_64 in a product of 64 bits, on the kernel's keys, and "
        "on keys that differ in their upper half.",
        f"On real keys the prime of 32 bits takes up to {worst:.2f} times the "
        f"nodes of GOLDEN_RATIO_64, on keys that differ in the upper half "
        f"{far:.2f}, and with the paper's shift, which takes the lower half "
        f"of the product, {low:.2f}: so "
        + ("yes, it is needed." if max(worst, far, low) > 1.5 else "no."),
        [],
    )
