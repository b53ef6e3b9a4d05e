# SPDX-License-Identifier: GPL-2.0
"""The inode table: instructions, locks and nodes."""

import shutil
import statistics
from typing import NamedTuple

from bench.lib import lockstat, symbol_counts
from bench.lib.benchmark import NEAR, NOISY, Benchmark, Figure
from bench.lib.jobs import count_guest, fields, mkfs_ext4, run_guest, split_counters
from bench.lib.rounds import alternate, furthest
from bench.lib.sides import (
    build_kernels,
    build_lockstat_kernels,
    check_counting,
    note_machine,
)
from bench.lib.symbols import functions_of
from common import die, step
from guest import chains, hashstats_file, vm

SYSTEMS = {"tmpfs": ("/tmpfs",), "ext4": ("/one",), "two": ("/one", "/two")}
PHASES = ("create", "stat", "unlink", "handle")
PROCESSES = (1, 2, 4)
KINDS = ("base", "ours")
# A tmpfs hashes an inode when its handle is made and not before.
HASHED = ("ext4", "two")

MEMORY = "1G"
CPUS = 4
SECONDS = 120
APPEND = "nokaslr"
# Few buckets, so that the chains show how the inodes spread; the old parameter
# is known to both kernels.
BUCKETS = 8192
CROWDED = f"{APPEND} ihash_entries={BUCKETS}"


class Load(NamedTuple):
    draws: int  # addresses of super blocks
    again: int  # guests that count instructions, for each draw
    files: int  # of all processes together
    crowd: int  # of these where chains are looked at


