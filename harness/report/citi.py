# SPDX-License-Identifier: GPL-2.0
"""The report of 2000 on hash tables of the kernel, answered."""

import statistics

from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from report import losses
from report.losses import group, noise, percent
from report.page import COUNTED, EQUAL, MODEL, TEXT, Picture, Section, Table
from report.quoted_values import table_bytes

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
# What the report says of a lookup: lookups, hit rate in percent, nodes examined
# for each.
ITERATIONS = (
    ("buffers, original, under load", 296481, 54, 2.155),
    ("buffers, original, after the load", 3548568, 78, 1.379),
    ("buffers, mult-11, under load", 287696, 54, 0.242),
    ("buffers, mult-11, after the load", 3530977, 78, 0.215),
    ("inodes, original, 256 buckets", 189321, 3, 38.978),
)
# Buckets of the report's kernels that stand for all sizes, and bytes of one.
BYTES = (
    ("page cache, 2.2.5", 2048, 4),
    ("page cache, 13 bits", 8192, 4),
    ("page cache, 2.2.16 with 64 MiB", 16384, 4),
    ("buffer cache, 2.2.5", 32768, 4),
    ("buffer cache, 2.2.16 with 64 MiB", 65536, 4),
    ("dentry cache, 2.2.5", 1024, 8),
    ("dentry cache, 14 bits", 16384, 8),
    ("inode cache, 2.2.5", 256, 8),
    ("inode cache, 12 bits", 4096, 8),
)
BASE_KIB = 64  # of mainline's tables that the series sizes: hashstats.rst
ELSEWHERE = (
    ("uid", "A hash table of 128 buckets in mainline; the series sizes it from memory."),
    ("pid", "An IDR, which is a radix tree, since 4.15."),
    ("vma", "A maple tree for each address space since 6.1."),
    ("swap", "In 6.12 an XArray for each 64 MiB of a swap device: apart from pages, as proposed."),
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
    "mainline": "mainline",
    "in-lookup": "mainline, in lookup",
    "pair": "hash_pair()",
    "hash-32": "hash_32()",
    "hash-64": "hash_64()",
    "const-32": "2654435761",
}
# The same in a sentence.
WHOSE = {
    "slot": "the page hash's function",
    "pair": "hash_pair()",
    "mainline": "mainline's function",
    "hash-64": "hash_64()",
}
# What each kernel of the multi-user load is called.
SIDES = {
    "base": "mainline",
    "ours": "series",
    "quarter": "series, tables at 1/4",
    "four": "series, tables at 4 times",
    "small": "series, 1024 names, 256 inodes",
}
SHOWN = ("base", "ours", "quarter", "four", "small")


def sections(results):
    return [
        pages(results),
        page_sizes(results),
        buffers(results),
        dentries(results),
        inodes(results),
        combined(results),
        *(histogram(results, number) for number in HISTOGRAMS),
        iterations(results),
        memory(),
        misses(results),
        constants(results),
        elsewhere(),
    ]


def finding(results):
    return (
        "With the sizes of 2.2.5 (1024 names, 256 inodes) a lookup of a name examines "
        f"{looked(results, 'small', 'dentry')} nodes and one of an inode "
        f"{looked(results, 'small', 'inode')}; with the default sizes "
        f"{looked(results, 'ours', 'dentry')} and {looked(results, 'ours', 'inode')}. "
        f"{whole_kernel(results)} The instructions show no speedup like that of 2000. Rates of "
        "an emulated machine are too noisy to show one."
    )


def whole_kernel(results):
    """Instructions of the kernel for each number of users, and with the old sizes."""
    found = group(results, "multiuser", "instructions")
    users = users_of(results.get("multiuser"))
    return (
        f"With {listed(users)} users the whole kernel takes "
        f"{listed(f'{cell.ratio:.3f}' for cell in found.cells)} of mainline's instructions at the "
        f"default sizes, and {against(results, 'small', 'total'):.3f} at those of 2.2.5 with "
        f"{users[-1]} users (one run each; two of mainline differ by up to "
        f"{percent(found.spread)})."
    )


def listed(words):
    *most, last = map(str, words)
    return f"{', '.join(most)} and {last}"


