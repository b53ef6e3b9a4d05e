# SPDX-License-Identifier: GPL-2.0
"""Written figures are those of results/figures.csv.

Two forms are compared.  A line of a message or cover letter:

        Measured: bench-crowd lookup_insn/users/live/100000/uid 61 instead of 3190 (6.12)

has the figure's name, its value (or that of the series and of mainline), and the base.
A row of a table in README or results/measured.rst that ends in mainline, series, ratio and
the name of a benchmark must be in the file with these three numbers.
"""

import re

import pytest

from common import ROOT, Failure
from report import figures

NUMBER = r"[\d,]*\.?\d+"
MEASURED = re.compile(
    rf"bench-(?P<benchmark>\w+) (?P<figure>\S+) (?P<value>{NUMBER})"
    rf"(?: instead of (?P<mainline>{NUMBER}))? \((?P<base>\d+\.\d+)\)"
)
# A long line goes on after a line break and a blank.
LINE = re.compile(r"^Measured:(.*(?:\n .*)*)", re.M)
TABLE_ROW = re.compile(
    rf"\s(?P<mainline>{NUMBER}) +(?P<series>{NUMBER}) +(?P<ratio><?{NUMBER}) "
    r"+(?P<benchmark>[a-z]\w+)$"
)
TABLES = ("README", "results/measured.rst")
MESSAGES = [path for folder in ("series", "patches") for path in ROOT.glob(f"{folder}/**/*")]
RUN = {
    "benchmark": "toy",
    "size": "quick",
    "date": "2999-01-01T00:00:00Z",
    "machine": {"load_average": 0.25},
    "kernels": {
        "base": {"version": "7.3.4", "commit": "b" * 40},
        "patched": {"version": "7.3.4", "commit": "c" * 40},
    },
    "runs": [{"kind": "count", "round": 0}, {"kind": "count", "round": 1}],
    "figures": {
        "lines": 2.0,
        "lines_base": 4.0,
        "ratio": {"value": 0.5, "unit": "ns", "mainline": 20, "series": 10, "control": 1.01},
    },
}


@pytest.fixture(name="stored", scope="module")
def stored_rows():
    return {figures.key(row): row for row in figures.read()}


def shown(written: str, number: str) -> bool:
    """Whether a number, rounded as it is written, is the stored one."""
    if not number:
        return False
    digits = len(written.partition(".")[2])
    return abs(float(written.strip("<").replace(",", "")) - float(number)) <= 0.5001 * 10**-digits


def wrong_line(line: str, stored: dict) -> str:
    """What of a "Measured:" line is not as stored; nothing if all is."""
    match = MEASURED.fullmatch(line)
    if not match:
        return "expected bench-NAME FIGURE VALUE [instead of VALUE] (BASE)"
    row = stored.get((match["benchmark"], match["figure"], match["base"]))
    if not row:
        return "figures.csv has no such figure of this base"
    if not match["mainline"]:
        return "" if shown(match["value"], row["value"]) else f"figures.csv has {row['value']}"
    if shown(match["value"], row["series"]) and shown(match["mainline"], row["mainline"]):
        return ""
    return f"figures.csv has {row['series']} instead of {row['mainline']}"


def wrong_row(match: re.Match, stored: dict) -> str:
    for row in stored.values():
        if (
            row["benchmark"] == match["benchmark"]
            and shown(match["mainline"], row["mainline"])
            and shown(match["series"], row["series"])
        ):
            ratio = float(row["series"]) / float(row["mainline"])
            if shown(match["ratio"], str(ratio)) or match["ratio"] == "<0.001" and ratio < 0.001:
                return ""
    return f"bench-{match['benchmark']} has no figure with these three numbers"


def test_stored_figures_are_complete_and_sorted(stored):
    rows = figures.read()
    assert list(rows[0]) == figures.COLUMNS
    assert [figures.key(row) for row in rows] == sorted(stored)
    for row in rows:
        figures.check(row)


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_tables_are_stored(name, stored):
    found = [*filter(None, map(TABLE_ROW.search, (ROOT / name).read_text().splitlines()))]
    assert len(found) >= 10
    wrong = [f"{match.string.strip()}: {wrong_row(match, stored)}" for match in found]
    assert not [one for one in wrong if not one.endswith(": ")]


def test_measured_lines_are_stored(stored):
    found = [
        (path.name, " ".join(written.split()))
        for path in MESSAGES
        if path.suffix == ".patch" or path.name == "cover-letter"
        for written in LINE.findall(path.read_text().partition("\ndiff --git ")[0])
    ]
    assert found
    wrong = [(*one, wrong_line(one[1], stored)) for one in found]
    assert not [one for one in wrong if one[2]]


@pytest.mark.parametrize(
    "line,said",
    [
        ("bench-toy ratio 0.50 (7.3)", ""),
        ("bench-toy ratio 10 instead of 20 (7.3)", ""),
        ("bench-toy ratio 0.51 (7.3)", "figures.csv has 0.5"),
        ("bench-toy ratio 10 instead of 21 (7.3)", "figures.csv has 10 instead of 20"),
        ("bench-toy ratio 0.50 (6.12)", "no such figure"),
        ("bench-toy ratio of 0.50", "expected bench-NAME"),
    ],
)
def test_a_wrong_figure_is_named(line, said):
    toy = {figures.key(row): row for row in figures.rows_of(RUN, "machine")}
    assert said in wrong_line(line, toy) and bool(said) == bool(wrong_line(line, toy))


@pytest.mark.parametrize(
    "row,right", [("x ns 20.0 10.0 0.50 toy", 1), ("x 20 10 0.52 toy", 0), ("x 20 11 0.50 toy", 0)]
)
def test_a_wrong_row_is_named(row, right):
    toy = {figures.key(one): one for one in figures.rows_of(RUN, "machine")}
    assert (wrong_row(TABLE_ROW.search(row), toy) == "") == right


def test_rows_of_a_run():
    lines, ratio = figures.rows_of(RUN, "machine")
    assert [lines[name] for name in ("value", "mainline", "series")] == ["2", "4", "2"]
    assert [ratio[name] for name in ("unit", "control", "runs", "base")] == [
        "ns",
        "1.01",
        "2",
        "7.3",
    ]
    assert (ratio["date"], ratio["commit"]) == ("2999-01-01", "c" * 12)


@pytest.mark.parametrize("name", ["date", "kernels"])
def test_a_run_without_date_or_base_is_refused(name):
    with pytest.raises(Failure, match="does not say its"):
        figures.rows_of(RUN | {name: type(RUN[name])()}, "machine")


@pytest.mark.parametrize(
    "new,old,control,said",
    [("0.5", "0.6", "1.1", "gain"), ("1.3", "1.2", "1.1", "loss")]
    + [("0.5", "0.95", "1.1", "noise"), ("0.5", "0.6", "", "no control")],
)
def test_both_runs_must_exceed_the_control(new, old, control, said):
    row = dict.fromkeys(figures.COLUMNS, "") | {"unit": "ratio", "control": control}
    assert figures.verdict(row | {"value": new}, row | {"value": old}) == said
