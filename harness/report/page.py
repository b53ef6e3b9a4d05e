# SPDX-License-Identifier: GPL-2.0
"""The parts of a page of results: sections, tables, pictures, as text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

LICENSE = ".. SPDX-License-Identifier: GPL-2.0\n"
# How a table of a document was answered.
AGAIN = "run again"
PART = "run again in part"
EQUAL = "by an equivalent"
MODEL = "by a model"
COUNTED = "arithmetic"
TEXT = "in words"
OPEN = "not run"
# File of a picture that is stored beside the pages.
KEPT_PICTURE = "documents-{}.svg"


@dataclass
class Section:
    """What became of one table, histogram or figure of a document."""

    name: str
    question: str
    kind: str  # AGAIN to OPEN
    # What was run, and on what; for OPEN why it was not.
    run: str
    # Two or three sentences.
    answer: str
    # How much the control differs from itself.
    noise: str = "-"
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
    """Columns with two spaces between them; the first to the left, others right."""
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


def list_table(head, rows, widths):
    """A table whose cells are paragraphs."""
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        f"   :widths: {' '.join(map(str, widths))}",
        "",
    ]
    for row in [head, *rows]:
        for mark, cell in zip("*" + " " * len(row), row):
            lines.append(wrapped(str(cell), first=f"   {mark} - ", rest=" " * 7).rstrip())
    return "\n".join(lines) + "\n"


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
