# SPDX-License-Identifier: GPL-2.0
"""The series on another base, beside what it does on the default one."""

import statistics
from typing import NamedTuple

from report import losses
from report.page import Table, heading, wrapped
from series import source


class Compared(NamedTuple):
    """What one sort of figure is on both bases."""

    group: losses.Group  # on the other base
    size: str  # of its run
    ratios: tuple  # the median of the cells that both have: default, other


def compare(results, other):
    """Each sort of figure that is stored of the other base."""
    here = {one.title: one for one in losses.groups(results)}
    return [
        Compared(
            group,
            other.get(group.kind.benchmark).data["size"],
            medians(here[group.title].cells if group.title in here else (), group.cells),
        )
        for group in losses.groups(other)
    ]


def medians(*cells):
    """Of the cells that all have."""
    ratios = [{cell.name: cell.ratio for cell in one} for one in cells]
    names = set.intersection(*map(set, ratios))
    return tuple(statistics.median(one[name] for name in names) for one in ratios) if names else ()


def section(base, rows, other):
    """A chapter of the first page."""
    table = Table(
        f"What was compared on Linux {base}, lost or not. The load of the run there; its cells; "
        f"the median ratio of the cells that both bases have, on {source.DEFAULT} and on {base}; "
        "how much mainline differs from itself in the cell that differs most; cells that lost, "
        "and the worst cell.",
        ("benchmark", "load", "cells", source.DEFAULT, base, "control", "lost", "worst"),
        [
            (
                one.group.title,
                one.size,
                len(one.group.cells),
                *([f"{ratio:.3f}" for ratio in one.ratios] or "--"),
                losses.percent(one.group.spread),
                len(one.group.lost),
                f"{one.group.worst.ratio:.3f}",
            )
            for one in rows
        ],
    )
    return "\n".join(
        [
            heading(f"The same on Linux {base}", "="),
            wrapped(words(base, rows, other)),
            table.text(""),
        ]
    )


def words(base, rows, other):
    names = list(dict.fromkeys(one.group.kind.benchmark for one in rows))
    loads = [other.get(name).data["machine"]["load_average"] for name in names]
    return (
        f"{', '.join(f'bench-{name}' for name in names)} ran on Linux {base}. Where the load was "
        "shorter (quick), the medians of the two bases differ by the load as well as by the "
        "kernel, and most cells ran once. Other programs ran beside: the load average was "
        f"{min(loads):.1f} to {max(loads):.1f} on 2 processors. So seconds, rates and processor "
        "time of this table do not decide; instructions and counts do."
    )
