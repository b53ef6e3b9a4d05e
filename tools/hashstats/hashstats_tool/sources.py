# SPDX-License-Identifier: GPL-2.0
"""Where the text comes from: the kernel, a saved copy, standard input."""

import os
import sys

from . import reading
from .errors import Complaint, quoted

KERNEL = "/proc/hashstats"


def name_of(path):
    return "standard input" if path == "-" else path


def read(path):
    """The bytes of a file; the reason, if there are none, in one line."""
    return b"".join(lines(path))


def lines(path):
    """The same line by line, for a file that memory need not hold."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise Complaint("standard input is closed; accepted: -f FILE")
            yield from sys.stdin.buffer
            return
        with open(path, "rb") as file:
            yield from file
    except PermissionError:
        hint = (
            "it is for root; accepted: run as root, or -f FILE for a saved copy"
            if path == KERNEL
            else "expected a file that you may read"
        )
        raise Complaint(f"{quoted_path(path)}: permission denied, {hint}") from None
    except FileNotFoundError:
        hint = (
            "this kernel has no CONFIG_HASHSTATS; accepted: -f FILE for a saved copy"
            if path == KERNEL
            else f"expected a saved copy of {KERNEL}"
        )
        raise Complaint(f"{quoted_path(path)}: no such file, {hint}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Complaint(
            f"{quoted_path(name_of(path))}: {reason}, expected a readable copy of {KERNEL}"
        ) from None


def quoted_path(path):
    """A path as it is, unless it would spoil the line."""
    return path if path.isprintable() and len(path) < 200 else quoted(path)


def note(text):
    """Notes go to standard error, so that output stays what it is."""
    print(f"hashstats: note: {text}", file=sys.stderr)


def tell(copy):
    for text in copy.notes:
        note(text)
    return copy


def load(path):
    """The copy at a path, its notes told."""
    data = read(path)
    if data.startswith(b"recording: "):
        raise Complaint(
            f"{quoted_path(name_of(path))}, line 1: a recording, "
            "expected one copy; accepted: hashstats report, advise"
        )
    return tell(reading.parse(data, quoted_path(name_of(path))))


def memory(path):
    """Bytes of memory of this machine, if it is the one the figures are of."""
    if path != KERNEL:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
