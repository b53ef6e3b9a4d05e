# SPDX-License-Identifier: GPL-2.0
"""The paper of 2005 on the page cache, its tables and figures answered."""

from bench.cases import atomics as bench_atomics
from bench.cases import index as bench_index
from bench.cases import readers as bench_readers
from report.page import AGAIN, EQUAL, NEVER, Picture, Section, Table

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
READERS = {1: (1.11, 0.10, 1.04, 0.80), 4: (2.26, 12.4, 2.47, 4.33), 8: (2.01, 54.1, 2.82, 9.75)}
FIGURES = {1: "lookup", 2: "insert", 3: "delete"}
NODE_BITS = 6  # XA_CHUNK_SHIFT


def sections(results):
    return [
        shifts(results),
        heights(),
        readers(results),
        *(picture(results, number) for number in FIGURES),
        database(),
        batches(results),
        *page_hash(results),
    ]


def structure(result, index, op, order, bits, side="ours"):
    return bench_index.nanoseconds(result, "structures", side, f"{index} {op} alone {order} {bits}")


def sizes(result):
    return bench_index.sizes_of(result, "structures")


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
                *(
                    f"{structure(result, index, 'lookup', order, bits):.1f}"
                    for order in ("sequential", "random")
                    for bits in sizes(result)
                ),
            )
        )
    most = sizes(result)[-1]
    six, eight = (
        structure(result, XARRAYS[shift], "lookup", "sequential", most) for shift in (6, 8)
    )
    return Section(
        "Table 1",
        "Is another number of slots a node (MAP_SHIFT) faster than 2^6?",
        AGAIN,
        f"{results.command('index')}: look-ups in the kernel. Shifts 10 and 12 "
        "cannot be built: a node's marks are words of 64 slots and a node "
        "larger than a page is none.",
        f"Sequential look-ups of 2^{most} entries take {eight / six:.2f} of "
        "the time with 2^8 slots (the paper: 3 % more throughput); 2^6 stays, "
        "since wide nodes cost small files up to 3.8 times the memory.",
        [
            Table(
                "2005: GB/s and % of the profile; today: ns a look-up, sequential and random.",
                (
                    "shift",
                    "GB/s",
                    "profile",
                    *(
                        f"{order} 2^{bits}"
                        for order in ("seq.", "random")
                        for bits in sizes(result)
                    ),
                ),
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
        AGAIN,
        "Arithmetic, with 64 slots a node as then. (The paper counts the root "
        "without a node as height 0, and its last row is that of 32 bits.)",
        "As in 2005 to 4 TiB; an index of 64 bits may need 11 levels, and a "
        "page at index 0 alone needs no node.",
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
    for threads in bench_readers.THREADS:
        old = READERS.get(threads)
        cells = []
        case = bench_readers.Case("ext4", "sequential", threads)
        for kernel in ("base", "ours"):
            (one,) = result.runs("locks", kernel=kernel, mode="sequential", threads=threads)
            cells += [
                f"{bench_readers.rate(result, kernel, case):.0f}",
                f"{100 * bench_readers.lock_share(one):.2f}",
                f"{one['index_acquisitions']:.0f}",
            ]
        rows.append(
            (threads, *(f"{value:.2f}" if old else "-" for value in old or (0,) * 4), *cells)
        )
    most = max(int(row[-1]) for row in rows), max(int(row[7]) for row in rows)
    reads = result.runs("locks", kernel="ours", mode="sequential", threads=8)[0]["reads"]
    return Section(
        "Table 3",
        "What do threads that read one cached file lose to the lock of its page index?",
        AGAIN,
        f"{results.command('readers')}: two cached files, 2 processors; "
        "throughput from kernels without counting, locks from lock_stat.",
        f"{'Nothing' if max(most) < reads / 100 else 'Something'}: locks of "
        f"an index were taken at most {max(most)} times in {reads:.0f} reads. "
        "Since 2.6.27 readers need none, which is the lockless design that "
        "the paper asks for in 3.1.",
        [
            Table(
                "2005: GB/s and % of time in locks; today reads of 4 KiB a "
                "second, % of a thread's time, acquisitions of index locks.",
                (
                    "threads",
                    "spinlock",
                    "%",
                    "rwlock",
                    "%",
                    "6.12",
                    "%",
                    "index",
                    "ours",
                    "%",
                    "index",
                ),
                rows,
            )
        ],
        [
            "Processors that take turns under emulation say nothing of scaling; "
            "12 to 16 threads were not run."
        ],
    )


def picture(results, number):
    result = results.get("index")
    op, bits = FIGURES[number], sizes(result)[-1]
    least = min(
        (structure(result, index, op, "sequential", bits), index)
        for index in bench_index.indices(result)
    )
    radix = structure(result, bench_index.KERNELS, op, "sequential", bits)
    rows = [
        (
            bench_index.called(index, side),
            *(
                f"{structure(result, index, op, order, size, side):.1f}"
                for order in ("sequential", "random")
                for size in sizes(result)
            ),
        )
        for index, side in bench_index.shown(result)
    ]
    answer = f"The kernel's XArray takes {radix:.1f} ns for 2^{bits} entries in sequence"
    answer += (
        ", the least of all."
        if least[1] == bench_index.KERNELS
        else f"; {least[1]} takes {least[0]:.1f}."
    )
    return Section(
        f"Figure {number}",
        f"Which structure is fastest at sequential {op}s, by number of elements?",
        AGAIN,
        f"{results.command('index')}: in the kernel, where the authors wanted "
        "it; they ran in user space.",
        answer,
        [Picture("index", "Nanoseconds of an operation by number of entries, for each structure")]
        if number == 1
        else [
            Table(
                f"ns of {'an' if op == 'insert' else 'a'} {op}.",
                (
                    "structure",
                    *(
                        f"{order} 2^{size}"
                        for order in ("seq.", "random")
                        for size in sizes(result)
                    ),
                ),
                rows,
            )
        ],
    )


def database():
    return Section(
        "Table 4",
        "Which functions of the kernel does a database load call most?",
        NEVER,
        "The load is a commercial database and a decision support benchmark "
        "that cannot be had; what it showed, deletions before look-ups under "
        "reclaim, is in Figure 3.",
        "Deletion is measured for itself (Figure 3); functions by "
        "instructions are in the multi-user load of the first document.",
    )


def batches(results):
    result = results.get("atomics")
    rows = []
    for pages in bench_atomics.SIZES:
        cells = [
            f"{bench_atomics.of(result, kernel, case):.0f}"
            for how in bench_atomics.HOWS
            for case in [bench_atomics.Case("ext4", "small", "read", how, pages)]
            for kernel in ("base", "ours", "hash")
        ]
        large = bench_atomics.Case("xfs", "large", "read", "together", pages)
        rows.append(
            (pages, 2 * pages, pages + 1, *cells, f"{bench_atomics.of(result, 'base', large):.0f}")
        )
    figure = results.figure
    one = figure("atomics", "atomics_per_page_one_by_one")
    many = figure("atomics", "atomics_per_page_batch_256")
    large = bench_atomics.of(
        result, "base", bench_atomics.Case("xfs", "large", "read", "together", 256)
    )
    return Section(
        "Table 5",
        "How many atomic operations does it take to get hold of n pages, one by one and together?",
        AGAIN,
        f"{results.command('atomics')}: atomic instructions of the kernel "
        "counted in reads of cached pages of ext4, and of one large folio of "
        "XFS.",
        f"One by one {one:.2f} a page, together {many:.2f} at 256 pages, for "
        "the whole system call: reads take no lock but a reference on each "
        f"folio, so that one large folio, with {large:.0f} for all its pages, "
        "is what saves them today.",
        [
            Table(
                "Atomic operations; 2005: with a spin lock, 2n page by page and n+1 together.",
                (
                    "n",
                    "2n",
                    "n+1",
                    *(
                        f"{how} {kernel}"
                        for how in ("one", "together")
                        for kernel in ("6.12", "ours", "hash")
                    ),
                    "large folio",
                ),
                rows,
            )
        ],
        ["A gang look-up saves no atomic operation of a read any more."]
        if many > 0.9 * one
        else [],
    )


def page_hash(results):
    figure = results.figure
    rows = []
    for name, what in (("rand", "independent"), ("dep", "dependent")):
        for bits in (12, 15, 17, 20):
            rows.append(
                (
                    f"2^{bits}, {what}",
                    f"{figure('index', f'page_off_{name}_2_{bits}'):.3f}",
                    f"{figure('index', f'page_hash_{name}_2_{bits}'):.3f}",
                )
            )
    deps = [figure("index", f"xa_dep_2_{bits}") for bits in (12, 15, 17)]
    yield Section(
        "Beyond the tables: a faster tree, and a hash before it",
        "Can the tree be walked with fewer waits for memory, and is a global "
        "hash worth having again?",
        EQUAL,
        f"{results.command('index')}: filemap_get_entry() on one file, at random.",
        f"A dependent look-up of the XArray takes {deps[0]:.2f}, "
        f"{deps[1]:.2f}, {deps[2]:.2f} of the time of 6.12 at 2^12, 2^15, "
        "2^17 entries; with the page hash 2^20 pages of one file take "
        f"{figure('index', 'page_hash_rand_2_20'):.2f}.",
        [
            Table(
                "Time divided by that of 6.12.",
                ("pages, look-ups", "page hash off", "page hash on"),
                rows,
            )
        ],
        worst_cell(results),
    )


def worst_cell(results):
    value = results.figure("index", "xa_worst_cell")
    noise = results.figure("index", "aa_worst_cell")
    if value <= 1.05:
        return []
    (cell,) = [
        one["cell"]
        for one in results.get("index").runs("worst")
        if one["figure"] == "xa_worst_cell"
    ]
    return [
        f"The worst cell of the XArray, {cell}, took {value:.3f} of the "
        f"time of 6.12 in this run, where 6.12 against itself had "
        f"{noise:.3f}."
    ]