def hash_finding(results):
    return (
        "Over all patterns of inode numbers its worst case is "
        f"{results.figure('spread', 'inode_worst_vs_ideal'):.2f} times the nodes of a random "
        f"function; mainline's is {results.figure('spread', 'inode_worst_vs_ideal_base'):.0f} "
        f"times, for a synthetic stride. The price: {price(results)} for a hash whose result the "
        "next one needs (bench-functions)."
    )


# The multi-user load.


def rates(result, side, users):
    return [one["rate"] for one in result.runs("rate", kernel=side, users=users)]


def users_of(result):
    return sorted({one["users"] for one in result.runs("rate")})


def sides_of(result):
    return list(dict.fromkeys(one["kernel"] for one in result.runs("rate")))


def load_rows(result):
    """As the paper has them: scripts an hour, deviation, for each N."""
    for side in sides_of(result):
        cells = []
        for users in users_of(result):
            found = rates(result, side, users)
            cells += [
                f"{statistics.fmean(found):.0f}",
                f"{statistics.stdev(found):.0f}" if len(found) > 1 else "-",
            ]
        yield (SIDES.get(side, f"series, {side} of mainline"), *cells)


def load_table(result):
    return Table(
        "Today: scripts an hour of N users and their deviation, all rounds together.",
        (
            "kernel",
            *(f"{what} N={users}" for users in users_of(result) for what in ("mean", "s")),
        ),
        list(load_rows(result)),
    )


def counted(result, side, users):
    (one,) = result.runs("count", kernel=side, users=users)
    return one


def insn_table(results):
    result = results.get("multiuser")
    most = users_of(result)[-1]
    return Table(
        f"Instructions with {most} users, divided by the mean of mainline's two runs; nodes that "
        "a lookup examines.",
        ("kernel", "kernel", "tables", "nodes, dentry", "nodes, inode"),
        [
            (
                SIDES[side],
                *(f"{against(results, side, what):.3f}" for what in ("total", "table")),
                *(looked(results, side, table) for table in ("dentry", "inode")),
            )
            for side in SHOWN[1:]
        ],
    )


def against(results, side, what):
    """Instructions of a kernel divided by mainline's; of the kernel or of its tables."""
    most = users_of(results.get("multiuser"))[-1]
    end = "" if side == "ours" else f"_{side}"
    return results.figure("multiuser", f"{what}_insn_ratio_{most}{end}")


def looked(results, side, table):
    end = "" if side == "ours" else f"_{side}"
    figures = results.get("multiuser").data["figures"]
    return f"{figures[f'nodes_per_lookup_{table}{end}']:.2f}"


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
        f"Functions on the {kind} keys of a running kernel: nodes that a lookup examines, "
        "found and failed, divided by those of a random function, at a load near 1; found, the "
        "worst of all sizes; longest chain; ns of a hash. hash_64() and 2654435761 (hash_64() "
        "with that constant) take the sum of a key's words.",
        ("function", "found", "failed", "worst", "longest", "ns"),
        rows,
    )


def called(kind, function):
    name = TODAY.get(function, function)
    return f"{name} (series)" if function == bench_functions.OURS[kind] else name


def ran(results, kind):
    return (
        f"{results.command('functions')} puts each function on the {kind} keys of a running kernel"
    )


def worst_figure(results, kind, side):
    return results.figure("functions", f"{kind}_{side}_worst_vs_ideal")


def of_all(results, kind, function):
    """Nodes of a function divided by those of a random one, in the worst guest and size."""
    return bench_functions.worst(bench_functions.all_rows(results.get("functions"), kind, function))


def guests_apart(results):
    return f"{len(bench_functions.guests(results.get('functions')))} guests, the worst is shown"


def pages(results):
    return Section(
        "Table 1",
        "Do more buckets or another function for the page cache make the machine faster?",
        EQUAL,
        f"{ran(results, 'page')}. The page cache has had no global hash since 2.5. Figures 1 to 3 "
        "of the document of 2005 compare its tree with red-black trees and hashes.",
        "On today's keys the original function examines up to "
        f"{worst_figure(results, 'page', 'paper'):.2f} times the nodes of a random function, the "
        f"multiplicative one {worst_figure(results, 'page', 'paper_mult'):.2f} times, that of the "
        f"series' page hash {worst_figure(results, 'page', 'ours'):.2f} times.",
        guests_apart(results),
        [
            Table(
                "2000: scripts an hour of 16 to 64 users.",
                ("kernel", "buckets", 16, 32, 48, 64, "elapsed"),
                PAGES,
            ),
            function_table(results, "page"),
            page_hash_sizes(results),
        ],
        list(more_nodes(results, "page")),
    )


