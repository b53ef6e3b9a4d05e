# SPDX-License-Identifier: GPL-2.0
"""The program hashstats on this machine: installed below a prefix, or packaged."""
