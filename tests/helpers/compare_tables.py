# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest with our kernel: /proc/hashstats beside what its memory has.

One process reads both, again and again, so that they are read of the same tables
at least once. It prints a line of JSON: [names of all tables, those that were
never equal, the tables that each source gave when asked for NAMED].
"""

import json
import sys

sys.path.insert(0, "/tool")

from hashstats_tool import reading, sources
from hashstats_tool.stock import reader

TRIES = 5
NAMED = ("uid", "mbcache")
# Our kernel is built without BTF and KALLSYMS_ALL.
reader.TYPES = "/types"


def tables(data):
    return {table.name: table for table in reading.parse(data).tables}


def figures(table):
    """All of a table but times, counters, and what only one of the sources has."""
    labels = ("buckets", "bytes", "sized-by", "objects", "used", "longest", "capped")
    return [table.fields.get(label) for label in labels], [
        (row.buckets, row.objects, row.percent) for row in table.rows
    ]


def main():
    different = None
    for _ in range(TRIES):
        with open("/proc/hashstats", "rb") as file:
            ours = tables(file.read())
        read = tables(reader.read("/proc/kcore", "/proc/kcore", "/System.map"))
        wrong = {
            title
            for title in ours.keys() | read.keys()
            if title not in ours
            or title not in read
            or figures(ours[title]) != figures(read[title])
        }
        different = wrong if different is None else different & wrong
    named = [
        sorted(tables(sources.read("/proc/hashstats", NAMED))),
        sorted(tables(reader.read("/proc/kcore", "/proc/kcore", "/System.map", NAMED))),
    ]
    print(json.dumps([sorted(ours), sorted(different), named]))


main()