def page_hash_sizes(results):
    """The paper varied its table from 2^11 to 2^16."""
    result = results.get("functions")
    sizes = (11, 13, 14, 15, 16, 18)
    functions = ("original", "mult", bench_functions.OURS["page"], "random")
    rows = []
    for bits in sizes:
        cells = []
        for function in functions:
            found = [
                row
                for row in bench_functions.all_rows(result, "page", function)
                if row["bits"] == bits
            ]
            cells.append(f"{max(row['hit'] for row in found):.2f}")
        rows.append((f"2^{bits}", *cells))
    return Table(
        f"Nodes of a successful lookup among {results.figure('functions', 'page_keys'):,.0f} pages "
        "by size of the table.",
        ("buckets", *(called("page", function) for function in functions)),
        rows,
    )


def page_sizes(results):
    result = results.get("multiuser")
    most = users_of(result)[-1]
    kernel = [f"{against(results, side, 'total'):.3f}" for side in ("quarter", "ours", "four")]
    return Section(
        "Table 2 (sizes of the page cache's table)",
        "What do larger tables give a large machine?",
        EQUAL,
        f"{results.command('multiuser')}: all tables of the series at a quarter of, at, and at "
        "four times their default sizes.",
        f"Little. With {most} users the code of the tables takes "
        f"{against(results, 'quarter', 'table'):.3f} of mainline's instructions at a quarter of "
        f"the sizes, {against(results, 'ours', 'table'):.3f} at the default and "
        f"{against(results, 'four', 'table'):.3f} at four times; the whole kernel takes "
        f"{listed(kernel)}. What the default saves of the tables' code is not their size: "
        f"{tree_share(result, most):.0%} of it is saved in the page tree, which is no hash table.",
        f"tables {noise(results, 'multiuser', 'instructions of tables')}, kernel "
        f"{noise(results, 'multiuser', 'instructions')}",
        [
            Table(
                "2000: scripts an hour of 128 users.",
                ("buckets", "average", "without the first", "most", "elapsed"),
                PAGE_SIZES,
            ),
            insn_table(results),
        ],
    )


def tree_share(result, users):
    """Of the instructions that the tables' code saves, those of the page tree."""
    base, again, ours = (counted(result, side, users) for side in ("base", "again", "ours"))
    saved = [
        (base_of + again_of) / 2 - ours_of
        for base_of, again_of, ours_of in (
            [one["tables"]["page"] for one in (base, again, ours)],
            [one["table_insns"] for one in (base, again, ours)],
        )
    ]
    return saved[0] / saved[1]


def buffers(results):
    return Section(
        "Table 3",
        "Which function for the buffer cache, and with how many buckets?",
        EQUAL,
        f"{ran(results, 'buffer')}, with tables of 2^8 buckets and more.",
        "The original function (xor and mask) examines up to "
        f"{worst_figure(results, 'buffer', 'paper'):.2f} times the nodes of a random function, the "
        f"multiplicative one with a full shift {worst_figure(results, 'buffer', 'paper_mult'):.2f} "
        f"times, shift-add, which the report chose, {of_all(results, 'buffer', 'shift-add'):.2f} "
        f"times, hash_pair() {worst_figure(results, 'buffer', 'ours'):.2f} times.",
        guests_apart(results),
        [
            Table(
                "2000: scripts an hour of 128 users.",
                ("function", "buckets", "average", "without the first", "most", "elapsed"),
                BUFFERS,
            ),
            function_table(results, "buffer"),
        ],
        [
            f"The hash of a buffer takes {hash_ns(results, 'pair', 'buffer'):.2f} ns. hash_64() takes "
            f"{hash_ns(results, 'hash-64', 'buffer'):.2f} ns and examines up to "
            f"{of_all(results, 'buffer', 'hash-64'):.2f} times the nodes of a random function.",
            *more_nodes(results, "buffer"),
        ],
    )


