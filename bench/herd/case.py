# SPDX-License-Identifier: GPL-2.0
"""512 threads that wait for one slow disk, and which of them are woken in vain."""

import re
import shutil
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.jobs import UUID, fields, split_counters
from bench.lib.rounds import alternate, paired
from bench.lib.sides import build_kernels, note_machine
from bench.lib.symbols import clock_functions, functions_of
from common import die, run, step
from guest import hashstats_file, vm
from kernel import build, variants
from series import extra_patch, source

HERE = Path(__file__).parent
MACHINE: dict[str, Any] = {"mem": "4G", "cpus": 2}
THREADS = 512
SMALL = "hash_entries=folio_wait:256,bit_wait:256"
# About what the disks of the report of 2004 gave.
DISK = {"throttling.bps-total": 20 << 20, "throttling.iops-total": 1000}
# Files and their inodes; a file system whose inodes fill a block each.
DISKS = {"data": ("2G", "-N", "4096"), "inodes": ("1G", "-N", "65536", "-I", "4096")}
PHASES = {
    "write": "Write",
    "random-write": "Random Write",
    "read": "Read",
    "random-read": "Random Read",
}
HERDS = {"page-locks": "Page Locks", "same-pages": "Same Pages", "buffer-locks": "Buffer Locks"}
HUNG_SECONDS = 600  # until a phase counts as hung
TABLES = ("folio_wait", "bit_wait")
LABELS = {
    "wakes": "wakes",
    "examined": "entries-examined",
    "matched": "entries-matched",
    "called": "functions-called",
}
KINDS = ("base", "ours", "ours-256")
# Code that finds pages and buffers, by object file; the wait queues share theirs
# with other code.
CODE = ("mm/filemap.o", "mm/page_hash.o", "lib/xarray.o", "fs/buffer*.o")
QUEUES = "kernel/sched/build_utility.o"
FUNCTIONS = 80  # whose instructions are kept, the largest of each phase
WAITS = re.compile(r"\w*(wait|wake_up|wake_function)\w*")


class Load(NamedTuple):
    rounds: int  # of throughput
    countings: int  # guests of a kernel that count
    blocks: int  # of 4 KiB, of a thread's file
    ops: int  # of a thread in a random phase or a herd
    insns: int  # rounds of counted instructions


class Side(NamedTuple):
    name: str
    kernel: object
    append: str = ""


