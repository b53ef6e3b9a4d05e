# SPDX-License-Identifier: GPL-2.0
"""Commits since the last tag, or since FIRST: signed off, and with an area in the subject."""

import re

import pytest

from common import ROOT
from series import gitcmd

FIRST = "c50e4dbd55b90a8f987d38512b804d359d5a7165"
SUBJECT = re.compile(r"[\w./,{} -]+: \S.*|Merge .*|Revert .*")
FORM = "%h%x00%ae%x00%s%x00%(trailers:key=Signed-off-by,valueonly,separator=%x20)%x1e"


def git(*words):
    return gitcmd.git(*words, repo=ROOT, check=False)


def commits():
    """(commit, author's address, subject, who signed it off), or a skipped test."""
    tag = git("describe", "--tags", "--abbrev=0").stdout.strip()
    done = git("log", f"--format={FORM}", f"{tag or FIRST}..HEAD")
    if done.returncode:
        pytest.skip("no history here: a tarball, or a shallow clone")
    return [one.strip("\n").split("\0") for one in done.stdout.split("\x1e")[:-1]]


def test_each_commit_is_signed_off_by_its_author():
    assert not [(name, subject) for name, mail, subject, by in commits() if f"<{mail}>" not in by]


def test_subjects_name_an_area():
    assert not [
        (name, subject) for name, _, subject, _ in commits() if not SUBJECT.fullmatch(subject)
    ]
