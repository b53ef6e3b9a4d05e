# SPDX-License-Identifier: GPL-2.0
"""hashstats show: a line a table."""

from . import numbers, sources, verdicts
from .selection import of
from .terminal import Terminal, columns, shortened

HEAD = ("TABLE", "BUCKETS", "BYTES", "OBJECTS", "LOAD", "USED%", "EXP%", "LONG",
        "NODES", "IDEAL", "HIT%", "VERDICT")
# What goes first when the terminal is narrow.
LEAST_WANTED = ("EXP%", "USED%", "BYTES", "LOAD", "LONG", "HIT%", "IDEAL",
                "OBJECTS", "BUCKETS", "NODES")
SHORTEST_TITLE = 13

HELP = "one line a table: size, load, spread, look-up cost, verdict"


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE",
                        help="only these (default: all)")


def run(options):
    judged = of(verdicts.of_copy(sources.load(options.file)), options.tables)
    print("\n".join(lines(judged, Terminal())))
    return judged


def cells(judged):
    table = judged.table
    whole = [None if table.number(label) is None else str(table.number(label))
             for label in ("objects", "longest")]
    return (judged.title, str(table.buckets) if table.buckets else "off",
            numbers.size(table.bytes), whole[0] or "-",
            numbers.plain(judged.load, 2), numbers.percent(judged.used),
            numbers.percent(judged.used_expected), whole[1] or "-",
            numbers.plain(judged.nodes, 3), numbers.plain(judged.ideal, 3),
            numbers.percent(judged.hit_rate), judged.verdict)


def lines(judged, terminal):
    """The table of tables, as wide as the terminal at most."""
    kept, gap, rows = fitted([HEAD, *map(cells, judged)], terminal.width)
    result = [terminal.colour(gap.join(rows[0]).rstrip(), "bold")]
    at = kept.index("VERDICT")
    for row, table in zip(rows[1:], judged):
        text = [*row[:at], terminal.verdict(table.verdict), *row[at + 1:]]
        result.append(gap.join(text))
    return result


def fitted(rows, width):
    """Heads of the columns that fit, what parts them, the rows in cells of them.

    A narrow terminal first brings the columns together, then does without some,
    and at the end shortens names.
    """
    kept, gap = list(HEAD), "  "
    for dropped in (None, None, *LEAST_WANTED):
        if dropped:
            kept.remove(dropped)
        picked = [[row[HEAD.index(head)] for head in kept] for row in rows]
        others = list(zip(*picked))[1:]
        room = width - sum(max(map(len, column)) + len(gap) for column in others)
        if room >= max(len(row[0]) for row in picked):
            break
        if gap == " " and room >= SHORTEST_TITLE:
            break
        gap = " "
    picked = [[shortened(row[0], max(room, 1)), *row[1:]] for row in picked]
    aligned = columns(picked)
    for row, cell in zip(aligned, picked):
        row[-1] = cell[-1]
    return kept, gap, aligned
