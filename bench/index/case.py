# SPDX-License-Identifier: GPL-2.0
"""Time of an index of pages: XArray, page hash, other structures."""

import re

from bench.lib import record, usermode
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.jobs import PAGE_HASH
from bench.lib.record import FOLDER, table
from bench.lib.rounds import run_turns
from bench.lib.sides import note_kernels
from common import die
from guest import uml
from kernel import variants
from series import compose

OURS = "CONFIG_PAGE_HASH=y\n"
# {part: {side: (kernel, words for its command line)}}.  "again" is the base
# once more in each round; its difference from the base is noise.
SIDES: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "xarray": {"base": ("base", ()), "ours": ("patched", ()), "again": ("base", ())},
    "pages": {
        "base": ("base", ()),
        "ours": ("patched", ()),
        "page_hash": ("patched", (PAGE_HASH,)),
        "again": ("base", ()),
    },
    "structures": {"base": ("base", ()), "ours": ("patched", ())},
}
# Up to this size (log2 of the entries) all data fits the second level of cache,
# and only the processor's clock changes from run to run.  Each cell is then
# compared in steps of a chain of multiplications that was timed beside it.
PACED_BITS = {"xarray": 17, "pages": 12, "structures": 0}
# MiB; hardly any of a file's pages is ever accessed.
MEMORY = {"xarray": 1024, "pages": 6144, "structures": 3072}
LIMIT = 3600

# {part: (rounds, logarithms of the sizes, settings)}
QUICK = {
    "xarray": (2, (12, 15, 17), {"least_passes": 1, "budget_bits": 18}),
    "pages": (2, (12, 15, 17, 20), {"least_passes": 1, "budget_bits": 16}),
    "structures": (1, (12, 15, 17), {"least_passes": 1, "budget_bits": 15}),
}
USUAL = {
    "xarray": (3, (12, 15, 17, 20), {"least_passes": 2, "budget_bits": 20}),
    "pages": (3, (12, 15, 17, 20), {"least_passes": 1, "budget_bits": 18}),
    "structures": (3, (12, 15, 17, 19), {"least_passes": 1, "budget_bits": 17}),
}
LONG = {
    "xarray": (11, (12, 15, 17, 20, 22), {"least_passes": 8, "budget_bits": 21}),
    "pages": (11, (12, 15, 17, 20), {"least_passes": 8, "budget_bits": 21}),
    "structures": (3, (12, 14, 15, 16, 17, 18, 20, 22), {"least_passes": 3, "budget_bits": 19}),
}
LOADS = {"quick": QUICK, "usual": USUAL, "long": LONG}
ORDERS = ("sequential", "random", "strided")
OPS = ("lookup", "insert", "delete")
# The kernel's own XArray among the structures.
KERNELS = "xarray_kernel"

RESULT = re.compile(
    r"^index_bench: part (\w+) index (\w+) op (\w+) how (\w+) order (\w+) "
    r"bits (\d+) min_ps (\d+) millisteps (\d+) median_ps (\d+)$",
    re.M,
)
STEP = re.compile(r"^index_bench: step_ps (\d+)$", re.M)
SLOTS = re.compile(r"^index_bench: bits \d+ page_hash_slots (\d+)$", re.M)
BYTES = re.compile(r"^index_bench: index (\w+) bits (\d+) bytes (\d+)$", re.M)
FIRST_FILL = re.compile(r"^index_bench: index (\w+) bits (\d+) first_fill_ps (\d+)$", re.M)
NAMES = ("index", "op", "how", "order", "bits")

