# SPDX-License-Identifier: GPL-2.0
"""Extended attributes out of a pool of values."""

import statistics
from typing import NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import NEAR, NOISY, Benchmark, Figure
from bench.lib.jobs import count_guest, mkfs_ext4, run_guest
from bench.lib.rounds import alternate, furthest, run_jobs
from bench.lib.sides import build_kernels, check_counting, kernel_of, note_machine
from bench.lib.symbols import clock_functions, functions_of, objects_of
from common import die

SYSTEMS = ("ext4", "ext2")
# ext2's newer allocator puts a directory of the root into a random group.
MOUNTS = {"ext4": "-t ext4 -o noinit_itable", "ext2": "-t ext2 -o oldalloc"}
# A set costs ext2 about half: for the estimate only.
WEIGHTS = {"ext4": 1.0, "ext2": 0.5}
MEMORY = "1G"  # the cache of the series may then hold about 61,000 entries
APPEND = "nokaslr"
# The base without its cache, which ext4 alone can mount.
DISABLED = "nombcache"
# The series with one of the two sizes as in the base.
BUCKETS_ONLY = "mbcache.max_entries=16384"
ENTRIES_ONLY = "hash_entries=mbcache:1024"
# Instructions are counted in this order; the second base is the A/A pair.
ORDER = ("base", "ours", "again")
PARTS = {"buckets": BUCKETS_ONLY, "entries": ENTRIES_ONLY}
# Of the base's instructions: what a function must differ by to be kept.
DIFFERENCE = 0.0005


class Disk(NamedTuple):
    size: str
    inodes: int


SMALL = Disk("256M", 16384)
LARGE = Disk("1000M", 131072)


class Cell(NamedTuple):
    system: str
    processes: int
    files: int  # of a process
    values: int  # in the pool
    sets: int  # of a process

    @property
    def work(self):
        """The time of a cell in sets, for the estimate; file creation included."""
        return WEIGHTS[self.system] * (10_000 + self.processes * (self.sets + 2 * self.files))


class Load(NamedTuple):
    processes: tuple
    files: tuple
    values: tuple
    sets: int
    rounds: int  # of seconds
    again: tuple  # file systems with an A/A pair beyond the cap
    parts: tuple  # file systems where the two sizes are told apart
    beyond: dict
    disabled: tuple = ()  # file systems that are mounted without the cache as well


class Side(NamedTuple):
    name: str
    kernel: object
    append: str = APPEND
    mount: str = ""  # one more option


