# SPDX-License-Identifier: GPL-2.0
"""The paper of 2005 on the page cache, its tables and figures answered."""

import re
import statistics

from bench.cases import atomics as bench_atomics
from bench.cases import index as bench_index
from bench.cases import readers as bench_readers
from report.losses import group, noise, percent
from report.page import AGAIN, COUNTED, EQUAL, OPEN, PART, TEXT, Picture, Section, Table

TITLE = "Examining Linux 2.6 Page-Cache Performance (OLS 2005)"

# Map shift -> GB/s, % of the profile in radix_tree_lookup().
SHIFTS = {
    6: (4.61, 13.21),
    8: (4.745, 12.09),
    10: (4.705, 12.40),
    12: (4.695, 12.31),
    4: (4.683, 17.22),
}
XARRAYS = {4: "xarray_4", 6: bench_index.KERNELS, 7: "xarray_7", 8: "xarray_8"}
# Threads -> GB/s and % in locks, spinlock; the same, rwlock.
READERS = {
    1: (1.11, 0.10, 1.04, 0.80),
    4: (2.26, 12.4, 2.47, 4.33),
    8: (2.01, 54.1, 2.82, 9.75),
    12: (2.20, 51.6, 2.98, 9.86),
    14: (2.31, 49.3, 3.03, 9.74),
    16: (2.34, 48.9, 3.13, 9.52),
}
FIGURES = {1: "lookup", 2: "insert", 3: "delete"}
NODE_BITS = 6  # XA_CHUNK_SHIFT
SMALL = 15  # log2 of the entries that stay in the caches
FOLDERS = {"ext4 small": "ext4", "xfs small": "XFS", "xfs large": "XFS, large folios"}


def sections(results):
    return [
        shifts(results),
        heights(),
        readers(results),
        *(figure(results, number) for number in FIGURES),
        database(),
        batches(results),
        marks(results),
        order(),
        page_hash(results),
    ]


def structure(result, index, op, order, bits, side="ours"):
    return bench_index.nanoseconds(result, "structures", side, f"{index} {op} alone {order} {bits}")


def sizes(result):
    return bench_index.sizes_of(result, "structures")


def unchanged(result):
    """Structures whose code is the same in both kernels; the others are XArrays."""
    return [one for one in bench_index.indices(result) if not one.startswith("xarray")]


def apart(result, op, most=64):
    """How much an unchanged structure of up to 2^most entries differs between the kernels."""
    pairs = [
        [structure(result, index, op, order, bits, side) for side in ("base", "ours")]
        for index in unchanged(result)
        for order in ("sequential", "random")
        for bits in sizes(result)
        if bits <= most
    ]
    return max(max(pair) / min(pair) for pair in pairs)


def rounds_of(result):
    found = len({one["round"] for one in result.runs("structures")})
    return "one round" if found == 1 else f"the least of {found} rounds"


def bytes_of(result, index):
    """Of an entry, in sequence, at the largest size."""
    return result.runs("structures")[-1]["bytes"][f"{index} {sizes(result)[-1]}"]


def columns(result):
    return (f"{order} 2^{bits}" for order in ("seq.", "random") for bits in sizes(result))


def cells(result, index, op, side="ours"):
    return (
        f"{structure(result, index, op, order, bits, side):.1f}"
        for order in ("sequential", "random")
        for bits in sizes(result)
    )


def shifts(results):
    result = results.get("index")
    rows = []
    for shift, index in XARRAYS.items():
        old = SHIFTS.get(shift)
        rows.append(
            (
                shift,
                f"{old[0]:.3f}" if old else "-",
                f"{old[1]:.2f}" if old else "-",
                *cells(result, index, "lookup"),
                f"{bytes_of(result, index):.1f}",
            )
        )
    most = sizes(result)[-1]
    six, eight = (
        structure(result, XARRAYS[shift], "lookup", "sequential", most) for shift in (6, 8)
    )
    unsure = max(eight / six, six / eight) < apart(result, "lookup")
    return Section(
        "Table 1",
        "Is another number of slots a node (MAP_SHIFT) faster than 2^6?",
        PART,
        f"{results.command('index')}, {rounds_of(result)}: lookups in the kernel. Shifts 10 and 12 "
        "were not run: a node would be larger than a page.",
        f"Sequential lookups of 2^{most} entries take {eight / six:.2f} of the time with 2^8 slots "
        "(the paper: 3 percent more throughput)"
        + (", which is less than unchanged structures differ by" if unsure else "")
        + ". 2^6 stays: a node of 2^8 slots takes four times the memory, which small files waste.",
        percent(apart(result, "lookup")),
        [
            Table(
                "2005: GB/s and % of the profile; today: ns of a lookup, sequential and random, "
                "and bytes of an entry.",
                ("shift", "GB/s", "profile", *columns(result), "bytes"),
                rows,
            )
        ],
    )


