# SPDX-License-Identifier: GPL-2.0
"""Rows of text in columns, no wider than the terminal."""

from .terminal import columns, shortened

SHORTEST_TITLE = 13  # letters that a name keeps when it gets narrow


def lines(head, rows, judged, terminal, unwanted=()):
    """Rows of cells under their heads; the last cell has the verdict's colour.

    head	names of the columns; the first is left-aligned, so is the last
    rows	cells of a line for each of judged
    unwanted	heads of columns that go first when the terminal is narrow
    """
    gap, cells = fitted(head, [head, *rows], terminal.width, unwanted)
    result = [terminal.colour(gap.join(cells[0]).rstrip(), "bold")]
    for row, one in zip(cells[1:], judged):
        result.append(gap.join([*row[:-1], terminal.verdict(row[-1], one.verdict)]))
    return result


def fitted(head, rows, width, unwanted):
    """What parts the columns, and the aligned cells of those that fit.

    A narrow terminal first brings the columns together, then does without some,
    and at the end shortens names.
    """
    kept, gap = list(head), "  "
    for dropped in (None, None, *unwanted):
        if dropped:
            kept.remove(dropped)
        picked = [[row[head.index(name)] for name in kept] for row in rows]
        others = list(zip(*picked))[1:]
        room = width - sum(max(map(len, column)) + len(gap) for column in others)
        if room >= max(len(row[0]) for row in picked):
            break
        if gap == " " and room >= SHORTEST_TITLE:
            break
        gap = " "
    picked = [[shortened(row[0], max(room, 1)), *row[1:]] for row in picked]
    aligned = columns(picked)
    for row, cells in zip(aligned, picked):
        row[-1] = cells[-1]
    return gap, aligned
