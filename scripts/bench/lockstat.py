# SPDX-License-Identifier: GPL-2.0
"""How often each lock was taken: lines of /proc/lock_stat."""

import re

from common import die

NAME = "inode_hash_lock"
# Its name, then con-bounces, contentions, four wait times, acq-bounces,
# acquisitions.  Names of more than nine locks end in the same digit.
LINE = r"^ *{}\S*:((?: +[0-9.]+)+)$"
CONTENTIONS, ACQUISITIONS = 1, 7


def parse(text, name=NAME):
    """(acquisitions, contentions) of each lock in lines of /proc/lock_stat."""
    found = []
    for line in re.finditer(LINE.format(re.escape(name)), text, re.MULTILINE):
        fields = line[1].split()
        if len(fields) <= ACQUISITIONS:
            die(f"/proc/lock_stat: a line with {len(fields)} numbers: {line[0]}")
        found.append((int(fields[ACQUISITIONS]), int(fields[CONTENTIONS])))
    return found
