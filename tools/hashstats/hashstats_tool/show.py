# SPDX-License-Identifier: GPL-2.0
"""hashstats show: a line a table."""

from . import numbers, sources, text_table, verdicts
from .selection import of
from .terminal import Terminal

HEAD = (
    "TABLE",
    "BUCKETS",
    "BYTES",
    "OBJECTS",
    "LOAD",
    "USED%",
    "EXP%",
    "LONG",
    "NODES",
    "IDEAL",
    "HIT%",
    "VERDICT",
)
# What goes first when the terminal is narrow.
LEAST_WANTED = (
    "EXP%",
    "USED%",
    "BYTES",
    "LOAD",
    "LONG",
    "HIT%",
    "IDEAL",
    "OBJECTS",
    "BUCKETS",
    "NODES",
)

HELP = "one line a table: size, load, spread, lookup cost, verdict"


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")


def run(options):
    judged = of(verdicts.of_copy(sources.load(options.file)), options.tables)
    print("\n".join(lines(judged, Terminal())))
    return judged


def cells(judged):
    table = judged.table
    whole = [
        None if table.number(label) is None else str(table.number(label))
        for label in ("objects", "longest")
    ]
    return (
        judged.title,
        str(table.buckets) if table.buckets else "off",
        numbers.size(table.bytes),
        whole[0] or "-",
        numbers.plain(judged.load, 2),
        numbers.percent(judged.used),
        numbers.percent(judged.used_expected),
        whole[1] or "-",
        numbers.plain(judged.nodes, 3),
        numbers.plain(judged.ideal, 3),
        numbers.percent(judged.hit_rate),
        judged.verdict,
    )


def lines(judged, terminal):
    return text_table.lines(HEAD, [cells(one) for one in judged], judged, terminal, LEAST_WANTED)