# More values than the base's cache holds, fewer than that of the series.
BEYOND = {"processes": 1, "files": 120_000, "values": 40_000, "sets": 120_000}
LOADS = {
    "quick": Load(
        (1, 4),
        (10, 1000),
        (100,),
        sets=3000,
        rounds=1,
        again=("ext4",),
        parts=(),
        beyond=BEYOND | dict.fromkeys(("files", "sets"), 60_000),
    ),
    "usual": Load(
        (1, 4),
        (10, 1000),
        (10, 100, 1000, 10_000, 100_000),
        sets=10_000,
        rounds=2,
        again=("ext4",),
        parts=(),
        beyond=BEYOND,
        disabled=("ext4",),
    ),
    # All cells of 2015, whose processes made 50,000 sets on 24 processors.
    "long": Load(
        (1, 2, 4, 8, 16, 32, 64),
        (10, 100, 1000),
        (10, 100, 1000, 10_000, 100_000),
        sets=10_000,
        rounds=2,
        again=SYSTEMS,
        parts=SYSTEMS,
        beyond=BEYOND,
        disabled=("ext4",),
    ),
}
BENCH = Benchmark(
    seconds=(90, 900, 21600),
    loads=LOADS,
    figures=(
        Figure("seconds_*", "ratio", NOISY),
        Figure("*", "ratio", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    note_machine(result, kernels["ours"])
    check_counting(result, kernels["ours"])
    run_jobs(plan(load, kernels), lambda job: run_job(result, job))
    keep_differences(result, {name: objects_of(kernels[kernel_of(name)]) for name in ORDER})
    seed_figures(result)
    beyond_figures(result)


# What is run, and how long it will take.


class Job(NamedTuple):
    kind: str  # count, seconds or beyond
    side: Side
    disk: Disk
    cells: list
    number: int  # of the round

    @property
    def work(self):
        return sum(cell.work for cell in self.cells)

    @property
    def title(self):
        first = self.cells[0]
        values = f"V={first.values}" if self.kind != "beyond" else "beyond the cap"
        return f"{self.kind}, {first.system}, {values}, {self.side.name}"


def plan(load, kernels):
    """All guests in their order; guests to compare follow each other."""
    sides = {name: Side(name, kernels[kernel_of(name)]) for name in ORDER}
    jobs = plan_beyond(load, sides)
    for system in SYSTEMS:
        for values in load.values:
            cells = block(load, system, values)
            jobs += [Job("count", sides[name], SMALL, cells, 0) for name in ORDER]
            jobs += [
                Job("seconds", sides[name], SMALL, cells, number)
                for number, name in alternate(load.rounds)
            ]
            if system in load.disabled:
                off = Side("disabled", sides["base"].kernel, mount=DISABLED)
                jobs += [Job("seconds", off, SMALL, cells, number) for number in range(load.rounds)]
    return jobs


def plan_beyond(load, sides):
    jobs = []
    for system in SYSTEMS:
        order = [sides["base"], sides["ours"]]
        if system in load.again:
            order.append(sides["again"])
        if system in load.parts:
            order += [
                Side(name, sides["ours"].kernel, f"{APPEND} {words}")
                for name, words in PARTS.items()
            ]
        jobs += [Job("beyond", side, LARGE, [Cell(system, **load.beyond)], 0) for side in order]
    return jobs


def block(load, system, values):
    """One of the tables of 2015: all processes and files, one pool."""
    return [
        Cell(system, processes, files, values, load.sets)
        for files in load.files
        for processes in load.processes
    ]


def run_job(result, job):
    if job.kind == "seconds":
        take_seconds(result, job)
    else:
        count(result, job)


# Guests.


def script(cells, disk, turns=False, mount=""):
    """What a guest runs: a new file system for each cell, with one more option.

    With turns, the processes of a cell interleave the same way each time.
    """
    lines = [
        "echo -1 > /proc/sys/kernel/sched_rt_runtime_us",
        "cd /proc/sys/vm",
        "echo 0 > dirty_writeback_centisecs",
        "echo 90 > dirty_ratio",
        "echo 80 > dirty_background_ratio",
        "cd /",
    ]
    for cell in cells:
        lines += [
            mkfs(cell.system, disk),
            f"mount {','.join(filter(None, (MOUNTS[cell.system], mount)))} /dev/ram0 /mnt",
            "echo '=== cell'",
            f"xattr_bench /mnt -p {cell.processes} -f {cell.files} "
            f"-v {cell.values} -n {cell.sets}" + (" -t" if turns and cell.processes > 1 else ""),
            "umount /mnt",
        ]
    return "\n".join(lines) + "\n"


def mkfs(system, disk):
    """Blocks as large disks have them."""
    return mkfs_ext4(
        f"/dev/ram0 {disk.size}",
        f"-t {system} -b 4096 -I 256 -m 0 -O ^has_journal -N {disk.inodes}",
    )


def options(job):
    return {
        "mem": MEMORY,
        "append": job.side.append,
        "programs": ["mkfs.ext4"],
        "timeout": 60 + job.work / 2000,
    }


def take_seconds(result, job):
    output = run_guest(
        result,
        f"{job.kind}-{job.side.name}",
        job.side.kernel,
        script(job.cells, job.disk, mount=job.side.mount),
        cpus=2,
        **options(job),
    )
    for cell, said in zip(job.cells, parse(output, job.cells)):
        keep(result, job, cell, said)


def count(result, job):
    segments, output = count_guest(
        result,
        f"{job.kind}-{job.side.name}",
        job.side.kernel,
        script(job.cells, job.disk, turns=True),
        **options(job),
    )
    if [segment.label for segment in segments] != [1] * len(job.cells):
        die(f"the QEMU plugin saw {len(segments)} segments of {len(job.cells)}")
    own = functions_of(job.side.kernel, "fs/mbcache.o")
    clock = clock_functions(job.side.kernel)
    for cell, said, segment in zip(job.cells, parse(output, job.cells), segments):
        symbol_counts.check_memory(segment)
        found = instructions(segment, own, clock)
        if job.kind == "count":
            found["functions"] = segment.kernel(without=clock)
        keep(result, job, cell, said, **found)


def instructions(segment, own, clock):
    """Instructions of the kernel; user space is the same in both."""
    kernel = segment.kernel()
    return {
        "all_insns": sum(kernel.values()),
        "insns": sum(segment.kernel(without=clock).values()),
        "mbcache_insns": sum(count for name, count in kernel.items() if name in own),
    }


def keep(result, job, cell, said, **more):
    result.run(
        job.kind,
        kernel=job.side.name,
        round=job.number,
        **cell._asdict(),
        seconds=said["seconds"],
        distinct=said["distinct"],
        blocks=said["blocks"],
        **more,
    )


def keep_differences(result, objects):
    """What takes more or less than in the base; the functions of each cell are dropped.

    The numbers are those of the guests in ORDER; `objects` has the object file of
    each of their functions.
    """
    cells = [(one, one.pop("functions")) for one in result.runs("count")]
    for system in SYSTEMS:
        functions: dict[str, list[int]] = {}
        files: dict[str, list[int]] = {}
        for one, counts in cells:
            if one["system"] == system:
                side = ORDER.index(one["kernel"])
                for name, insns in counts.items():
                    path = objects[one["kernel"]].get(name, "[other]")
                    functions.setdefault(name, [0, 0, 0])[side] += insns
                    files.setdefault(path, [0, 0, 0])[side] += insns
        whole = [sum(numbers) for numbers in zip(*functions.values())]
        result.run(
            "differences",
            system=system,
            insns=whole,
            objects=different(files, DIFFERENCE * whole[0]),
            functions=different(functions, DIFFERENCE * whole[0]),
        )


def different(insns, least):
    return {name: of for name, of in sorted(insns.items()) if abs(saving(of)) >= least}


def saving(insns):
    """Of the series, to the mean of the base's guests; the order is ORDER."""
    base, ours, again = insns
    return (base + again) / 2 - ours


def parse(output, cells):
    """What xattr_bench printed for each cell, as numbers."""
    parts = output.split("=== cell\n")[1:]
    reports = [dict(line.split(": ", 1) for line in part.splitlines()) for part in parts]
    reports = [{name: float(value) for name, value in one.items()} for one in reports]
    if len(reports) != len(cells):
        die(f"the guest reported {len(reports)} cells of {len(cells)}")
    for cell, said in zip(cells, reports):
        check_report(cell, said)
    return reports


def check_report(cell, said):
    """All sets of the cell were made, and their values could be shared."""
    if said["errors"] or said["sets"] != cell.processes * cell.sets:
        die(
            f"{said['sets']:.0f} sets of {cell.processes * cell.sets} were "
            f"made on {cell.system}, {said['errors']:.0f} failed"
        )
    if said["blocks"] < said["distinct"]:
        die(
            f"{said['distinct']:.0f} different values took "
            f"{said['blocks']:.0f} blocks of {cell.system}: they do not go "
            "to blocks"
        )


# Figures.


def place(one):
    """The cell of a run."""
    return {name: one[name] for name in Cell._fields}


def ratios(result, kind, name, above="ours"):
    """`above` divided by the mean of the base's guests, for each cell.

    The base again is compared with the base's first guest.
    """
    below = ("base",) if above == "again" else ("base", "again")
    found = []
    for one in result.runs(kind, kernel=above):
        same = [
            run[name] for other in below for run in result.runs(kind, kernel=other, **place(one))
        ]
        found.append(one[name] / statistics.fmean(same))
    return found


def seed_figures(result):
    figure = result.figure
    without_clock = ratios(result, "count", "insns")
    figure("insn_ratio_seed_range_max", max(without_clock))
    figure("insn_ratio_seed_range_median", statistics.median(without_clock))
    figure("insn_ratio_seed_range_min", min(without_clock))
    figure("insn_total_ratio_seed_range_max", max(ratios(result, "count", "all_insns")))
    own = ratios(result, "count", "mbcache_insns")
    figure("mbcache_insn_ratio_seed_range_max", max(own))
    figure("mbcache_insn_ratio_seed_range_median", statistics.median(own))
    # The sum over all cells: concurrent processes sometimes add a block.
    figure("disk_ratio_seed_range", total_blocks(result, "ours") / total_blocks(result, "base"))
    figure("insn_aa_ratio_seed_range_worst", furthest(ratios(result, "count", "insns", "again")))
    figure(
        "insn_total_aa_ratio_seed_range_worst",
        furthest(ratios(result, "count", "all_insns", "again")),
    )
    figure(
        "seconds_ratio_seed_range_median", statistics.median(ratios(result, "seconds", "seconds"))
    )


def total_blocks(result, name):
    return sum(one["blocks"] for one in result.runs("count", kernel=name))


def beyond_figures(result):
    """The figure is that of the worse file system."""
    for short, name in (
        ("insn", "insns"),
        ("disk", "blocks"),
        ("insn_total", "all_insns"),
        ("mbcache_insn", "mbcache_insns"),
    ):
        found = dict(zip(systems(result, "ours"), ratios(result, "beyond", name)))
        result.figure(f"{short}_ratio_beyond_cap", max(found.values()))
        for system, ratio in found.items():
            result.figure(f"{short}_ratio_beyond_cap_{system}", ratio)
    for short, name in (("insn", "insns"), ("disk", "blocks")):
        result.figure(
            f"{short}_aa_ratio_beyond_cap_worst", furthest(ratios(result, "beyond", name, "again"))
        )
        for part in PARTS:
            for system, ratio in zip(systems(result, part), ratios(result, "beyond", name, part)):
                result.figure(f"{short}_ratio_beyond_cap_{part}_only_{system}", ratio)


def systems(result, name):
    return [one["system"] for one in result.runs("beyond", kernel=name)]
