# SPDX-License-Identifier: GPL-2.0
"""Cache lines that move between CPUs in each operation, with 2, 4 and 16 CPUs."""

import collections
from typing import Any, NamedTuple

from bench.lib import record, symbol_counts
from bench.lib.benchmark import EXACT, Benchmark, Figure
from bench.lib.rounds import alternate
from bench.lib.sides import TITLES, build_kernels
from bench.lines import observe, structures
from common import die, step

CPUS = (2, 4, 16)
# Shown and stored: objects of this many transfers each operation, locks of this share.
LEAST = 0.05
LEAST_SHARE = 0.01
# Instructions that a CPU would execute while it waits for a line: about what processors
# of one socket take.
TRANSFER = 100
# Ratios of operations that move less are those of small numbers.
RATIO_FROM = 0.5
# Figure -> the operations that it is the sum of.
FIGURES = {
    "tmpfs_create_unlink": ("tmpfs create", "tmpfs unlink"),
    "ext4_create_unlink": ("ext4 create", "ext4 unlink"),
    "orphan_create_unlink": ("orphan create", "orphan unlink"),
    "setresuid": ("user setresuid",),
    "timer": ("timer timer_create", "timer timer_delete"),
}


class Load(NamedTuple):
    warm: int  # rounds that do not count
    rounds: int
    repeat: tuple[int, ...]  # numbers of CPUs with which the base runs twice


