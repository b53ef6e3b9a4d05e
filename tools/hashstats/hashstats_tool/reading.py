# SPDX-License-Identifier: GPL-2.0
"""The text of /proc/hashstats into tables.

Strict about the format (Documentation/ABI/testing/procfs-hashstats): if a file
was cut off or edited, a complaint names the line. The format may get new labels,
names and versions; these are skipped with a note.
"""

import re

from .errors import Complaint, quoted
from .tables import LONG, SIZES, Copy, Row, Table

VERSION = 1
LARGEST = 2**64 - 1  # the kernel counts in 64 bits

WORDS = ("name", "sized-by")
NUMBERS = (
    "buckets",
    "bytes",
    "objects",
    "used",
    "longest",
    "capped",
    "torn",
    "bad-pointers",
    "same-key",
    "walk-us",
    "walk-longest-us",
    "lookups",
    "hits",
    "stale",
    "cache-hits",
    "wakes",
    "entries-examined",
    "entries-matched",
    "functions-called",
)
FRACTIONS = (
    "used-expected",
    "nodes-per-hit",
    "nodes-per-hit-expected",
    "variance-over-mean",
    "hit-rate",
    "nodes-per-counted-hit",
    "nodes-per-counted-miss",
    "cache-hit-rate",
    "foreign-per-wake",
)
KNOWN = frozenset((*WORDS, *NUMBERS, *FRACTIONS))
# The first two are of /proc/hashstats. The next ones are of a kernel's memory; the last
# four are of the machine, by `hashstats copy` and `record`.
KNOWN_ABOVE = frozenset(
    (
        *("version", "counting", "source", "kernel", "hash-entries", "layouts", "not-read"),
        *("host", "time", "memory", "cpus"),
    )
)

ALWAYS = ("buckets", "bytes", "sized-by")
WITH_ROWS = ("objects", "used", "longest")

# Bounded, since messages repeat them.
LABEL = re.compile(r"([a-z][a-z0-9-]{0,63}): (\S.*)")
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
WHOLE = re.compile(r"0|[1-9][0-9]{0,19}")
FRACTION = re.compile(r"(?:0|[1-9][0-9]{0,19})\.[0-9]{3}")


class OddName(Complaint):
    """A table that has another name than a table can have."""


