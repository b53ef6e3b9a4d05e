# SPDX-License-Identifier: GPL-2.0
"""The series on another base, beside what it does on the default one."""

import statistics
from typing import NamedTuple

from report import losses
from report.page import Table, heading, wrapped
from series import source

# Medians of two bases that are further apart are named.
APART = 0.05


class Compared(NamedTuple):
    """What one sort of figure is on both bases."""

    group: losses.Group  # on the other base
    size: str  # of its run
    ratios: tuple  # the median of the cells that both have: default, other

    @property
    def apart(self):
        return self.ratios and abs(self.ratios[1] - self.ratios[0]) > APART


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


def section(base, rows):
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
                *(f"{ratio:.3f}" for ratio in one.ratios or (float("nan"),) * 2),
                losses.percent(one.group.spread),
                len(one.group.lost),
                f"{one.group.worst.ratio:.3f}",
            )
            for one in rows
        ],
    )
    return "\n".join(
        [heading(f"The same on Linux {base}", "="), wrapped(words(base, rows)), table.text("")]
    )


def words(base, rows):
    names = dict.fromkeys(f"bench-{one.group.kind.benchmark}" for one in rows)
    both = [one for one in rows if one.ratios]
    apart = [
        f"{one.group.title} ({one.ratios[0]:.3f} and {one.ratios[1]:.3f})"
        for one in both
        if one.apart
    ]
    text = (
        f"On Linux {base} ran {', '.join(names)}, most with a shorter load. Of {len(both)} median "
        f"ratios that both bases have, {len(apart)} differ by more than {APART:.2f}"
    )
    return f"{text}: {'; '.join(apart)}." if apart else f"{text}."
