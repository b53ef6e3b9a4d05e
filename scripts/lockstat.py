# SPDX-License-Identifier: GPL-2.0
"""Kernels that count how often each lock is taken.

Locks initialised at one place are one class to lockdep, so that an array of
them is counted as one; inode-lock-classes.patch gives each a class of its own.
"""

import re

import build
import gitcmd
import patchedcommit
import series
import source
from common import ROOT, die

PATCH = ROOT / "scripts" / "inode-lock-classes.patch"
FRAGMENT = build.CONFIGS / "lockstat.config"
NAME = "inode_hash_lock"
# Its name, then con-bounces, contentions, four wait times, acq-bounces,
# acquisitions.  Names of more than nine locks end in the same digit.
LINE = r"^ *{}\S*:((?: +[0-9.]+)+)$"
CONTENTIONS, ACQUISITIONS = 1, 7


def commit():
    """The series and the patch as a commit."""
    return patchedcommit.commit(PATCH, series.compose(), "the series")


def base():
    """The base kernel, built; it has one such lock."""
    return build.build("base-lockstat",
                       [build.CONFIGS / "guest.config", FRAGMENT],
                       gitcmd.ref("base", source.base_repo()),
                       targets=("vmlinux",))


def ours():
    """The series, built."""
    return build.build("patched-lockstat", [*build.GUEST, FRAGMENT], commit(),
                       targets=("vmlinux",))


def parse(text, name=NAME):
    """(acquisitions, contentions) of each lock in lines of /proc/lock_stat."""
    found = []
    for line in re.finditer(LINE.format(re.escape(name)), text, re.MULTILINE):
        fields = line[1].split()
        if len(fields) <= ACQUISITIONS:
            die(f"/proc/lock_stat: a line with {len(fields)} numbers: "
                f"{line[0]}")
        found.append((int(fields[ACQUISITIONS]), int(fields[CONTENTIONS])))
    return found
