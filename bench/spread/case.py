# SPDX-License-Identifier: GPL-2.0
"""How hash functions of the inode table distribute keys of file systems."""

import re

from bench.lib import record
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from common import BUILD, die, run, step
from guest import initramfs

# Function of the program -> suffix of its figures.
SUFFIXES = {
    "pair": "",
    "mainline": "_base",
    "fold": "_fold",
    "sum": "_sum",
    "shift-add": "_seed1_shift_add",
    "citi-mult": "_seed1_mult",
    "random": "_random",
}
OURS, BASE = "pair", "mainline"
# Addresses, and the logarithm of the largest table.
LOADS = {
    "quick": ("-a", "20", "-b", "14"),
    "usual": ("-a", "100", "-b", "19"),
    "long": ("-a", "400", "-b", "19"),
}
LOG = BUILD / "log" / "spread.log"
# A smaller difference is noise of the tables.
EQUAL = 0.01

SPREAD = re.compile(
    r"pattern (.+) function (\S+) median (\S+) p95 (\S+) "
    r"worst (\S+) longest (\d+)"
)
TIME = re.compile(r"function (\S+) ns (\S+)")
BENCH = Benchmark(
    seconds=(2, 250, 800),
    loads=LOADS,
    figures=(
        Figure("ns_ratio", "ratio", NOISY),
        Figure("patterns_*", "patterns of keys", EXACT),
        Figure("inode_*", "ratio", EXACT),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    program = initramfs.tools() / "hash_spread"
    command = [program, *load]
    result.command("spread", command)
    # The program has the functions of both kernels.
    result.data["kernels"]["hash_spread"] = {"sha256": record.digest(program)}
    with step("distribution of keys over tables") as current:
        current.note = lambda: f"{patterns_done()} patterns done"
        run(command, log=LOG, what="hash_spread")
    rows, times = parse(LOG.read_text())
    for row in rows:
        result.run("spread", **row)
    for name, value in times.items():
        result.run("time", function=name, ns=value)
    figures(result, rows, times)


def patterns_done():
    text = LOG.read_text() if LOG.is_file() else ""
    return len({match[1] for match in SPREAD.finditer(text)})


def parse(text):
    """The program's lines: rows of the spread, function -> nanoseconds."""
    rows, times = [], {}
    for line in text.splitlines():
        if match := SPREAD.fullmatch(line):
            median, p95, worst = map(float, match.groups()[2:5])
            rows.append(
                {
                    "pattern": match[1],
                    "function": match[2],
                    "median": median,
                    "p95": p95,
                    "worst": worst,
                    "longest": int(match[6]),
                }
            )
        elif match := TIME.fullmatch(line):
            times[match[1]] = float(match[2])
        elif not line.startswith("+ "):
            die(f"hash_spread printed {line!r}")
    check(rows, times)
    return rows, times


def check(rows, times):
    """Each pattern with each function, once."""
    names = list(dict.fromkeys(row["pattern"] for row in rows))
    wanted = {(name, function) for name in names for function in SUFFIXES}
    found = [(row["pattern"], row["function"]) for row in rows]
    if not found or set(found) != wanted or len(found) != len(wanted):
        die(
            f"hash_spread printed {len(found)} lines of {len(names)} patterns;"
            f" expected {len(SUFFIXES)} functions for each"
        )
    if set(times) != set(SUFFIXES):
        die(f"hash_spread timed {', '.join(times) or 'nothing'}")


def by_pattern(rows):
    """Pattern -> function -> row, in the program's order."""
    found: dict[str, dict] = {}
    for row in rows:
        found.setdefault(row["pattern"], {})[row["function"]] = row
    return found


def figures(result, rows, times):
    for function, suffix in SUFFIXES.items():
        mine = [row for row in rows if row["function"] == function]
        for what in ("median", "p95", "worst"):
            # Of the pattern that is worst by this measure.
            result.figure(f"inode_{what}_vs_ideal{suffix}", max(row[what] for row in mine))
    for what in ("median", "p95", "worst"):
        result.figure(
            f"patterns_{what}_lost_to_base",
            sum(what in lost(each) for each in by_pattern(rows).values()),
        )
    result.figure("ns_ratio", times[OURS] / times[BASE])


def lost(functions):
    """Measures by which the base is better than the series on a pattern."""
    return [
        what
        for what in ("median", "p95", "worst")
        if functions[OURS][what] > functions[BASE][what] + EQUAL
    ]