LOADS = {
    "quick": Load(rounds=1, countings=1, blocks=8, ops=2, insns=0),
    "usual": Load(rounds=2, countings=1, blocks=64, ops=8, insns=5),
    "long": Load(rounds=7, countings=2, blocks=512, ops=32, insns=9),
}
BENCH = Benchmark(
    seconds=(100, 1200, 7800),
    loads=LOADS,
    figures=(
        Figure("foreign_calls_per_wake_base", "calls", NOISY),
        Figure("foreign_calls_per_wake*", "calls", EXACT),
        Figure("foreign_examined_*", "entries", NOISY),
        Figure("*", "ratio", NOISY),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    base, ours = build_kernels(result).values()
    counted = counted_base()
    result.kernel(counted)
    note_machine(result, ours)
    for number in range(load.countings):
        count_all(result, sides(counted, ours), load, number)
    for number, side in alternate(load.rounds, sides(base, ours)):
        take_rates(result, side, load, number)
    for number, side in alternate(load.insns, sides(base, ours)[:2]):
        count_instructions(result, side, number, load)
    counter_figures(result)
    throughput_figures(result)
    if load.insns:
        instruction_figures(result)


def counted_base() -> build.Build:
    """The base with counters for its hashed wait queues."""
    patches = [HERE / f"count-wakeups{of}.patch" for of in ("", f"-{source.base_name()}")]
    commit = extra_patch.commit(variants.base_commit(), f"Linux {source.version()}", *patches)
    return build.build("base-counted", variants.BASE, commit)


def sides(base, ours):
    return [Side("base", base), Side("ours", ours), Side("ours-256", ours, SMALL)]


def take_rates(result, side, load, number):
    with step(f"throughput, {side.name}, {number + 1} of {load.rounds}") as now:
        reports = boot(result, side, load, False, now)
    for report in reports:
        result.run("throughput", kernel=side.name, round=number, **values(report))


def count_all(result, order, load, number):
    for side in order:
        with step(f"counters, {side.name}, {number + 1} of {load.countings}") as now:
            reports = boot(result, side, load, True, now)
        for report in reports:
            for name, counts in counters(report):
                result.run(
                    "counters",
                    kernel=side.name,
                    round=number,
                    phase=report["phase"],
                    table=name,
                    **counts,
                )


def boot(result, side, load, counting, now):
    """Run one guest; return the report of each phase."""
    machine = vm.Guest(
        side.kernel,
        job(load, counting),
        qemu=drives(),
        append=side.append,
        timeout=HUNG_SECONDS,
        **MACHINE,
    )
    make_disks(machine.folder)
    now.note = lambda: f"{machine.output.count('phase: ')} phases"
    with machine:
        output = machine.finish().output
        now.note = ""
    result.command(f"{'counters' if counting else 'throughput'}-{side.name}", machine.command())
    return parse(output)


def count_instructions(result, side, number, load):
    """Instructions of each phase, on one processor, by what executed them."""
    few = load._replace(blocks=16, ops=4)
    with step(f"instructions, {side.name}, {number + 1} of {load.insns}"):
        guest = vm.Guest(
            side.kernel,
            job(few, False),
            qemu=[*symbol_counts.option(symbol_counts.plugin(), "counts"), *drives()],
            accel=symbol_counts.EMULATED,
            append="nokaslr",
            timeout=HUNG_SECONDS * 2,
            **MACHINE | {"cpus": 1},
        )
        make_disks(guest.folder)
        with guest:
            parse(guest.finish().output)
            lines = (guest.folder / "counts").read_text().splitlines()
    result.command(f"instructions-{side.name}", guest.command())
    phases = [*PHASES, *HERDS]
    segments = symbol_counts.segments(lines, symbol_counts.Symbols(side.kernel))
    symbol_counts.check_segments(segments, len(phases))
    clock, code = clock_functions(side.kernel), code_functions(side.kernel)
    for phase, segment in zip(phases, segments):
        kernel = segment.kernel(without=clock)
        result.run(
            "instructions",
            kernel=side.name,
            round=number,
            phase=phase,
            kernel_insns=sum(kernel.values()),
            code_insns=sum(insns for name, insns in kernel.items() if name in code),
            switches=segment.entries["__switch_to"],
            functions=dict(
                sorted(kernel.items(), key=lambda item: item[1], reverse=True)[:FUNCTIONS]
            ),
        )


def code_functions(kernel):
    """Functions that the series changes and that these loads call."""
    waits = {name for name in functions_of(kernel, QUEUES) if WAITS.fullmatch(name)}
    return functions_of(kernel, *CODE) | waits


def drives():
    """QEMU arguments: slow disks, and one that need not flush."""
    words = []
    for name in DISKS:
        limits = "".join(f",{key}={value}" for key, value in DISK.items())
        words += [
            "-drive",
            f"file={name},format=raw,if=none,id={name},cache=unsafe{limits}",
            "-device",
            f"virtio-blk-pci,drive={name},queue-size=1024,write-cache=off",
        ]
    return words


def make_disks(folder):
    """The same file systems for every guest."""
    mkfs = shutil.which("mkfs.ext2", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if not mkfs:
        die("mkfs.ext2: not found; `make setup` installs what is needed")
    for name, (size, *options) in DISKS.items():
        run(
            [
                mkfs,
                "-q",
                "-F",
                "-U",
                UUID.format(0),
                "-E",
                f"hash_seed={UUID.format(0)}",
                *options,
                folder / name,
                size,
            ],
            what="mkfs.ext2",
        )


def job(load, counting):
    lines = [
        "mkdir /data /inodes",
        "mount -t ext2 /dev/vda /data",
        "mount -t ext2 /dev/vdb /inodes",
    ]
    if counting:
        lines.append("echo on > /proc/hashstats")
    for phase in [*PHASES, *HERDS]:
        folder = "/inodes" if phase == "buffer-locks" else "/data"
        lines.append(
            f"herd {folder} {phase} -t {THREADS} -b {load.blocks} "
            f"-n {load.ops} -w {HUNG_SECONDS}" + (" -c" if counting else "")
        )
    return "\n".join(lines) + "\n"


def parse(output):
    """A dict for each phase: what herd printed, and the file as `stats`."""
    reports = []
    for part in output.split("phase: ")[1:]:
        text, stats = split_counters("phase: " + part)
        reports.append(fields(text) | {"stats": stats})
    found = [report["phase"] for report in reports]
    if found != [*PHASES, *HERDS]:
        die(
            f"the guest reported the phases {' '.join(found) or 'none'}; "
            f"expected {' '.join([*PHASES, *HERDS])}"
        )
    return reports


def values(report):
    numbers = {
        name.replace("-", "_"): float(value)
        for name, value in report.items()
        if name not in ("phase", "stats")
    }
    return {"phase": report["phase"], **numbers}


def counters(report):
    """(table, counts) of one phase."""
    tables = hashstats_file.parse(report["stats"])
    for name in TABLES:
        if "wakes" not in tables.get(name, {}):
            die(f"/proc/hashstats shows no wakes of {name} while counting is on")
        yield name, {short: int(tables[name][label]) for short, label in LABELS.items()}


def per_wake(runs, many):
    """Entries or calls for other keys, for each wakeup."""
    wakes = sum(one["wakes"] for one in runs)
    if not wakes:
        return 0.0
    return sum(one[many] - one["matched"] for one in runs) / wakes


def counter_figures(result):
    suffix = {"base": "_base", "ours": "", "ours-256": "_256"}
    for kind in KINDS:
        # The mail's phases; the herds below are the worst of all.
        runs = [one for one in result.runs("counters", kernel=kind) if one["phase"] in PHASES]
        result.figure(f"foreign_calls_per_wake{suffix[kind]}", per_wake(runs, "called"))
        result.figure(f"foreign_examined_per_wake{suffix[kind]}", per_wake(runs, "examined"))
        herds = [worst(result, kind, phase) for phase in [*PHASES, *HERDS]]
        result.figure(f"foreign_examined_per_wake_worst{suffix[kind]}", max(herds))


def worst(result, kind, phase):
    """Both tables together: a phase uses mostly one of them."""
    return per_wake(result.runs("counters", kernel=kind, phase=phase), "examined")


def rates(result, kind, phase):
    return [one["mb_per_second"] for one in result.runs("throughput", kernel=kind, phase=phase)]


def throughput_figures(result):
    for phase in PHASES:
        name = phase.replace("-", "_")
        base = sorted(rates(result, "base", phase))
        for kind, suffix in ("ours", ""), ("ours-256", "_256"):
            result.figure(
                f"throughput_ratio_{name}{suffix}",
                paired(result, "throughput", "mb_per_second", kind, phase=phase),
            )
        result.figure(f"throughput_spread_{name}", base[-1] / base[0])
        result.compare(
            f"mb_per_cpu_second_ratio_{name}",
            *(per_cpu_second(result, kind, phase) for kind in ("base", "ours")),
        )


def per_cpu_second(result, kind, phase):
    """MB that a CPU second moves, of all rounds."""
    return statistics.median(
        100 * one["mb_per_second"] / one["machine_percent"]
        for one in result.runs("throughput", kernel=kind, phase=phase)
    )


def instruction_figures(result):
    for phase in [*PHASES, *HERDS]:
        name = phase.replace("-", "_")
        for what, kind in ("", "kernel_insns"), ("_code", "code_insns"):
            result.figure(
                f"insn_ratio{what}_{name}",
                paired(result, "instructions", kind, "ours", phase=phase),
            )
        base = sorted(
            one["kernel_insns"] for one in result.runs("instructions", kernel="base", phase=phase)
        )
        result.figure(f"insn_spread_{name}", base[-1] / base[0])