PICTURE = FOLDER / "index.png"
BENCH = Benchmark(
    seconds=(30, 220, 3600),
    loads=LOADS,
    figures=(
        Figure("bytes_*", "bytes", EXACT),
        Figure("*", "ratio", NOISY),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    kernels = note_kernels(result, build_all())
    for part, (rounds, sizes, settings) in load.items():
        time_part(result, kernels, part, rounds, sizes, settings)
    result.machine(huge_pages=all(one["huge_pages"] for one in result.data["runs"]))
    figures(result)
    tables(result)
    draw(rows_of_picture(result))


def build_all():
    """{kernel: build}"""
    base, ours = variants.base_commit(), compose.compose()
    return {
        name: uml.kernel("index", f"index-{name}", commit, fragments=config)
        for name, commit, config in (("base", base, []), ("patched", ours, [OURS]))
    }


def time_part(result, kernels, part, rounds, sizes, settings):
    words = [
        f"index_bench.part={part}",
        f"index_bench.bits={','.join(map(str, sizes))}",
        f"index_bench.evict_mb={4 * uml.cache_mb()}",
        *(f"index_bench.{name}={value}" for name, value in settings.items()),
    ]
    turns = [(number, side) for number in range(rounds) for side in SIDES[part]]
    run_turns(
        f"time {part}",
        turns,
        lambda number, side: one_run(result, kernels, part, side, words, number),
    )


def one_run(result, kernels, part, side, words, number):
    """Run one kernel, which times all cells and ends."""
    kernel, own_words = SIDES[part][side]
    output = usermode.run(
        result,
        f"{part}-{side}",
        kernels[kernel],
        MEMORY[part],
        [*words, *own_words],
        LIMIT,
    )
    result.run(
        part, side=side, round=number, huge_pages=uml.HUGE in output, **parse(output, part, side)
    )


def parse(output, part, side):
    """What one kernel timed, and the bytes of its structures."""
    usermode.check_end("index_bench", output)
    cells = [
        {
            "index": index,
            "op": op,
            "how": how,
            "order": order,
            "bits": int(bits),
            "min_ns": int(least) / 1000,
            "steps": int(steps) / 1000,
            "median_ns": int(median) / 1000,
        }
        for of, index, op, how, order, bits, least, steps, median in RESULT.findall(output)
        if of == part
    ]
    if not cells:
        die(f"the kernel's benchmark printed no result of {part}")
    names = [name_of(cell) for cell in cells]
    if len(set(names)) < len(names):
        die("the kernel's benchmark timed a cell twice")
    slots = max(map(int, SLOTS.findall(output)), default=0)
    if bool(slots) != (side == "page_hash"):
        die(f"{side}: the page hash has {slots} slots")
    return {
        "cells": cells,
        "step_ns": int(STEP.findall(output)[0]) / 1000,
        "page_hash_slots": slots,
        "bytes": {
            f"{index} {bits}": int(size) / 2 ** int(bits)
            for index, bits, size in BYTES.findall(output)
        },
        "first_fill_ns": least_fills(output),
    }


def least_fills(output):
    """{"structure bits": ns an insert into a new structure}, of all orders the least."""
    found: dict[str, float] = {}
    for index, bits, fill in FIRST_FILL.findall(output):
        name = f"{index} {bits}"
        found[name] = min(int(fill) / 1000, found.get(name, float("inf")))
    return found


def name_of(cell):
    return " ".join(str(cell[name]) for name in NAMES)


def times(result, part, side, cell):
    """A time from each round of a cell."""
    found = [
        one
        for turn in result.runs(part)
        if turn["side"] == side
        for one in turn["cells"]
        if name_of(one) == cell
    ]
    if not found:
        die(f"{part}: {side} has no cell {cell!r}")
    if found[0]["bits"] > PACED_BITS[part]:
        return [one["min_ns"] for one in found]
    step_ns = min(turn["step_ns"] for turn in result.runs(part))
    return [one["steps"] * step_ns for one in found]


def nanoseconds(result, part, side, cell):
    """The minimum of all rounds: other load on the machine only adds."""
    return min(times(result, part, side, cell))


def ratio(result, part, side, cell):
    return nanoseconds(result, part, side, cell) / nanoseconds(result, part, "base", cell)


def cells_of(result, part):
    return [name_of(cell) for cell in result.runs(part)[0]["cells"]]


def figures(result):
    xarray_figures(result)
    page_figures(result)
    structure_figures(result)


def xarray_figures(result):
    for bits in 12, 15, 17:
        cell = f"xarray lookup dependent random {bits}"
        result.figure(f"xa_dep_2_{bits}", ratio(result, "xarray", "ours", cell))
        result.figure(f"aa_xa_dep_2_{bits}", ratio(result, "xarray", "again", cell))
    for figure, side in ("xa_worst_cell", "ours"), ("aa_worst_cell", "again"):
        of = {cell: ratio(result, "xarray", side, cell) for cell in cells_of(result, "xarray")}
        worst = max(of, key=of.__getitem__)
        result.figure(figure, of[worst])
        result.run("worst", figure=figure, cell=worst, ratio=of[worst])


def page_figures(result):
    def figure(name, how, bits):
        cell = f"file lookup {how} random {bits}"
        for side, value in (
            ("page_hash", f"page_hash_{name}_2_{bits}"),
            ("ours", f"page_off_{name}_2_{bits}"),
        ):
            result.figure(value, ratio(result, "pages", side, cell))

    for bits in 12, 15, 17, 20:
        figure("rand", "independent", bits)
        figure("dep", "dependent", bits)
    for bits in 12, 15, 17:
        figure("touch", "touching", bits)
    cell = "file lookup independent random 20"
    result.figure("page_hash_off", ratio(result, "pages", "ours", cell))
    result.figure("aa_page_rand_2_20", ratio(result, "pages", "again", cell))


def structure_figures(result):
    """Others divided by the XArray of the same kernel, at the largest size."""
    bits = max(sizes_of(result, "structures"))
    for op in OPS:
        for order in ORDERS:
            xarray = nanoseconds(
                result, "structures", "ours", f"{KERNELS} {op} alone {order} {bits}"
            )
            for index in indices(result):
                if index != KERNELS:
                    result.figure(
                        f"{op}_{order}_{index}",
                        nanoseconds(
                            result, "structures", "ours", f"{index} {op} alone {order} {bits}"
                        )
                        / xarray,
                    )
    for name, size in result.runs("structures")[0]["bytes"].items():
        index, of = name.split()
        if int(of) == bits:
            result.figure(f"bytes_{index}", size)
            result.figure(f"first_fill_{index}", first_fill(result, index, bits))


def first_fill(result, index, bits):
    """The least of all rounds, divided by that of the XArray."""

    def least(of):
        return min(
            turn["first_fill_ns"][f"{of} {bits}"]
            for turn in result.runs("structures")
            if turn["side"] == "ours"
        )

    return least(index) / least(KERNELS)


def sizes_of(result, part):
    return sorted({cell["bits"] for cell in result.runs(part)[0]["cells"]})


def indices(result):
    return list(dict.fromkeys(cell["index"] for cell in result.runs("structures")[0]["cells"]))


# --- tables and the picture --------------------------------------------------


def tables(result):
    for part, title in (("xarray", "the XArray"), ("pages", "filemap_get_entry() on one file")):
        print(f"\n  ns an operation of {title}, least of all rounds")
        sides = list(SIDES[part])
        table(
            [side_row(result, part, sides, cell) for cell in cells_of(result, part)],
            (
                "index, operation, how, order, bits",
                *map(titled, sides),
                *(f"{titled(side)}/base" for side in sides[1:]),
            ),
        )
    for how in "alone", "touching":
        print(
            f"\n  ns an operation of structures, the page "
            f"{'touched' if how == 'touching' else 'not touched'}, least of "
            "all rounds"
        )
        table(
            [
                structure_row(result, index, side, op, how, order)
                for op in OPS
                for order in ORDERS
                for index, side in shown(result)
            ],
            (
                "structure, operation, order",
                *(f"2^{bits}" for bits in sizes_of(result, "structures")),
            ),
        )
    bytes_table(result)
    for worst in result.runs("worst"):
        print(f"\n  {worst['figure']}: {worst['ratio']:.3f}, {worst['cell']}")


def titled(side):
    """The title of a side; stored results call the series "ours"."""
    return "series" if side == "ours" else side


def side_row(result, part, sides, cell):
    return (
        cell,
        *(f"{nanoseconds(result, part, side, cell):.2f}" for side in sides),
        *(f"{ratio(result, part, side, cell):.3f}" for side in sides[1:]),
    )


def shown(result):
    """(structure, side): all of the series, and the XArray of the base."""
    return [(KERNELS, "base"), *((index, "ours") for index in indices(result))]


def called(index, side):
    return {KERNELS: f"xarray {side}"}.get(index, index)


def structure_row(result, index, side, op, how, order):
    return (
        f"{called(index, titled(side))} {op} {order}",
        *(
            f"{nanoseconds(result, 'structures', side, cell):.1f}"
            for bits in sizes_of(result, "structures")
            for cell in [f"{index} {op} {how} {order} {bits}"]
        ),
    )


def bytes_table(result):
    print("\n  bytes an entry, its key and its place in the entry with them")
    weighed = result.runs("structures")[-1]["bytes"]
    sizes = sizes_of(result, "structures")
    table(
        [
            (index, *(f"{weighed[f'{index} {bits}']:.2f}" for bits in sizes))
            for index in indices(result)
        ],
        ("structure", *(f"2^{bits}" for bits in sizes)),
    )
    print("\n  ns an insert into a new structure, its growth with it, divided by the XArray's")
    table(
        [
            (index, *(f"{first_fill(result, index, bits):.2f}" for bits in sizes))
            for index in indices(result)
        ],
        ("structure", *(f"2^{bits}" for bits in sizes)),
    )


def rows_of_picture(result):
    """One for each curve: where it is drawn, and its points."""
    rows = [
        {
            "panel": op,
            "order": order,
            "curve": called(index, side),
            "points": [
                (
                    bits,
                    nanoseconds(result, "structures", side, f"{index} {op} alone {order} {bits}"),
                )
                for bits in sizes_of(result, "structures")
            ],
        }
        for op in OPS
        for order in ORDERS
        for index, side in shown(result)
    ]
    rows += [
        {
            "panel": "page of a file",
            "order": order,
            "curve": side,
            "points": [
                (
                    bits,
                    nanoseconds(result, "pages", side, f"file lookup independent {order} {bits}"),
                )
                for bits in sizes_of(result, "pages")
            ],
        }
        for order in ORDERS
        for side in ("base", "ours", "page_hash")
    ]
    return rows


def draw(rows):
    record.draw("index", [PICTURE], rows)
