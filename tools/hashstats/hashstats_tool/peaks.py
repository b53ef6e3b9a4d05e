# SPDX-License-Identifier: GPL-2.0
"""Each table at its worst moment of a recording."""

from . import verdicts

ENOUGH = 100                    # wake-ups whose mean says something


class Peak:
    """The moment at which a table was fullest, or its queues most in the way."""

    def __init__(self, title, moments):
        self.title = title
        self.moments = moments                  # pairs of seconds, judged
        self.seconds, self.judged = max(moments, key=lambda pair: weight(pair[1]))

    def greatest(self, attribute):
        values = [getattr(one, attribute) for _, one in self.moments]
        return max((value for value in values if value is not None), default=None)

    @property
    def longest(self):
        return max((one.table.number("longest") or 0 for _, one in self.moments),
                   default=0)


def weight(judged):
    """What makes one moment of a table worse than another."""
    table = judged.table
    if judged.kind == verdicts.WAITS:
        wakes = table.number("wakes") or 0
        return wakes >= ENOUGH, judged.foreign or 0, wakes, table.objects or 0
    if judged.kind == verdicts.DIRECT:
        return judged.stale_rate or 0, table.objects or 0
    return table.objects or 0, judged.nodes or 0


def of(samples):
    """The peaks of all tables, in the order in which they were first seen."""
    moments = {}
    for seconds, copy in samples:
        for one in verdicts.of_copy(copy):
            moments.setdefault(one.title, []).append((seconds, one))
    return [Peak(title, pairs) for title, pairs in moments.items()]
