# SPDX-License-Identifier: GPL-2.0
"""Buffers of a block device, found by a hash table."""

import statistics
from typing import NamedTuple

from bench.lib import lockstat, symbol_counts
from bench.lib.benchmark import EXACT, NEAR, Benchmark, Figure
from bench.lib.jobs import count_guest, fields, mkfs_ext4, split_counters
from bench.lib.rounds import furthest
from bench.lib.sides import (
    build_kernels,
    build_lockstat_kernels,
    check_counting,
    kernel_of,
    note_machine,
)
from bench.lib.symbols import clock_functions, functions_of
from common import die, step

BLOCKS = {"1k": 1024, "4k": 4096}
PHASES = (
    "create",
    "cold-list",
    "warm-list",
    "reread-list",
    "setxattr",
    "follow",
    "follow-one",
    "readlink",
    "readlink-one",
    "remove",
)
SHORT = {"cold-list": "cold_ls", "warm-list": "warm_ls", "reread-list": "reread_ls"}
# Phases with a lookup for each operation, and those where the LRU has it.
LOOKUPS = {"atomic": ("follow", "follow-one"), "sleeping": ("readlink", "readlink-one")}
# All that is looked up is there.
WARM = ("warm-list", "reread-list", "setxattr", "follow", "readlink")
DISK = "512M"
INODES = 65536
MEMORY = "1G"
APPEND = "nokaslr"
SECONDS = 300
DIR_FILES = 500

BUFFERS = ("fs/buffer.o", "fs/buffer_hash.o")
PAGE_CACHE = {
    "__filemap_get_folio",
    "__filemap_get_folio_mpol",
    "filemap_get_entry",
    "folio_mark_accessed",
    "folio_unlock",
    "__folio_lock",
    "xas_load",
    "xas_start",
}
LOCKS = ("_raw_spin_lock", "_raw_spin_unlock")
# Where the base looks a buffer up in the page cache; as it is inlined.
SLOW = ("find_get_block_common", "__find_get_block_slow")
SLOW_FIND = ("__filemap_get_folio", "__filemap_get_folio_mpol")  # of 6.12, of 7.3
FIND = "buffer_hash_find"
PRIVATE_LOCK = "&mapping->i_private_lock"


class Load(NamedTuple):
    files: int
    sets: int
    links: int
    counted: tuple  # guests that count instructions, in their order
    locks: int  # files where locks are counted


