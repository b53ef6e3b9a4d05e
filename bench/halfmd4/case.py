# SPDX-License-Identifier: GPL-2.0
"""Time to hash the name of a directory entry."""

import re

from bench.halfmd4 import dirhash
from bench.lib import record
from bench.lib.benchmark import NOISY, Benchmark, Figure
from bench.lib.rounds import furthest
from common import BUILD, die, run, step
from kernel import variants
from series import compose, source

PROGRAM = "dirhash_bench"
HASHES = ("half_md4", "half_md4_unsigned", "tea")
HOWS = ("stream", "chain")
COMPILERS = ("plain", "retpoline")
MIXED = 0
# Those with a figure; there are more in the table.
LENGTHS = (1, 2, 3, 4, 8, 12, 16, 24, 32, 64, 128, 255, MIXED)
# Prefix of a figure -> what it is of.
SERIES = {
    "": ("plain", "half_md4", "stream"),
    "chain_": ("plain", "half_md4", "chain"),
    "unsigned_": ("plain", "half_md4_unsigned", "stream"),
    "tea_": ("plain", "tea", "stream"),
    "retpoline_": ("retpoline", "half_md4", "stream"),
}
DRAWN = {
    "": "half-MD4 of independent names",
    "chain_": "each name waits for the hash of the last",
    "retpoline_": "with retpolines, independent names",
    "tea_": "TEA of independent names",
}
# Rounds.
LOADS = {"quick": 20, "usual": 200, "long": 1000}

LINE = re.compile(
    r"hash (\w+) how (\w+) length (\d+) base (\S+) again (\S+) "
    r"ours (\S+)"
)
BENCH = Benchmark(
    seconds=(15, 160, 700),
    loads=LOADS,
    figures=(Figure("*", "ratio", NOISY),),
)


def measure(result, rounds):
    """Measure, compute the figures and print the tables."""
    base = variants.base_commit()
    ours = compose.compose()
    texts = dirhash.text(base), dirhash.text(ours)
    for name, commit in (("base", base), ("patched", ours)):
        result.data["kernels"][name] = {"version": source.version(), "commit": commit}
    for compiler in COMPILERS:
        program = dirhash.build(PROGRAM, *texts, compiler=compiler)
        result.data["kernels"][f"{PROGRAM}-{compiler}"] = {"sha256": record.digest(program)}
        for one in time_names(result, program, compiler, rounds):
            result.run("names", compiler=compiler, **one)
    figures(result)
    draw(result)


def time_names(result, program, compiler, rounds):
    command = [program, "-r", str(rounds)]
    result.command(compiler, command)
    log = BUILD / "log" / f"halfmd4-{compiler}.log"
    with step(f"hash names, {compiler}") as current:
        current.note = lambda: f"{done(log)} lines"
        run(command, log=log, what=PROGRAM)
    return parse(log.read_text())


def done(log):
    return len(LINE.findall(log.read_text())) if log.is_file() else 0


def parse(text):
    """The program's lines."""
    rows = []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        if match:
            base, again, ours = map(float, match.groups()[3:])
            rows.append(
                {
                    "hash": match[1],
                    "how": match[2],
                    "length": int(match[3]),
                    "base_ns": base,
                    "again_ns": again,
                    "ours_ns": ours,
                }
            )
        elif not line.startswith("+ "):
            die(f"{PROGRAM} printed {line!r}")
    check(rows)
    return rows


def check(rows):
    """Each length with each hash, once, and all that have a figure."""
    found = [(one["hash"], one["how"], one["length"]) for one in rows]
    lengths = {one["length"] for one in rows}
    wanted = {(name, how, length) for name in HASHES for how in HOWS for length in lengths}
    if set(found) != wanted or len(found) != len(wanted) or not lengths >= set(LENGTHS):
        die(
            f"{PROGRAM} printed {len(found)} lines of {len(lengths)} lengths; "
            f"expected {len(HASHES) * len(HOWS)} for each of "
            f"{len(LENGTHS)} or more"
        )


def chosen(result, compiler, name, how):
    """Length -> run."""
    return {
        one["length"]: one
        for one in result.runs("names")
        if (one["compiler"], one["hash"], one["how"]) == (compiler, name, how)
    }


def ratio(one):
    return nanoseconds(one, "ours") / nanoseconds(one, "base")


def figures(result):
    for prefix, what in SERIES.items():
        rows = chosen(result, *what)
        for length in LENGTHS:
            one = rows[length]
            sides = [nanoseconds(one, side) for side in ("base", "ours")]
            name = f"{prefix}ratio_{length or 'mixed'}"
            result.compare(name, *sides, again=sides[0] * one["again_ns"] / one["base_ns"])
    result.figure(
        "ratio_worst_to_16",
        max(ratio(one) for one in result.runs("names") if MIXED < one["length"] <= 16),
    )
    again = [one["again_ns"] / one["base_ns"] for one in result.runs("names")]
    result.figure("aa_ratio_worst", furthest(again))


def draw(result):
    record.draw(
        "halfmd4",
        x="bytes of a name",
        y="ns a name",
        logarithms=(2, 2),
        columns=2,
        panels={
            title: {
                curve: [
                    (length, nanoseconds(one, side))
                    for length, one in chosen(result, *SERIES[prefix]).items()
                    if length != MIXED
                ]
                for side, curve in (("base", "mainline"), ("ours", "series"))
            }
            for prefix, title in DRAWN.items()
        },
    )


def nanoseconds(one, side):
    """Nanoseconds; of the base, those of the faster copy."""
    return min(one["base_ns"], one["again_ns"]) if side == "base" else one["ours_ns"]
