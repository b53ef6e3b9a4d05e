# SPDX-License-Identifier: GPL-2.0
"""Many copies in one file, each below the second at which it was read.

        recording: 1
        host: NAME
        === 1764000000.123
        version: 1
        ...
        === 1764000001.124
        ...

Each copy is written immediately, so a crash loses at most the last one.
"""

import itertools
import re

from . import reading, sources
from .errors import Complaint, quoted, quoted_path

FIRST = b"recording: 1\n"
HOST = re.compile(rb"host: (.*)\n")
MARK = re.compile(rb"=== ([0-9]{1,12}\.[0-9]{3})")


def head(host):
    """The bytes before the first copy."""
    return FIRST + (b"host: %s\n" % host.encode() if host else b"")


def sample(seconds, data):
    """The bytes of one more copy."""
    return b"=== %.3f\n%s" % (seconds, data)


def load(path):
    """Pairs of seconds and copies; one copy by itself is a short recording."""
    name, lines = quoted_path(sources.name_of(path)), sources.lines(path)
    first = next(lines, b"")
    if not first.startswith(b"recording: "):
        yield 0.0, sources.tell(reading.parse(first + b"".join(lines), name))
        return
    if first != FIRST:
        raise Complaint(f"{name}, line 1: {shown(first)}, expected 'recording: 1'")
    told = set()
    seconds, host, skipped = None, None, 1
    second = next(lines, b"")
    if match := HOST.fullmatch(second):
        # Names of earlier versions may have spaces.
        host = re.sub(rb"[^ -~]", b"?", match[1])[:255].decode()
        second, skipped = b"", 2
    rest = itertools.chain([second] if second else [], lines)
    good, first_bad, bad = 0, None, 0
    for seconds, start, data, last in pieces(name, rest, skipped):
        try:
            copy = reading.parse(data, name, start)
        except Complaint as complaint:
            # One that is damaged or cut off does not spoil a day.
            first_bad, bad = first_bad or complaint, bad + 1
            if last and bad == 1 and good:
                sources.note(f"{complaint}; the last copy skipped")
                return
            continue
        good += 1
        # Each copy has the same news, in other lines.
        for note in copy.notes:
            news = note.split(": ", 1)[-1]
            if news not in told:
                sources.note(note)
            told.add(news)
        copy.host = host
        yield seconds, copy
    if first_bad:
        if not good:
            raise first_bad
        many = f"{bad} copies" if bad > 1 else "this copy"
        sources.note(f"{first_bad}; {many} skipped")
    if seconds is None:
        raise Complaint(f"{name}, line 1: nothing was recorded, expected a copy behind this line")


def pieces(name, lines, skipped):
    """Of each copy: its second, the number of its first line, its bytes, and
    whether it is the last one.
    """
    seconds, start, data = None, 0, []
    for number, line in enumerate(lines, skipped + 1):
        match = MARK.fullmatch(line.rstrip(b"\n"))
        if not match:
            if seconds is None:
                raise Complaint(
                    f"{name}, line {number}: {shown(line)}, expected "
                    "'=== SECONDS' before the first copy"
                )
            data.append(line)
            continue
        if seconds is not None:
            yield seconds, start, b"".join(data), False
        before, seconds = seconds, float(match[1])
        if before is not None and seconds <= before:
            raise Complaint(
                f"{name}, line {number}: second {seconds:.3f} after "
                f"{before:.3f}, expected a later one"
            )
        start, data = number + 1, []
    if seconds is not None:
        yield seconds, start, b"".join(data), True


def shown(line):
    return quoted(line.rstrip(b"\n").decode(errors="replace"))
