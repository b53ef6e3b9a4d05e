# SPDX-License-Identifier: GPL-2.0
"""/proc/hashstats as tests read it: strict, and it adds up or is refused.

A label that is not known is kept as text, since fields may be added; what is
known must have its form, and a histogram must agree with the fields above it.
"""

import re
from typing import Any

Value = str | int | float
Row = tuple[str, int, int, int]  # of the histogram: size, buckets, objects, percent

VERSION = "1"
HEAD = ["size", "buckets", "objects", "sum-pct"]
SIZES = [*(str(size) for size in range(16)), ">15"]
NUMBERS, FRACTIONS = (
    frozenset(text.split())
    for text in (
        "buckets bytes objects used longest capped walk-us walk-longest-us lookups hits stale "
        "cache-hits wakes entries-examined entries-matched functions-called",
        "used-expected nodes-per-hit nodes-per-hit-expected variance-over-mean hit-rate "
        "nodes-per-counted-hit nodes-per-counted-miss cache-hit-rate foreign-per-wake",
    )
)
ALWAYS = ("name", "buckets", "bytes", "sized-by")
WITH_ROWS = ("objects", "used", "longest", "nodes-per-hit")


class BadFile(ValueError):
    """A file that no kernel of ours may print."""


class Table(dict[str, Any]):
    """Label -> value of one table; .rows are (size, buckets, objects, pct)."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []


class File(dict[str, Table]):
    """Name -> Table; .header has the lines above the tables."""

    def __init__(self) -> None:
        super().__init__()
        self.header: dict[str, Value] = {}


def parse(text: str) -> File:
    if not text.endswith("\n"):
        raise BadFile("the file does not end with a full line")
    first, *paragraphs = text[:-1].split("\n\n")
    result = File()
    lines = first.split("\n")
    if lines[0] != f"version: {VERSION}":
        raise BadFile(f"first line is {lines[0]!r}")
    for line in lines:
        result.header.update([labelled(line)])
    for paragraph in paragraphs:
        table = parse_table(paragraph.split("\n"))
        name = table["name"]
        if name in result:
            raise BadFile(f"table {name} is there twice")
        result[name] = table
    return result


def labelled(line: str) -> tuple[str, Value]:
    match = re.fullmatch(r"([a-z][a-z0-9-]*): (\S.*)", line)
    if not match:
        raise BadFile(f"not a `label: value` line: {line!r}")
    label, value = match.groups()
    if label in NUMBERS:
        return label, number(value, line)
    if label in FRACTIONS:
        if not re.fullmatch(r"[0-9]+\.[0-9]{3}", value):
            raise BadFile(f"not a number with three places: {line!r}")
        return label, float(value)
    return label, value


def number(text: str, line: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise BadFile(f"{text!r} is not a number: {line!r}")
    return int(text)


def parse_table(lines: list[str]) -> Table:
    table = Table()
    while lines and lines[0].split() != HEAD:
        label, value = labelled(lines.pop(0))
        if label in table:
            raise BadFile(f"label {label} is there twice")
        table[label] = value
    for label in ALWAYS:
        if label not in table:
            raise BadFile(f"a table lacks {label}: {dict(table)}")
    for line in lines[1:]:
        table.rows.append(parse_row(line))
    if lines:
        check_rows(table)
    return table


def parse_row(line: str) -> Row:
    words = line.split()
    if len(words) != len(HEAD):
        raise BadFile(f"not a row of the histogram: {line!r}")
    buckets, objects, percent = (number(word, line) for word in words[1:])
    return words[0], buckets, objects, percent


def demand(truth: object, table: Table, what: str) -> None:
    if not truth:
        raise BadFile(f"table {table['name']}: {what}: {dict(table)} {table.rows}")


def check_rows(table: Table) -> None:
    for label in WITH_ROWS:
        demand(label in table, table, f"has a histogram and no {label}")
    rows = table.rows
    demand([row[0] for row in rows] == SIZES, table, "rows are not 0 to >15")
    for size, buckets, objects, _ in rows[:-1]:
        demand(int(size) * buckets == objects, table, f"row {size} is wrong")
    demand(rows[-1][2] >= 16 * rows[-1][1], table, "row >15 is wrong")
    demand(sum(row[1] for row in rows) == table["buckets"], table, "buckets do not add up")
    demand(sum(row[2] for row in rows) == table["objects"], table, "objects do not add up")
    demand(table["buckets"] - rows[0][1] == table["used"], table, "used buckets do not add up")
    check_longest(table)
    check_percent(table)
    check_nodes(table)


def check_longest(table: Table) -> None:
    longest = max((size for size in range(17) if table.rows[size][1]), default=0)
    right = table["longest"] == longest if longest < 16 else table["longest"] >= 16
    demand(right, table, "longest is wrong")


def check_percent(table: Table) -> None:
    objects, reached = table["objects"], 0
    for row in table.rows:
        reached += row[2]
        exact = 100 * reached / objects if objects else 0
        # Rounded or cut off: both are within one.
        demand(not objects or abs(row[3] - exact) < 1, table, f"sum-pct of row {row[0]} is wrong")
    demand(not objects or table.rows[-1][3] == 100, table, "sum-pct does not end at 100")


def check_nodes(table: Table) -> None:
    """Nodes per hit, where no chain hides behind >15."""
    if not table["objects"] or table.rows[-1][1]:
        return
    nodes = sum(
        buckets * size * (size + 1) // 2 for size, (_, buckets, _, _) in enumerate(table.rows[:-1])
    )
    exact = nodes / table["objects"]
    demand(abs(table["nodes-per-hit"] - exact) <= 0.001, table, f"nodes-per-hit is not {exact:.3f}")
