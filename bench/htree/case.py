# SPDX-License-Identifier: GPL-2.0
"""One large directory of ext4 with each of its hashes: leaves and instructions."""

import hashlib
import re
from typing import NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import EXACT, NEAR, Benchmark, Figure
from bench.lib.jobs import count_guest, mkfs_ext4
from bench.lib.rounds import furthest, run_jobs
from bench.lib.sides import build_kernels, check_counting, kernel_of
from bench.lib.symbols import clock_functions, functions_of
from common import die

# As tune2fs calls them; the number is that on the disk.
HASHES = {"legacy": 0, "half_md4": 1, "tea": 2}
PHASES = ("create", "lookup", "churn")
LONGER = "longer_churn"  # a phase after these, if the load has it
# With 200,000 files, the last number of a name is just below a million.
MORE = 3
# When the leaves are read -> the figure.
FILLS = {"created": "fill", "churned": "fill_churned", "churned more": "fill_more"}
BLOCK = 4096
DISK = "512M"
MEMORY = "2G"
APPEND = "nokaslr"
HASH = "fs/ext4/hash.o"
SECONDS_A_FILE = 0.02  # of all phases, under emulation, at most

PART = re.compile(r"^=== (\w+)\n", re.M)
VERSION = re.compile(r"^\t Hash Version: (\d+)$", re.M)
LEAF = re.compile(r"^Reading directory block \d+, phys \d+$", re.M)
ENTRY = re.compile(r"\b(\d+) 0x([0-9a-f]{8})-([0-9a-f]{8}) \((\d+)\) (\S+)")
INDEX = re.compile(r"^Entry #\d+: .*\n", re.M)


class Load(NamedTuple):
    files: int
    patterns: tuple
    again: tuple  # patterns with the base once more
    longer: tuple = ()  # patterns with the longer churn


LOADS = {
    "quick": Load(5000, ("number",), ("number",), longer=("number",)),
    # 200,000 files, as in the mail.
    "usual": Load(200_000, ("number", "mail"), (), longer=("number",)),
    "long": Load(
        200_000,
        ("number", "hex", "photo", "mail"),
        ("number", "mail"),
        longer=("number", "mail"),
    ),
}


class Cell(NamedTuple):
    kernel: str  # base, ours (the series) or again
    hash: str
    pattern: str


