# SPDX-License-Identifier: GPL-2.0
"""Hash functions of 25 years on the keys of a running kernel."""

import math
import re
import shlex
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from bench.functions import citi_keys
from bench.lib import record
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.jobs import mkfs_ext4, run_guest
from bench.lib.rounds import remaining
from bench.lib.sides import note_machine
from common import ROOT, die, run, step
from guest import hashstats_file, initramfs, uml
from kernel import build
from series import compose, gitcmd, source

ANY = ("hash-32", "const-32", "hash-64", "pair", "random")
NAMES = ("original", "addition", "mult-11", "mult-17", "mult-full")
FUNCTIONS = {
    "page": ("original", "offset", "mult", "slot", *ANY),
    "buffer": (
        "original",
        "mult-11",
        "mult-16",
        "mult-17",
        "mult-18",
        "mult-full",
        "shift-add",
        *ANY,
    ),
    "dentry": (*NAMES, "mainline", "in-lookup", *ANY),
    "name": (*NAMES, *ANY),
    "inode": ("original", "mult", "mainline", *ANY),
}
KINDS = tuple(FUNCTIONS)
OURS = {"page": "slot", "buffer": "pair", "dentry": "mainline", "inode": "pair"}
BASE = {"page": "hash-64", "buffer": "hash-64", "dentry": "mainline", "inode": "mainline"}
# The paper's multiplicative one, with the shift that it advises.
MULT = {
    "page": "mult",
    "buffer": "mult-full",
    "dentry": "mult-full",
    "name": "mult-full",
    "inode": "mult",
}
# Kinds that the kernel has a table of: its chains are known from itself too.
TABLES = ("buffer", "dentry", "inode")
VECTORS = 48  # that the guest shows

MEMORY = "1G"
DISK = "1G"
CPUS = 2
SECONDS = 240
SECTION = re.compile(r"^=== (\S+)\n", re.M)

NUMBER = r"(\d+\.\d+)"
SPREAD = re.compile(
    rf"spread (\S+) (\S+) bits (\d+) hit {NUMBER} ideal {NUMBER} "
    rf"miss {NUMBER} ideal {NUMBER} vmr {NUMBER} longest (\d+)"
)
CHAINS = re.compile(r"chains (\S+) (\S+) bits (\d+)((?: \d+:\d+)+)")
TIME = re.compile(rf"time (\S+) (\S+) waits {NUMBER} stream {NUMBER}")
KEYS = re.compile(r"keys (\S+) (\d+)")
CHECKED = re.compile(r"vectors (\d+)")

LONG = 16  # the histogram's last row has these and longer ones


class Load(NamedTuple):
    folders: tuple  # of the base's source
    dirs: int  # that fstree makes, ...
    files: int  # ... each with so many files
    draws: int  # guests, each with other addresses
    most: int  # largest table, log2


# Enough that most of the guest's memory is in use; long is usual, more often.
USUAL = Load(("mm", "kernel", "fs", "lib", "include", "net"), 400, 100, 4, 20)
LOADS = {
    "quick": Load(("mm", "kernel", "fs"), 100, 100, 1, 18),
    "usual": USUAL,
    "long": USUAL._replace(draws=16),
}


class Paper(NamedTuple):
    """A situation of the paper, and its histogram there."""

    kind: str
    bits: int
    keys: list
    title: str
    histogram: int  # 0: not in the paper


def papers():
    buffers = citi_keys.buffers(citi_keys.FULL, 37_256)
    after = citi_keys.buffers(citi_keys.AFTER, 2644)
    inodes = citi_keys.inodes(9785)
    return {
        "paper-buffers": Paper("buffer", 14, buffers, "Buffers under load", 1),
        "paper-buffers-after": Paper("buffer", 14, after, "Buffers after the load", 2),
        "paper-inodes": Paper("inode", 8, inodes, "Inodes", 5),
        "paper-inodes-12": Paper("inode", 12, inodes, "The same inodes, more buckets", 0),
    }


