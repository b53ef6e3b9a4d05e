# SPDX-License-Identifier: GPL-2.0
"""The cost of /proc/hashstats: of a read, and of each lookup of a name."""

from itertools import chain
from typing import Any, NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import EXACT, NEAR, NOISY, Benchmark, Figure
from bench.lib.jobs import count_guest, fields, run_guest
from bench.lib.sides import build_kernels, check_counting, note_machine
from common import die, step
from guest import hashstats_file, vm

BUCKETS = 1 << 21
FILES = 50_000
# fstree deletes one file in eight, and a directory has 40.
DIRS = FILES * 8 // 7 // 40 + 1
# There is one reader.  With two processors, QEMU 7.2 without KVM sometimes runs
# a breakpoint that the kernel, which patches itself at boot, has removed.
MACHINE: dict[str, Any] = {"mem": "1G", "cpus": 1}
READ_SECONDS = 60
COUNT_SECONDS = 60

# The tables that the series adds or makes larger.
OURS = ("folio_wait", "bit_wait", "dentry_lookup")

LOOKUP = "__d_lookup_rcu"
COUNTER = "d_count_lookup"
# All functions of a lookup; others are listed if they ran.
PARTS = (LOOKUP, "__d_lookup_rcu_op_compare", COUNTER, "hashstats_count_lookup")
CALLERS = ("lookup_fast", "d_alloc_parallel")
LISTED = (*PARTS, *CALLERS, "__d_lookup")
# Long chains differ by chance from boot to boot.  Both kernels know the old
# parameter, in digits.
COUNT_APPEND = "nokaslr dhash_entries=1048576"
SEGMENTS = ("files", "missing")

READ_JOB = f"""\
mkfs.ext4 -q -m 0 -N {2 * FILES} /dev/vda
mount /dev/vda /mnt
fstree /mnt -p 4 -d {DIRS} -f 40
for run in $(seq {{runs}}); do
    echo "=== read"
    readstats -n 1 1048576
    echo "=== file"
    cat /proc/hashstats
done
"""

COUNT_JOB = """\
mkdir /tmp/off
lookups /tmp/off -f {files} -r {rounds}
"""
COUNT_ON_JOB = """\
mkdir /tmp/on
echo on > /proc/hashstats
lookups /tmp/on -f {files} -r {rounds}
cat /proc/hashstats
"""


class Load(NamedTuple):
    runs: int  # reads of the file
    pairs: int  # of guests that count instructions
    rounds: int  # of lookups