# The report's functions for names.
PAPER_DENTRIES = ("original", "addition", "mult-11", "mult-17")
NAMES = {"small": "10,000 names", "among": "these among 250,000", "large": "250,000 names"}


def dentries(results):
    result = results.get("dentry")
    few, many = (
        bench_dentry.ratio(result, "1_16", name, "hit", "hot") for name in ("small", "among")
    )
    path = bench_dentry.ratio(result, "1_16", "small", "path", "hot")
    usual_nodes, eager_nodes = (
        bench_dentry.pressed(result, pressure, "1", "nodes") for pressure in (100, 1000)
    )
    usual, eager = (
        [one["hit_rate"] for one in result.runs("pressure", pressure=pressure, size="1")]
        for pressure in (100, 1000)
    )
    lookup, step = (
        result.data["figures"][f"pressure_{what}_ns_ratio_1000"] for what in ("lookup", "step")
    )
    return Section(
        "Table 4",
        "More buckets, another function, or fewer names for the dentry cache?",
        EQUAL,
        f"{ran(results, 'dentry')}; {results.command('dentry')} takes the table's size and "
        "vfs_cache_pressure.",
        f"With 1/16 of the default table a lookup takes {few:.2f} of the time when 10,000 names "
        f"are cached ({path:.2f} for a whole path), and {many:.1f} times as long for these among "
        "250,000. The default is right for a machine that caches much. It is larger than a small "
        "load needs. The function does not matter: each of the report's examines up to "
        f"{max(of_all(results, 'dentry', one) for one in PAPER_DENTRIES):.2f} times the nodes of a "
        "random one. With vfs_cache_pressure at 1000 instead of 100, chains are shorter "
        f"({eager_nodes:.2f} instead of {usual_nodes:.2f} nodes), and a hit takes {lookup:.2f} of "
        "the time. A step that includes the misses, on a file system in memory, takes "
        f"{step:.2f} of the time"
        + ("; this is within the noise" if steps_overlap(result) else "")
        + ".",
        f"{max(abs(one - 1) for one in again(result)):.0%}",
        [
            Table(
                "2000: scripts an hour of 128 users.",
                ("kernel", "average", "s", "most", "elapsed"),
                DENTRIES,
            ),
            function_table(results, "dentry"),
            *dentry_blocks(results),
        ],
        [
            f"For 10,000 names alone the default dentry table takes {1 / few:.1f} times the time "
            "of 1/16 of it.",
            "Shrinking the cache more, as the report proposes, loses names in use: with "
            f"vfs_cache_pressure at 1000 instead of 100, {min(eager):.1%} to {max(eager):.1%} of "
            f"the lookups hit instead of {min(usual):.1%} to {max(usual):.1%}. What a miss costs on "
            "a disk was not run.",
        ],
    )


def steps_overlap(result):
    """Of a lookup and what it does on a miss."""
    usual, eager = (
        [one["step_ns"] for one in result.runs("pressure", pressure=pressure, size="1")]
        for pressure in (100, 1000)
    )
    return max(eager) > min(usual)


def again(result):
    """The default size divided by itself."""
    return [
        bench_dentry.ratio(result, "again", name, op, cache)
        for name in bench_dentry.SETS
        for op in bench_dentry.OPS
        for cache in bench_dentry.CACHES
    ]


def dentry_blocks(results):
    result = results.get("dentry")
    yield Picture(
        "dentry",
        "Nanoseconds of a lookup by bytes of the dentry table, for few and many names, in and out "
        "of the caches",
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
        "Size of the dentry table, user-mode Linux, 4 GiB: ns of a lookup (again: the default "
        "divided by itself).",
        ("names, lookup, caches", *(f"{bytes_of[size] >> 10} KiB" for size in sizes), "again"),
        rows,
    )
    yield Table(
        "The report's shrink, by vfs_cache_pressure, with 256 MiB of memory: lookups that hit, "
        "nodes; ns of a hit and of a whole step, of the least and the most of all rounds.",
        ("pressure, table", "hits", "nodes", "least hit", "most", "least step", "most"),
        [
            (
                f"{pressure}, {size.replace('_', '/')} of the default",
                f"{bench_dentry.pressed(result, pressure, size, 'hit_rate'):.4f}",
                f"{bench_dentry.pressed(result, pressure, size, 'nodes'):.2f}",
                *(
                    f"{end(pressed_ns(result, pressure, size, what)):.0f}"
                    for what in ("lookup_ns", "step_ns")
                    for end in (min, max)
                ),
            )
            for size in bench_dentry.PRESSURE_SIZES
            for pressure in bench_dentry.PRESSURES
        ],
    )


