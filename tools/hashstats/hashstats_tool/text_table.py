# SPDX-License-Identifier: GPL-2.0
"""Rows of text in columns, no wider than the terminal."""

import itertools

from .terminal import columns, elided

SHORTEST_NAME = 13  # letters that a name keeps when it gets narrow


def lines(head, rows, judged, terminal, unwanted=()):
    """Rows of cells under their heads; the last cell has the verdict's colour.

    head	names of the columns; the first is left-aligned, so is the last
    rows	cells of a line for each of judged
    unwanted	heads of columns that are left out first on a narrow terminal
    """
    # A column that says nothing of any table takes room from those that do.
    inner = range(1, len(head) - 1)
    empty = {at for at in inner if rows and all(row[at] == "-" for row in rows)}
    head, *rows = (
        [cell for at, cell in enumerate(row) if at not in empty] for row in (head, *rows)
    )
    gap, cells = fitted(head, [head, *rows], terminal.width, unwanted)
    result = [terminal.colour(gap.join(cells[0]).rstrip(), "bold")]
    for row, one in zip(cells[1:], judged):
        result.append(gap.join([*row[:-1], terminal.verdict(row[-1], one.verdict)]))
    return result


def fitted(head, rows, width, unwanted):
    """The gap between columns, and the aligned cells of those that fit.

    On a narrow terminal the gap shrinks first. Then percentages are left out,
    then names are elided to SHORTEST_NAME, then other columns are left out, and
    at last names get as short as they must.
    """
    percentages = [name for name in unwanted if name.endswith("%")]
    others = [name for name in unwanted if name not in percentages]
    steps: list[tuple[str, list, bool]] = [("  ", [], True), (" ", [], True)]
    steps += [(" ", percentages[:count], True) for count in range(1, len(percentages) + 1)]
    steps += [(" ", percentages + others[:count], False) for count in range(len(others) + 1)]
    for gap, dropped, whole in steps:
        picked = [
            list(itertools.compress(row, (name not in dropped for name in head))) for row in rows
        ]
        longest, *widths = (max(map(len, column)) for column in zip(*picked))
        room = width - sum(widths) - len(gap) * len(widths)
        if room >= (longest if whole else min(longest, SHORTEST_NAME)):
            break
    picked = [[elided(row[0], max(room, 1)), *row[1:]] for row in picked]
    aligned = columns(picked)
    for row, cells in zip(aligned, picked):
        row[-1] = cells[-1]
    return gap, aligned


def wrapped(text, width):
    """Words in lines no wider than the terminal."""
    result: list[str] = []
    for word in text.split():
        if result and len(result[-1]) + 1 + len(word) <= width:
            result[-1] += f" {word}"
        else:
            result.append(word)
    return result
