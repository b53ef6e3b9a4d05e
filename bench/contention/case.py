# SPDX-License-Identifier: GPL-2.0
"""Operations that CPUs do at the same time, each on its own objects."""

import os
import re
import statistics

from bench.lib import usermode
from bench.lib.benchmark import NOISY, Benchmark, Figure
from bench.lib.rounds import alternate, run_turns
from common import die

CONFIG = (
    "CONFIG_SMP=y\nCONFIG_NR_CPUS=16\nCONFIG_BLOCK=y\nCONFIG_BLK_DEV=y\nCONFIG_BLK_DEV_RAM=y\n"
    "CONFIG_EXT2_FS=y\nCONFIG_EXT2_FS_XATTR=y\nCONFIG_SHMEM=y\nCONFIG_TMPFS=y\n"
)
# find_buffer is of CONFIG_BUFFER_HASH; the other operations do not depend on it.
OURS = CONFIG + "CONFIG_BUFFER_HASH=y\n"
OPS = (
    "create_evict",
    "find_inode",
    "lock_bit",
    "wait_bit",
    "find_buffer",
    "recreate_entry",
    "list_inode",
    "tmpfs_file",
    "find_user",
)
# The base runs twice in each round: how it differs from itself is the noise.
SIDES = ("base", "ours", "again")
MIB = 1024
LIMIT = 120
# Rounds, and milliseconds of each operation.
LOADS = {"quick": (2, 100), "usual": (9, 300), "long": (25, 1000)}

RESULT = re.compile(r"^contention_bench: op (\w+) threads (\d+) done \d+ ps (\d+)$", re.M)
BENCH = Benchmark(
    seconds=(10, 120, 1200),
    loads=LOADS,
    figures=(Figure("*", "ratio", NOISY),),
    base="7.3",
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    rounds, milliseconds = load
    cpus = min(16, len(os.sched_getaffinity(0)))
    if cpus < 2:
        die("bench-contention: this machine has one processor; two or more are needed")
    kernels = usermode.kernels(result, "contention", [CONFIG], [OURS])
    append = [f"contention_bench.milliseconds={milliseconds}", f"ncpus={cpus}", "seccomp=on"]
    run_turns(
        "contend for tables",
        list(alternate(rounds, SIDES)),
        lambda number, side: one_run(result, kernels, side, append, number, cpus),
    )
    figures(result, cpus)


def one_run(result, kernels, side, append, number, cpus):
    """Run one kernel, which does all operations with 1 to `cpus` threads, and ends."""
    kernel = kernels["patched" if side == "ours" else "base"]
    output = usermode.run(result, side, kernel, MIB, append, LIMIT)
    result.run("contention", side=side, round=number, cases=parse(output, cpus))


def parse(output, cpus):
    """The cases that one kernel timed."""
    usermode.check_end("contention_bench", output)
    found = [
        {"op": op, "threads": int(threads), "ns": int(ps) / 1000}
        for op, threads, ps in RESULT.findall(output)
    ]
    if len(found) != len(OPS) * cpus:
        die(f"the kernel timed {len(found)} cases, not {len(OPS) * cpus}: has it {cpus} CPUs?")
    return found


def figures(result, cpus):
    for op in OPS:
        for threads in sorted({1, 2, cpus}):
            base, ours, again = (
                statistics.median(
                    case["ns"]
                    for one in result.runs("contention", side=side)
                    for case in one["cases"]
                    if (case["op"], case["threads"]) == (op, threads)
                )
                for side in SIDES
            )
            result.compare(f"{op}_ratio_{threads}", base, ours, again)
            result.figure(f"aa_{op}_{threads}", again / base)