def pressed_ns(result, pressure, size, what):
    return [one[what] for one in result.runs("pressure", pressure=pressure, size=size)]


def hash_ns(results, function, key="inode"):
    (one,) = results.get("functions").runs("time", key=key, function=function)
    return one["waits_ns"]


def price(results):
    base, ours = (hash_ns(results, function) for function in ("mainline", "pair"))
    return f"{ours:.2f} instead of {base:.2f} ns"


def small_inodes(results, function):
    """The report's inodes in 4096 buckets: nodes of a lookup that fails."""
    (one,) = results.get("functions").runs("spread", set="paper-inodes-12", function=function)
    return one["miss"]


def better_patterns(results):
    """Patterns of numbers where mainline's median is lower."""
    return sum(cell.ratio > 1 for cell in group(results, "spread", "median nodes").cells)


def inodes(results):
    patterns = len(group(results, "spread", "median nodes").cells)
    return Section(
        "Table 5",
        "Is the inode cache's table too small, and its function good enough?",
        EQUAL,
        f"{ran(results, 'inode')}; {results.command('spread')} draws many addresses of super "
        "blocks; Histogram 5 has the report's inodes in 256 buckets.",
        "With 4096 buckets a failed lookup among the inodes of the model of Histogram 5 examines "
        f"{small_inodes(results, 'original'):.2f} nodes with the original function, "
        f"{small_inodes(results, 'mainline'):.2f} with mainline's and "
        f"{small_inodes(results, 'pair'):.2f} with hash_pair(). On the keys of a running kernel "
        f"mainline's function examines up to {worst_figure(results, 'inode', 'base'):.2f} times "
        "the nodes of a random function, hash_pair() "
        f"{worst_figure(results, 'inode', 'ours'):.2f} times. Over {patterns} patterns of numbers "
        "and 100 addresses mainline's worst is "
        f"{results.figure('spread', 'inode_worst_vs_ideal_base'):.0f} times, for the synthetic "
        "stride of 2^40; the worst of hash_pair() is "
        f"{results.figure('spread', 'inode_worst_vs_ideal'):.2f} times. A hash takes "
        f"{price(results)}.",
        guests_apart(results),
        [
            Table(
                "2000: scripts an hour of 128 users.", ("kernel", "average", "s", "elapsed"), INODES
            ),
            function_table(results, "inode"),
            pattern_table(results),
        ],
        [
            f"The hash of an inode takes {price(results)}. Mainline has the lower median "
            f"on {better_patterns(results)} of {patterns} patterns of inode numbers, by up to "
            f"{max(cell.ratio for cell in group(results, 'spread', 'median nodes').cells) - 1:.0%}; "
            f"on {results.figure('spread', 'patterns_median_lost_to_base'):.0f} the difference is "
            "above 0.01 nodes.",
            *more_nodes(results, "inode"),
            cheaper(results),
        ],
    )


def more_nodes(results, kind):
    """Tables of the keys of guests in which the function of the series is worse than today's."""
    found, failed = (
        [
            cell.ratio
            for cell in group(results, "functions", f"nodes on {kind} keys, {what}").cells
            if cell.name.startswith("guest")
        ]
        for what in ("found", "failed")
    )
    above = sum(ratio > 1 for ratio in found)
    if above:
        ours, base = (WHOSE[of[kind]] for of in (bench_functions.OURS, losses.HASHES))
        yield (
            f"With the {kind} keys of running kernels a lookup examines more nodes with {ours} "
            f"than with {base} in {above} of {len(found)} tables: the median is "
            f"{statistics.median(found):.3f} times, the worst {max(found):.2f}. If the lookup fails, "
            f"the median is {statistics.median(failed):.3f} and the worst {max(failed):.2f}."
        )


