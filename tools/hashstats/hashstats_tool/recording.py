# SPDX-License-Identifier: GPL-2.0
"""Many copies in one file, each below the second at which it was read.

	recording: 1
	=== 1764000000.123
	version: 1
	...
	=== 1764000001.124
	...

A copy is written at once, so that what was recorded before a crash is there.
"""

import re

from . import reading, sources
from .errors import Complaint, quoted

FIRST = b"recording: 1\n"
MARK = re.compile(rb"=== ([0-9]{1,12}\.[0-9]{3})")


def sample(seconds, data):
    """The bytes of one more copy."""
    return b"=== %.3f\n%s" % (seconds, data)


def load(path):
    """Pairs of seconds and copies; one copy by itself is a short recording."""
    data = sources.read(path)
    name = sources.quoted_path(sources.name_of(path))
    if not data.startswith(b"recording: "):
        return [(0.0, sources.tell(reading.parse(data, name)))]
    if not data.startswith(FIRST):
        first = data.split(b"\n", 1)[0].decode(errors="replace")
        raise Complaint(f"{name}, line 1: {quoted(first)}, expected 'recording: 1'")
    return list(samples(name, data))


def samples(name, data):
    starts = []
    if data == FIRST:
        raise Complaint(f"{name}, line 1: nothing was recorded, expected a copy "
                        "behind this line")
    lines = data.split(b"\n")
    for number, line in enumerate(lines[1:], 2):
        match = MARK.fullmatch(line)
        if match:
            seconds = float(match[1])
            if starts and seconds <= starts[-1][1]:
                raise Complaint(f"{name}, line {number}: second {seconds:.3f} after "
                                f"{starts[-1][1]:.3f}, expected a later one")
            starts.append((number, seconds))
        elif not starts:
            raise Complaint(f"{name}, line {number}: "
                            f"{quoted(line.decode(errors='replace'))}, expected "
                            "'=== SECONDS' before the first copy")
    ends = [number for number, _ in starts[1:]] + [None]
    told = set()
    for (start, seconds), end in zip(starts, ends):
        text = b"\n".join(lines[start:end - 1]) + b"\n" if end else (
            b"\n".join(lines[start:]))
        try:
            copy = reading.parse(text, name, start + 1)
        except Complaint as complaint:
            # The last one may have been cut off by what ended the recording.
            if end or start == starts[0][0]:
                raise
            sources.note(f"{complaint}; the last copy passed over")
            return
        # Each copy has the same news, in other lines.
        for note in copy.notes:
            news = note.split(": ", 1)[-1]
            if news not in told:
                sources.note(note)
            told.add(news)
        yield seconds, copy
