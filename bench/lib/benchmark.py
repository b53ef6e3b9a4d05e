# SPDX-License-Identifier: GPL-2.0
"""What the case.py of a benchmark declares of itself, once."""

import fnmatch
from collections.abc import Mapping
from typing import Any, NamedTuple

from common import die

# How a figure of two runs on one machine compares.
EXACT = "exact"  # it is the same
NEAR = "near"  # within 1 %: instructions, and what depends on the order of tasks
NOISY = "noisy"  # times, what CPUs do at the same time, and keys that are addresses


class Figure(NamedTuple):
    """The figures whose names match a pattern; the first pattern that matches counts."""

    pattern: str
    unit: str
    repeats: str


class Benchmark(NamedTuple):
    """`seconds` without builds, on two CPUs without KVM: quick, usual, long."""

    seconds: tuple[int, int, int]
    loads: Mapping[str, Any]  # of the sizes quick, usual, long
    figures: tuple[Figure, ...]
    base: str = ""  # the one kernel version that can run it

    def figure(self, name: str) -> Figure:
        """The declaration of a figure."""
        for one in self.figures:
            if fnmatch.fnmatchcase(name, one.pattern):
                return one
        die(f"figure {name}: case.py declares no such figure")
