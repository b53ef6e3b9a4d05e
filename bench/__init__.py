# SPDX-License-Identifier: GPL-2.0
"""Benchmarks: a runner, one form of result, and the tools that measure."""

import sys

from common import ROOT

# What hashstats knows of a kernel's memory and types.
sys.path.append(str(ROOT / "tools/hashstats"))
