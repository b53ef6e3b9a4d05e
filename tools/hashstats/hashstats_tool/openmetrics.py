# SPDX-License-Identifier: GPL-2.0
"""hashstats openmetrics: metrics for Prometheus.

The node exporter's textfile collector reads files that end in .prom, and only
Prometheus' older text format, so such a file gets that format. Counters and
gauges are the same in both, with one difference: OpenMetrics names a counter
without its _total, and the older format would then see a metric without a type.
"""

import io
import sys

from . import outputs, sources, verdicts
from .selection import of
from .tables import SIZES

HELP = "metrics for Prometheus, such as for the node exporter's textfile collector"
PREFIX = "hashstats_"
COLLECTED = ".prom"  # the end of a name that the textfile collector reads


def number(label):
    return lambda judged: judged.table.number(label)


def fraction(label):
    return lambda judged: judged.table.fraction(label)


def attribute(name):
    return lambda judged: getattr(judged, name)


# Name, help, and how to get the value of a table. Prometheus shows each help
# alone, so none may refer to another.
GAUGES = (
    ("table_buckets", "Number of buckets of the hash table.", number("buckets")),
    ("table_bytes", "Size of the hash table in bytes.", number("bytes")),
    ("table_objects", "Number of objects in the hash table.", number("objects")),
    ("table_used_buckets", "Number of buckets that have objects.", number("used")),
    (
        "table_used_buckets_expected",
        "Number of buckets that would have objects with a random hash function.",
        lambda judged: (
            None if judged.used_expected is None else judged.used_expected * judged.table.buckets
        ),
    ),
    ("table_load", "Load factor, objects per bucket.", attribute("load")),
    (
        "table_longest_chain",
        "Number of objects in the longest chain of the hash table.",
        number("longest"),
    ),
    (
        "table_nodes_per_lookup",
        "Mean number of nodes that a successful lookup or a wakeup examines.",
        attribute("nodes"),
    ),
    (
        "table_nodes_per_lookup_ideal",
        "Mean number of nodes that a lookup would examine with a random hash function.",
        attribute("ideal"),
    ),
    (
        "table_variance_over_mean",
        "Variance of the chain lengths over their mean, 1 with a random hash function.",
        fraction("variance-over-mean"),
    ),
    (
        "table_nodes_per_counted_hit",
        "Mean number of nodes that counted lookups examined when they found an object.",
        fraction("nodes-per-counted-hit"),
    ),
    (
        "table_nodes_per_counted_miss",
        "Mean number of nodes that counted lookups examined when they found no object.",
        fraction("nodes-per-counted-miss"),
    ),
)
SINCE = "since boot or the last reset."
COUNTERS = (
    ("lookups", f"Lookups counted {SINCE}", number("lookups")),
    ("hits", f"Counted lookups that found an object, {SINCE}", number("hits")),
    ("stale", f"Counted lookups that met another object in their bucket, {SINCE}", number("stale")),
    (
        "cache_hits",
        f"Lookups that a cache in front of the table answered, {SINCE}",
        number("cache-hits"),
    ),
    ("wakes", f"Counted wakeups that took the lock of a queue, {SINCE}", number("wakes")),
    (
        "entries_examined",
        f"Entries of wait queues that counted wakeups examined, {SINCE}",
        number("entries-examined"),
    ),
    (
        "entries_matched",
        f"Entries of wait queues that counted wakeups were for, {SINCE}",
        number("entries-matched"),
    ),
    (
        "functions_called",
        f"Wake functions that counted wakeups called, {SINCE}",
        number("functions-called"),
    ),
)


def options(parser):
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="replace FILE atomically, for collectors",
    )
    parser.add_argument(
        "--classic",
        action="store_true",
        help=f"the older text format (default for a FILE that ends in {COLLECTED})",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")


def run(options):
    copy = sources.load(options.file)
    judged = of(verdicts.of_copy(copy), options.tables)
    classic = options.classic or (options.output or "").endswith(COLLECTED)
    text = "\n".join(lines(copy, judged, classic)) + "\n"
    if options.output:
        outputs.replace(options.output, text)
    else:
        # The format is UTF-8, whatever the locale.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        print(text, end="")
    return judged


def lines(copy, judged, classic=False):
    yield from family(
        "counting",
        "gauge",
        "1 if lookups and wakeups are being counted, else 0.",
        [("", int(copy.counting))],
    )
    yield from family(
        "not_read",
        "gauge",
        "1 for each table of the kernel that could not be read, or not wholly.",
        [(label_text(table=name), 1) for name in copy.not_read],
    )
    yield from family(
        "table_info",
        "gauge",
        "What decided the size of the hash table, and its kind, as labels.",
        [(labels(one, sized_by=one.table.sized_by, kind=one.kind), 1) for one in judged],
    )
    for name, text, value in GAUGES:
        yield from family(name, "gauge", text, samples(judged, value))
    for name, text, value in COUNTERS:
        yield from family(f"table_{name}", "counter", text, samples(judged, value), classic)
    yield from family(
        "table_chain_buckets",
        "gauge",
        "Number of buckets whose chain has as many objects as the label size says.",
        [
            (labels(one, size=size), row.buckets)
            for one in judged
            for size, row in zip(SIZES, one.table.rows)
        ],
    )
    yield from family(
        "table_verdict",
        "gauge",
        "1 for the verdict on the hash table, 0 for each other verdict.",
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
    """One metric, or nothing if no table has it."""
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
    return label_text(table=judged.name, **more)


def label_text(**pairs):
    inside = ",".join(f'{name}="{escaped(value)}"' for name, value in pairs.items())
    return "{" + inside + "}"


def escaped(text):
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
