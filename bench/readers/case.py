# SPDX-License-Identifier: GPL-2.0
"""Threads that read cached files, with the page hash off and on."""

import re
import statistics
from typing import NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import NEAR, NOISY, Benchmark, Figure
from bench.lib.jobs import PAGE_HASH, check_page_hash, count_guest, fields, run_guest
from bench.lib.rounds import alternate, paired
from bench.lib.sides import (
    build_kernels,
    build_lockstat_kernels,
    check_counting,
    note_machine,
)
from common import die, step

THREADS = (1, 2, 4, 8)
MANY = (12, 14, 16)  # of Table 3 as well: read() alone
PLACES = {"ext4": "/ext4", "tmpfs": "/tmpfs"}
KINDS = ("base", "ours", "hash")
APPEND = {"base": "nokaslr", "ours": "nokaslr", "hash": f"nokaslr {PAGE_HASH}"}
CPUS = 2
FILES, MEBIBYTES = 2, 32  # of Table 3
SETUP = """
mkdir /ext4 /tmpfs
mkfs.ext4 -q -m 0 /dev/vda
mount /dev/vda /ext4
mount -t tmpfs -o size=100% tmpfs /tmpfs
"""
COPY = "rep_movs_alternative"
LOCK_FUNCTION = re.compile(
    r"_raw_(spin|read|write)|(native|queued|pv)_.*(spin|read|write)|mutex_|"
    r"(down|up)_(read|write)|rwsem_|__percpu_(down|up)|osq_|folio_(un)?lock"
)
# Its name, then con-bounces, contentions, four wait times in microseconds,
# acq-bounces, acquisitions, four hold times.
LOCK = re.compile(r"^ *(\S.*):((?: +[0-9]+(?:\.[0-9]+)?){12})$", re.MULTILINE)
CONTENTIONS, WAITED, ACQUISITIONS = 1, 4, 7
# Sections of RCU and readers of a sequence count are shown, and lock nothing.
NO_LOCK = re.compile(r"rcu_(read_lock|callback)|.*\bseqcount\b")
# That of an XArray, the page index of a file among them: the lock of Table 3.
INDEX_LOCK = re.compile(r"&xa->xa_lock")


class Load(NamedTuple):
    rounds: int  # of reads a second
    again: int  # guests that count instructions, of each kernel
    reads: int  # of each thread
    large: int  # MiB of the file that is read at random
    memory: str


LOADS = {
    "quick": Load(rounds=1, again=2, reads=5000, large=128, memory="2G"),
    "usual": Load(rounds=2, again=2, reads=20_000, large=256, memory="2G"),
    "long": Load(rounds=7, again=2, reads=200_000, large=1024, memory="4G"),
}


class Case(NamedTuple):
    place: str
    mode: str
    threads: int

    @property
    def files(self):
        return 1 if self.mode == "random" else FILES