class Reader:
    """One pass over the lines of one file."""

    def __init__(self, source, first_line):
        self.source = source
        self.offset = first_line - 1
        self.newer = False
        self.unknown = {}  # label -> numbers of its lines

    def wrong(self, line, what, kind=Complaint):
        return kind(f"{self.source}, line {line + self.offset}: {what}")

    def lines(self, data):
        """The file as lines, or what keeps it from being text."""
        if not data:
            raise self.wrong(1, "the file is empty, expected 'version: 1'")
        pieces = data.split(b"\n")
        lines = [self.line(number, piece) for number, piece in enumerate(pieces, 1)]
        if lines.pop():
            raise self.wrong(len(pieces), "the file is cut off within this line, expected its end")
        return lines

    def line(self, number, piece):
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            raise self.wrong(number, "not UTF-8, expected the text of /proc/hashstats") from None
        if not text.isprintable():
            bad = next(letter for letter in text if not letter.isprintable())
            raise self.wrong(number, f"the character {ascii(bad)}, expected printable text")
        return text

    def copy(self, data):
        """The tables of a whole file."""
        result = Copy()
        paragraphs = self.paragraphs(self.lines(data))
        self.header(result, *next(paragraphs))
        seen: dict[str, int] = {}  # name -> line
        for start, lines in paragraphs:
            try:
                table = self.table(start, lines)
                self.only(seen, table)
            except Complaint as complaint:
                # A newer kernel may mean something else by it. Show the others.
                if not self.newer and not isinstance(complaint, OddName):
                    raise
                result.notes.append(f"{complaint}; table skipped")
                continue
            result.tables.append(table)
        result.notes += self.notes()
        return result

    def paragraphs(self, lines):
        """Number of the first line, and the lines, of each paragraph."""
        start = 1
        while True:
            try:
                end = lines.index("", start - 1)
            except ValueError:
                yield start, lines[start - 1 :]
                return
            yield start, lines[start - 1 : end]
            start = end + 2
            if start > len(lines):
                raise self.wrong(end + 1, "an empty line ends the file, expected a table behind it")

    def header(self, copy, start, lines):
        first = re.fullmatch(r"version: (.+)", lines[0]) if lines else None
        if not first:
            raise self.wrong(
                1,
                f"{quoted(lines[0] if lines else '')}, expected "
                "'version: 1', the first line of /proc/hashstats",
            )
        if not WHOLE.fullmatch(first[1]) or first[1] == "0":
            raise self.wrong(1, f"the version is {quoted(first[1])}, expected a number from 1")
        self.newer = int(first[1]) > VERSION
        if self.newer:
            copy.notes.append(
                f"{self.source}: version {first[1]} is newer than "
                f"{VERSION}; showing only the fields that this hashstats knows"
            )
        for number, line in enumerate(lines, start):
            label, text = self.labelled(number, line, copy.header)
            if label == "counting" and text not in ("on", "off"):
                raise self.wrong(number, f"counting is {quoted(text)}, expected on or off")
            if label == "name":
                raise self.wrong(number, "a table, expected an empty line before it")
            if label not in KNOWN_ABOVE:
                self.unknown.setdefault(label, []).append(number)
            copy.header[label] = text
        if "counting" not in copy.header and not self.newer:
            raise self.wrong(
                start,
                "no line 'counting: on' or 'counting: off', expected one after this line",
            )

    def labelled(self, number, line, known):
        match = LABEL.fullmatch(line)
        if not match:
            raise self.wrong(number, f"{quoted(line)}, expected 'label: value'")
        label, text = match.groups()
        if label in known:
            raise self.wrong(number, f"{label} once more, expected it once in a paragraph")
        return label, text

    def table(self, start, lines):
        table = Table(start + self.offset)
        if not lines or not lines[0].startswith("name:"):
            raise self.wrong(
                start,
                f"{quoted(lines[0] if lines else '')}, "
                "expected 'name: ...', the first line of a table",
            )
        head = next(
            (
                at
                for at, line in enumerate(lines)
                if line.split() == ["size", "buckets", "objects", "sum-pct"]
            ),
            len(lines),
        )
        for number, line in enumerate(lines[:head], start):
            label, text = self.labelled(number, line, table.fields)
            self.value(number, label, text)
            table.fields[label] = text
        for label in ALWAYS:
            if label not in table.fields:
                raise self.wrong(
                    start,
                    f"table {quoted(table.name)} has no {label}, expected a line '{label}: ...'",
                )
        if head < len(lines):
            self.rows(table, start + head + 1, lines[head + 1 :])
            Check(self, table, start, start + head + 1).all()
        elif table.objects is not None:
            raise self.wrong(
                start + len(lines) - 1,
                f"table {quoted(table.name)} "
                "has objects and no histogram, expected one: is "
                "the file cut off?",
            )
        self.counters(start, table)
        return table

    def value(self, number, label, text):
        if label in NUMBERS:
            if not WHOLE.fullmatch(text) or int(text) > LARGEST:
                raise self.wrong(
                    number, f"{label} is {quoted(text)}, expected a whole number below 2^64"
                )
        elif label in FRACTIONS:
            if not FRACTION.fullmatch(text):
                raise self.wrong(
                    number,
                    f"{label} is {quoted(text)}, expected a number with three places, as 1.064",
                )
        elif label == "name":
            if not NAME.fullmatch(text):
                raise self.wrong(
                    number,
                    f"the name {quoted(text)}, expected up to 64 letters, digits, '_', '-', '.'",
                    OddName,
                )
        elif label not in KNOWN:
            self.unknown.setdefault(label, []).append(number)

    def rows(self, table, start, lines):
        for number, line in enumerate(lines, start):
            table.rows.append(self.row(number, line, len(table.rows)))
        if len(table.rows) < len(SIZES):
            missing = SIZES[len(table.rows)]
            raise self.wrong(
                start + len(lines) - 1,
                f"the histogram of "
                f"{quoted(table.name)} ends here, expected rows "
                f"from {missing} to >15",
            )

    def row(self, number, line, position):
        if position == len(SIZES):
            raise self.wrong(number, f"{quoted(line)} behind the histogram, expected an empty line")
        words = line.split()
        if len(words) != 4 or words[0] != SIZES[position]:
            raise self.wrong(
                number,
                f"{quoted(line)}, expected the row '{SIZES[position]} buckets objects sum-pct'",
            )
        for word in words[1:]:
            if not WHOLE.fullmatch(word) or int(word) > LARGEST:
                raise self.wrong(
                    number, f"{quoted(word)} in a row, expected a whole number below 2^64"
                )
        return Row(*map(int, words[1:]))

    def counters(self, start, table):
        """Hits are no more than lookups, of which they are a part.

        Stale lookups may be: the kernel reads that counter later.
        """
        at = {label: start + n for n, label in enumerate(table.fields)}
        hits, lookups = table.number("hits"), table.number("lookups")
        if hits is None or lookups is None:
            return
        if hits > lookups:
            raise self.wrong(
                at["hits"], f"{hits} hits of {lookups} lookups, expected no more than these"
            )
        given = table.fraction("hit-rate")
        exact = hits / lookups if lookups else 0
        if given is not None and abs(given - exact) > 0.001:
            raise self.wrong(
                at["hit-rate"],
                f"hit-rate is {given:.3f}, expected {exact:.3f}, as hits / lookups",
            )

    def only(self, seen, table):
        if table.name in seen:
            raise self.wrong(
                table.line - self.offset,
                f"table {quoted(table.name)} is in line {seen[table.name]} already, "
                "expected each once",
            )
        seen[table.name] = table.line

    def notes(self):
        for label, numbers in self.unknown.items():
            times = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
            yield (
                f"{self.source}, line {numbers[0] + self.offset}{times}: "
                f"{label} is not known to this hashstats, skipped"
            )


