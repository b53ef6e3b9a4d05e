# SPDX-License-Identifier: GPL-2.0
"""Each benchmark, once, with its quick load."""

import math

import pytest

from bench.lib import record, run
from series import source

# These run in `make test`, too: they need no kernel of mainline.
CHEAP = ("spread", "halfmd4")
# Patterns of figures that only larger loads have.
LARGER = {"crowd": ("kept_*",)}


def marks(name):
    return () if name in CHEAP else pytest.mark.long


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in run.BENCHMARKS])
def test_figures_are_those_that_are_declared(name, kernel, tmp_path, monkeypatch):
    one = run.BENCHMARKS[name]
    if one.base not in ("", source.base_name()):
        pytest.skip(f"the benchmark is for Linux {one.base}")
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.setenv("QUICK", "1")
    run.measure(name)
    figures = record.newest(name)["figures"]
    assert all(math.isfinite(one["value"]) for one in figures.values())
    # The first pattern that matches counts: none stands in vain.
    used = {one.figure(figure).pattern for figure in figures}
    assert {figure.pattern for figure in one.figures} - used <= set(LARGER.get(name, ()))
