# SPDX-License-Identifier: GPL-2.0
"""The series on every base: all patches in order, and each topic on what it needs."""

import os
import subprocess
import sys

import pytest

from common import ROOT
from series import topics


def check_series(base):
    done = subprocess.run(
        [sys.executable, "scripts/cli.py", "check-series"],
        cwd=ROOT,
        env=os.environ | {"BASE": base},
        text=True,
        capture_output=True,
    )
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("base", topics.bases())
def test_patches_apply(base):
    """All in order, and those of a topic to what it needs."""
    said = check_series(base)
    assert f"{len(topics.of_base(base))} patches and " in said