def heights():
    rows = []
    for height in range(1, 7):
        pages = 1 << NODE_BITS * height
        rows.append((height, pages, span(pages << 12)))
    return Section(
        "Table 2",
        "How high is the tree of a file of a given size?",
        COUNTED,
        "64 slots a node, as then. The paper prints 1073741823 pages for height 5, and its last "
        "row is that of a 32-bit index.",
        "As in 2005 up to 4 TiB. A 64-bit index can need 11 levels, and a page at index 0 alone "
        "needs no node.",
        "-",
        [Table("Pages and file offset by height.", ("height", "pages", "file offset"), rows)],
    )


def span(size):
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        size >>= 10
        if size < 1024:
            return f"{size} {unit}"
    return f"{size} {unit}"


def readers(results):
    result = results.get("readers")
    rows: list[tuple] = []
    for threads in sorted({*READERS, *bench_readers.THREADS}):
        old = READERS.get(threads)
        row = [threads, *(f"{value:.2f}" if old else "-" for value in old or (0,) * 4)]
        case = bench_readers.Case("ext4", "sequential", threads)
        for kernel in ("base", "ours"):
            locks = result.runs("locks", kernel=kernel, mode="sequential", threads=threads)
            if not locks:
                row += ["-"] * 3
                continue
            (one,) = locks
            row += [
                f"{bench_readers.rate(result, kernel, case):.0f}",
                f"{100 * bench_readers.lock_share(one):.2f}",
                f"{one['index_acquisitions']:.0f}",
            ]
        rows.append(tuple(row))
    runs = result.runs("locks", mode="sequential")
    most = max(runs, key=lambda one: one["index_acquisitions"])
    taken, reads = most["index_acquisitions"], most["reads"]
    ran = {one["threads"] for one in runs}
    absent = [number for number in READERS if number not in ran]
    missing = f"{absent[0]} to {absent[-1]} threads were not run." if absent else ""
    return Section(
        "Table 3",
        "What do threads that read one cached file lose to the lock of its page index?",
        EQUAL,
        f"{results.command('readers')}: two cached files, 2 emulated processors; throughput from "
        "kernels without counting, locks from lock_stat. The paper had 8 processors."
        + (f" {missing}" if absent else ""),
        f"{'Nothing' if taken < reads / 100 else 'Something'}: with 1 to {max(ran)} threads, and in "
        f"both kernels, the lock of an index is taken at most {taken:.0f} times, in {reads:,.0f} "
        "reads. Readers have needed no lock since 2.6.27; the paper asks for that in 3.1. Emulated "
        "processors take turns, so this says nothing about scaling.",
        noise(results, "readers", "reads a second"),
        [
            Table(
                "2005: GB/s and % of time in locks; today reads of 4 KiB a second, % of a thread's "
                "time in locks, acquisitions of index locks.",
                (
                    "threads",
                    "spinlock",
                    "%",
                    "rwlock",
                    "%",
                    "mainline",
                    "%",
                    "index",
                    "series",
                    "%",
                    "index",
                ),
                rows,
            )
        ],
        [
            "Emulated processors that take turns say nothing about the scaling of readers"
            + (f", and {missing}" if absent else ".")
        ],
    )


def figure(results, number):
    result = results.get("index")
    op, bits = FIGURES[number], sizes(result)[-1]
    table = Table(
        f"ns of {'an' if op == 'insert' else 'a'} {op}, and bytes of an entry with its key.",
        ("structure", *columns(result), "bytes"),
        [
            (
                bench_index.called(index, "mainline" if side == "base" else "series"),
                *cells(result, index, op, side),
                f"{bytes_of(result, index):.1f}",
            )
            for index, side in bench_index.shown(result)
        ],
    )
    drawing = Picture(
        "index", "Nanoseconds of an operation by number of entries, for each structure"
    )
    return Section(
        f"Figure {number}",
        f"Which structure is fastest at sequential {op}s, by number of elements?",
        AGAIN,
        f"{results.command('index')}, {rounds_of(result)}: in the kernel, where the authors wanted "
        "it; they ran in user space. The noise is that of structures whose code is the same in "
        f"both kernels; up to 2^{SMALL} entries they differ by at most "
        f"{percent(apart(result, op, SMALL))}.",
        figure_answer(result, op, bits),
        percent(apart(result, op)),
        [drawing, table] if number == 1 else [table],
        list(figure_lost(result, op)),
    )


