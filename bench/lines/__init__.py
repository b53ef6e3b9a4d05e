# SPDX-License-Identifier: GPL-2.0
"""Cache lines that move between CPUs."""

import sys

from common import ROOT

# What hashstats knows of a kernel's memory and types.
sys.path.append(str(ROOT / "tools/hashstats"))
