# SPDX-License-Identifier: GPL-2.0
"""What benchmarks share: the runner, the record of a run, counters, tables."""
