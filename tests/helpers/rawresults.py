# SPDX-License-Identifier: GPL-2.0
"""The stored results as they are: no code of harness/report and no figure of a benchmark."""

import functools
import json
import statistics
from pathlib import Path

INNER = ("cases", "cells")


class Raw:
    """Runs of all benchmarks; cases within a run are rows of their own."""

    def __init__(self, folder: Path):
        self.data = {}
        for path in folder.glob("*/*.json"):
            found = json.loads(path.read_text())
            self.data[found["benchmark"]] = found

    @functools.cache  # noqa: B019
    def every(self, name, kind):
        return [one for run in self.data[name]["runs"] if run["kind"] == kind for one in inner(run)]

    def rows(self, name, kind, **wanted):
        return [
            one
            for one in self.every(name, kind)
            if all(one.get(key) == value for key, value in wanted.items())
        ]

    def values(self, name, kind, value, **wanted):
        found = [one[value] for one in self.rows(name, kind, **wanted)]
        assert found, (name, kind, wanted)
        return found

    def one(self, *args, **wanted):
        (value,) = self.values(*args, **wanted)
        return value

    def median(self, *args, **wanted):
        return statistics.median(self.values(*args, **wanted))

    def least(self, *args, **wanted):
        return min(self.values(*args, **wanted))


def inner(run):
    parts = [case for part in INNER for case in run.get(part, ())]
    return [run | case for case in parts or [{}]]
