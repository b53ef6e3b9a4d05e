# SPDX-License-Identifier: GPL-2.0
"""The parts of a page of results: sections, tables, pictures, as text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

# How a table of a document was answered.
AGAIN = "run again"
EQUAL = "by an equivalent"
NEVER = "impossible"
OPEN = "not run here"


@dataclass
class Section:
    """What became of one table, histogram or figure of a document."""

    name: str
    question: str
    kind: str  # AGAIN, EQUAL, NEVER or OPEN
    # What was run, and on what; for NEVER why it cannot be.
    run: str
    # One sentence.
    answer: str
    blocks: Sequence["Table | Picture"] = field(default_factory=list)
    # What did not hold up, one sentence each.
    lost: list[str] = field(default_factory=list)


@dataclass
class Table:
    title: str
    head: Sequence[object]
    rows: Sequence[Sequence[object]]

    def text(self, _):
        return wrapped(self.title) + "\n" + simple_table(self.head, self.rows)


@dataclass
class Picture:
    name: str
    title: str

    def text(self, picture):
        return "\n".join(
            [
                f".. figure:: {picture.format(self.name)}",
                wrapped(self.title, first="   :alt: ", rest=" " * 9),
                wrapped(self.title, first="   ", rest="   "),
            ]
        )


def simple_table(head, rows):
    """Columns parted by two spaces; the first to the left, others right."""
    # An empty first cell would join a row to the one before.
    cells = [[str(cell) or r"\ " for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    # As in heading().
    widths[0] += widths[0] == 7
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def heading(text, mark):
    # git takes seven of "=" at the start of a line for a conflict.
    more = mark == "=" and len(text) == 7
    return f"{text}\n{mark * (len(text) + more)}\n"


def wrapped(text, width=78, first="", rest=""):
    """A paragraph; a word is never broken."""
    lines, line = [], first
    for word in text.split():
        if line.strip() and len(line) + len(word) >= width:
            lines.append(line.rstrip())
            line = rest
        line += word + " "
    return "\n".join([*lines, line.rstrip()]) + "\n"
