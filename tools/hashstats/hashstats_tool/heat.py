# SPDX-License-Identifier: GPL-2.0
"""A heat map of chain lengths over time, in the terminal."""

import math

from .peaks import higher
from .tables import LONG, SIZES

BLOCKS, LETTERS = " ░▒▓█", " .:*#"
WIDEST = 4  # columns of one sample


def lines(peak, seen, terminal):
    """Longest chains on top, time to the right, a sign for the number of objects."""
    samples = peak.heat.cells
    most = max((max(sample) for sample in samples), default=0)
    title = terminal.colour(f"{peak.name}: objects by the length of their chain", "bold")
    if not most:
        return [title, "  no objects in chains"]
    signs = BLOCKS if terminal.blocks else LETTERS
    room = max(min(terminal.width, 100) - 8, 1)
    packed = columns(peak.heat, seen, room)
    wide = max(1, min(WIDEST, room // len(packed)))
    rows = max(size for sample in samples for size, count in enumerate(sample) if count) + 1
    result = [title]
    for size in reversed(range(rows)):
        text = "".join(shade(sample[size], most, signs) * wide for sample in packed)
        result.append(f"{SIZES[size + 1]:>5} {text.rstrip()}".rstrip())
    end = f"{seen.duration:.0f} s"
    result.append(" " * 6 + "0" + end.rjust(max(len(packed) * wide - 1, len(end) + 1)))
    result.append("      objects: " + "  ".join(scale(most, signs)))
    return result


def scale(most, signs):
    """What each sign stands for, as shade() has it."""
    low = 1
    for level in range(1, len(signs)):
        high = most
        if level < len(signs) - 1:
            high = math.floor(math.expm1((level + 0.5) / (len(signs) - 1) * math.log1p(most)))
        if low <= high:
            yield f"{signs[level]} {low} to {high}" if low < high else f"{signs[level]} {low}"
            low = high + 1


def columns(heat, seen, room):
    """The time of the recording in as many columns as there is room for.

    Of several samples in a column the maximum; a table that was missing leaves a gap.
    """
    count = min(seen.samples, room)
    result = [[0] * LONG] * count

    def column(second):
        # Samples are late by part of a step, which moves none to another column.
        return int(((second - seen.first) / seen.step + 0.5) * count / seen.samples)

    for begin, end, cell in heat.spans(seen.step):
        first = column(begin)
        for at in range(first, min(max(first + 1, column(end)), count)):
            result[at] = higher(result[at], cell)
    return result


def shade(count, most, signs):
    """By the logarithm, so that few objects in long chains are visible."""
    if not count:
        return signs[0]
    level = math.log1p(count) / math.log1p(most) * (len(signs) - 1)
    return signs[max(1, round(level))]