BENCH = Benchmark(
    seconds=(45, 1000, 6600),
    loads=LOADS,
    figures=(
        Figure("fill_*", "bytes", EXACT),
        Figure("*_ratio_*", "ratio", NEAR),
        Figure("insn_*", "instructions", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    result.machine(accelerator="tcg (instructions are counted)")
    check_counting(result, kernels["ours"])
    run_jobs(
        plan(load),
        lambda cell: run_cell(result, load, cell, kernels[kernel_of(cell.kernel)]),
        title=" ".join,
        work=lambda cell: 1,
    )
    check_same(result)
    figures(result)


def plan(load):
    """All guests; guests to compare follow each other."""
    return [
        Cell(kernel, name, pattern)
        for pattern in load.patterns
        for name in HASHES
        for kernel in ("base", "ours", "again")
        if kernel != "again" or pattern in load.again
    ]


def phases(cell, load):
    return [*PHASES, LONGER] if cell.pattern in load.longer else [*PHASES]


def script(cell, files, longer=False):
    """The same file system each time; debugfs reads it unmounted."""
    load = f"htree /mnt/d %s -n {files} -p {cell.pattern}"
    more = f"{load % 'churn'} -d 1 -t {MORE}"
    mount = "mount -t ext4 -o noinit_itable /dev/ram0 /mnt"
    leaves = [
        "umount /mnt",
        "echo '=== leaves'",
        "debugfs -R 'htree_dump /d' /dev/ram0",
        "echo '=== end'",
    ]
    return (
        "\n".join(
            [
                "echo 0 > /proc/sys/vm/dirty_writeback_centisecs",
                mkfs_ext4(
                    f"/dev/ram0 {DISK}",
                    f"-b {BLOCK} -I 256 -m 0 -O ^has_journal -N {2 * files}",
                ),
                f"tune2fs -E hash_alg={cell.hash} /dev/ram0 > /dev/null",
                mount,
                "mkdir /mnt/d",
                "echo '=== create'",
                load % "create",
                "sync",
                "echo 2 > /proc/sys/vm/drop_caches",
                "echo '=== lookup'",
                load % "lookup",
                *leaves,
                mount,
                "echo '=== churn'",
                load % "churn",
                *leaves,
                *([mount, f"echo '=== {LONGER}'", more, *leaves] if longer else []),
            ]
        )
        + "\n"
    )


def run_cell(result, load, cell, kernel):
    wanted = phases(cell, load)
    segments, output = count_guest(
        result,
        f"{cell.kernel}-{cell.hash}",
        kernel,
        script(cell, load.files, LONGER in wanted),
        mem=MEMORY,
        append=APPEND,
        programs=["mkfs.ext4", "tune2fs", "debugfs"],
        timeout=60 + SECONDS_A_FILE * load.files,
    )
    reports, dumps = parse(output, load.files, LONGER in wanted)
    symbol_counts.check_segments(segments, len(wanted))
    symbols = {
        "clock": clock_functions(kernel),
        "hash": functions_of(kernel, HASH),
        "names": functions_of(kernel, "fs/ext4/namei.o"),
    }
    for phase, segment, seconds in zip(wanted, segments, reports):
        symbol_counts.check_memory(segment)
        result.run(
            "phase",
            **cell._asdict(),
            phase=phase,
            operations=operations(phase, load.files),
            seconds=seconds,
            **instructions(segment, symbols),
        )
    for when, dump in zip(FILLS, dumps):
        result.run("leaves", **cell._asdict(), when=when, **leaves(dump, cell.hash, load.files))


def operations(phase, files):
    return files * MORE if phase == LONGER else files


def parse(output, files, longer=False):
    """(seconds of each phase, the dumps of the directory)"""
    _, *rest = PART.split(output)
    parts = list(zip(rest[::2], rest[1::2]))
    wanted = ["create", "lookup", "leaves", "end", "churn", "leaves", "end"]
    wanted += [LONGER, "leaves", "end"] if longer else []
    if [name for name, _ in parts] != wanted:
        die(f"the guest printed {' '.join(name for name, _ in parts)}; expected {' '.join(wanted)}")
    reports = []
    for name, text in parts:
        if name not in ("leaves", "end"):
            said = dict(re.findall(r"^(\w+): (\S+)$", text, re.M))
            program = "churn" if name == LONGER else name
            count = str(operations(name, files))
            if (said.get("phase"), said.get("operations")) != (program, count):
                die(f"htree did not end {name}: {text[-200:]!r}")
            reports.append(float(said["seconds"]))
    return reports, [text for name, text in parts if name == "leaves"]


def instructions(segment, symbols):
    """Instructions of the kernel: all, of the hash, and of namei.c."""
    kernel = segment.kernel(without=symbols["clock"])
    return {
        "insns": sum(kernel.values()),
        "hash_insns": sum(insns for name, insns in kernel.items() if name in symbols["hash"]),
        "names_insns": sum(insns for name, insns in kernel.items() if name in symbols["names"]),
    }


def leaves(dump, name, files):
    """Leaves of a directory, their filled bytes, and a digest of their entries."""
    found = VERSION.search(dump)
    if not found or int(found[1]) != HASHES[name]:
        die(
            f"the directory has hash version {found[1] if found else 'none'}; "
            f"expected {HASHES[name]}, {name}"
        )
    # The index names blocks; their contents follow it.
    blocks = [INDEX.sub("", text) for text in LEAF.split(dump)[1:]]
    entries = [ENTRY.findall(block) for block in blocks]
    # The inode numbers do not depend on the hash.
    used = [[fields for number, *fields in block if number != "0"] for block in entries]
    if sum(map(len, used)) != files:
        die(f"debugfs shows {sum(map(len, used))} names in a directory of {files}")
    filled = [sum(needed(text) for *_, text in block) for block in used]
    stands = hashlib.sha256(repr(used).encode()).hexdigest()
    return {
        "leaves": len(blocks),
        "filled": sum(filled) / len(blocks),
        "least": min(filled),
        "most": max(filled),
        "sha256": stands,
    }


def needed(name):
    """Bytes of an entry: number, lengths and type before the name."""
    return (8 + len(name) + 3) // 4 * 4


# Figures.


def check_same(result):
    """A kernel with another hash would not find names on existing disks."""
    for one in result.runs("leaves", kernel="ours"):
        where = {name: one[name] for name in ("hash", "pattern", "when")}
        (base,) = result.runs("leaves", kernel="base", **where)
        if base["sha256"] != one["sha256"]:
            die(f"base and series leave different directories: {where}")


def by_operation(result, what="insns", **wanted):
    (one,) = result.runs("phase", **wanted)
    return one[what] / one["operations"]


def places(result):
    """Hash and pattern of each pair of guests."""
    return [
        (one["hash"], one["pattern"])
        for one in result.runs("leaves", kernel="ours", when="created")
    ]


def figures(result):
    for name, pattern in places(result):
        place = {"hash": name, "pattern": pattern}
        end = f"{name}_{pattern}"
        for one in result.runs("leaves", kernel="ours", **place):
            result.figure(f"{FILLS[one['when']]}_{end}", one["filled"])
        for phase in (one["phase"] for one in result.runs("phase", kernel="ours", **place)):
            base, ours = (
                by_operation(result, kernel=kernel, phase=phase, **place)
                for kernel in ("base", "ours")
            )
            result.figure(f"insn_{phase}_{end}", ours)
            result.compare(f"insn_ratio_{phase}_{end}", base, ours)
        for kernel, figure in (("ours", "insn_hash"), ("base", "insn_hash_base")):
            result.figure(
                f"{figure}_{end}",
                by_operation(result, "hash_insns", kernel=kernel, phase="create", **place),
            )
    again = [
        one["insns"] / base["insns"]
        for one in result.runs("phase", kernel="again")
        for base in result.runs(
            "phase",
            kernel="base",
            **{name: one[name] for name in ("hash", "pattern", "phase")},
        )
    ]
    if again:
        result.figure("insn_aa_ratio_worst", furthest(again))