def to_mainline(result, op, order, bits):
    """Time of the series' XArray divided by mainline's."""
    ours, base = (
        structure(result, bench_index.KERNELS, op, order, bits, side) for side in ("ours", "base")
    )
    return ours / base


ORDERS = {"sequential": "in sequence", "random": "at random"}


def figure_lost(result, op):
    """An order in which the XArray takes longer at most sizes."""
    for order, where in ORDERS.items():
        ratios = [to_mainline(result, op, order, bits) for bits in sizes(result)]
        if statistics.median(ratios) > 1:
            yield (
                f"{op.capitalize()}s of the XArray {where} take {listed(ratios, '.2f')} of mainline's "
                f"time with {', '.join(f'2^{bits}' for bits in sizes(result))} entries "
                f"({rounds_of(result)})."
            )


def listed(numbers, form):
    return ", ".join(f"{number:{form}}" for number in numbers)


def figure_answer(result, op, bits):
    """The XArray, and the best in sequence and at random."""
    compared = " and ".join(
        f"{where} {to_mainline(result, op, order, SMALL):.2f} and "
        f"{to_mainline(result, op, order, bits):.2f}"
        for order, where in ORDERS.items()
    )
    answer = []
    for order in ("sequential", "random"):
        of = {
            index: structure(result, index, op, order, bits)
            for index in bench_index.indices(result)
        }
        best = min(of, key=of.__getitem__)
        base = structure(result, bench_index.KERNELS, op, order, bits, "base")
        answer.append(
            f"{of[bench_index.KERNELS]:.1f} ns {ORDERS[order]}"
            f" (mainline's {base:.1f}; {best}: {of[best]:.1f})"
        )
    text = (
        f"With 2^{SMALL} and 2^{bits} entries {'an' if op == 'insert' else 'a'} {op} of the series' "
        f"XArray takes this part of mainline's time: {compared}. With 2^{bits} entries it takes {' and '.join(answer)}."
    )
    if op == "lookup" and "threaded_rbtree" in bench_index.indices(result):
        text += (
            " The threaded_rbtree starts at the neighbour of the last entry that it found: at "
            f"random it takes {structure(result, 'threaded_rbtree', op, 'random', bits):.0f} ns."
        )
    return text


def database():
    return Section(
        "Table 4",
        "Which functions of the kernel does a database load call most?",
        OPEN,
        "The paper's load is a commercial database with a decision support benchmark. No free "
        "database was run instead.",
        "Not run. The paper's point, more deletions than lookups under reclaim, is one operation "
        "in Figure 3.",
    )


def per_page(results, operation, how, place, what="atomics"):
    """Of 256 pages; nothing where a place has no such case."""
    name = {"atomics": "atomics_per_page", "locks": "index_lock_per_page"}[what]
    end = {"ext4 small": "", "xfs small": "_xfs", "xfs large": "_xfs_large"}[place]
    how = {"one": "one_by_one", "together": "batch_256"}[how]
    figures = results.get("atomics").data["figures"]
    return figures.get(f"{name}_{operation}{end}_{how}")


def operation_rows(results):
    for place, title in FOLDERS.items():
        for operation in bench_atomics.OPERATIONS:
            values = [
                per_page(results, operation, how, place, what)
                for what in ("atomics", "locks")
                for how in bench_atomics.HOWS
            ]
            if any(value is not None for value in values):
                yield (
                    f"{title}, {operation}",
                    *("-" if value is None else f"{value:.3f}" for value in values),
                )


