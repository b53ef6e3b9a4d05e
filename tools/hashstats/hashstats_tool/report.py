# SPDX-License-Identifier: GPL-2.0
"""hashstats report: peaks and heat maps of a recording."""

import time

from . import heat, numbers, peaks, recording, text_table
from .errors import Complaint
from .selection import of
from .terminal import Terminal

HELP = "peaks and heat maps of what hashstats record wrote"
HEAD = ("TABLE", "BUCKETS", "PEAK-OBJECTS", "AT", "LONGEST", "PEAK-NODES", "IDEAL", "VERDICT")
LEAST_WANTED = ("BUCKETS", "AT", "IDEAL", "LONGEST")
UNASKED = 2  # heat maps, if no table is named


def options(parser):
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="heat maps of these (default: the worst)"
    )
    add_png(parser)


def add_png(parser):
    parser.add_argument(
        "--png", metavar="FILE", help="draw the heat maps as a picture too (SVG if it ends in .svg)"
    )


def run(options):
    if options.png:
        from . import pictures

        pictures.needed()
    return tell(peaks.of(recording.load(options.file)), options)


def tell(all_peaks, options):
    """Peaks of all tables, heat maps of some; the judged peaks."""
    chosen = choose(all_peaks, options.tables)
    terminal = Terminal()
    print("\n".join(table(all_peaks, terminal)))
    for peak in chosen:
        print("\n" + "\n".join(heat.lines(peak, terminal)))
    if options.png:
        draw(chosen, options.png)
    return all_peaks.judged


def choose(all_peaks, names):
    """Those that are named, else those with the worst chains."""
    if names:
        return [all_peaks.of_title[one.title] for one in of(all_peaks.judged, names)]
    with_chains = [peak for peak in all_peaks if peak.longest]
    with_chains.sort(key=lambda peak: (peak.judged.bad, peak.longest), reverse=True)
    return with_chains[:UNASKED]


def table(all_peaks, terminal):
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(all_peaks.first))
    head = (
        f"{all_peaks.samples} readings in {all_peaks.duration:.0f} s from {since}"
        if all_peaks.samples > 1
        else "one reading"
    )
    rows = [cells(peak, all_peaks.first) for peak in all_peaks]
    return [head, *text_table.lines(HEAD, rows, all_peaks.judged, terminal, LEAST_WANTED)]


def cells(peak, first):
    one = peak.judged
    objects = one.table.objects
    return (
        peak.title,
        str(one.table.buckets) if one.table.buckets else "off",
        "-" if objects is None else str(objects),
        f"{peak.seconds - first:.0f}s",
        str(peak.longest),
        numbers.plain(peak.nodes, 3),
        numbers.plain(one.ideal, 3),
        one.verdict,
    )


def draw(chosen, path):
    from . import pictures

    maps = [(peak.title, peak.heat) for peak in chosen if peak.heat.cells]
    if not maps:
        raise Complaint("these tables have no histogram; accepted: tables with chains")
    pictures.heat_maps(maps, path)