LOADS = {
    "quick": Load(draws=1, again=2, files=1000, crowd=BUCKETS),
    "usual": Load(draws=1, again=2, files=2000, crowd=2 * BUCKETS),
    "long": Load(draws=8, again=2, files=8000, crowd=2 * BUCKETS),
}
BENCH = Benchmark(
    seconds=(80, 150, 7200),
    loads=LOADS,
    figures=(
        Figure("*lock_share*", "share", NOISY),
        Figure("lock_acquisitions_*", "acquisitions", NOISY),
        Figure("insn_total_*", "ratio", NOISY),
        Figure("nodes_per_counted_hit", "nodes", NEAR),
        Figure("*", "ratio", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    if not shutil.which("gdb"):
        die("gdb: not found; `make setup` installs what is needed")
    kernels = build_kernels(result)
    counting = build_lockstat_kernels(result)
    note_machine(result, kernels["ours"])
    count_instructions(result, kernels, load)
    count_locks(result, counting, load)
    look_at_chains(result, kernels, load)
    instruction_figures(result)
    lock_figures(result)
    chain_figures(result)


def setup(draw):
    """Lines of a job: other super blocks, then the file systems."""
    lines = ["mkdir /draw /tmpfs /one /two"]
    lines += ["mount -t tmpfs draw /draw"] * draw
    lines.append("mount -t tmpfs tmpfs /tmpfs")
    for number, folder in enumerate(("/one", "/two")):
        lines += [
            mkfs_ext4(f"/dev/ram{number} 256M", "-N 65536", number=number),
            f"mount -o noinit_itable /dev/ram{number} {folder}",
        ]
    return lines


def load_lines(system, processes, files, *options):
    return [
        f"echo '=== run {system} {processes}'",
        " ".join(
            ["inodes", *SYSTEMS[system], f"-p {processes}", f"-n {files // processes}", *options]
        ),
    ]


def job(draw, loads, *options):
    """A job that runs the load for each (system, processes, files)."""
    lines = setup(draw)
    for one in loads:
        lines += load_lines(*one, *options)
    return "\n".join(lines) + "\n"


def machine(**options):
    return {
        "mem": MEMORY,
        "timeout": SECONDS,
        "programs": ["mkfs.ext4"],
        "append": APPEND,
    } | options


def parse(output, loads):
    """A dict for each phase of each load: what `inodes` printed."""
    reports = []
    for part in output.split("=== run ")[1:]:
        head, _, rest = part.partition("\n")
        system, processes = head.split()
        for group in rest.split("phase: ")[1:]:
            reports.append(report(group, system, int(processes)))
    found = [(one["system"], one["processes"], one["phase"]) for one in reports]
    wanted = [(system, processes, phase) for system, processes, _ in loads for phase in PHASES]
    if found != wanted:
        die(f"the guest reported {len(found)} phases of {len(wanted)}")
    return reports


def report(group, system, processes):
    text, counters = split_counters("phase: " + group)
    said = fields(text)
    return {
        "system": system,
        "processes": processes,
        "phase": said["phase"],
        "operations": int(said["operations"]),
        "rate": float(said["operations-per-second"]),
        "counters": counters,
    }


def all_loads(load, systems=tuple(SYSTEMS), processes=PROCESSES):
    return [(system, number, load.files) for system in systems for number in processes]


# Instructions.


def count_instructions(result, kernels, load):
    check_counting(result, kernels["ours"])
    rounds = load.draws * load.again
    for number, kind in alternate(rounds):
        with step(f"instructions, {kind}, {number + 1} of {rounds}"):
            count(result, kernels[kind], kind, number // load.again, load)


def count(result, kernel, kind, draw, load):
    loads = all_loads(load, processes=(1,))
    segments, output = count_guest(
        result, f"instructions-{kind}", kernel, job(draw, loads), **machine()
    )
    reports = parse(output, loads)
    labels = [segment.label for segment in segments]
    if labels != [1, 2, 3, 4] * len(loads):
        die(
            f"the QEMU plugin saw segments {labels}, expected 1, 2, 3, 4 "
            f"for each of {len(loads)} loads"
        )
    symbols = functions_of(kernel, "fs/inode.o")
    for segment, one in zip(segments, reports):
        check_work(segment, one)
        result.run(
            "instructions",
            kernel=kind,
            draw=draw,
            system=one["system"],
            phase=one["phase"],
            operations=one["operations"],
            all_insns=sum(segment.kernel().values()),
            insns={name: count for name, count in segment.insns.items() if name in symbols},
        )


def check_work(segment, one):
    """A stat must read its inode again, or it measures something else."""
    if one["phase"] != "stat" or one["system"] not in HASHED:
        return
    if segment.entries["ext4_alloc_inode"] < one["operations"]:
        die(
            f"{one['operations']} stats of {one['system']} read "
            f"{segment.entries['ext4_alloc_inode']} inodes: they were still "
            "in memory"
        )


def per_operation(runs, name=None):
    """Instructions of the inode symbols, or of one of them."""
    insns = sum(one["insns"].get(name, 0) if name else sum(one["insns"].values()) for one in runs)
    return insns / sum(one["operations"] for one in runs)


def all_per_operation(runs):
    return sum(one["all_insns"] for one in runs) / sum(one["operations"] for one in runs)


def draw_ratios(result, cost, **wanted):
    """The series divided by the base, for each draw."""
    draws = sorted({one["draw"] for one in result.runs("instructions")})
    return [
        cost(result.runs("instructions", kernel="ours", draw=draw, **wanted))
        / cost(result.runs("instructions", kernel="base", draw=draw, **wanted))
        for draw in draws
    ]


def touched(result, phase):
    """The systems on which a phase runs fs/inode.c: not stat on a tmpfs."""
    return [
        system
        for system in SYSTEMS
        if per_operation(result.runs("instructions", kernel="base", phase=phase, system=system))
        >= 1
    ]


def median_ratios(result, cost, phase):
    """{system: the median over the draws}."""
    return {
        system: statistics.median(draw_ratios(result, cost, phase=phase, system=system))
        for system in touched(result, phase)
    }


def instruction_figures(result):
    """The figure of a phase is that of its worst file system."""
    for phase in PHASES:
        ratios = median_ratios(result, per_operation, phase)
        result.figure(f"insn_ratio_{phase}", max(ratios.values()))
        for system, ratio in ratios.items():
            result.figure(f"insn_ratio_{phase}_{system}", ratio)
        total = median_ratios(result, all_per_operation, phase)
        result.figure(f"insn_total_ratio_{phase}", max(total.values()))
        for kind in KINDS:
            result.figure(f"insn_aa_ratio_{phase}_{kind}", same_again(result, kind, phase))
    for name, phases, system in (
        ("create_ext4", ("create",), "ext4"),
        ("create_unlink_tmpfs", ("create", "unlink"), "tmpfs"),
    ):
        both = [
            sum(
                all_per_operation(
                    result.runs("instructions", kernel=kind, phase=phase, system=system)
                )
                for phase in phases
            )
            for kind in KINDS
        ]
        result.compare(f"insn_total_{name}", *both)


def same_again(result, kind, phase):
    """A kernel divided by itself in the next guest, furthest from 1: the noise."""
    ratios = []
    for system in touched(result, phase):
        for draw in {one["draw"] for one in result.runs("instructions")}:
            first, second, *_ = result.runs(
                "instructions", kernel=kind, draw=draw, phase=phase, system=system
            )
            ratios.append(per_operation([second]) / per_operation([first]))
    return furthest(ratios)


# Acquisitions of the hash locks.


def count_locks(result, kernels, load):
    loads = all_loads(load, processes=(CPUS,))
    for kind in KINDS:
        with step(f"acquisitions of locks, {kind}"):
            # These kernels have no static keys: see harness/guest/accelerator.py.
            output = run_guest(
                result,
                f"locks-{kind}",
                kernels[kind],
                job(0, loads, "-l"),
                cpus=CPUS,
                parallel=True,
                **machine(),
            )
        reports = parse(output, loads)
        for one in reports:
            locks = lockstat.parse(one["counters"])
            taken = sorted((count for count, _ in locks), reverse=True)
            result.run(
                "locks",
                kernel=kind,
                system=one["system"],
                phase=one["phase"],
                operations=one["operations"],
                acquisitions=sum(taken),
                hottest=max(taken, default=0),
                locks=len([count for count in taken if count]),
                contentions=sum(count for _, count in locks),
            )


def hottest_share(result, **wanted):
    """Acquisitions of the hottest lock divided by those of the base's one."""
    (ours,) = result.runs("locks", kernel="ours", **wanted)
    (base,) = result.runs("locks", kernel="base", **wanted)
    if base["locks"] > 1:
        die(f"the base has {base['locks']} inode hash locks, expected 1")
    return ours["hottest"] / base["hottest"] if base["hottest"] else None


def lock_figures(result):
    for phase in PHASES:
        shares = [hottest_share(result, phase=phase, system=system) for system in HASHED]
        shares = [share for share in shares if share is not None]
        if shares:
            name = "" if phase == "create" else f"_{phase}"
            result.figure(f"hottest_lock_share{name}", max(shares))
    create = {
        kind: result.runs("locks", kernel=kind, phase="create", system="ext4")[0] for kind in KINDS
    }
    if not create["base"]["acquisitions"]:
        die("/proc/lock_stat shows no acquisition of inode_hash_lock in creates on ext4")
    for kind in KINDS:
        result.figure(
            f"lock_acquisitions_per_create_{kind}",
            create[kind]["acquisitions"] / create[kind]["operations"],
        )


# Chains.


def look_at_chains(result, kernels, load):
    for number, kind in alternate(load.draws):
        with step(f"chains from outside, {kind}, {number + 1} of {load.draws}"):
            walk(result, kernels[kind], kind, number, load)
    loads = [(system, processes, load.crowd) for system in SYSTEMS for processes in PROCESSES]
    with step("nodes of a lookup, series"):
        output = run_guest(
            result,
            "nodes-ours",
            kernels["ours"],
            job(0, loads, "-c"),
            cpus=CPUS,
            **machine(append=CROWDED),
        )
    reports = parse(output, loads)
    for one in reports:
        result.run(
            "nodes",
            system=one["system"],
            phase=one["phase"],
            processes=one["processes"],
            operations=one["operations"],
            **counted(one["counters"]),
        )


def counted(text):
    """What a phase did to the table, as the kernel counted it."""
    inode = hashstats_file.parse(text)["inode"]
    if "lookups" not in inode:
        die("/proc/hashstats shows no lookups of inodes while counting is on")
    return {
        name.replace("-", "_"): inode[name]
        for name in (
            "objects",
            "lookups",
            "hits",
            "nodes-per-counted-hit",
            "nodes-per-counted-miss",
            "nodes-per-hit",
            "nodes-per-hit-expected",
        )
        if name in inode
    }


def walk(result, kernel, kind, draw, load):
    """The files of each system in turn, and then gdb in the stopped guest."""
    lines = setup(draw)
    for system in HASHED:
        lines += [
            *load_lines(system, 1, load.crowd, "-k"),
            "wait-for-host",
            f"rm -r {' '.join(f'{f}/proc-0' for f in SYSTEMS[system])}",
        ]
    guest_ = vm.Guest(kernel, "\n".join(lines) + "\n", cpus=1, gdb=True, **machine(append=CROWDED))
    with guest_:
        for system in HASHED:
            guest_.ready()
            lengths = walk_from_outside(guest_, kernel)
            guest_.go()
            result.run("walk", kernel=kind, draw=draw, system=system, **chain_cost(lengths))
        guest_.finish()
    result.command(f"walk-{kind}", guest_.command())


def walk_from_outside(guest_, kernel):
    """{chain length: buckets} of the inode table."""
    return chains.lengths(guest_, kernel, {"inode_hashtable": BUCKETS})["inode_hashtable"]


def chain_cost(lengths):
    """Nodes examined to find each inode once, and those of a random function."""
    buckets = sum(lengths.values())
    objects = sum(length * count for length, count in lengths.items())
    nodes = sum(length * (length + 1) // 2 * count for length, count in lengths.items())
    return {
        "buckets": buckets,
        "objects": objects,
        "longest": max(lengths),
        "nodes_per_hit": nodes / objects,
        "nodes_per_hit_random": 1 + (objects - 1) / (2 * buckets),
    }


def chain_figures(result):
    for kind in KINDS:
        ratios = [
            one["nodes_per_hit"] / one["nodes_per_hit_random"]
            for one in result.runs("walk", kernel=kind)
        ]
        result.figure(f"nodes_vs_random_worst_{kind}", max(ratios))
        result.figure(f"nodes_vs_random_median_{kind}", statistics.median(ratios))
    hits = [one for one in result.runs("nodes", phase="handle") if "nodes_per_counted_hit" in one]
    if not hits:
        die("/proc/hashstats counted no hit of an inode while files were opened by their handles")
    result.figure("nodes_per_counted_hit", max(one["nodes_per_counted_hit"] for one in hits))