def batches(results):
    result = results.get("atomics")
    rows = []
    for pages in bench_atomics.SIZES:
        found = [
            f"{bench_atomics.of(result, kernel, case):.0f}"
            for how in bench_atomics.HOWS
            for case in [bench_atomics.Case("ext4", "small", "read", how, pages)]
            for kernel in ("base", "ours", "hash")
        ]
        found += [
            f"{bench_atomics.of(result, 'base', case):.0f}"
            for folios in ("small", "large")
            for case in [bench_atomics.Case("xfs", folios, "read", "together", pages)]
        ]
        rows.append((pages, 2 * pages, pages + 1, 3 * pages, pages + 2, *found))
    truncated = [
        per_page(results, "truncate", how, "ext4 small", what)
        for what in ("locks", "atomics")
        for how in ("one", "together")
    ]
    xfs = [
        bench_atomics.of(result, "base", bench_atomics.Case("xfs", folios, "read", "together", 256))
        for folios in ("small", "large")
    ]
    return Section(
        "Table 5",
        "How many atomic operations does it take to get hold of n pages, one by one and together?",
        EQUAL,
        f"{results.command('atomics')}: atomic instructions of the kernel in whole system calls "
        "on cached pages of ext4 and XFS. Today a read takes references, where 2005 took locks.",
        f"A read of ext4 takes {per_page(results, 'read', 'one', 'ext4 small'):.2f} atomics a page "
        f"one by one and {per_page(results, 'read', 'together', 'ext4 small'):.2f} together, and no "
        "lock: a gang lookup saves nothing. On XFS, where a read takes a lock of the inode, it is "
        f"{per_page(results, 'read', 'one', 'xfs small'):.2f} and "
        f"{per_page(results, 'read', 'together', 'xfs small'):.2f}. In mainline a read of 256 "
        f"pages of XFS together takes {xfs[0]:.0f} atomics with small folios and {xfs[1]:.0f} with "
        "a large one. Truncation of ext4 is batched: its index locks fall from "
        f"{truncated[0]:.0f} to {truncated[1]:.3f} a page, its atomics from {truncated[2]:.0f} to "
        f"{truncated[3]:.1f}. A write takes "
        f"{per_page(results, 'write', 'together', 'ext4 small', 'locks'):.0f} index locks a page "
        "either way, and with large folios of XFS "
        f"{per_page(results, 'write', 'together', 'xfs large', 'locks'):.3f}.",
        quoted_noise(results),
        [
            Table(
                "Atomic operations of a read. 2005: spin lock 2n page by page and n+1 together, "
                "rwlock 3n and n+2.",
                (
                    "n",
                    "2n",
                    "n+1",
                    "3n",
                    "n+2",
                    *(
                        f"{how}, {kernel}"
                        for how in ("one", "together")
                        for kernel in ("mainline", "series", "page hash")
                    ),
                    "XFS",
                    "XFS, large",
                ),
                rows,
            ),
            Table(
                "The series, 256 pages: atomics and index locks a page, one by one and together.",
                ("operation", "atomics, one", "together", "locks, one", "together"),
                list(operation_rows(results)),
            ),
        ],
        hash_lost(results),
    )


def quoted_noise(results):
    """Of what the answer quotes, in mainline; a large folio has few atomics."""
    cells = group(results, "atomics", "atomics").cells
    small, large = (
        percent(
            max(
                cell.spread
                for cell in cells
                if f", {folios}, " in cell.name
                and cell.name.endswith("pages 256")
                and re.search("ext4, small, (read|truncate)|xfs, .*, read|, write", cell.name)
            )
        )
        for folios in ("small", "large")
    )
    return f"small folios {small}, large ones {large}"


def hash_lost(results):
    """The page hash, which is an option, costs writes."""
    result = results.get("atomics")
    case = bench_atomics.Case("ext4", "small", "write", "together", 256)
    base, with_hash = (bench_atomics.of(result, kernel, case) for kernel in ("base", "hash"))
    lost = ["On ext4 a gang lookup saves no atomic operation of a read any more."]
    if with_hash > base:
        lost.append(
            f"With the page hash, which is off by default, a write of 256 pages of ext4 takes "
            f"{with_hash:.0f} atomics instead of {base:.0f} (the least of all repeats)."
        )
    return lost


MARKS = ("set_mark all", "clear_mark most", "get_mark all")


def marks(results):
    """Tags of the paper."""
    result = results.get("index")
    cells_ = [
        f"xarray {what} {order} {bits}"
        for what in MARKS
        for order in ("sequential", "random")
        for bits in bench_index.sizes_of(result, "xarray")
    ]
    small = [
        bench_index.ratio(result, "xarray", "ours", cell)
        for cell in cells_
        if int(cell.rpartition(" ")[2]) <= bench_index.PACED_BITS["xarray"]
    ]
    again = [bench_index.ratio(result, "xarray", "again", cell) for cell in cells_]
    return Section(
        "Tags",
        "What does it cost to tag a page as dirty, and can another structure keep tags?",
        EQUAL,
        f"{results.command('index')}: marks of the XArray. The other structures have none here, "
        "as in the paper.",
        f"Up to 2^{bench_index.PACED_BITS['xarray']} entries, to set, clear or read a mark takes "
        f"{min(small):.2f} to {max(small):.2f} of mainline's time. Whether another structure can "
        "keep tags was not tried.",
        farthest(again),
        [
            Table(
                "ns of an operation, least of all rounds; divided by mainline's.",
                ("mark, order, log2 of entries", "mainline", "series", "ratio", "itself"),
                [
                    (
                        cell.removeprefix("xarray "),
                        *(
                            f"{bench_index.nanoseconds(result, 'xarray', side, cell):.1f}"
                            for side in ("base", "ours")
                        ),
                        *(
                            f"{bench_index.ratio(result, 'xarray', side, cell):.2f}"
                            for side in ("ours", "again")
                        ),
                    )
                    for cell in cells_
                ],
            )
        ],
    )


