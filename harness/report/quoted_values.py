# SPDX-License-Identifier: GPL-2.0
"""Figures that more than one text quotes."""

import re

from bench.cases import index as bench_index
from common import ROOT
from report.passages import passage

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


def pages_again(of):
    """Ratios of a second run of mainline to the first one."""
    return [
        bench_index.ratio(of.get("index"), "pages", "again", f"file lookup {how} random {bits}")
        for how in ("dependent", "independent")
        for bits in (12, 15, 17, 20)
    ]


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


# Of a bucket on 64-bit machines; others take 8.
BUCKET_BYTES = {"folio_wait": 24, "bit_wait": 24, "posix_timers": 16, "unix": 16}
UNITS = {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
CROWD = (
    "uid",
    "dquot",
    "posix_timers",
    "css_set",
    "ucounts",
    "blocked_locks",
    "ksm_mm",
    "khugepaged_mm",
)


def table_bytes():
    """Memory -> name -> bytes, by the buckets that hashstats.rst has for each memory."""
    text = (ROOT / f"{DOCUMENTS}/hashstats.rst").read_text()
    (head,) = re.findall(r"^table +(\d+ MiB.*)$", text, re.M)
    memories = [int(one) * UNITS[unit] for one, unit in re.findall(r"(\d+) ([MGT]iB)", head)]
    sizes: dict[int, dict[str, int]] = {memory: {} for memory in memories}
    for name, *cells in re.findall(
        r"^(\w+)" + r" +(\d+(?:\^\d+)?)" * len(memories) + "$", text, re.M
    ):
        for memory, cell in zip(memories, cells):
            base, _, power = cell.partition("^")
            sizes[memory][name] = int(base) ** int(power or 1) * BUCKET_BYTES.get(name, 8)
    return sizes


def samples(name):
    """Lines of /proc/hashstats that a page shows."""
    return re.findall(r"\n\t([a-z-]+: \d+\.\d+)", (ROOT / name).read_text())


def of_1_gib():
    total = sum(table_bytes()[1 << 30].values())
    return passage(
        "{:.0f} KiB of 1 GiB of memory, {:.2f} percent", total / 1024, 100 * total / (1 << 30)
    )