def cheaper(results):
    """hash_64() of the sum of a key's words, which loses on other patterns."""
    result = results.get("functions")
    nodes = [
        bench_functions.worst(bench_functions.full_rows(result, "inode", function))
        for function in ("hash-64", "pair")
    ]
    return (
        "On the inode keys of a running kernel hash_64() examines fewer nodes than hash_pair() "
        f"({nodes[0]:.2f} and {nodes[1]:.2f} of a random function's at a load near 1) in "
        f"{hash_ns(results, 'hash-64'):.2f} ns. Over the patterns of Table 5 it "
        f"reaches {results.figure('spread', 'inode_worst_vs_ideal_sum'):.2f} times."
    )


def pattern_table(results):
    medians, worst = (
        {cell.name: cell for cell in group(results, "spread", title).cells}
        for title in ("median nodes", "worst nodes")
    )
    return Table(
        "Nodes of a successful lookup divided by those of a random function, by pattern of inode "
        "numbers: the median and the worst of 100 addresses.",
        ("pattern", "mainline", "hash_pair()", "worst, mainline", "worst, hash_pair()"),
        [
            (
                name,
                *(f"{value:.3f}" for (value,) in (cell.base, cell.ours)),
                *(f"{value:.2f}" for (value,) in (worst[name].base, worst[name].ours)),
            )
            for name, cell in medians.items()
        ],
    )


def combined(results):
    result = results.get("multiuser")
    most = users_of(result)[-1]
    base = counted(result, "base", most)
    return Section(
        "Table 6",
        "What do all tables together give a multi-user load?",
        EQUAL,
        f"{results.command('multiuser')}: users that run cc, ed, nroff and spell at the same time, "
        "as the report's did. The copy of the report at hand does not say what its kernels A to D "
        "combine.",
        f"No fewer instructions. {whole_kernel(results)} With {most} users the code of the tables "
        f"takes {against(results, 'ours', 'table'):.3f} of its own; it is "
        f"{base['table_insns'] / base['kernel_insns']:.1%} of the kernel's. With the sizes of "
        f"2.2.5 (1024 names, 256 inodes) a lookup examines {looked(results, 'small', 'dentry')} "
        f"and {looked(results, 'small', 'inode')} nodes, and the tables take "
        f"{against(results, 'small', 'table'):.3f}. This load looks up only "
        f"{inode_lookups(result, most):,} inodes; the report's looked up 189,321. "
        f"{rates_answer(result, most)}",
        noise(results, "multiuser", "instructions"),
        [
            Table("2000: scripts an hour.", ("kernel", "average", "s", "most", "elapsed"), ALL),
            load_table(result),
        ],
        [
            "Counted instructions show nothing like the 7 percent more throughput of 2000.",
            *kernel_losses(results),
            table_losses(results),
        ],
    )


def inode_lookups(result, users):
    (one,) = result.runs("nodes", kernel="ours", users=users)
    return one["tables"]["inode"]["lookups"]


def rates_answer(result, users):
    """Scripts an hour, each round; they include what long chains cost a real cache."""
    return (
        f"Scripts an hour with {users} users: "
        + ", ".join(
            f"{' and '.join(f'{rate:.0f}' for rate in rates(result, side, users))} ({SIDES[side]})"
            for side in SHOWN
        )
        + ". On an emulated machine rounds differ as much as sizes do."
    )


def kernel_losses(results):
    """Numbers of users with which the whole kernel takes more."""
    lost = group(results, "multiuser", "instructions").lost
    if lost:
        yield (
            "The whole kernel takes more instructions than mainline's with "
            + listed_lost(lost)
            + "."
        )


def listed_lost(lost):
    found = [
        f"{cell.name.removeprefix('users ')} users ({cell.ratio:.3f}, mainline differs by "
        f"{percent(cell.spread)})"
        for cell in lost
    ]
    return listed(found) if found[1:] else found[0]


