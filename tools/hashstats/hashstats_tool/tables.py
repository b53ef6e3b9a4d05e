# SPDX-License-Identifier: GPL-2.0
"""A copy of /proc/hashstats in memory.

Values are kept as the text that they were, so that nothing of them is lost; they
become numbers when they are asked for.
"""

LONG = 16  # the row of chains longer than 15
SIZES = (*(str(size) for size in range(LONG)), ">15")


class Row:
    """One line of a histogram: so many buckets have chains of this size."""

    __slots__ = ("buckets", "objects", "percent")

    def __init__(self, buckets, objects, percent):
        self.buckets = buckets
        self.objects = objects
        self.percent = percent

    def __eq__(self, other):
        return (self.buckets, self.objects, self.percent) == (
            other.buckets,
            other.objects,
            other.percent,
        )


class Table:
    """One table: .fields is label -> text in order, .rows the histogram."""

    __slots__ = ("fields", "rows", "line")

    def __init__(self, line=0):
        self.fields = {}
        self.rows = []
        self.line = line  # of its name, in the file

    def __eq__(self, other):
        # Order counts: what is written must be what was read.
        return list(self.fields.items()) == list(other.fields.items()) and self.rows == other.rows

    def number(self, label):
        text = self.fields.get(label)
        return None if text is None else int(text)

    def fraction(self, label):
        text = self.fields.get(label)
        return None if text is None else float(text)

    @property
    def name(self):
        return self.fields["name"]

    @property
    def buckets(self):
        return self.number("buckets")

    @property
    def bytes(self):
        return self.number("bytes")

    @property
    def objects(self):
        return self.number("objects")

    @property
    def sized_by(self):
        return self.fields["sized-by"]

    @property
    def counted(self):
        """Number of lookups or wakeups that were counted."""
        return sum(self.number(label) or 0 for label in ("lookups", "wakes", "cache-hits"))


class Copy:
    """The whole file at one moment.

    notes	what was skipped
    host	the machine that it is of, if a recording tells
    """

    def __init__(self):
        self.host = None
        self.header = {}
        self.tables = []
        self.notes = []

    def __eq__(self, other):
        return (
            list(self.header.items()) == list(other.header.items()) and self.tables == other.tables
        )

    @property
    def version(self):
        return int(self.header["version"])

    @property
    def kernel(self):
        """The release of a kernel whose memory was read; None of /proc/hashstats."""
        return self.header.get("kernel")

    @property
    def not_read(self):
        """{table: why} of what a kernel's memory has and could not be read."""
        pairs = (one.partition(": ") for one in self.header.get("not-read", "").split("; "))
        return {name: why for name, _, why in pairs if name}

    @property
    def memory(self):
        """Bytes of memory of the machine, if the copy says so."""
        text = self.header.get("memory", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None

    @property
    def stock(self):
        """Whether that kernel is without our patches."""
        return self.header.get("hash-entries") == "no"

    @property
    def counting(self):
        return self.header.get("counting") == "on"

    @property
    def counts(self):
        """Whether something was counted, now or before counting was switched off."""
        return any(one.counted for one in self.tables)
