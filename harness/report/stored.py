# SPDX-License-Identifier: GPL-2.0
"""Numbers out of results: figures by name, medians of the runs that match."""

import statistics

from bench.record import Kept, kept
from bench.run import BENCHMARKS
from common import ROOT, die
from report.page import wrapped
from series import source

RESULTS = ROOT / "results"
SIZES = {"quick": " QUICK=1", "usual": "", "long": " LONG=1"}
# Where a run keeps what it timed one after the other.
INNER = ("cases", "cells")


def machines(results=RESULTS):
    """The folders of results/, or of another base in it, one for each machine."""
    return sorted(path for path in results.glob("*") if path.is_dir())


def of_base(base, results=RESULTS):
    """The folder of the results of a base."""
    return results if base == source.DEFAULT else results / f"linux-{base}"


class Unknown(float):
    """The number, or the numbers by name, of a benchmark that is not stored."""

    def __getitem__(self, _):
        return self

    def values(self):
        return [self]


UNKNOWN = Unknown("nan")


class Results:
    """The newest result of each benchmark, of the first machine that has one."""

    def __init__(self, *folders):
        self.folders = folders
        self.used = {}

    def has(self, name):
        if name not in self.used:
            found = next(filter(None, (kept(name, one) for one in self.folders)), None)
            if found:
                self.used[name] = Kept(found[-1])
        return name in self.used

    def get(self, name):
        if not self.has(name):
            die(
                f"{self.folders[0]}: no result of bench-{name}; run `make "
                f"bench-{name}`, or `make bench` for all"
            )
        return self.used[name]

    def origin(self, name):
        """A paragraph: what was run, and on what."""
        data = self.get(name).data
        return wrapped(
            f"{self.command(name)} on {self.machine(name)}; load average "
            f"{data['machine']['load_average']:.1f}."
        )

    def figure(self, name, figure):
        if not self.has(name):
            return UNKNOWN
        return self.get(name).data["figures"][figure]

    def command(self, name):
        words = SIZES[self.get(name).data["size"]]
        if BENCHMARKS[name].base not in ("", source.DEFAULT):
            words += f" BASE={BENCHMARKS[name].base}"
        return f"``make bench-{name}{words}``"

    def machine(self, name):
        """One line: the machine that ran a benchmark."""
        of = self.get(name).data["machine"]
        family = f", family {of['cpu_family']}" if of.get("cpu_family") else ""
        return (
            f"{of['cpu']}{family}, {of['cores']} processors, "
            f"{of['memory_bytes'] / 2**30:.0f} GiB, Linux {of['linux']}"
        )

    def values(self, name, kind, value, **wanted):
        """`value` of each run, or case of a run, that has what is wanted."""
        if not self.has(name):
            return [UNKNOWN]
        found = [
            one[value]
            for one in self.rows(name, kind)
            if wanted.items() <= {key: one.get(key) for key in wanted}.items()
        ]
        if not found:
            die(f"bench-{name}: no run of kind {kind} with {wanted}")
        return found

    def rows(self, name, kind):
        for run in self.get(name).runs(kind):
            inner = [case for part in INNER for case in run.get(part, ())]
            for case in inner or [{}]:
                yield run | case

    def median(self, *args, **wanted):
        return statistics.median(self.values(*args, **wanted))
