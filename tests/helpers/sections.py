# SPDX-License-Identifier: GPL-2.0
"""What a job in a guest printed, cut at its marks.

A mark is a line `=== NAME`; the same name may come again.
"""

import re

from guest import hashstats_file

MARK = re.compile(r"^=== (.+)\n", re.MULTILINE)
# Functions for a job's script: the tables with a mark; the objects of tables whose name is an
# alternative of an expression; a command until it succeeds, for 20 s at most.  RCU and work
# queues free objects later.
SHELL = r"""
show() {
    echo "=== $1"
    cat /proc/hashstats
}
objects() {
    awk '$1 == "name:" { name = $2 } $1 == "objects:" { print name, $2 }' \
        ${2:-/proc/hashstats} | grep -E "^($1) "
}
retry() {
    turns=0
    until "$@"; do
        turns=$((turns + 1))
        [ $turns -lt 40 ] || break
        sleep 0.5
    done
}
"""


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


def tables(output):
    """{name: tables} where each part is a reading of /proc/hashstats."""
    return {name: hashstats_file.parse(text) for name, text in named(output).items()}