# The sequential reads are Table 3.
TABLE = [
    Case("ext4", mode, threads)
    for mode, numbers in (("sequential", THREADS + MANY), ("mapped", THREADS))
    for threads in numbers
]
RANDOM = [Case(place, "random", 1) for place in PLACES]
SINGLE = [case for case in TABLE if case.threads == 1] + RANDOM
BENCH = Benchmark(
    seconds=(80, 500, 5400),
    loads=LOADS,
    figures=(
        Figure("*readers_ratio_*", "ratio", NOISY),
        Figure("random_read_hash_*", "ratio", NOISY),
        Figure("*lock_share_*", "share", NOISY),
        Figure("*_acquisitions_*", "acquisitions", NOISY),
        Figure("*", "ratio", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    kernels["hash"] = kernels["ours"]
    counting = build_lockstat_kernels(result)
    note_machine(result, kernels["ours"], guest_memory=load.memory)
    count_instructions(result, kernels, load)
    count_locks(result, counting, load)
    time_all(result, kernels, load)
    instruction_figures(result)
    lock_figures(result)
    throughput_figures(result)


# Guests.


def job(cases, load, kind, *options):
    lines = [SETUP]
    if kind == "hash":
        lines.append("grep -A1 '^name: page$' /proc/hashstats")
    for case in cases:
        size = load.large if case.mode == "random" else MEBIBYTES
        lines += [
            f"echo '=== run {case.place} {case.mode} {case.threads}'",
            " ".join(
                [
                    "readers",
                    PLACES[case.place],
                    case.mode,
                    f"-t {case.threads} -f {case.files} -s {size}",
                    f"-n {load.reads}",
                    *options,
                ]
            ),
        ]
        if case.mode == "random":
            lines.append(f"rm {PLACES[case.place]}/readers-*")
    return "\n".join(lines) + "\n"


def machine(load, kind, **options):
    return {
        "mem": load.memory,
        "append": APPEND[kind],
        "timeout": 600 + load.reads // 100,
        "disk": f"{load.large + 256}M",
        "programs": ["mkfs.ext4"],
    } | options


def parse(output, cases, kind):
    """What `readers` said of each case, and its lines of /proc/lock_stat."""
    head, *parts = output.split("=== run ")
    if kind == "hash":
        check_page_hash(head)
    reports = [report(part) for part in parts]
    if [Case(one["place"], one["mode"], one["threads"]) for one in reports] != list(cases):
        die(f"the guest reported {len(reports)} loads of {len(cases)}")
    return reports


def report(part):
    text, _, locks = part.partition("=== locks\n")
    first, _, rest = text.partition("\n")
    place, mode, threads = first.split()
    said = fields(rest)
    return {
        "place": place,
        "mode": mode,
        "threads": int(threads),
        "reads": int(said["reads"]),
        "seconds": float(said["seconds"]),
        "rate": float(said["reads-per-second"]),
        "locks": locks,
    }


# Instructions.


def count_instructions(result, kernels, load):
    check_counting(result, kernels["ours"])
    for number, kind in alternate(load.again, KINDS):
        with step(f"instructions, {kind}, {number + 1} of {load.again}"):
            segments, output = count_guest(
                result,
                f"instructions-{kind}",
                kernels[kind],
                job(SINGLE, load, kind),
                **machine(load, kind),
            )
        reports = parse(output, SINGLE, kind)
        symbol_counts.check_segments(segments, len(reports))
        for one, segment in zip(reports, segments):
            result.run(
                "instructions",
                kernel=kind,
                round=number,
                place=one["place"],
                mode=one["mode"],
                **costs(segment, one["reads"]),
            )


def costs(segment, reads):
    """Instructions of the kernel per read, without those of the copy."""
    kernel = {name: count / reads for name, count in segment.kernel().items()}
    copied = kernel.pop(COPY, 0)
    locking = sum(count for name, count in kernel.items() if LOCK_FUNCTION.match(name))
    return {
        "insns": sum(kernel.values()),
        "copied": copied,
        "locking": locking,
        "functions": {
            name: round(count, 2) for name, count in sorted(kernel.items()) if count >= 0.5
        },
    }


def insns(result, kind, mode, place="ext4", what="insns"):
    """Median of the guests."""
    return statistics.median(
        one[what] for one in result.runs("instructions", kernel=kind, mode=mode, place=place)
    )


def instruction_figures(result):
    for kind, state in ("ours", "off"), ("hash", "on"):
        for place in PLACES:
            suffix = "" if place == "ext4" else f"_{place}"
            sides = [insns(result, one, "random", place) for one in ("base", kind)]
            again = sides[0] * same_again(result)
            result.compare(f"insn_ratio_random_read_{state}{suffix}", *sides, again=again)
    for mode in ("sequential", "mapped"):
        sides = [insns(result, one, mode) for one in ("base", "ours")]
        result.compare(f"insn_ratio_{mode}_read", *sides)
    for kind in ("base", "ours"):
        result.figure(
            f"insn_lock_share_{kind}",
            insns(result, kind, "sequential", what="locking")
            / (
                insns(result, kind, "sequential") + insns(result, kind, "sequential", what="copied")
            ),
        )
    result.figure("insn_aa_ratio_random_read", same_again(result))


def same_again(result):
    """The base in the next guest against itself: the noise."""
    first, second, *_ = result.runs("instructions", kernel="base", mode="random", place="ext4")
    return second["insns"] / first["insns"]


# Locks.


def count_locks(result, kernels, load):
    for _, kind in alternate(1, tuple(kernels)):
        with step(f"acquisitions of locks, {kind}"):
            # These kernels have no static keys: see harness/guest/accelerator.py.
            output = run_guest(
                result,
                f"locks-{kind}",
                kernels[kind],
                job(TABLE, load, kind, "-l"),
                cpus=CPUS,
                parallel=True,
                **machine(load, kind),
            )
        reports = parse(output, TABLE, kind)
        for one in reports:
            result.run(
                "locks",
                kernel=kind,
                **{name: one[name] for name in ("mode", "threads", "reads", "seconds", "rate")},
                **locked(one["locks"]),
            )


def locked(text):
    """The sum over all locks of /proc/lock_stat, and the most taken lock."""
    found = [
        (line[1], [float(number) for number in line[2].split()])
        for line in LOCK.finditer(text)
        if not NO_LOCK.match(line[1])
    ]
    if not found:
        die("/proc/lock_stat shows no lock")
    name, most = max(found, key=lambda one: one[1][ACQUISITIONS])
    return {
        "acquisitions": sum(one[ACQUISITIONS] for _, one in found),
        "contentions": sum(one[CONTENTIONS] for _, one in found),
        "waited_us": sum(one[WAITED] for _, one in found),
        "index_acquisitions": sum(
            one[ACQUISITIONS] for name, one in found if INDEX_LOCK.match(name)
        ),
        "most_taken": name,
        "most_acquisitions": most[ACQUISITIONS],
    }


def lock_share(one):
    """The share of its time that a thread waits for locks."""
    return one["waited_us"] / 1e6 / (one["threads"] * one["seconds"])


def lock_figures(result):
    for threads in THREADS + MANY:
        for kind in ("base", "ours"):
            (one,) = result.runs("locks", kernel=kind, mode="sequential", threads=threads)
            result.figure(f"lock_share_{threads}_{kind}", lock_share(one))
            result.figure(
                f"lock_acquisitions_per_read_{threads}_{kind}", one["acquisitions"] / one["reads"]
            )
            result.figure(
                f"index_lock_acquisitions_per_read_{threads}_{kind}",
                one["index_acquisitions"] / one["reads"],
            )


# Reads a second.


def time_all(result, kernels, load):
    cases = [*TABLE, *RANDOM]
    for number, kind in alternate(load.rounds, KINDS):
        with step(f"reads a second, {kind}, {number + 1} of {load.rounds}"):
            output = run_guest(
                result,
                f"throughput-{kind}",
                kernels[kind],
                job(cases, load, kind),
                cpus=CPUS,
                **machine(load, kind),
            )
        reports = parse(output, cases, kind)
        for one in reports:
            result.run(
                "throughput",
                kernel=kind,
                round=number,
                **{name: one[name] for name in ("place", "mode", "threads", "rate")},
            )


def rate(result, kind, case):
    return statistics.median(
        one["rate"] for one in result.runs("throughput", kernel=kind, **case._asdict())
    )


def to_base(result, kind, case):
    return paired(result, "throughput", "rate", kind, **case._asdict())


def throughput_figures(result):
    for case in TABLE:
        name = "readers" if case.mode == "sequential" else "mapped_readers"
        result.figure(f"{name}_ratio_{case.threads}", to_base(result, "ours", case))
    for case in RANDOM:
        suffix = "" if case.place == "ext4" else f"_{case.place}"
        result.figure(f"random_read_hash_off{suffix}", to_base(result, "ours", case))
        result.figure(f"random_read_hash_on{suffix}", to_base(result, "hash", case))