LOADS = {"quick": Load(5, 2, 5), "usual": Load(21, 2, 10), "long": Load(101, 5, 50)}
BENCH = Benchmark(
    seconds=(30, 60, 900),
    loads=LOADS,
    figures=(
        Figure("read_ms_*", "ms", NOISY),
        Figure("longest_stretch_us*", "us", NOISY),
        Figure("table_bytes_share_*", "share of memory", EXACT),
        Figure("*_ratio*", "ratio", NEAR),
        Figure("dentry_insn_*", "instructions", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    base, ours = kernels.values()
    note_machine(result, ours)
    read_file(result, ours, load.runs)
    table_bytes(result, ours)
    count_lookups(result, base, ours, load.pairs, load.rounds)


def read_file(result, kernel, runs):
    """Time to read the file with a large table, and its longest stretch."""
    with step(f"read /proc/hashstats, {BUCKETS} buckets") as progress:
        machine = vm.Guest(
            kernel,
            READ_JOB.format(runs=runs),
            disk="512M",
            append=f"hash_entries=dentry:{BUCKETS >> 20}M",
            programs=["mkfs.ext4"],
            timeout=READ_SECONDS + runs,
            **MACHINE,
        )
        progress.note = lambda: f"{machine.output.count('=== read')} of {runs} reads"
        with machine:
            output = machine.finish().output
            progress.note = f"{runs} reads"
    result.command("read", machine.command())
    for one in parse_reads(output):
        result.run("read", **one)
    reads = result.runs("read")
    if len(reads) != runs:
        die(f"{len(reads)} of {runs} reads were found in the guest's output")


def parse_reads(output):
    """One dict for each read of the guest."""
    for part in output.split("=== read\n")[1:]:
        timed, shown = part.split("=== file\n")
        dentry = hashstats_file.parse(shown)["dentry"]
        if dentry["buckets"] != BUCKETS or dentry["objects"] < FILES:
            die(
                f"the dentry table has {dentry['buckets']} buckets and "
                f"{dentry['objects']} objects, expected {BUCKETS} and at "
                f"least {FILES}"
            )
        yield {
            "read_ms": float(fields(timed)["read-ms-median"]),
            "objects": dentry["objects"],
            "walk_us": dentry["walk-us"],
            "walk_longest_us": dentry["walk-longest-us"],
        }


def table_bytes(result, kernel):
    """Share of 1 GiB of the tables that the series adds or enlarges."""
    with step("sizes of the tables at 1 GiB"):
        output = run_guest(result, "sizes", kernel, "cat /proc/hashstats", **MACHINE)
    tables = hashstats_file.parse(output)
    sizes = {name: tables[name]["bytes"] for name in OURS}
    result.run("sizes", **sizes)
    result.figure("table_bytes_share_1g", sum(sizes.values()) / (1 << 30))


def count_lookups(result, base, ours, pairs, rounds):
    """Alternate the two kernels, each alike, and count instructions."""
    check_counting(result, ours)
    for pair in range(pairs):
        for kernel in (base, ours):
            with step(f"count lookups, {kernel.flavour} kernel, {pair + 1} of {pairs}"):
                count(result, kernel, rounds)
    lookup_figures(result)


def count(result, kernel, rounds):
    """One guest: counting off, then on if its kernel is the series."""
    states = ["off"] if kernel.flavour == "base" else ["off", "on"]
    job = (COUNT_JOB + COUNT_ON_JOB * ("on" in states)).format(files=1000, rounds=rounds)
    segments, output = count_guest(
        result,
        f"count-{kernel.flavour}",
        kernel,
        job,
        mem="512M",
        append=COUNT_APPEND,
        timeout=COUNT_SECONDS,
    )
    if [s.label for s in segments] != [1, 2] * len(states):
        die(
            f"the QEMU plugin saw segments {[s.label for s in segments]}, "
            f"expected {[1, 2] * len(states)}"
        )
    for n, segment in enumerate(segments):
        result.run(
            "count",
            kernel=kernel.flavour,
            counting=states[n // 2],
            names=SEGMENTS[n % 2],
            calls=calls(segment),
            insns={name: segment.insns[name] for name in LISTED if segment.insns[name]},
            entries={name: segment.entries[name] for name in LISTED if segment.entries[name]},
            all_insns=sum(segment.insns.values()),
        )
    if "on" in states:
        check_counter(segments[2:], output)


def calls(segment):
    count = segment.entries[LOOKUP]
    if not count:
        die(f"{LOOKUP} was never entered: is it another function's part in this kernel?")
    return count


def check_counter(segments, output):
    """While counting is on, every lookup is counted."""
    for segment in segments:
        if segment.entries[COUNTER] < calls(segment):
            die(
                f"{calls(segment)} lookups, but {COUNTER} ran "
                f"{segment.entries[COUNTER]} times while counting was on"
            )
    if "\nlookups: " not in output:
        die("/proc/hashstats shows no lookups while counting is on")


def per_call(runs, symbols=PARTS):
    """Instructions of a lookup, all parts of it, over some runs."""
    insns = sum(run["insns"].get(symbol, 0) for run in runs for symbol in symbols)
    return insns / sum(run["calls"] for run in runs)


def chosen(result, kernel, counting="off", names=SEGMENTS):
    return [
        run
        for run in result.runs("count")
        if (run["kernel"], run["counting"]) == (kernel, counting) and run["names"] in names
    ]


def lookup_figures(result):
    base, off = chosen(result, "base"), chosen(result, "patched")
    on = chosen(result, "patched", "on")
    noise = same_again(base)

    def compare(name, before, after, parts=PARTS):
        costs = [per_call(runs, parts) for runs in (before, after)]
        result.compare(name, *costs, again=costs[0] * noise)

    compare("dentry_off_insn_ratio", base, off)
    compare("dentry_on_insn_ratio", off, on)
    # Including the cost of a lookup to its callers.
    compare("dentry_off_insn_ratio_with_callers", base, off, PARTS + CALLERS)
    for names in SEGMENTS:
        sides = [chosen(result, side, names=[names]) for side in ("base", "patched")]
        compare(f"dentry_off_insn_ratio_{names}", *sides)
    for name, runs in ("base", base), ("off", off), ("on", on):
        result.figure(f"dentry_insn_{name}", per_call(runs))
    result.figure("dentry_aa_insn_ratio_base", noise)
    result.figure("dentry_aa_insn_ratio_patched", same_again(off))


def same_again(runs):
    """Every second guest of one kernel against the others: the noise."""
    size = len(SEGMENTS)
    guests = [runs[n : n + size] for n in range(0, len(runs), size)]
    odd, even = (list(chain(*half)) for half in (guests[1::2], guests[::2]))
    return per_call(odd) / per_call(even)
