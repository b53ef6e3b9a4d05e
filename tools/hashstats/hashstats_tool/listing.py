# SPDX-License-Identifier: GPL-2.0
"""Which tables get a line, in which order, and what is said below them."""

from . import sources, text_table
from .errors import Complaint, did_you_mean, quoted

# Columns to sort by: names upwards, all else downwards.
KEYS = {
    "verdict": lambda one: one.severity,
    "table": None,
    "buckets": lambda one: one.table.buckets,
    "bytes": lambda one: one.table.bytes,
    "objects": lambda one: one.table.objects,
    "load": lambda one: one.load,
    "long": lambda one: one.table.number("longest"),
    "nodes": lambda one: one.nodes,
}
DEFAULT = "verdict"


def add_all(parser):
    parser.add_argument("--all", action="store_true", help="show idle tables as well")


def ordered(judged, column=DEFAULT):
    """The tables by a column; bad ones first without one."""
    name = column.lower()
    if name not in KEYS:
        raise Complaint(
            f"--sort {quoted(column)}{did_you_mean(name, KEYS)}; accepted: {', '.join(KEYS)}"
        )
    key = KEYS[name]
    if key is None:
        return sorted(judged, key=lambda one: one.name)
    return sorted(judged, key=lambda one: -(key(one) or 0))


def without_idle(judged, options):
    """The tables that get a line, and the idle ones that are only named.

    With names or --all, each table gets a line.
    """
    idle = [] if options.tables or options.all else [one for one in judged if one.verdict == "idle"]
    return [one for one in judged if one not in idle], idle


def below(idle, copy, live, terminal):
    """The lines below a table of tables.

    copy	what was read, or the peaks of a recording; None if nothing is said of it
    live	the figures are of this machine, now
    """
    texts = []
    if idle:
        names = ", ".join(one.name for one in idle)
        texts.append(f"{len(idle)} idle, shown with --all: {names}")
    if copy and copy.kernel:
        texts.append(
            "Kernel memory has no lookup counts, so there are no hit rates and no verdicts on wait "
            "queues."
        )
    elif copy and not copy.counting:
        remedy = "; hashstats on starts it" if live else ""
        # The counts stay until a reset.
        if copy.counts:
            texts.append(f"Counting is off; the counts are those of before{remedy}.")
        else:
            texts.append(
                "Counting is off, so there are no hit rates, and no verdicts on wait queues and "
                f"page{remedy}."
            )
    lines = [line for text in texts for line in text_table.wrapped(text, terminal.width)]
    return ["", *(terminal.colour(line, "dim") for line in lines)] if lines else []


def is_live(options):
    return options.file in sources.LIVE
