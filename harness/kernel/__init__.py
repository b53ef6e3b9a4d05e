# SPDX-License-Identifier: GPL-2.0
"""Kernels: configuration, build, variants for tests and benchmarks, packages."""
