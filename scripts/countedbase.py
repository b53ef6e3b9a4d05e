# SPDX-License-Identifier: GPL-2.0
"""The base kernel with counters for its hashed wait queues: for bench-herd."""

import build
import gitcmd
import patchedcommit
import source
from common import ROOT

FLAVOUR = "base-counted"
PATCH = ROOT / "scripts" / "count-wakeups.patch"


def commit():
    """Base and patch as a commit."""
    base = gitcmd.ref("base", source.base_repo())
    return patchedcommit.commit(PATCH, base, f"Linux {source.version()}")


def kernel():
    """The kernel, built."""
    return build.build(FLAVOUR, [build.CONFIGS / "guest.config"], commit())
