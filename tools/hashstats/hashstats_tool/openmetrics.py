# SPDX-License-Identifier: GPL-2.0
"""hashstats openmetrics: metrics for what watches a fleet already.

The node exporter's textfile collector reads Prometheus' older text format. All
that is written here is right in both: only counters and gauges, no types that
the older one lacks. One thing cannot be the same: OpenMetrics names a counter
without its _total, and there the older format sees a metric without a type,
which it takes all the same. --classic names it the older way.
"""

import io
import sys

from . import outputs, sources, verdicts
from .selection import of
from .tables import SIZES

HELP = "metrics for the node exporter's textfile collector"
PREFIX = "hashstats_"


def number(label):
    return lambda judged: judged.table.number(label)


def fraction(label):
    return lambda judged: judged.table.fraction(label)


def attribute(name):
    return lambda judged: getattr(judged, name)


# Name, what it is, and how it is had of a table.
GAUGES = (
    ("table_buckets", "Number of buckets.", number("buckets")),
    ("table_bytes", "Size of the table.", number("bytes")),
    ("table_objects", "Sum of all chains.", number("objects")),
    ("table_used_buckets", "Buckets with objects.", number("used")),
    (
        "table_used_buckets_expected",
        "The same for a random function.",
        lambda judged: (
            None if judged.used_expected is None else judged.used_expected * judged.table.buckets
        ),
    ),
    ("table_load", "Objects a bucket.", attribute("load")),
    ("table_longest_chain", "Objects in the longest chain.", number("longest")),
    ("table_nodes_per_lookup", "Nodes that a lookup or wakeup examines.", attribute("nodes")),
    ("table_nodes_per_lookup_ideal", "The same for a random function.", attribute("ideal")),
    (
        "table_variance_over_mean",
        "Of the lengths of the chains, 1 by chance.",
        fraction("variance-over-mean"),
    ),
    (
        "table_nodes_per_counted_hit",
        "Nodes examined by lookups that hit.",
        fraction("nodes-per-counted-hit"),
    ),
    (
        "table_nodes_per_counted_miss",
        "Nodes examined by lookups that missed.",
        fraction("nodes-per-counted-miss"),
    ),
)
COUNTERS = (
    ("lookups", "Lookups counted since the last reset.", number("lookups")),
    ("hits", "Lookups that found an object.", number("hits")),
    ("stale", "Misses that met another object.", number("stale")),
    ("cache_hits", "Lookups that a cache before the table answered.", number("cache-hits")),
    ("wakes", "Wakeups that took the lock of a queue.", number("wakes")),
    ("entries_examined", "Entries of queues that wakeups looked at.", number("entries-examined")),
    ("entries_matched", "Of these, those that the wakeup was for.", number("entries-matched")),
    ("functions_called", "Wake functions that were called.", number("functions-called")),
)


def options(parser):
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write this file at once, so that no collector reads half of it",
    )
    parser.add_argument(
        "--classic",
        action="store_true",
        help="the older text format: counters are named with _total, no # EOF",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")


def run(options):
    copy = sources.load(options.file)
    judged = of(verdicts.of_copy(copy), options.tables)
    text = "\n".join(lines(copy, judged, options.classic)) + "\n"
    if options.output:
        outputs.replace(options.output, text)
    else:
        # The format is UTF-8, whatever the terminal is.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        print(text, end="")
    return judged


def lines(copy, judged, classic=False):
    yield from family(
        "counting", "gauge", "Whether lookups are being counted.", [("", int(copy.counting))]
    )
    yield from family(
        "table_info",
        "gauge",
        "What decided the size.",
        [(labels(one, sized_by=one.table.sized_by, kind=one.kind), 1) for one in judged],
    )
    for name, text, value in GAUGES:
        yield from family(name, "gauge", text, samples(judged, value))
    for name, text, value in COUNTERS:
        yield from family(f"table_{name}", "counter", text, samples(judged, value), classic)
    yield from family(
        "table_chain_buckets",
        "gauge",
        "Buckets with chains of so many objects.",
        [
            (labels(one, size=size), row.buckets)
            for one in judged
            for size, row in zip(SIZES, one.table.rows)
        ],
    )
    yield from family(
        "table_verdict",
        "gauge",
        "1 for the verdict that holds.",
        [
            (labels(one, verdict=word), int(word == one.verdict))
            for one in judged
            for word in verdicts.WORDS
        ],
    )
    if not classic:
        yield "# EOF"


def samples(judged, value):
    return [(labels(one), value(one)) for one in judged if value(one) is not None]


def family(name, kind, text, values, classic=False):
    """One metric; nothing at all where no table has it."""
    if not values:
        return
    name = PREFIX + name
    total = "_total" if kind == "counter" else ""
    told = name + total if classic else name
    yield f"# HELP {told} {text}"
    yield f"# TYPE {told} {kind}"
    for label, value in values:
        shown = f"{value:.6g}" if isinstance(value, float) else value
        yield f"{name}{total}{label} {shown}"


def labels(judged, **more):
    table = judged.table
    pairs = {"table": table.name, "instance_name": table.instance or "", **more}
    inside = ",".join(f'{name}="{escaped(value)}"' for name, value in pairs.items())
    return "{" + inside + "}"


def escaped(text):
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
