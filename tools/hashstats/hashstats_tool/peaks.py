# SPDX-License-Identifier: GPL-2.0
"""What remains of a recording: each table at its worst moment, and a heat map.

Copies are looked at one by one and forgotten, so that a day of them takes no
more memory than an hour.
"""

from . import verdicts

CELLS = 512  # of a heat map in time; more than are drawn


class Heat:
    """Objects by the length of their chain, over time.

    A cell has the most of some samples that follow each other. When there are
    too many cells two become one, and each takes twice the samples from then.
    """

    def __init__(self):
        self.seconds = []  # at which a cell begins
        self.cells = []  # objects in the rows 1 to >15
        self.last = None  # second of the last sample
        self.each = 1  # samples of a cell
        self.filled = 0  # of the last cell

    def add(self, seconds, objects):
        self.last = seconds
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


def higher(one, other):
    return [max(pair) for pair in zip(one, other)]


class Peak:
    """The moment at which a table was fullest, or its queues most in the way."""

    def __init__(self, title):
        self.title = title
        self.seconds = self.judged = None
        self.nodes = None  # the most, of any moment
        self.longest = 0
        self.heat = Heat()

    def add(self, seconds, judged):
        table = judged.table
        if self.judged is None or weight(judged) > weight(self.judged):
            self.seconds, self.judged = seconds, judged
        if judged.nodes is not None:
            self.nodes = max(self.nodes or 0, judged.nodes)
        self.longest = max(self.longest, table.number("longest") or 0)
        if table.rows:
            self.heat.add(seconds, [row.objects for row in table.rows[1:]])


def weight(judged):
    """What makes one moment of a table worse than another."""
    table = judged.table
    if judged.kind == verdicts.WAITS:
        return judged.enough, judged.foreign or 0, judged.counted, table.objects or 0
    if judged.kind == verdicts.DIRECT:
        return judged.enough, judged.stale_rate or 0, table.objects or 0
    return table.objects or 0, judged.nodes or 0


class Peaks:
    """Those of all tables, in the order in which they were first seen."""

    def __init__(self):
        self.of_title = {}
        self.samples = 0
        self.first = self.last = 0.0  # their seconds

    def add(self, seconds, copy):
        for one in verdicts.of_copy(copy):
            self.of_title.setdefault(one.title, Peak(one.title)).add(seconds, one)
        if not self.samples:
            self.first = seconds
        self.last = seconds
        self.samples += 1

    def __iter__(self):
        return iter(self.of_title.values())

    @property
    def judged(self):
        return [peak.judged for peak in self]

    @property
    def duration(self):
        return self.last - self.first


def of(samples):
    """The peaks of pairs of seconds and copies."""
    result = Peaks()
    for seconds, copy in samples:
        result.add(seconds, copy)
    return result
