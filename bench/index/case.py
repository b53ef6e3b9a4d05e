# SPDX-License-Identifier: GPL-2.0
"""Time of an index of pages: XArray, page hash, other structures."""

import re

from bench.lib import record, usermode
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.jobs import PAGE_HASH
from bench.lib.rounds import run_turns
from common import die
from guest import uml

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

BENCH = Benchmark(
    seconds=(30, 220, 3600),
    loads=LOADS,
    figures=(
        Figure("bytes_*", "bytes", EXACT),
        Figure("ns_*", "ns", NOISY),
        Figure("*", "ratio", NOISY),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    kernels = usermode.kernels(result, "index", ours=[OURS])
    for part, (rounds, sizes, settings) in load.items():
        time_part(result, kernels, part, rounds, sizes, settings)
    result.machine(huge_pages=all(one["huge_pages"] for one in result.data["runs"]))
    figures(result)
    draw(result)


def time_part(result, kernels, part, rounds, sizes, settings):
    words = [
        f"index_bench.part={part}",
        f"index_bench.bits={','.join(map(str, sizes))}",
        f"index_bench.evict_mb={4 * uml.cache_mb()}",
        *(f"index_bench.{name}={value}" for name, value in settings.items()),
    ]
    run_turns(
        f"time {part}",
        [(number, side) for number in range(rounds) for side in SIDES[part]],
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


def compare(result, name, part, side, cell):
    """A side and the base, with the base once more."""
    base, ours, again = (nanoseconds(result, part, one, cell) for one in ("base", side, "again"))
    result.compare(name, base, ours, again)


def xarray_figures(result):
    cells = [name_of(cell) for cell in result.runs("xarray")[0]["cells"]]
    for bits in 12, 15, 17, 20:
        for name, how in ("dep", "dependent"), ("indep", "independent"):
            cell = f"xarray lookup {how} random {bits}"
            if cell in cells:
                compare(result, f"xa_{name}_2_{bits}", "xarray", "ours", cell)
                if name == "dep" and bits < 20:
                    result.figure(f"aa_xa_dep_2_{bits}", ratio(result, "xarray", "again", cell))
    for figure, side in ("xa_worst_cell", "ours"), ("aa_worst_cell", "again"):
        of = {cell: ratio(result, "xarray", side, cell) for cell in cells}
        worst = max(of, key=of.__getitem__)
        result.figure(figure, of[worst])
        result.run("worst", figure=figure, cell=worst, ratio=of[worst])


def page_figures(result):
    for name, how, sizes in (
        ("rand", "independent", (12, 15, 17, 20)),
        ("dep", "dependent", (12, 15, 17, 20)),
        ("touch", "touching", (12, 15, 17)),
    ):
        for bits in sizes:
            cell = f"file lookup {how} random {bits}"
            for side, of in ("page_hash", "hash"), ("ours", "off"):
                compare(result, f"page_{of}_{name}_2_{bits}", "pages", side, cell)
    cell = "file lookup independent random 20"
    compare(result, "page_hash_off", "pages", "ours", cell)
    result.figure("aa_page_rand_2_20", ratio(result, "pages", "again", cell))


def structure_figures(result):
    """Others divided by the XArray of the same kernel, at the largest size."""

    def alone(index, op, order, bits):
        return nanoseconds(result, "structures", "ours", f"{index} {op} alone {order} {bits}")

    def first_fill(index):
        """The least of all rounds."""
        runs = result.runs("structures", side="ours")
        return min(turn["first_fill_ns"][f"{index} {bits}"] for turn in runs)

    sizes = sizes_of(result, "structures")
    bits = max(sizes)
    for op in OPS:
        for order in ORDERS:
            xarray = alone(KERNELS, op, order, bits)
            for index in indices(result):
                if index != KERNELS:
                    result.figure(f"{op}_{order}_{index}", alone(index, op, order, bits) / xarray)
    for name, size in result.runs("structures")[0]["bytes"].items():
        index, of = name.split()
        if int(of) == bits:
            result.figure(f"bytes_{index}", size)
            result.figure(f"first_fill_{index}", first_fill(index) / first_fill(KERNELS))
    result.figure(
        "first_fill_rhashtable_vs_chained", first_fill("rhashtable") / first_fill("chained")
    )
    for index in "chained", "rhashtable":
        for size in sizes:
            name = f"ns_lookup_random_{index}_2_{size}"
            result.figure(name, alone(index, "lookup", "random", size))


def sizes_of(result, part):
    return sorted({cell["bits"] for cell in result.runs(part)[0]["cells"]})


def indices(result):
    return list(dict.fromkeys(cell["index"] for cell in result.runs("structures")[0]["cells"]))


def called(index, side):
    return {KERNELS: f"xarray {side}"}.get(index, index)


def shown(result):
    """(structure, side): all of the series, and the XArray of the base."""
    return [(KERNELS, "base"), *((index, "ours") for index in indices(result))]


def draw(result):
    panels = {}
    for order in ORDERS:
        for op in OPS:
            panels[f"{order}: {op}"] = {
                called(index, side): points(
                    result, "structures", side, f"{index} {op} alone {order}"
                )
                for index, side in shown(result)
            }
        panels[f"{order}: page of a file"] = {
            f"file, {side}": points(result, "pages", side, f"file lookup independent {order}")
            for side in ("base", "ours", "page_hash")
        }
    record.draw(
        "index",
        x="pages",
        y="ns an operation",
        logarithms=(2, 10),
        columns=len(OPS) + 1,
        panels=panels,
    )


def points(result, part, side, cell):
    return [
        (2**bits, nanoseconds(result, part, side, f"{cell} {bits}"))
        for bits in sizes_of(result, part)
    ]
