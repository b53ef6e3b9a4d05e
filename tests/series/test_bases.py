# SPDX-License-Identifier: GPL-2.0
"""The series on every base: all patches in order, and each topic on what it needs."""

import os
import subprocess
import sys

import pytest

from common import ROOT
from series import topics


def make(verb, base):
    environment = os.environ | {"BASE": base}
    done = subprocess.run(
        [sys.executable, "scripts/cli.py", verb],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
    )
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("base", topics.bases())
def test_patches_apply_in_order(base):
    said = make("check-series", base)
    assert f"{len(topics.of_base(base))} patches and " in said


@pytest.mark.parametrize("base", topics.bases())
def test_each_topic_applies_to_what_it_needs(base):
    """The tree that git am makes of the mails is that of the stored patches."""
    said = make("mail", base).splitlines()
    for topic in topics.needs():
        count = len(topics.of_base(base, [topic]))
        if count:
            start = f"{topic}: {count} patches, tree "
            assert any(one.startswith(start) and one.endswith("identical") for one in said)
