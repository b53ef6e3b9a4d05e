# SPDX-License-Identifier: GPL-2.0
"""hashstats show: one line per table."""

from . import jsonout, listing, numbers, sources, text_table, verdicts
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
# What is left out first on a narrow terminal.
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

HELP = "one line per table: size, load, distribution, cost of a lookup, verdict"


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")
    listing.add_all(parser)
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        help=f"{', '.join(listing.KEYS)} (default: {listing.DEFAULT}, the worst first)",
    )
    parser.add_argument("-j", "--json", action="store_true", help="print JSON, as hashstats json")


def run(options):
    copy = sources.load(options.file, options.tables)
    judged = of(verdicts.of_copy(copy), options.tables)
    # As the kernel has them, for programs that ask for nothing else.
    if options.sort or not options.json:
        judged = listing.ordered(judged, options.sort or listing.DEFAULT)
    if options.json:
        jsonout.tell(copy, judged)
        return judged
    terminal = Terminal()
    shown, idle = listing.without_idle(judged, options)
    print("\n".join(lines(shown, terminal)))
    for line in listing.below(idle, copy, listing.is_live(options), terminal):
        print(line)
    return judged


def cells(judged):
    table = judged.table
    whole = [
        None if table.number(label) is None else str(table.number(label))
        for label in ("objects", "longest")
    ]
    return (
        judged.name,
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
        judged.word,
    )


def lines(judged, terminal):
    return text_table.lines(HEAD, [cells(one) for one in judged], judged, terminal, LEAST_WANTED)
