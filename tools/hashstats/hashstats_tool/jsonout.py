# SPDX-License-Identifier: GPL-2.0
"""hashstats json: all figures, for programs.

schema.json beside this file describes the output. Its version changes when a key
is removed or changes its meaning; new keys may be added without that.
"""

import json

from . import reading, sources, spread, verdicts
from .selection import of
from .tables import SIZES

VERSION = 2
HELP = "all figures, for programs; schema.json describes them"


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")
    parser.add_argument("--compact", action="store_true", help="print JSON in one line")


def run(options):
    copy = sources.load(options.file)
    judged = of(verdicts.of_copy(copy), options.tables)
    tell(copy, judged, options.compact)
    return judged


def tell(copy, judged, compact=False):
    print(json.dumps(document(copy, judged), indent=None if compact else 2))


def document(copy, judged):
    return {
        "schema": "hashstats",
        "version": VERSION,
        "file_version": copy.version,
        "counting": copy.counting,
        # Of a kernel without /proc/hashstats; null else.
        "source": copy.header.get("source"),
        "kernel": copy.kernel,
        "not_read": copy.header.get("not-read"),
        "tables": [table_of(one) for one in judged],
    }


def key(label):
    return label.replace("-", "_")


def table_of(judged):
    table = judged.table
    result = {"name": table.name, "sized_by": table.sized_by}
    for label in reading.NUMBERS:
        result[key(label)] = table.number(label)
    for label in reading.FRACTIONS:
        result[key(label)] = table.fraction(label)
    result["unknown"] = {
        label: text for label, text in table.fields.items() if label not in reading.KNOWN
    }
    result |= {
        "kind": judged.kind,
        "load": judged.load,
        "used_share": judged.used,
        "used_share_expected": judged.used_expected,
        "nodes": judged.nodes,
        "nodes_ideal": judged.ideal,
        "verdict": judged.verdict,
        "reason": judged.reason,
        "histogram": histogram(table),
    }
    return result


def histogram(table):
    if not table.rows:
        return None
    expected = spread.poisson(table.buckets, table.objects)
    return [
        {
            "size": size,
            "buckets": row.buckets,
            "objects": row.objects,
            "sum_pct": row.percent,
            "buckets_expected": round(ideal, 3),
        }
        for size, row, ideal in zip(SIZES, table.rows, expected)
    ]
