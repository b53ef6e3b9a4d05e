# SPDX-License-Identifier: GPL-2.0
"""What remains of a recording: each table at its peak and at its worst, a heat map.

Copies are looked at one by one and forgotten, so that a day of them takes no
more memory than an hour.
"""

import math

from . import verdicts

CELLS = 512  # of a heat map in time; more than are drawn


class Heat:
    """Objects by the length of their chain, over time.

    A cell has the maximum of some successive samples. When there are too many
    cells, two become one, and each takes twice as many samples from then on.
    """

    def __init__(self):
        self.seconds = []  # at which a cell begins
        self.cells = []  # objects in the rows 1 to >15
        self.each = 1  # samples of a cell
        self.filled = 0  # of the last cell

    def add(self, seconds, objects):
        if self.cells and self.filled < self.each:
            self.cells[-1] = higher(self.cells[-1], objects)
            self.filled += 1
            return
        if len(self.cells) == CELLS:
            self.seconds = self.seconds[::2]
            self.cells = [higher(*pair) for pair in zip(self.cells[::2], self.cells[1::2])]
            self.each *= 2
        self.seconds.append(seconds)
        self.cells.append(objects)
        self.filled = 1

    def spans(self, step):
        """Begin, end and objects of each cell; step is the time between two samples.

        A cell lasts until the next one, unless the table was missing in between.
        """
        length = self.each * step
        for begin, after, cell in zip(self.seconds, [*self.seconds[1:], math.inf], self.cells):
            yield begin, after if after - begin < 2 * length else begin + length, cell


def higher(one, other):
    return [max(pair) for pair in zip(one, other)]


class Moment:
    """A judged table, and when it was so."""

    def __init__(self, seconds, judged):
        self.seconds = seconds
        self.judged = judged


class Peak:
    """Two moments of one table, which may be the same.

    peak	the table was fullest, or its queues most in the way; sizes follow it
    worst	the worst verdict, and the peak of those with it
    """

    def __init__(self, seconds, judged):
        self.name = judged.name
        self.peak = self.worst = Moment(seconds, judged)
        self.heat = Heat()

    def add(self, seconds, judged):
        if weight(judged) > weight(self.peak.judged):
            self.peak = Moment(seconds, judged)
        if badness(judged) > badness(self.worst.judged):
            self.worst = Moment(seconds, judged)
        if judged.table.rows:
            self.heat.add(seconds, [row.objects for row in judged.table.rows[1:]])

    @property
    def judged(self):
        """What the tool says of the whole recording."""
        return self.worst.judged

    @property
    def to_size(self):
        """What the next size follows: no size helps where keys collided once."""
        return self.judged if self.judged.verdict == "skewed" else self.peak.judged

    @property
    def longest(self):
        return self.judged.table.number("longest") or 0


def weight(judged):
    """What makes one moment of a table fuller than another."""
    table = judged.table
    if judged.kind == verdicts.WAITS:
        return judged.enough, judged.foreign or 0, table.counted, table.objects or 0
    if judged.kind == verdicts.DIRECT:
        return judged.enough, judged.stale_rate or 0, table.objects or 0
    return table.objects or 0, judged.nodes or 0


def badness(judged):
    """What makes one moment of a table worse than another."""
    return judged.severity, weight(judged)


class Peaks:
    """Those of all tables, in the order in which they were first seen."""

    def __init__(self, host=None):
        self.host = host
        self.of_name = {}
        self.samples = 0
        self.first = self.last = 0.0  # their seconds
        self.counting = self.counts = False  # in any sample
        self.kernel = None  # its release, if its memory was read
        self.memory = None  # bytes, if the copies say so
        self.stock = False  # whether that kernel is without our patches

    def add(self, seconds, copy):
        for one in verdicts.of_copy(copy):
            self.of_name.setdefault(one.name, Peak(seconds, one)).add(seconds, one)
        if not self.samples:
            self.first = seconds
        self.last = seconds
        self.samples += 1
        self.counting |= copy.counting
        self.counts |= copy.counts
        self.kernel, self.stock = copy.kernel, copy.stock
        self.memory = copy.memory or self.memory

    def __iter__(self):
        return iter(self.of_name.values())

    @property
    def judged(self):
        return [peak.judged for peak in self]

    @property
    def duration(self):
        return self.last - self.first

    @property
    def step(self):
        """Seconds between two samples, on average."""
        return self.duration / (self.samples - 1) if self.samples > 1 else 1.0


def of(samples):
    """The peaks of a recording."""
    result = Peaks()
    for seconds, copy in samples:
        result.add(seconds, copy)
        result.host = copy.host or result.host
    return result
