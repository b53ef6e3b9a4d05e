# SPDX-License-Identifier: GPL-2.0
"""What a job in a guest printed, cut at its marks.

A mark is a line `=== NAME`; the same name may come again.
"""

import re

MARK = re.compile(r"^=== (.+)\n", re.MULTILINE)


def parts(output):
    """[(name, text)] in order."""
    _, *rest = MARK.split(output)
    return list(zip(rest[::2], rest[1::2]))


def named(output):
    """{name: text}; each name once."""
    cut = parts(output)
    result = dict(cut)
    assert len(result) == len(cut), [name for name, _ in cut]
    return result
