# SPDX-License-Identifier: GPL-2.0
"""Benchmarks: a folder for each, and what they share in lib/."""
