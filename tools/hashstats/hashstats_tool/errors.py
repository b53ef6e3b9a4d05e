# SPDX-License-Identifier: GPL-2.0
"""The one way in which the tool refuses: a line that helps, exit status 2."""

SHOWN = 60  # letters of bad input that are repeated


class Complaint(Exception):
    """What is wrong, where, and what is accepted, in one line."""


def quoted(text):
    """Bad input for a message: short, and harmless to a terminal."""
    short = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return ascii(short)