BENCH = Benchmark(
    seconds=(10, 100, 400),
    loads=LOADS,
    figures=(
        Figure("*_keys", "keys", NOISY),
        Figure("paper_*_longest", "entries", EXACT),
        Figure("paper_*", "ratio", EXACT),
        Figure("constant_*_far", "ratio", EXACT),
        Figure("*_ns", "ns", NOISY),
        Figure("*", "ratio", NOISY),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    kernel = build_kernel()
    result.kernel(kernel)
    program = initramfs.tools() / "hash_functions"
    result.data["kernels"]["hash_functions"] = {"sha256": record.digest(program)}
    note_machine(result, kernel)
    record.FOLDER.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for draw in range(load.draws):
        left = remaining(draw, load.draws, time.monotonic() - start)
        one_guest(result, kernel, program, load, draw, left)
    for name, paper in papers().items():
        count_paper(result, program, name, paper)
    count_far(result, program)
    figures(result)
    draw_picture(result)


def build_kernel():
    """The patched kernel with the files that show the keys."""
    return build.build(
        "patched-keys",
        build.GUEST,
        uml.with_bench("functions", compose.compose()),
        targets=("vmlinux",),
    )


# The guest and its keys.


def one_guest(result, kernel, program, load, draw, left=""):
    name = f"guest-{draw}"
    with step(f"keys of a running kernel, {draw + 1} of {load.draws}") as progress:
        progress.note = left
        found = sections(collect(result, kernel, load, draw))
    for line in found["fstree"].splitlines():
        what, _, value = line.partition(": ")
        result.run("load", draw=draw, what=what, value=float(value))
    text = "".join(found[part] for part in ("about", *KINDS))
    with step(f"functions, {name}"):
        output = count(
            result,
            program,
            name,
            text.splitlines(),
            "-B",
            str(load.most),
            *(["-n"] if draw else []),
        )
    if output["vectors"] != VECTORS:
        die(f"the kernel's functions were compared {output['vectors']} times, expected {VECTORS}")
    check_tables(result, draw, output, found["hashstats"])


def script(load, draw):
    """The job: two file systems, so two devices and super blocks."""
    lines = ["mkdir /draw /one /two"]
    # Addresses depend on what was allocated before.
    lines += ["mount -t tmpfs draw /draw"] * draw
    for number, (disk, block) in enumerate((("/dev/vda", 4096), ("/dev/ram0 512M", 1024))):
        folder = ("/one", "/two")[number]
        lines += [
            mkfs_ext4(disk, f"-b {block} -N 65536", number=number),
            f"mount -t ext4 -o noinit_itable {disk.split()[0]} {folder}",
        ]
    lines += [
        "tar -x -f - -C /one < /dev/vdb",
        "echo '=== fstree'",
        f"fstree /two -p {CPUS} -d {load.dirs} -f {load.files}",
        "find /one /two -type f | xargs cat > /dev/null",
        "ls -lR /one /two > /dev/null",
        "echo '=== hashstats'",
        "cat /proc/hashstats",
    ]
    for part in ("about", *KINDS):
        lines += [f"echo '=== {part}'", f"cat /sys/kernel/debug/hash_keys/{part}"]
    return "\n".join([*lines, "echo '=== end'"]) + "\n"


def collect(result, kernel, load, draw):
    """What the guest printed."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "source.tar"
        gitcmd.git(
            "archive",
            "--format=tar",
            "-o",
            str(archive),
            source.linux().tag,
            *load.folders,
            repo=source.base_repo(),
        )
        output = run_guest(
            result,
            "guest",
            kernel,
            script(load, draw),
            mem=MEMORY,
            cpus=CPUS,
            disk=DISK,
            timeout=SECONDS,
            programs=["mkfs.ext4"],
            qemu=["-drive", f"file={archive},format=raw,if=virtio,readonly=on"],
        )
    return output


def sections(output):
    """{section: its text} of what the guest printed, all there."""
    words = SECTION.split(output)
    found = dict(zip(words[1::2], words[2::2]))
    wanted = ("fstree", "hashstats", "about", *KINDS, "end")
    if tuple(found) != wanted or not all(found[name] for name in wanted[:-1]):
        there = [name for name in found if found[name]]
        die(f"the guest printed {' '.join(there) or 'nothing'}; expected {' '.join(wanted[:-1])}")
    return found


def check_tables(result, draw, output, text):
    """The keys must give the chains that the kernel reports of its tables."""
    stats = hashstats_file.parse(text)
    for kind in TABLES:
        known = stats[kind]
        bits = known["buckets"].bit_length() - 1
        (row,) = [
            row
            for row in output["rows"]
            if (row["key"], row["function"], row["bits"]) == (kind, OURS[kind], bits)
        ] or [None]
        if not row:
            die(f"the guest's table of {kind} has 2^{bits} buckets, which no table here has")
        result.run(
            "check",
            draw=draw,
            key=kind,
            bits=bits,
            objects=known["objects"],
            keys=row["keys"],
            kernel_hit=known["nodes-per-hit"],
            hit=row["hit"],
        )
        # Objects come and go while the guest shows them.
        if (
            abs(row["keys"] / known["objects"] - 1) > 0.05
            or abs(row["hit"] / known["nodes-per-hit"] - 1) > 0.02
        ):
            die(
                f"{kind}: {row['keys']} keys take {row['hit']:.3f} nodes, the "
                f"kernel says {known['nodes-per-hit']:.3f} of "
                f"{known['objects']} objects"
            )


# The program.


def count(result, program, name, keys, *words):
    """Apply all functions to these keys, and keep the keys in a file."""
    path = record.FOLDER / f"keys-{name}.txt"
    path.write_text("\n".join(keys) + "\n")
    result.command(name, ["sh", "-c", shlex.join([str(program), *words]) + f" < {path}"])
    with open(path) as lines:
        output = parse(run([program, *words], stdin=lines).stdout, timed="-n" not in words)
    for kind, number in output["keys"].items():
        result.run("keys", set=name, key=kind, keys=number, file=path.name)
    for row in output["rows"]:
        result.run("spread", set=name, **row)
    for kind, function, bits, chains in output["chains"]:
        result.run(
            "histogram",
            set=name,
            key=kind,
            function=function,
            bits=bits,
            objects=output["keys"][kind],
            chains=sorted(chains.items()),
            rows=rows_of(chains),
        )
    for row in output["times"]:
        result.run("time", **row)
    return output


def parse(text, timed=True):
    """What hash_functions printed: keys, rows, chains, times, vectors."""
    found: dict[str, Any] = {
        "keys": {},
        "rows": [],
        "chains": [],
        "times": [],
        "vectors": None,
    }
    for line in text.splitlines():
        if match := KEYS.fullmatch(line):
            found["keys"][match[1]] = int(match[2])
        elif match := SPREAD.fullmatch(line):
            found["rows"].append(spread_row(match, found["keys"]))
        elif match := CHAINS.fullmatch(line):
            found["chains"].append(
                (
                    match[1],
                    match[2],
                    int(match[3]),
                    {
                        int(n): int(buckets)
                        for n, _, buckets in (word.partition(":") for word in match[4].split())
                    },
                )
            )
        elif match := TIME.fullmatch(line):
            found["times"].append(
                {
                    "key": match[1],
                    "function": match[2],
                    "waits_ns": float(match[3]),
                    "stream_ns": float(match[4]),
                }
            )
        elif match := CHECKED.fullmatch(line):
            found["vectors"] = int(match[1])
        else:
            die(f"hash_functions printed {line!r}")
    found["keys"] = {kind: nr for kind, nr in found["keys"].items() if nr}
    check(found, timed)
    return found


def spread_row(match, keys):
    kind, function, bits, *numbers, longest = match.groups()
    hit, ideal, miss, miss_ideal, vmr = map(float, numbers)
    return {
        "key": kind,
        "function": function,
        "bits": int(bits),
        "keys": keys.get(kind, 0),
        "hit": hit,
        "hit_ideal": ideal,
        "miss": miss,
        "miss_ideal": miss_ideal,
        "variance_over_mean": vmr,
        "longest": int(longest),
    }


def check(found, timed):
    """Each function of each kind with each size, and the chains add up."""
    wanted = [(kind, function) for kind in found["keys"] for function in FUNCTIONS.get(kind, ())]
    sizes = sorted({(row["key"], row["bits"]) for row in found["rows"]})
    spread = sorted((row["key"], row["function"], row["bits"]) for row in found["rows"])
    if (
        not wanted
        or found["vectors"] is None
        or spread
        != sorted(
            (kind, function, bits) for kind, function in wanted for of, bits in sizes if of == kind
        )
    ):
        die(
            f"hash_functions printed {len(spread)} lines for "
            f"{len(wanted)} functions and {len(sizes)} tables"
        )
    if [(kind, function) for kind, function, *_ in found["chains"]] != wanted:
        die(
            f"hash_functions printed {len(found['chains'])} lines with "
            f"chains, expected {len(wanted)}"
        )
    if [(row["key"], row["function"]) for row in found["times"]] != (wanted if timed else []):
        die(f"hash_functions timed {len(found['times'])} functions")
    for kind, function, bits, chains in found["chains"]:
        if sum(chains.values()) != 1 << bits or found["keys"][kind] != sum(
            length * buckets for length, buckets in chains.items()
        ):
            die(f"hash_functions: the chains of {kind}, {function}, do not add up")


def rows_of(chains):
    """The paper's columns: size, buckets, objects, sum-pct."""
    objects = sum(length * buckets for length, buckets in chains.items())
    rows, reached = [], 0
    for size in range(LONG + 1):
        mine = {length: buckets for length, buckets in chains.items() if min(length, LONG) == size}
        held = sum(length * buckets for length, buckets in mine.items())
        reached += held
        rows.append(
            [
                str(size) if size < LONG else f">{LONG - 1}",
                sum(mine.values()),
                held,
                100 * reached // objects,
            ]
        )
    return rows


# The paper's situations.


def count_paper(result, program, name, paper):
    with step(f"functions, {name}"):
        count(result, program, name, paper.keys, "-n", "-o", str(paper.bits))
    if paper.histogram:
        known = printed_histogram(paper.histogram)
        result.run(
            "paper",
            set=name,
            histogram=paper.histogram,
            objects=known["objects"],
            bits=paper.bits,
            used=known["used"],
            longest=known["longest"],
            hit=known["nodes-per-hit"],
            variance_over_mean=known["variance-over-mean"],
            rows=[list(row) for row in known.rows],
        )


def printed_histogram(number):
    """The histogram that the paper printed."""
    path = ROOT / "tools/hashstats/samples" / f"citi-{number}.hashstats"
    (known,) = hashstats_file.parse(path.read_text()).values()
    return known


def count_far(result, program):
    """Keys that differ in their upper half, for the constants alone."""
    with step("functions, far"):
        count(result, program, "far", citi_keys.far(), "-n")


# Figures.


def guests(result):
    return list(
        dict.fromkeys(one["set"] for one in result.runs("keys") if one["set"].startswith("guest-"))
    )


def full_rows(result, kind, function):
    """The rows of each guest for the table whose load is nearest to 1."""
    rows = []
    for name in guests(result):
        bits = result.runs("histogram", set=name, key=kind, function=function)[0]["bits"]
        rows += result.runs("spread", set=name, key=kind, function=function, bits=bits)
    return rows


def all_rows(result, kind, function):
    return [
        row
        for name in guests(result)
        for row in result.runs("spread", set=name, key=kind, function=function)
    ]


def worst(rows, what="hit"):
    """Nodes divided by those of a random function, of the worst row."""
    return max(row[what] / row[f"{what}_ideal"] for row in rows)


def figures(result):
    for kind in KINDS:
        result.figure(
            f"{kind}_keys",
            max(
                one["keys"]
                for one in result.runs("keys", key=kind)
                if one["set"].startswith("guest-")
            ),
        )
        sides = {"paper": "original", "paper_mult": MULT[kind]}
        if kind in OURS:
            sides |= {"ours": OURS[kind], "base": BASE[kind]}
        for side, function in sides.items():
            side_figures(result, kind, side, function)
    constant_figures(result)
    paper_figures(result)


def side_figures(result, kind, side, function):
    full = full_rows(result, kind, function)
    result.figure(f"{kind}_{side}_vs_ideal", worst(full))
    result.figure(f"{kind}_{side}_miss_vs_ideal", worst(full, "miss"))
    result.figure(f"{kind}_{side}_worst_vs_ideal", worst(all_rows(result, kind, function)))
    (time,) = result.runs("time", key=kind, function=function)
    result.figure(f"{kind}_{side}_ns", time["waits_ns"])


def constant_figures(result):
    """The cost of a constant of 32 bits on words of 64 bits.

    const-32 takes the upper bits of the product of 64 bits, as hash_64() does;
    hash-32 those of the lower half, as the paper's function does.
    """
    for name, function in (("constant_32", "const-32"), ("constant_32_low", "hash-32")):
        result.figure(
            f"{name}_vs_64_worst", max(against_64(result, one, function) for one in guests(result))
        )
        result.figure(f"{name}_vs_64_worst_far", against_64(result, "far", function))
    for function in ("hash-32", "const-32", "hash-64", "pair", "random"):
        result.figure(
            f"{function.replace('-', '_')}_worst_vs_ideal",
            max(worst(all_rows(result, kind, function)) for kind in KINDS),
        )


def against_64(result, name, function):
    """Nodes of a function divided by those of hash_64(), at the worst."""
    ours = result.runs("spread", set=name, function=function)
    hash_64 = {
        (row["key"], row["bits"]): row["hit"]
        for row in result.runs("spread", set=name, function="hash-64")
    }
    return max(row["hit"] / hash_64[row["key"], row["bits"]] for row in ours)


def paper_figures(result):
    for name, paper in papers().items():
        label = name.replace("-", "_")
        for side, function in (
            ("original", "original"),
            ("mult", paper_mult(paper)),
            ("ours", OURS[paper.kind]),
        ):
            (row,) = result.runs("spread", set=name, function=function)
            result.figure(f"{label}_{side}_vs_ideal", worst([row]))
            result.figure(f"{label}_{side}_longest", row["longest"])


def paper_mult(paper):
    """The function that the paper's histograms propose."""
    return "mult-11" if paper.kind == "buffer" else MULT[paper.kind]


# What is shown.


def draw_picture(result):
    """A panel for each situation of the paper: the chains of three functions, and chance."""
    panels = {}
    for name, paper in papers().items():
        curves, buckets = {}, 1 << paper.bits
        for title, function in (
            ("original", "original"),
            ("multiplicative", paper_mult(paper)),
            ("series", OURS[paper.kind]),
        ):
            (one,) = result.runs("histogram", set=name, function=function)
            curves[title] = one["chains"]
        mean = one["objects"] / buckets
        curves["chance"] = [
            (length, buckets * math.exp(length * math.log(mean) - mean - math.lgamma(length + 1)))
            for length in range(16)
        ]
        panels[f"{paper.title}: {one['objects']:,} in {buckets:,} buckets"] = curves
    record.draw(
        "functions",
        x="length of a chain",
        y="buckets",
        logarithms=(0, 10),
        columns=2,
        panels=panels,
    )
