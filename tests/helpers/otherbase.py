# SPDX-License-Identifier: GPL-2.0
"""A target of make for another base, which a process chooses once."""

import os
import subprocess
import sys

import pytest

from common import ROOT


def make(verb: str, base: str) -> str:
    """What it prints; skips the test if the archive no longer has that kernel."""
    done = subprocess.run(
        [sys.executable, "scripts/cli.py", verb],
        cwd=ROOT,
        env=os.environ | {"BASE": base},
        text=True,
        capture_output=True,
    )
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
