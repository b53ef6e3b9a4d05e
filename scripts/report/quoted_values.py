# SPDX-License-Identifier: GPL-2.0
"""Figures that more than one text quotes."""

import re

from bench.cases import index as bench_index
from common import ROOT

DOCUMENTS = "Documentation/admin-guide"
TOOL = f"{DOCUMENTS}/hashstats-tool.rst"


def worst_herd(of):
    return [of.figure("herd", f"foreign_examined_per_wake_worst{end}") for end in ("_base", "")]


def hash_times(of):
    """Nanoseconds of hash_pair() and of mainline's hash of an inode."""
    return [of.median("spread", "time", "ns", function=one) for one in ("pair", "mainline")]


def xarray(of, how, bits, side="ours", operation="lookup"):
    return bench_index.ratio(
        of.get("index"), "xarray", side, f"xarray {operation} {how} random {bits}"
    )


def pages(of, name):
    return [of.figure("index", f"{name}_2_{bits}") for bits in (12, 15, 17, 20)]


def buffer_misses(of):
    """The worse of callers that may sleep and of those that may not."""
    return [
        max(
            of.figure("buffer", f"insn_ratio_lru_miss_{caller}_{size}")
            for caller in ("atomic", "sleeping")
        )
        for size in ("1k", "4k")
    ]


def loop(table):
    """Nodes before, predicted and observed, as the tool's page has them."""
    return re.findall(
        rf"^   {table} +([\d.]+) +([\d.]+) +([\d.]+)$", (ROOT / TOOL).read_text(), re.M
    )


def samples(name):
    """Lines of /proc/hashstats that a page shows."""
    return re.findall(r"\n\t([a-z-]+: \d+\.\d+)", (ROOT / name).read_text())
