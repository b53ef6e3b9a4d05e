# SPDX-License-Identifier: GPL-2.0
"""What benchmarks declare, the file of a result, and the comparison of two."""

import importlib
import json

import pytest

import common
from bench.lib import record, rounds, run
from bench.lib.benchmark import EXACT, NEAR, NOISY, Benchmark, Figure

MACHINE = {"cpu": "Some(R) Maker(TM) CPU 7 @ 2.80GHz", "cores": 2, "memory_bytes": 24 << 30}
ONE = Benchmark(
    seconds=(1, 2, 3),
    loads={"quick": 1, "usual": 2, "long": 3},
    figures=(
        Figure("walks", "walks", EXACT),
        Figure("*_ratio", "ratio", NEAR),
        Figure("ns_*", "ns", NOISY),
        Figure("more", "walks", EXACT),
    ),
)


@pytest.mark.parametrize("name", run.BENCHMARKS)
def test_a_benchmark_declares_what_it_is(name):
    one = run.BENCHMARKS[name]
    assert list(one.loads) == list(run.SIZES)
    assert one.seconds == tuple(sorted(one.seconds))
    assert {figure.repeats for figure in one.figures} <= {EXACT, NEAR, NOISY}
    assert callable(run.case(name).measure)


def test_the_folders_are_the_benchmarks():
    folders = {path.parent.name for path in common.ROOT.glob("bench/*/README")}
    assert folders == run.BENCHMARKS.keys() and "xattr" in folders


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(common.Failure, match="bench-nothing: expected one of atomics, buffer"):
        run.bench("nothing")


def test_the_first_pattern_counts():
    assert ONE.figure("insn_ratio") == ("*_ratio", "ratio", NEAR)
    with pytest.raises(common.Failure, match="figure walk: case.py declares no such figure"):
        ONE.figure("walk")


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.setattr(record, "machine", lambda: MACHINE)
    monkeypatch.setattr(run, "BENCHMARKS", {"name": ONE})
    one = record.Result("name", "quick", ONE)
    one.data["kernels"]["patched"] = {"version": "6.12.0"}
    one.command("read", ["qemu", "-append", "two words"])
    one.run("read", read_ms=1.5)
    one.figure("ns_walk", 1.5)
    return one


def test_result_file(result, tmp_path):
    result.run("read", read_ms=2.5, cases=[{"name": "a, b", "ns": [1, 2]}])
    result.figure("insn_ratio", 0.5, mainline=10, series=5, control=1.01)
    assert result.save() == tmp_path / "name.json"
    text = (tmp_path / "name.json").read_text()
    data = json.loads(text)
    assert data == result.data
    assert data["figures"] == {
        "ns_walk": {"unit": "ns", "value": 1.5},
        "insn_ratio": {
            "unit": "ratio",
            "value": 0.5,
            "mainline": 10,
            "series": 5,
            "control": 1.01,
        },
    }
    assert data["commands"]["read"] == "qemu -append 'two words'"
    assert data["size"] == "quick"
    # A line for each run.
    found = [line.rstrip(",") for line in text.splitlines() if '"kind"' in line]
    assert [json.loads(line) for line in found] == data["runs"]


def test_older_results_stay(result, tmp_path):
    result.save()
    result.data["date"] = "2000-01-01T00:00:00Z"
    result.save()
    assert len(list(tmp_path.glob("some-maker-7-2-24g/name-*.json"))) == 2
    newest = json.loads((tmp_path / "name.json").read_text())
    assert newest["date"] == "2000-01-01T00:00:00Z"
    with pytest.raises(FileExistsError):
        result.save()


def test_processors_of_one_name_are_told_apart():
    assert record.machine_name(MACHINE | {"cpu_family": "26.2"}) == "some-maker-7-26.2-2-24g"
    assert set(record.machine()) >= {"cpu", "cpu_family"}


