# SPDX-License-Identifier: GPL-2.0
"""What the terminal can do: its width, colours, block letters."""

import os
import sys

RESET = "\x1b[0m"
COLOURS = {
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "blue": "\x1b[34m",
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
}
OF_VERDICT = {
    "ok": "green",
    "crowded": "red",
    "skewed": "red",
    "oversized": "yellow",
    "idle": "dim",
}
IN_A_PIPE = 1000  # columns, since a pipe has no width


class Terminal:
    """Standard output as it is when the tool begins."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stdout
        self.is_one = self.stream.isatty()
        # It knows escape sequences.
        self.is_screen = self.is_one and os.environ.get("TERM") != "dumb"
        # https://no-color.org: any value but an empty one means no.
        self.coloured = self.is_screen and not os.environ.get("NO_COLOR")
        self.blocks = can_write(self.stream, "█▌┃░▒▓")

    @property
    def width(self):
        """Asked anew each time: windows change."""
        if not self.is_one and not os.environ.get("COLUMNS"):
            return IN_A_PIPE
        return max(self._size("COLUMNS", 0, 80), 20)

    @property
    def height(self):
        return max(self._size("LINES", 1, 24), 3)

    def _size(self, variable, number, default):
        """As shutil has it, which takes as long to load as all of show."""
        told = os.environ.get(variable, "")
        if told.isdecimal() and int(told[:6]) > 0:
            return int(told[:6])
        try:
            return os.get_terminal_size(self.stream.fileno())[number] or default
        except (OSError, ValueError):
            return default

    def colour(self, text, name):
        return f"{COLOURS[name]}{text}{RESET}" if self.coloured else text

    def verdict(self, text, word):
        return self.colour(text, OF_VERDICT[word])


def can_write(stream, letters):
    try:
        letters.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns(lines):
    """Cells of equal width; the first column is flush left."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]
    return [
        [
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths))
        ]
        for line in lines
    ]


def shortened(text, width):
    """The beginning that fits; two dots tell that something is missing."""
    if len(text) <= width:
        return text
    return text[: max(width - 2, 0)] + ".."[:width]


def elided(text, width):
    """The beginning and the end that fit, since names differ in either."""
    if len(text) <= width:
        return text
    kept = max(width - 2, 0)
    return text[: kept - kept // 2] + ".."[:width] + text[len(text) - kept // 2 :]