LOADS = {
    "quick": Load(warm=20, rounds=20, repeat=(2,)),
    "usual": Load(warm=50, rounds=100, repeat=(2, 16)),
    "long": Load(warm=100, rounds=400, repeat=CPUS),
}
BENCH = Benchmark(
    seconds=(400, 1500, 5400),
    loads=LOADS,
    figures=(
        Figure("lines_*", "cache lines", EXACT),
        Figure("repeat_differs_*", "cache lines", EXACT),
        Figure("cpus_*", "CPUs", EXACT),
        Figure("worst_more", "cache lines", EXACT),
        Figure("worst_ratio", "ratio", EXACT),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin("lines")  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    types = {side: structures.structures(kernel) for side, kernel in kernels.items()}
    texts = {}
    for number, (turn, side) in enumerate(alternate(len(CPUS))):
        cpus = CPUS[turn]
        with step(f"{TITLES[side]}, {cpus} CPUs, {number + 1} of {2 * len(CPUS)}"):
            observed = observe_side(result, side, kernels[side], types[side], cpus, load)
        texts[side, cpus] = observed.text
        keep(result, side, cpus, observed)
    for cpus in load.repeat:
        with step(f"base again, {cpus} CPUs"):
            observed = observe_side(result, "again", kernels["base"], types["base"], cpus, load)
        same = observed.text == texts["base", cpus]
        result.run("repeat", cpus=cpus, identical=same)
        result.figure(f"repeat_differs_{cpus}", int(not same))
    figures(result)
    draw(result)


def observe_side(result, side, kernel, types, cpus, load):
    observed = observe.observe(kernel, types, cpus, load.warm, load.rounds, timeout=600)
    check_known(observed, cpus)
    result.command(f"lines-{side}", observed.command)
    return observed


def check_known(observed: observe.Observed, cpus: int) -> None:
    """What has a known answer must have it, to the digit."""
    wanted = {
        "known lock": (1.0, "window.lock", True),
        "known own counter": (0.0, "", True),
        "known false sharing": (1.0, "window.slots", False),
        "known publish": (1 / cpus, "window.published", True),
        "known read published": (1 / cpus, "window.published", True),
        "known uname": (1.0, "uts_sem", True),
    }
    for op in observed.ops:
        if op.name not in wanted:
            continue
        transfers, name, shared = wanted.pop(op.name)
        found = {(one.object, one.shared) for one in observed.hits if one.op == op.name}
        if op.each != transfers or found - {(name, shared)}:
            die(
                f"{op.name} with {cpus} CPUs: {op.each} transfers each of {sorted(found)}, "
                f"expected {transfers} of {name or 'nothing'}"
            )
    if wanted:
        die(f"with {cpus} CPUs the guest did not carry out {', '.join(wanted)}")


# What is stored.


def keep(result, side: str, cpus: int, observed: observe.Observed) -> None:
    for op in observed.ops:
        if not op.counted:
            die(f"{op.name}: all of {op.switched} operations were interrupted by another task")
        hits = [one for one in observed.hits if one.op == op.name]
        result.run(
            "lines",
            kernel=side,
            cpus=cpus,
            operation=op.name,
            counted=op.counted,
            switched=op.switched,
            transfers=rounded(op.each),
            insns=rounded(op.insns / op.counted),
            objects=by(hits, op, object_of),
            functions=by(hits, op, lambda one: one.function),
            pairs=by(hits, op, lambda one: f"{object_of(one)}: {one.function} {one.kind}"),
            locks=locks(observed, op),
        )


FALSE = ", bytes not shared"


def object_of(hit: observe.Hit) -> str:
    return hit.object if hit.shared else hit.object + FALSE


def rounded(value: float) -> float:
    return round(value, 4)


def by(hits: list[observe.Hit], op: observe.Op, key: Any) -> dict[str, float]:
    """Transfers for each operation, the largest first."""
    found: collections.Counter[str] = collections.Counter()
    for one in hits:
        found[key(one)] += one.times
    order = sorted(found, key=lambda name: (-found[name], name))
    return {
        name: rounded(found[name] / op.counted)
        for name in order
        if found[name] >= LEAST * op.counted
    }


def locks(observed: observe.Observed, op: observe.Op) -> list[dict[str, Any]]:
    """Locks that several CPUs take, by name.

    `held` are instructions for each operation, `moved` lines that move meanwhile.
    `share` is the part of an operation during which the lock of this name is held
    that is held longest.  Readers do not exclude each other: they are left out.
    """
    own = [one for one in observed.sections if one.op == op.name and one.kind == observe.EXCLUSIVE]
    users: collections.Counter[int] = collections.Counter()
    for one in own:
        users[one.address] |= one.cpus
    found: dict[str, list[observe.Section]] = {}
    for one in own:
        if users[one.address] & users[one.address] - 1:
            found.setdefault(one.lock, []).append(one)
    rows = []
    for name, sections in found.items():
        times: collections.Counter[int] = collections.Counter()
        for one in sections:
            times[one.address] += time(one)
        share = max(times.values()) / time(op)
        if share < LEAST_SHARE:
            continue
        rows.append(
            {
                "lock": name,
                "locks": len(times),
                "taken": rounded(sum(one.times for one in sections) / op.counted),
                "held": rounded(sum(one.insns for one in sections) / op.counted),
                "moved": rounded(sum(one.transfers for one in sections) / op.counted),
                "share": rounded(share),
            }
        )
    return sorted(rows, key=lambda row: (-row["share"], row["lock"]))


def time(of: observe.Op | observe.Section) -> int:
    """In instructions."""
    return of.insns + TRANSFER * of.transfers


# Figures.


def each(result, side, cpus, operations, what="transfers"):
    """The sum of some operations."""
    return sum(
        one[what]
        for name in operations
        for one in result.runs("lines", kernel=side, cpus=cpus, operation=name)
    )


def names(result):
    """Operations in their order, without those that have known answers."""
    return [
        name
        for name in dict.fromkeys(one["operation"] for one in result.runs("lines"))
        if not name.startswith("known ")
    ]


def figures(result):
    for figure, operations in FIGURES.items():
        for cpus in CPUS:
            base, ours = (each(result, side, cpus, operations) for side in ("base", "ours"))
            # Two runs are the same.
            result.figure(f"lines_{figure}_{cpus}", ours, mainline=base, series=ours, control=1)
            result.figure(f"lines_{figure}_{cpus}_base", base)
    pairs = [
        (each(result, "base", cpus, [name]), each(result, "ours", cpus, [name]))
        for name in names(result)
        for cpus in CPUS
    ]
    result.figure("worst_ratio", max(ours / base for base, ours in pairs if base >= RATIO_FROM))
    result.figure("worst_more", max(ours - base for base, ours in pairs))
    for side, end in (("ours", ""), ("base", "_base")):
        for figure, operations in FIGURES.items():
            bounds = [bound(result, side, max(CPUS), name) for name in operations]
            result.figure(f"cpus_{figure}{end}", min(bounds))


def bound(result, side, cpus, name):
    """How many CPUs saturate the hottest lock of an operation; no lock: all there are."""
    (one,) = result.runs("lines", kernel=side, cpus=cpus, operation=name)
    share = max((lock["share"] for lock in one["locks"]), default=0)
    return min(1 / share, cpus) if share else cpus


# Tables and the picture.


def parts(result, name, part):
    """{object or function: transfers} of base and series."""
    return [
        one[part]
        for side in ("base", "ours")
        for one in result.runs("lines", kernel=side, cpus=max(CPUS), operation=name)
    ]


def draw(result):
    """The operations that have figures, with the most CPUs: what moved."""
    shown = [name for operations in FIGURES.values() for name in operations]
    record.draw(
        "lines",
        x=f"cache lines fetched from another CPU, for each operation ({max(CPUS)} CPUs)",
        bars=[
            (f"{name}, {TITLES[side]}", one["objects"])
            for name in shown
            for side in ("base", "ours")
            for one in result.runs("lines", kernel=side, cpus=max(CPUS), operation=name)
        ],
    )