def test_figures_are_numbers(result):
    result.data["figures"]["ns_walk"]["value"] = "fast"
    with pytest.raises(common.Failure, match="is 'fast', not a number"):
        result.save()


def save_two(result, figures, other, monkeypatch):
    """Two runs of the one benchmark that there is."""
    monkeypatch.setenv("QUICK", "1")
    for year, values in ("2000", figures), ("2001", other):
        result.data["figures"] = {name: {"value": value} for name, value in values.items()}
        result.data["date"] = f"{year}-01-01T00:00:00Z"
        result.save()


SAME = {"walks": 7, "insn_ratio": 1.0, "ns_walk": 5.0}


@pytest.mark.parametrize(
    "other",
    [{}, {"insn_ratio": 1.0099}, {"insn_ratio": 0.9901}, {"ns_walk": 50.0}, {"ns_more": 5.0}],
)
def test_runs_repeat_themselves(result, monkeypatch, capsys, other):
    save_two(result, SAME, SAME | other, monkeypatch)
    assert not run.compare()
    assert "1 benchmarks repeated themselves\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "other,said",
    [
        ({"walks": 8}, "walks 7 8"),
        ({"insn_ratio": 1.02}, "insn_ratio 1.0 1.02"),
        ({"more": 1}, "more None 1"),
    ],
)
def test_runs_differ(result, monkeypatch, capsys, other, said):
    save_two(result, SAME, SAME | other, monkeypatch)
    assert run.compare()
    output = capsys.readouterr().out
    assert said in output and "not name" in output


def test_one_run_has_nothing_to_compare_with(result, monkeypatch):
    save_two(result, SAME, SAME, monkeypatch)
    monkeypatch.setenv("QUICK", "0")
    with pytest.raises(common.Failure, match="expected two results.*make bench"):
        run.compare()


def test_a_failure_stops_no_other_benchmark(monkeypatch, capsys):
    done = []

    def measure(name):
        if name == "first":
            common.die("went wrong")
        done.append(name)

    monkeypatch.setattr(run, "measure", measure)
    monkeypatch.setattr(run, "case", lambda name: importlib.import_module("bench.wake.case"))
    monkeypatch.setattr(run, "seconds", lambda name: 90)
    monkeypatch.setattr(run, "BENCHMARKS", {"first": ONE, "second": ONE})
    assert run.every()
    assert done == ["second"]
    said = capsys.readouterr()
    assert "bench-first, 1 of 2: Time of a wakeup" in said.out
    assert "about 90 s of 3 min left" in said.out
    assert "1 benchmarks done, 1 failed: first" in said.out
    assert "bench-first: went wrong" in said.err


def test_quick_and_long_at_once(monkeypatch):
    monkeypatch.setenv("QUICK", "1")
    monkeypatch.setenv("LONG", "1")
    with pytest.raises(common.Failure, match="accepted: one of them"):
        run.size()


def test_sides_take_turns():
    order = [(0, "base"), (0, "ours"), (1, "ours"), (1, "base")]
    assert list(rounds.alternate(2)) == order
    assert list(rounds.alternate(2, ["a", "b", "c"])) == [
        *((0, side) for side in "abc"),
        *((1, side) for side in "cba"),
    ]


def test_noise():
    assert rounds.same_again([5]) == 1
    assert rounds.same_again([10, 11, 10, 13, 10]) == 1.2
    assert rounds.furthest([1.05, 0.9, 1.1]) == 0.9
    assert rounds.furthest([1.2, 0.9]) == 1.2


def test_rounds_are_paired(result):
    for number, (base, ours) in enumerate([(10, 11), (20, 20), (10, 5)]):
        for place, factor in ("here", 1), ("there", 2):
            result.run("rate", kernel="base", round=number, rate=base, place=place)
            result.run("rate", kernel="ours", round=number, rate=factor * ours, place=place)
    assert rounds.paired(result, "rate", "rate", "ours", place="here") == 1
    assert rounds.paired(result, "rate", "rate", "ours", place="there") == 2