def table_losses(results):
    """Tables whose own code takes more than in mainline."""
    most = users_of(results.get("multiuser"))[-1]
    lost = {
        cell.name.partition(", ")[2]: cell.ratio
        for cell in group(results, "multiuser", "of each table").lost
        if cell.name.startswith(f"users {most}, ")
    }
    return (
        f"With {most} users the code of these tables takes more instructions than mainline's: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in lost.items())
        + " times."
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
        if any((buckets, mine["rows"][at][1], ours["rows"][at][1]))
    ]
    (spread,) = result.runs("spread", set=name, function=function)
    (best,) = result.runs("spread", set=name, function=bench_functions.OURS[kind])
    # Almost all lookups of inodes failed.
    what = "miss" if kind == "inode" else "hit"
    blocks: list[Table | Picture] = [
        Table(
            f"Chains of {theirs['buckets']} buckets: the report's {theirs['objects']} objects; "
            f"{mine['objects']} keys like them with its function, and with hash_pair(). Rows "
            "without buckets are left out.",
            (
                "size",
                *(
                    cell
                    for who in ("2000", "model", "series")
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
                "Buckets by length of their chain in the report's situations, for each function "
                "and for a random one",
            ),
        )
    return Section(
        f"Histogram {number}",
        f"How does the function {function!r} distribute {mine['objects']} {kind}s over "
        f"{theirs['buckets']} buckets?",
        MODEL,
        f"{results.command('functions')}: the report's keys are not published. " + NOTES[number],
        f"The longest chain was {theirs['longest']}; it is {spread['longest']} in the model"
        f"{', whose keys were chosen for that,' if NOTES[number] == FITTED else ''} and "
        f"{best['longest']} with hash_pair(). A {'failed' if what == 'miss' else 'successful'} "
        f"lookup examines {spread[what]:.2f} and {best[what]:.2f} nodes, with a random function "
        f"{spread[f'{what}_ideal']:.2f}.{MEASURED.get(number, '')}",
        "-",
        blocks,
    )


FITTED = (
    "The model's keys were chosen so that the longest chain is that of the report, and chains of "
    "more than 15 are about as many. The model looks up each buffer once, the report's load looks "
    "up some more often than others."
)
MEASURED = {
    1: " The report counted 2.155 nodes under its load.",
    2: " The report counted 1.379 nodes.",
}
NOTES = {
    1: FITTED,
    2: FITTED,
    3: "The keys are those of Histogram 1. For 712 buckets of 5 the report prints 3650 buffers; "
    "its own total of 37261 needs 3560, which is shown.",
    4: "The keys are those of Histogram 2.",
    5: "3 percent of the report's lookups hit, so failed lookups are what counts. The model looks "
    "up one eighth of its inodes, while the other seven eighths are in the table. With all of "
    "them in it, a random function gives 38.22 nodes. Each chain has more than 15 inodes: the "
    "table is too small for any function.",
}


# What the report has in its text.


def iterations(results):
    result = results.get("multiuser")
    most = users_of(result)[-1]
    rows = [
        (f"2000: {what}", lookups, f"{hits} %", f"{nodes:.3f}")
        for what, lookups, hits, nodes in ITERATIONS
    ]
    (own,) = (one["tables"] for one in result.runs("nodes", kernel="ours", users=most))
    for side in ("ours", "small"):
        (one,) = result.runs("nodes", kernel=side, users=most)
        for table in ("dentry", "inode", "buffer"):
            found = one["tables"][table]
            rows.append(
                (
                    f"{SIDES[side]}: {table}",
                    found["lookups"],
                    hit_rate(found),
                    f"{found['nodes_per_lookup']:.3f}",
                )
            )
    return Section(
        "Iterations per lookup and hit rates",
        "How many nodes does a lookup examine, and how many lookups hit?",
        EQUAL,
        f"{results.command('multiuser')}, {most} users: what /proc/hashstats counts. With "
        "mult-11 the report counts fewer nodes than hits: it leaves out the first node of a chain.",
        f"At the default sizes a dentry lookup examines {looked(results, 'ours', 'dentry')} nodes "
        f"and an inode lookup {looked(results, 'ours', 'inode')}; at the sizes of 2.2.5 they "
        f"examine {looked(results, 'small', 'dentry')} and {looked(results, 'small', 'inode')}. "
        f"Of these lookups {hit_rate(own['dentry'])} and {hit_rate(own['inode'])} hit. The report "
        "measured 38.978 nodes for a lookup of an inode; 3% of them hit.",
        "one run",
        [Table("Nodes per lookup.", ("table", "lookups", "hits", "nodes"), rows)],
        [
            "While lookups are counted, which is off by default, a lookup of a name takes "
            f"{results.figure('hashstats', 'dentry_insn_on'):.1f} instructions instead of "
            f"{results.figure('hashstats', 'dentry_insn_base'):.1f}."
        ],
    )


def hit_rate(table):
    return f"{table['hits'] / table['lookups']:.0%}"


def memory():
    sizes = table_bytes()
    rows = [
        (f"2000: {what}", f"{buckets:,}", f"{buckets * size / 1024:,.0f}")
        for what, buckets, size in BYTES
    ]
    rows.append(("mainline: the tables that the series sizes", "-", str(BASE_KIB)))
    rows += [
        (
            f"series: tables that it sizes or adds, {total / (1 << 30):g} GiB of memory",
            "-",
            f"{sum(of.values()) / 1024:,.0f}",
        )
        for total, of in sizes.items()
    ]
    one = sum(sizes[1 << 30].values())
    return Section(
        "Memory of the tables",
        "What do the tables cost in memory?",
        COUNTED,
        "Buckets of the report times the bytes of a bucket on a 32-bit machine; for the series "
        "Documentation/admin-guide/hashstats.rst has the buckets.",
        f"With 1 GiB of memory the tables that the series sizes or adds take {one / 1024:,.0f} KiB, "
        f"{one / (1 << 30):.2%} of it; in mainline they take {BASE_KIB} KiB on every machine, and 8 "
        "KiB more for each cache of extended attributes. The tables of dentries and inodes have "
        "mainline's size.",
        "-",
        [Table("KiB of tables.", ("table", "buckets", "KiB"), rows)],
        [
            f"The tables that the series sizes or adds take {one / 1024:,.0f} KiB with 1 GiB of "
            f"memory instead of {BASE_KIB} KiB."
        ],
    )


def misses(results):
    result = results.get("htree")
    found = [
        one["insns"] / one["operations"]
        for one in result.runs("phase", kernel="ours", phase="lookup")
    ]
    hit = min(results.values("lines", "lines", "insns", kernel="ours", operation="ext4 stat"))
    search = results.figure("hashstats", "dentry_insn_off")
    return Section(
        "What a dentry miss costs",
        "What does a miss of the dentry cache cost, compared with a hit?",
        EQUAL,
        f"{results.command('htree')}: stat() of names of ext4 on a RAM disk, neither name nor inode "
        f"in memory; {results.command('lines')}: stat() of a name in memory; "
        f"{results.command('hashstats')}: the search of the table alone.",
        f"A stat() of ext4 takes {min(found):,.0f} to {max(found):,.0f} instructions if neither "
        f"name nor inode is in memory, and {hit:,.0f} if they are: a miss takes at least "
        f"{min(found) / hit:.1f} times as many, before any disk is read. The search of the dentry "
        f"table takes {search:.0f} of them while its nodes are in the CPU's caches. The faults of "
        "pages and misses of buffers were not run.",
        "one run",
    )


def constants(results):
    figure = results.figure
    return Section(
        "Another constant for 64 bits?",
        "The report leaves open whether words of 64 bits need another multiplier than 2654435761.",
        EQUAL,
        f"{results.command('functions')}: the prime of 32 bits and GOLDEN_RATIO_64, on the "
        "kernel's keys and on keys that differ only in their upper half.",
        "Not on these keys; yes for keys that differ in the upper half. On the keys of a running "
        "kernel the 32-bit product with the report's shift examines up to "
        f"{figure('functions', 'constant_32_low_vs_64_worst'):.2f} times the nodes of "
        "GOLDEN_RATIO_64, on keys that differ in the upper half "
        f"{figure('functions', 'constant_32_low_vs_64_worst_far'):.2f} times. A 32-bit prime "
        "under a 64-bit shift, which nobody proposed, examines "
        f"{figure('functions', 'constant_32_vs_64_worst'):,.0f} times the nodes.",
        guests_apart(results),
    )


def elsewhere():
    return Section(
        "Tables that the report did not visit",
        "uid, pid and vma are left to others; a swap cache of its own, and inlining as well.",
        TEXT,
        "The sources of Linux 6.12. The effect of inlining was not run: the lookups of pages are "
        "functions of mm/filemap.c, and the compiler decides.",
        "Only uid is still one hash table; Documentation/admin-guide/crowds.rst measures it.",
        "-",
        [Table("Where they are today.", ("table", "today"), ELSEWHERE)],
    )
