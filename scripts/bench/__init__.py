# SPDX-License-Identifier: GPL-2.0
"""Benchmarks: a runner, one form of result, and the tools that measure."""
