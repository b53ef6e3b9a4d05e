# SPDX-License-Identifier: GPL-2.0
"""Passages of a text with numbers: held to results, or written from them.

A passage is a part of a text as str.format() takes it, and the numbers for its
fields.  Where lines end does not matter.
"""

import re
import string
from typing import NamedTuple

from common import die
from series import topics

NUMBER = r"<?\d[\d,]*(?:\.\d+)?"
# What looks like the result of a measurement, and no version of Linux.
DECIMAL = re.compile(r"(?<![\w.^-])\d+\.\d+(?![\w.]*\d)")
BASES = "|".join(map(re.escape, topics.bases()))
VERSION = re.compile(rf"\b(?:Linux\s+|version |v)\d+\.\d+[.\d]*\b|\b(?:{BASES})(?:\.\d+)?\b")


class Passage(NamedTuple):
    text: str
    # None: numbers that no benchmark gives; they stand in the text.
    numbers: tuple | None

    def pattern(self):
        parts = []
        for literal, field, *_ in string.Formatter().parse(self.text):
            parts.append(re.sub(r"(\\\s|\s)+", r"\\s+", re.escape(literal)))
            if field is not None:
                parts.append(f"({NUMBER})")
        return re.compile(r"(?<![\w.])" + "".join(parts))

    def shown(self):
        """The numbers as the text shows them; None for those that are not known."""
        fields = [part for part in string.Formatter().parse(self.text) if part[1] is not None]
        return [
            None if number != number else format(number, part[2] or "")
            for part, number in zip(fields, self.numbers or ())
        ]


def passage(text, *numbers):
    """A part of a text whose numbers are those of results."""
    return Passage(text, numbers)


def constant(text):
    """A part of a text whose numbers are of no benchmark."""
    return Passage(text.replace("{", "{{").replace("}", "}}"), None)


def faults(text, passages, strict=True):
    """What of a text is not as its passages say, one line each."""
    found, covered = [], text
    for one in passages:
        matches = list(one.pattern().finditer(text))
        if not matches:
            found.append(f"expected the passage {one.text!r}, found it nowhere")
        for match in matches:
            pairs = [(got, want) for got, want in zip(match.groups(), one.shown()) if want]
            if any(got != want for got, want in pairs):
                found.append(
                    f"{' '.join(match[0].split())!r}: expected "
                    f"{', '.join(want for _, want in pairs)}, as results/ has it"
                )
            covered = covered[: match.start()] + " " * len(match[0]) + covered[match.end() :]
    if not strict:
        return found
    covered = VERSION.sub(lambda match: " " * len(match[0]), covered)
    for match in DECIMAL.finditer(covered):
        number = text.count("\n", 0, match.start()) + 1
        line = text.splitlines()[number - 1].strip()
        found.append(f"line {number}, {match[0]} is in no passage: {line}")
    return found


def written(text, passages):
    """The text with the numbers of its passages; columns keep their width."""
    for one in passages:
        if one.numbers is None:
            continue
        if not one.pattern().search(text):
            die(f"expected the passage {one.text!r}, found it nowhere; nothing is written")
        text = one.pattern().sub(lambda match, one=one: replaced(match, one.shown()), text)
    return text


def replaced(match, shown):
    """What matched, with other numbers."""
    text, start = "", match.start()
    for group, new in enumerate(shown, 1):
        new = new or match[group]
        before = match.string[start : match.start(group)]
        blanks = len(before) - len(before.rstrip(" "))
        if blanks > 1:
            # At least the blank that is left of a column's number stays.
            new = new.rjust(blanks - 1 + len(match[group]))
            before = before[: 1 - blanks]
        text += before + new
        start = match.end(group)
    return text + match.string[start : match.end()]