LOADS = {
    "quick": Load(4000, 4000, 2000, ("base", "ours", "again"), 1000),
    "usual": Load(50_000, 20_000, 8000, ("base", "ours", "again"), 5000),
    "long": Load(50_000, 100_000, 8000, ("base", "ours", "again", "ours-again"), 50_000),
}
BENCH = Benchmark(
    seconds=(90, 480, 7200),
    loads=LOADS,
    figures=(
        Figure("*_acquisitions_*", "acquisitions", EXACT),
        Figure("insn_*", "ratio", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    counting = build_lockstat_kernels(result)
    note_machine(result, kernels["ours"])
    check_counting(result, kernels["ours"])
    for size in BLOCKS:
        for name in load.counted:
            kind = kernel_of(name)
            count(result, size, load, name, kind, kernels[kind])
        for kind, kernel in counting.items():
            count_locks(result, size, load, kind, kernel)
    figures(result)


# Guests.


def script(size, files, sets, links, *words):
    """The same file system each time, without background writes."""
    return (
        "\n".join(
            [
                "echo 0 > /proc/sys/vm/dirty_writeback_centisecs",
                mkfs_ext4(f"/dev/ram0 {DISK}", f"-b {BLOCKS[size]} -m 0 -N {INODES}"),
                "mount -t ext4 -o noinit_itable,no_prefetch_block_bitmaps,commit=900 "
                "/dev/ram0 /mnt",
                " ".join(
                    ["metadata /mnt", f"-n {files} -d {DIR_FILES} -x {sets} -l {links}", *words]
                ),
                "umount /mnt",
            ]
        )
        + "\n"
    )


def options(append=APPEND):
    return {"mem": MEMORY, "append": append, "programs": ["mkfs.ext4"], "timeout": SECONDS}


def parse(output):
    """A dict for each phase: what metadata printed, counters as text."""
    reports = []
    for group in output.split("phase: ")[1:]:
        text, counters = split_counters("phase: " + group)
        said = fields(text)
        reports.append(
            {
                "phase": said["phase"],
                "operations": int(said["operations"]),
                "counters": counters,
            }
        )
    found = [str(one["phase"]) for one in reports]
    if found != list(PHASES):
        die(
            f"the guest reported the phases {' '.join(found) or 'none'}; "
            f"expected {' '.join(PHASES)}"
        )
    return reports


def count(result, size, load, name, kind, kernel):
    with step(f"instructions, {size}, {name}"):
        segments, output = count_guest(
            result,
            f"instructions-{name}",
            kernel,
            script(size, load.files, load.sets, load.links),
            **options(),
        )
    symbols = {"clock": clock_functions(kernel), "lookup": lookup_symbols(kernel)}
    for one, segment in by_phase(segments, parse(output)):
        check_lookups(one, kind, segment)
        result.run(
            "instructions",
            kernel=name,
            blocks=size,
            phase=one["phase"],
            operations=one["operations"],
            **instructions(segment, symbols),
            **lookups(segment, kind),
        )


def by_phase(segments, reports):
    symbol_counts.check_segments(segments, len(reports))
    return zip(reports, segments)


def lookup_symbols(kernel):
    """fs/buffer.c, fs/buffer_hash.c and what they use of the page cache."""
    return functions_of(kernel, *BUFFERS) | PAGE_CACHE


def instructions(segment, symbols):
    """Instructions of the kernel; those of lookups by symbol."""
    kernel = segment.kernel()
    return {
        "all_insns": sum(kernel.values()),
        "kernel_insns": sum(segment.kernel(without=symbols["clock"]).values()),
        "lookup_insns": {
            name: insns for name, insns in kernel.items() if name in symbols["lookup"]
        },
        "lock_insns": sum(kernel.get(name, 0) for name in LOCKS),
    }


def lookups(segment, kind):
    """Lookups after a miss of the LRU, and the locks that they took.

    A caller that finds no folio takes no lock.
    """

    def calls(to):
        return sum(segment.calls[caller, to] for caller in SLOW)

    return {
        "misses": segment.entries[FIND] if kind == "ours" else sum(map(calls, SLOW_FIND)),
        "private_locks": calls("_raw_spin_lock"),
        "folio_locks": calls("folio_unlock"),
    }


def check_lookups(one, kind, segment):
    """Each phase must do the lookups that it is to measure."""
    misses = lookups(segment, kind)["misses"]
    for many, hit in LOOKUPS.values():
        if (
            one["phase"] == many
            and misses < 0.99 * one["operations"]
            or one["phase"] == hit
            and misses > 0.01 * one["operations"]
        ):
            die(
                f"{one['phase']}, {kind}: {misses} lookups after a miss of "
                f"the LRU in {one['operations']} operations"
            )
    # An inode is 256 bytes, and 32 blocks are read at once.
    read = segment.entries["submit_bio"]
    if one["phase"] == "cold-list" and read < one["operations"] / 32:
        die(
            f"{one['phase']}, {kind}: {one['operations']} files were listed "
            f"and {read} blocks read: they were still in memory"
        )


def count_locks(result, size, load, kind, kernel):
    with step(f"acquisitions of i_private_lock, {size}, {kind}"):
        segments, output = count_guest(
            result,
            f"locks-{kind}",
            kernel,
            script(size, load.locks, load.locks, load.links, "-p"),
            **options(),
        )
    for one, segment in by_phase(segments, parse(output)):
        check_lookups(one, kind, segment)
        found = lockstat.parse(one["counters"], PRIVATE_LOCK)
        result.run(
            "locks",
            kernel=kind,
            blocks=size,
            phase=one["phase"],
            operations=one["operations"],
            acquisitions=sum(taken for taken, _ in found),
            **lookups(segment, kind),
        )


# Figures.


def mean(result, what, kind, **wanted):
    """Mean of what(run) per operation, over all guests of a kernel."""
    names = {"base": ("base", "again"), "ours": ("ours", "ours-again")}[kind]
    return statistics.fmean(
        what(one) / one["operations"]
        for name in names
        for one in result.runs("instructions", kernel=name, **wanted)
    )


def kernel_insns(one):
    return one["kernel_insns"]


def lock_insns(one):
    return one["lock_insns"]


def lookup_cost(result, kind, size, phases):
    """All instructions of one lookup after a miss."""
    return mean(
        result, lambda one: sum(one["lookup_insns"].values()), kind, blocks=size, phase=phases[0]
    ) + more(result, lock_insns, kind, size, phases)


def miss_cost(result, kind, size, phases):
    """Instructions of a miss minus those of a hit of the LRU, whole kernel."""
    return more(result, kernel_insns, kind, size, phases)


def more(result, what, kind, size, phases):
    """The mean where the LRU misses minus that where it hits."""
    missed, hit = (mean(result, what, kind, blocks=size, phase=phase) for phase in phases)
    return missed - hit


def ratio(result, what, *where):
    return what(result, "ours", *where) / what(result, "base", *where)


def short(phase):
    return SHORT.get(phase, phase.replace("-", "_"))


def figures(result):
    lookup_figures(result)
    lock_figures(result)
    for size in BLOCKS:
        for phase in PHASES:
            wanted = {"blocks": size, "phase": phase}
            base, ours = (mean(result, kernel_insns, kind, **wanted) for kind in ("base", "ours"))
            noise = same_again(result, **wanted)
            result.compare(f"insn_ratio_{short(phase)}_{size}", base, ours, again=noise * base)
            result.figure(f"insn_aa_ratio_{short(phase)}_{size}", noise)
    result.figure("insn_ratio_cold_ls", result.value("insn_ratio_cold_ls_1k"))


def lookup_figures(result):
    """The figure is that of the worst load."""
    whole, misses = {}, {}
    for size in BLOCKS:
        for name, phases in LOOKUPS.items():
            where = f"{name}_{size}"
            whole[where] = ratio(result, lookup_cost, size, phases)
            misses[where] = ratio(result, miss_cost, size, phases)
    for name, ratios in (("insn_ratio_lru_miss", whole), ("insn_ratio_lru_miss_over_hit", misses)):
        result.figure(name, max(ratios.values()))
        for where, value in ratios.items():
            result.figure(f"{name}_{where}", value)


def per_lookup(one, name):
    return one[name] / one["misses"] if one["misses"] else 0


def lock_figures(result):
    """The maximum over the phases with all data in memory."""
    for kind, end in (("ours", ""), ("base", "_base")):
        runs = [
            one
            for one in result.runs("locks", kernel=kind)
            if one["phase"] in WARM and one["misses"] >= one["operations"] / 100
        ]
        for name, of in (("private", "acquisitions"), ("folio", "folio_locks")):
            result.figure(
                f"{name}_lock_acquisitions_per_lookup{end}",
                max(per_lookup(one, of) for one in runs),
            )
    if not result.value("private_lock_acquisitions_per_lookup_base"):
        die(
            "/proc/lock_stat shows no acquisition of i_private_lock while "
            "links are followed with the base"
        )


def same_again(result, **wanted):
    """A kernel divided by itself in the next guest, furthest from 1: the noise."""
    ratios = []
    for first, second in (("base", "again"), ("ours", "ours-again")):
        pair = [result.runs("instructions", kernel=name, **wanted) for name in (first, second)]
        if all(pair):
            ratios.append(pair[1][0]["kernel_insns"] / pair[0][0]["kernel_insns"])
    return furthest(ratios)