class Check:
    """A histogram must agree with itself and with the lines above it."""

    def __init__(self, reader, table, start, first_row):
        self.reader = reader
        self.table = table
        self.start = start
        self.first_row = first_row
        self.at = {label: start + n for n, label in enumerate(table.fields)}

    def row(self, size, what):
        return self.reader.wrong(self.first_row + size, f"row {SIZES[size]}: {what}")

    def all(self):
        for label in WITH_ROWS:
            if label not in self.table.fields:
                raise self.reader.wrong(
                    self.start,
                    f"table {quoted(self.table.name)} has a histogram "
                    f"and no {label}, expected a line '{label}: ...'",
                )
        self.products()
        self.sums()
        self.percents()
        self.nodes()

    def products(self):
        for size, row in enumerate(self.table.rows[:LONG]):
            if size * row.buckets != row.objects:
                raise self.row(
                    size,
                    f"{row.objects} objects, expected "
                    f"{size * row.buckets} in {row.buckets} buckets",
                )
        row = self.table.rows[LONG]
        if row.objects < LONG * row.buckets or row.objects and not row.buckets:
            raise self.row(
                LONG,
                f"{row.objects} objects, expected {LONG} or more in each of {row.buckets} buckets",
            )

    def sums(self):
        rows = self.table.rows
        self.same("buckets", sum(row.buckets for row in rows))
        self.same("objects", sum(row.objects for row in rows))
        self.same("used", sum(row.buckets for row in rows[1:]))
        longest = max((size for size, row in enumerate(rows) if row.buckets), default=0)
        if longest < LONG:
            self.same("longest", longest)
            return
        given, row = self.table.number("longest"), rows[LONG]
        if not -(-row.objects // row.buckets) <= given <= row.objects:
            raise self.reader.wrong(
                self.at["longest"],
                f"longest is {given}, which row >15 cannot have, expected what fits it",
            )

    def same(self, label, sum_of_rows):
        given = self.table.number(label)
        if given != sum_of_rows:
            raise self.reader.wrong(
                self.at[label],
                f"{label} is {given}, expected {sum_of_rows}, as the histogram has it",
            )

    def percents(self):
        objects, reached = self.table.objects, 0
        for size, row in enumerate(self.table.rows):
            reached += row.objects
            # Rounded or cut off, but the last is exact in both.
            low = reached * 100 // objects if objects else 0
            high = -(-reached * 100 // objects) if objects else 0
            if not low <= row.percent <= high:
                raise self.row(size, f"sum-pct is {row.percent}, expected {low}")

    def nodes(self):
        """Nodes per hit, where no chain hides its length behind >15."""
        given = self.table.fraction("nodes-per-hit")
        objects, rows = self.table.objects, self.table.rows
        if given is None or not objects or rows[LONG].buckets:
            return
        exact = sum(row.buckets * size * (size + 1) // 2 for size, row in enumerate(rows)) / objects
        if abs(given - exact) > 0.001:
            raise self.reader.wrong(
                self.at["nodes-per-hit"],
                f"nodes-per-hit is {given:.3f}, expected {exact:.3f}, as the histogram has it",
            )


def parse(data, source="input", first_line=1):
    """The Copy that bytes hold; a Complaint names the line that is wrong."""
    return Reader(source, first_line).copy(data)
