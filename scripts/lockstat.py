# SPDX-License-Identifier: GPL-2.0
"""Kernels that count how often each lock is taken: for bench-inode.

Locks initialised at one place are one class to lockdep, so that an array of
them is counted as one; inode-lock-classes.patch gives each a class of its own.
"""

import os
import re
import tempfile

import build
import gitcmd
import patchfile
import series
import source
from common import ROOT, die

PATCH = ROOT / "scripts" / "inode-lock-classes.patch"
FRAGMENT = build.CONFIGS / "lockstat.config"
NAME = "inode_hash_lock"
# Its name, then con-bounces, contentions, four wait times, acq-bounces,
# acquisitions.  Names of more than nine locks end in the same digit.
LINE = re.compile(rf"^ *{NAME}\S*:((?: +[0-9.]+)+)$", re.MULTILINE)
CONTENTIONS, ACQUISITIONS = 1, 7


def commit():
    """The series and the patch as a commit, the same one for the same two."""
    patch, repo = patchfile.read(PATCH), source.base_repo()
    parent = series.compose()
    with tempfile.TemporaryDirectory() as temp:
        env = {"GIT_INDEX_FILE": os.path.join(temp, "index")}
        gitcmd.git("read-tree", parent, repo=repo, env=env)
        done = gitcmd.git("apply", "--cached", repo=repo, env=env,
                          input=patch.diff, check=False)
        if done.returncode:
            die(f"scripts/{PATCH.name} does not apply to the series: "
                f"{done.stderr}")
        tree = gitcmd.out("write-tree", repo=repo, env=env)
    return gitcmd.out("commit-tree", tree, "-p", parent, repo=repo,
                      env=gitcmd.signature(source.PERSON, source.DATE),
                      input=patch.message)


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


def parse(text):
    """(acquisitions, contentions) of each lock in lines of /proc/lock_stat."""
    found = []
    for line in LINE.finditer(text):
        fields = line[1].split()
        if len(fields) <= ACQUISITIONS:
            die(f"/proc/lock_stat: a line with {len(fields)} numbers: "
                f"{line[0]}")
        found.append((int(fields[ACQUISITIONS]), int(fields[CONTENTIONS])))
    return found