def order():
    return Section(
        "Order of writes",
        "Dirty pages go to disk in the order of the file: does that hurt parallel writes?",
        TEXT,
        "The sources of Linux 6.12: writeback walks the index by its tags, in the order of "
        "offsets, with the series as well.",
        "The series changes nothing here; parallel writes were not run.",
    )


def page_hash(results):
    result, value = results.get("index"), results.figure
    pages_again = [
        page_again(result, how, bits)
        for how in ("independent", "dependent")
        for bits in (12, 15, 17, 20)
    ]
    rows = []
    for name, what in (("rand", "independent"), ("dep", "dependent")):
        for bits in (12, 15, 17, 20):
            rows.append(
                (
                    f"2^{bits}, {what}",
                    f"{value('index', f'page_off_{name}_2_{bits}'):.3f}",
                    f"{value('index', f'page_hash_{name}_2_{bits}'):.3f}",
                    f"{page_again(result, what, bits):.3f}",
                )
            )
    return Section(
        "Beyond the tables: a faster tree, and a hash before it",
        "Can the tree be walked with fewer serial cache misses, and is a global hash worth having "
        "again?",
        EQUAL,
        f"{results.command('index')}: the XArray alone, and filemap_get_entry() on one file, at "
        "random.",
        xarray_answer(results) + " A lookup among 2^20 pages of one file takes "
        f"{value('index', 'page_off_rand_2_20'):.2f}, and {value('index', 'page_hash_rand_2_20'):.2f} "
        "with the page hash.",
        f"XArray {farthest(dependent(results, 'again'))}, pages {farthest(pages_again)}",
        [
            Table(
                "Time of filemap_get_entry() divided by mainline's, and mainline divided by itself.",
                ("pages, lookups", "series", "page hash", "itself"),
                rows,
            )
        ],
        [*operations_lost(results), *noisy(result)],
    )


def farthest(ratios):
    return f"{max(max(one, 1 / one) for one in ratios) - 1:.0%}"


def operations_lost(results):
    """Operations of the XArray and lookups of pages that take longer."""
    for title, what in (
        ("XArray, ns", "operations of the XArray"),
        ("pages, ns", "lookups of pages"),
    ):
        found = group(results, "index", title)
        if found.lost:
            worst = found.worst
            yield (
                f"The series takes longer in {len(found.lost)} of {len(found.cells)} {what}, by more "
                f"than mainline differs from itself. The worst ({worst.name}) takes "
                f"{worst.ratio:.2f} times mainline's time, where mainline differs by "
                f"{percent(worst.spread)}."
            )


def page_again(result, how, bits):
    return bench_index.ratio(result, "pages", "again", f"file lookup {how} random {bits}")


def dependent(results, side):
    """Time of lookups that each wait for the last divided by mainline's, for each size."""
    result = results.get("index")
    return [
        bench_index.ratio(result, "xarray", side, f"xarray lookup dependent random {bits}")
        for bits in bench_index.sizes_of(result, "xarray")
    ]


def xarray_answer(results):
    sizes_ = bench_index.sizes_of(results.get("index"), "xarray")
    return (
        f"A lookup of the XArray that waits for the one before takes "
        f"{listed(dependent(results, 'ours'), '.2f')} of mainline's time with "
        f"{', '.join(f'2^{bits}' for bits in sizes_)} entries."
    )


def noisy(result):
    """Above 2^17 the rounds of one kernel differ more than the kernels."""
    bits = bench_index.sizes_of(result, "xarray")[-1]
    base, ours = (
        bench_index.times(result, "xarray", side, f"xarray lookup dependent random {bits}")
        for side in ("base", "ours")
    )
    if max(base) < 1.5 * min(base):
        return []
    return [
        f"At 2^{bits} entries the rounds say nothing: the same lookup takes mainline "
        f"{min(base):.0f} to {max(base):.0f} ns and the series {min(ours):.0f} to "
        f"{max(ours):.0f} ns."
    ]
