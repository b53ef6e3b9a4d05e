# SPDX-License-Identifier: GPL-2.0
"""How the tool refuses: one line that helps, exit status 2."""

import contextlib
import sys

SHOWN = 60  # letters of bad input that are repeated
ALIKE = 0.7  # of a word that was meant


quiet = False  # with -q: no notes, no progress


def say(text):
    """A line on standard error; where that cannot be written, the exit status says enough."""
    with contextlib.suppress(OSError):
        print(f"hashstats: {text}", file=sys.stderr)


class Complaint(Exception):
    """What is wrong, where, and what is accepted, in one line."""


def quoted(text):
    """Bad input for a message: short, and harmless to a terminal."""
    short = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return ascii(short)


def quoted_path(path):
    """A path as it is, unless it would spoil the line."""
    return path if path.isprintable() and len(path) < 200 else quoted(path)


def alike(word, words):
    """The one of the words that was probably meant, or None."""
    import difflib  # only where something is wrong already

    found = difflib.get_close_matches(word[:SHOWN], list(words), 1, ALIKE)
    return found[0] if found else None


def did_you_mean(word, words):
    """The end of a message about a word that is none of the words."""
    meant = alike(word, words)
    return f" (did you mean {meant}?)" if meant else ""
