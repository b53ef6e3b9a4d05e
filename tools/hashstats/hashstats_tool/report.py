# SPDX-License-Identifier: GPL-2.0
"""hashstats report: the worst moments and heat maps of a recording."""

import time

from . import heat, listing, numbers, peaks, recording, text_table
from .errors import Complaint
from .selection import of
from .terminal import Terminal

HELP = "worst moments and heat maps of a recording"
HEAD = ("TABLE", "BUCKETS", "OBJECTS", "AT", "LONGEST", "NODES", "IDEAL", "VERDICT")
LEAST_WANTED = ("BUCKETS", "AT", "IDEAL", "LONGEST")
UNASKED = 2  # heat maps, if no table is named


def options(parser):
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="heat maps of these (default: the worst 2)"
    )
    listing.add_all(parser)
    add_png(parser)


def add_png(parser):
    parser.add_argument(
        "--png", metavar="FILE", help="also draw the heat maps into FILE, .png or .svg"
    )


def run(options):
    if options.png:
        from . import pictures

        pictures.needed(options.png)
    return tell(peaks.of(recording.load(options.file)), options)


def tell(seen, options):
    """The worst moments of all tables, heat maps of some; the judged tables."""
    chosen = choose(seen, options.tables)
    terminal = Terminal()
    print("\n".join(table(seen, options, terminal)))
    for peak in chosen:
        print("\n" + "\n".join(heat.lines(peak, seen, terminal)))
    if options.png:
        draw(seen, chosen, options.png)
    return seen.judged


def choose(seen, names):
    """The tables that are named, else those with the worst chains."""
    if names:
        return [seen.of_name[one.name] for one in of(seen.judged, names)]
    with_chains = [peak for peak in seen if peak.longest]
    with_chains.sort(key=lambda peak: (peak.judged.severity, peak.longest), reverse=True)
    return with_chains[:UNASKED]


def span(seen):
    """How much was read, and when."""
    if seen.samples == 1:
        return "one reading"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seen.first))
    return f"{seen.samples} readings in {seen.duration:.0f} s from {since}"


def table(seen, options, terminal):
    # All tables have a line each, even if heat maps of some are wanted.
    judged = listing.ordered(seen.judged)
    idle = [] if options.all else [one for one in judged if one.verdict == "idle"]
    shown = [one for one in judged if one not in idle]
    rows = [cells(seen.of_name[one.name], seen.first) for one in shown]
    return [
        f"{seen.host}: {span(seen)}" if seen.host else span(seen),
        *text_table.lines(HEAD, rows, shown, terminal, LEAST_WANTED),
        *listing.below(idle, seen, live=False, terminal=terminal),
    ]


def cells(peak, first):
    one = peak.judged
    objects = one.table.objects
    return (
        peak.name,
        str(one.table.buckets) if one.table.buckets else "off",
        "-" if objects is None else str(objects),
        f"{peak.worst.seconds - first:.0f}s",
        str(peak.longest),
        numbers.plain(one.nodes, 3),
        numbers.plain(one.ideal, 3),
        one.word,
    )


def draw(seen, chosen, path):
    from . import pictures

    maps = [peak for peak in chosen if peak.heat.cells]
    if not maps:
        raise Complaint("these tables have no histogram; accepted: tables with chains")
    title = f"{seen.host}, {span(seen)}" if seen.host else span(seen)
    pictures.heat_maps(maps, seen, title, path)
