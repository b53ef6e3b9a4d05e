# SPDX-License-Identifier: GPL-2.0
"""The patch series: base kernel, stored patches, work trees, and the mailed set."""
