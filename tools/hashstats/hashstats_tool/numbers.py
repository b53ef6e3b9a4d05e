# SPDX-License-Identifier: GPL-2.0
"""Numbers for people, and what people write for numbers."""

import re

from .errors import Complaint, quoted

UNITS = "KMGT"


def size(count):
    """Bytes in three or four letters: 512, 96K, 1M, 1.5M."""
    unit = ""
    value = count
    for letter in UNITS:
        # What would be shown as 1024 of a unit is 1 of the next.
        if round(value) < 1024:
            break
        value /= 1024
        unit = letter
    text = f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:.0f}"
    return text + unit


def short(count):
    """A count as the kernel takes it: 4096 is 4K; 1000 stays 1000."""
    unit = ""
    for letter in UNITS:
        if not count or count % 1024:
            break
        count //= 1024
        unit = letter
    return f"{count}{unit}"


def plain(value, places):
    return "-" if value is None else f"{value:.{places}f}"


def percent(share):
    return "-" if share is None else f"{100 * share:.1f}"


def bytes_of(text, option):
    """Bytes that a user wrote as 512, 64K, 1.5M, 2G."""
    match = re.fullmatch(
        r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGT]?)(?:i?B)?", text, re.ASCII | re.IGNORECASE
    )
    if not match:
        raise Complaint(
            f"{option} {quoted(text)}; "
            "accepted: bytes, optionally followed by K, M, G or T, such as 64M"
        )
    return int(float(match[1]) * 1024 ** (" " + UNITS).index(match[2].upper() or " "))
