# SPDX-License-Identifier: GPL-2.0
"""Cache lines that move between CPUs: tables of all operations, objects and locks."""

from bench.cases import lines as bench_lines
from report.page import KEPT_PICTURE, Picture, simple_table, wrapped

# Shown of an operation: what makes up at least this part of its transfers.
PART = 0.04
# Locks that saturate with more CPUs than anybody has are left out.
CPUS_SHOWN = 256


def section(of):
    """What stands in the page of what was measured."""
    result = of.get("lines")
    most = max(bench_lines.CPUS)
    yield wrapped(
        "Wall time on many CPUs cannot be measured with two, but what makes operations on many "
        "CPUs slow can be counted: cache lines that one CPU must fetch from the cache of another. "
        "One process on each CPU of an emulated machine carries out the operation on objects of "
        "its own: its file in its directory, its user, its timer, its port. The processes take "
        "turns, one operation at a time, and a model of the protocol MSI counts each read of a "
        "line that another CPU has modified and each write to a line that another CPU has. Two "
        f"runs give the same numbers to the digit{repeated(result)}. Operations with known "
        "answers are part of each run: a lock that was added on purpose is exactly 1 transfer, "
        "counters of each CPU are 0, and a line whose bytes no two CPUs share is named as such."
    )
    yield wrapped("Transfers of each operation with 2, 4 and 16 CPUs, mainline and the series:")
    yield simple_table(
        ("operation", *(f"{side}, {cpus}" for cpus in bench_lines.CPUS for side in SIDES)),
        list(operations(result)),
    )
    yield wrapped(
        f"Of what these are with {most} CPUs, for the operations that have figures. Fields in "
        "braces are those that the operation uses of the line. A line whose bytes no two CPUs "
        "share moves because of its neighbours only."
    )
    yield simple_table(("operation: object", *SIDES), list(objects(result)))
    yield Picture("lines", "Transfers of cache lines by object, with 16 CPUs.").text(KEPT_PICTURE)
    yield wrapped(
        f"Locks with {most} CPUs: instructions that all locks of this name are held in an "
        "operation, lines that move meanwhile, and the number of CPUs that saturate the one that "
        "is held longest. An operation that takes the time R and holds a lock for D of it cannot "
        "run on more than R/D CPUs at once (utilisation law). A transfer counts as "
        f"{bench_lines.TRANSFER} instructions here."
    )
    yield simple_table(
        (
            "operation: lock",
            *(f"{what}, {one}" for what in ("held", "moved", "CPUs") for one in SIDES),
        ),
        list(locks(result)),
    )
    yield wrapped(
        "All of this is a lower bound. Caches of the model hold everything; no CPU waits or spins "
        "for a lock; a line that no CPU has modified costs nothing; what an interrupt does counts "
        "for nobody; an operation in which the CPU switches tasks is left out, so that nothing "
        "that sleeps is here: waits for pages and bits, and attaching to a cgroup. A table that is "
        "larger than what the run fills looks free. Bit locks are not in the table of locks. Slab "
        "caches are not merged in these guests, and xfs is not in their kernel."
    )


SIDES = ("mainline", "series")
KERNELS = ("base", "ours")


def repeated(result):
    runs = [one["cpus"] for one in result.runs("repeat") if one["identical"]]
    return f" (here with {' and '.join(map(str, runs))} CPUs)" if runs else ""


def operations(result):
    for name in bench_lines.names(result):
        yield (
            name,
            *(
                f"{bench_lines.each(result, side, cpus, [name]):.2f}"
                for cpus in bench_lines.CPUS
                for side in KERNELS
            ),
        )


def objects(result):
    for name in bench_lines.shown_operations():
        sides = bench_lines.parts(result, name, "objects")
        least = PART * max(sum(one.values()) for one in sides)
        for what in sorted(set().union(*sides), key=lambda one: (-sides[0].get(one, 0), one)):
            values = [one.get(what, 0) for one in sides]
            if max(values) >= least:
                yield (f"{name}: {what}", *(f"{value:.2f}" for value in values))


def locks(result):
    for name in bench_lines.shown_operations():
        sides = [
            {lock["lock"]: lock for lock in one} for one in bench_lines.parts(result, name, "locks")
        ]
        for what in sorted(set().union(*sides)):
            found = [one.get(what) for one in sides]
            if any(one and one["share"] * CPUS_SHOWN >= 1 for one in found):
                yield (
                    f"{name}: {what}",
                    *(f"{one['held']:.0f}" if one else "-" for one in found),
                    *(f"{one['moved']:.2f}" if one else "-" for one in found),
                    *(f"{1 / one['share']:.0f}" if one else "-" for one in found),
                )
