# SPDX-License-Identifier: GPL-2.0
"""How often each lock was taken: lines of /proc/lock_stat."""

import re

from common import die

NAME = "inode_hash_lock"
# The lock's name, then con-bounces, contentions, four wait times, acq-bounces,
# acquisitions.  With more than nine locks, several names end in one digit.
LINE = r"^ *{}\S*:((?: +[0-9.]+)+)$"
CONTENTIONS, ACQUISITIONS = 1, 7


def parse(text: str, name: str = NAME) -> list[tuple[int, int]]:
    """(acquisitions, contentions) of each lock in lines of /proc/lock_stat."""
    found = []
    for line in re.finditer(LINE.format(re.escape(name)), text, re.MULTILINE):
        fields = line[1].split()
        if len(fields) <= ACQUISITIONS:
            die(f"/proc/lock_stat: a line with {len(fields)} numbers: {line[0]}")
        found.append((int(fields[ACQUISITIONS]), int(fields[CONTENTIONS])))
    return found
