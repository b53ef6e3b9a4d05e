# SPDX-License-Identifier: GPL-2.0
"""Targets of make for another base, which a process chooses once."""

import os
import subprocess
import sys

import pytest

from common import ROOT
from series import source


def make(verb: str, base: str, **variables: str) -> str:
    """What a target of make prints; skips the test if the source of that kernel is gone."""
    env = os.environ | {"BASE": base} | variables
    if base != source.base_name():
        for name in ("KERNEL", "KERNEL_SHA256"):  # the source of this base
            env.pop(name, None)
    done = subprocess.run(
        [sys.executable, "harness/cli.py", verb],
        cwd=ROOT,
        env=env,
        text=True,
        capture_output=True,
    )
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
