# SPDX-License-Identifier: GPL-2.0
"""The benchmarks' machinery: what they count, what they write.  No times."""

import ast
import importlib
import inspect
import json
from types import SimpleNamespace

import pytest

import common
from bench import jobs, record, rounds, run, symbol_counts, symbols
from bench.cases import hashstats as bench_hashstats
from guest import initramfs


def test_known_loop_is_counted_exactly(kernel):
    assert symbol_counts.check(kernel.vmlinux) == 2 * symbol_counts.TURNS + 2


def test_lookups_are_counted_by_symbol(kernel):
    found, output, command = symbol_counts.count(
        kernel,
        "mkdir /tmp/d\nlookups /tmp/d -f 100 -r 3",
        mem="128M",
        append=bench_hashstats.COUNT_APPEND.replace("1048576", "65536"),
    )
    files, missing = found
    assert (files.label, missing.label) == (1, 2)
    assert "stats: 600" in output
    # Two directories and a name; a name that is missing is looked up twice.
    assert files.entries["__d_lookup_rcu"] == 3 * 300
    assert missing.entries["__d_lookup_rcu"] == 4 * 300
    assert files.insns["__d_lookup_rcu"] > 20 * 3 * 300
    assert "-smp" in command and command[command.index("-smp") + 1] == "1"


def test_times_of_reads_are_parsed():
    """What readstats prints has an empty line between two parts."""
    sample = common.ROOT / "tools/hashstats/samples/citi-1.hashstats"
    output = common.run([initramfs.tools() / "readstats", "-n", "3", "-f", sample]).stdout
    found = jobs.fields(output)
    assert found["reads"] == "3"
    assert float(found["read-ms-median"]) >= 0


def test_reclaim_is_refused():
    segment = symbol_counts.Segment(1)
    symbol_counts.check_memory(segment)
    segment.entries[symbol_counts.RECLAIM] = 2
    with pytest.raises(common.Failure, match="ran short of memory: shrink_slab was called 2 times"):
        symbol_counts.check_memory(segment)


def test_segments_must_be_all():
    symbol_counts.check_segments([symbol_counts.Segment(1)], 1)
    with pytest.raises(common.Failure, match="saw 1 segments of 2"):
        symbol_counts.check_segments([symbol_counts.Segment(1)], 2)


def test_two_cpus_are_refused(tmp_path):
    path = symbol_counts.plugin()
    command = [
        symbol_counts.accelerators.QEMU,
        "-M",
        "q35",
        "-accel",
        "tcg",
        "-smp",
        "2",
        "-nodefaults",
        "-display",
        "none",
        "-S",
        *symbol_counts.option(path, tmp_path / "counts"),
    ]
    done = common.run(command, check=False, timeout=60)
    assert done.returncode
    assert "only a system of one CPU can be counted" in done.stderr


def test_no_plugin_support_is_one_line(monkeypatch):
    monkeypatch.setattr(symbol_counts, "trial", lambda path: "-plugin: invalid option")
    with pytest.raises(
        common.Failure, match="loads no TCG plugin.*invalid option; wanted: a QEMU built with"
    ):
        symbol_counts.plugin.__wrapped__()


SYSTEM_MAP = """\
ffffffff81000000 T _text
ffffffff81000100 T looked_up
ffffffff81000180 t looked_up.cold
ffffffff81000200 t other.constprop.0
ffffffff82000000 D data
"""


def test_blocks_become_symbols(tmp_path):
    (tmp_path / "System.map").write_text(SYSTEM_MAP)
    found = symbols.Symbols(tmp_path / "vmlinux")
    lines = [
        "1 7",
        "1 7 ffffffff81000100 5 10 ffffffff81000200 2",
        "1 7 ffffffff81000110 3 4 ffffffff81000180 1",
        "1 7 ffffffff81000180 2 1 ffffffff81000200 0",
        "1 7 ffffffff81000204 1 1 0 0",
        "1 7 401000 6 2 401000 1",
        "2 8",
    ]
    first, second = symbol_counts.segments(lines, found)
    assert first.label == 7
    assert first.insns == {"looked_up": 64, "other": 1, "[user]": 12}
    assert first.entries == {"looked_up": 10}
    assert first.calls == {("looked_up", "other"): 11}
    assert +first.atomics == {"looked_up": 24, "[user]": 2}
    assert second.label == 8 and not second.insns


MACHINE = {"cpu": "Some(R) Maker(TM) CPU 7 @ 2.80GHz", "cores": 2, "memory_bytes": 24 << 30}


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.setattr(record, "machine", lambda: MACHINE)
    one = record.Result("name", size="quick")
    one.data["kernels"]["patched"] = {"version": "6.12.0"}
    one.command("read", ["qemu", "-append", "two words"])
    one.run("read", read_ms=1.5)
    one.figure("read_ms", 1.5)
    return one


def test_result_file(result, tmp_path):
    assert result.save() == tmp_path / "name.json"
    data = json.loads((tmp_path / "name.json").read_text())
    assert data["figures"] == {"read_ms": 1.5}
    assert data["commands"]["read"] == "qemu -append 'two words'"
    assert data["runs"] == [{"kind": "read", "read_ms": 1.5}]
    assert data["size"] == "quick"


def test_result_file_has_a_line_for_each_run(result):
    result.run("read", read_ms=2.5, cases=[{"name": "a, b", "ns": [1, 2]}])
    text = result.save().read_text()
    assert json.loads(text) == result.data
    found = [line.rstrip(",") for line in text.splitlines() if '"kind"' in line]
    assert [json.loads(line) for line in found] == result.data["runs"]


def test_stored_results_have_a_line_for_each_run():
    paths = sorted((common.ROOT / "results").glob("*/*.json"))
    assert paths
    for path in paths:
        text = path.read_text()
        assert text == record.as_text(json.loads(text)), path


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
    result.data["figures"]["read_ms"] = "fast"
    with pytest.raises(common.Failure, match="is 'fast', not a number"):
        result.save()


def test_lookup_figures(result):
    def count(kernel, counting, names, insns):
        result.run(
            "count",
            kernel=kernel,
            counting=counting,
            names=names,
            calls=10,
            insns=insns,
            entries={},
        )

    for insns in (400, 404):
        for names in bench_hashstats.SEGMENTS:
            count("base", "off", names, {"__d_lookup_rcu": insns})
            count("patched", "off", names, {"__d_lookup_rcu": insns + 10, "lookup_fast": 1000})
            count("patched", "on", names, {"__d_lookup_rcu": insns + 10, "d_count_lookup": insns})
    bench_hashstats.lookup_figures(result)
    figures = result.data["figures"]
    assert figures["dentry_off_insn_ratio"] == round(412 / 402, 6)
    assert figures["dentry_on_insn_ratio"] == round(814 / 412, 6)
    assert figures["dentry_aa_insn_ratio_base"] == 1.01
    assert figures["dentry_aa_insn_ratio_patched"] == round(414 / 410, 6)


def test_entry_is_required():
    segment = symbol_counts.Segment(1)
    with pytest.raises(common.Failure, match="d_lookup_rcu was never entered"):
        bench_hashstats.calls(segment)


def test_result_names_kernel(tmp_path, monkeypatch, result):
    (tmp_path / "include/config").mkdir(parents=True)
    (tmp_path / "include/config/kernel.release").write_text("6.12.1\n")
    for name in ("vmlinux", ".config"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(record.worktree, "head", lambda path: "1234")
    result.kernel(
        SimpleNamespace(
            flavour="base",
            src=tmp_path,
            obj=tmp_path,
            vmlinux=tmp_path / "vmlinux",
            config=tmp_path / ".config",
        )
    )
    known = result.data["kernels"]["base"]
    assert (known["version"], known["commit"]) == ("6.12.1", "1234")
    assert len(known["config_sha256"]) == 64


def save_two(result, figures, other, monkeypatch):
    """Two runs of the one benchmark that there is."""
    monkeypatch.setattr(run, "BENCHMARKS", {"name": run.Benchmark(None, 1, 2, 3, "ns_")})
    monkeypatch.setenv("QUICK", "1")
    for year, values in ("2000", figures), ("2001", other):
        result.data["figures"] = values
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
    monkeypatch.setattr(run, "seconds", lambda name: 90)
    one = run.Benchmark(None, 1, 2, 3, "ns_")
    monkeypatch.setattr(run, "BENCHMARKS", {"first": one, "second": one})
    assert run.every()
    assert done == ["second"]
    said = capsys.readouterr()
    assert "bench-first, 1 of 2, about 90 s of 3 min left" in said.out
    assert "1 benchmarks done, 1 failed: first" in said.out
    assert "bench-first: went wrong" in said.err


def test_estimate_is_the_last_run(result, monkeypatch):
    save_two(result, SAME, SAME, monkeypatch)
    path, *_ = sorted(record.FOLDER.glob("*/name-2001*.json"))
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"seconds": 17.0}))
    assert run.seconds("name") == 17.0
    monkeypatch.setenv("QUICK", "0")
    assert run.seconds("name") == 2
    monkeypatch.setenv("LONG", "1")
    assert run.seconds("name") == 3


def test_quick_and_long_at_once(monkeypatch):
    monkeypatch.setenv("QUICK", "1")
    monkeypatch.setenv("LONG", "1")
    with pytest.raises(common.Failure, match="accepted: one of them"):
        run.size()


CASES = common.ROOT / "harness/bench/cases"
NAMES = sorted(path.stem for path in CASES.glob("*.py") if path.stem != "__init__")


def test_every_file_is_a_benchmark_and_every_benchmark_a_file():
    assert sorted(run.BENCHMARKS) == NAMES
    named = {name: one.module.__name__ for name, one in run.BENCHMARKS.items()}
    assert named == {name: f"bench.cases.{name}" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_contract_of_a_case(name):
    """A load of each size, and measure(result, load)."""
    case = importlib.import_module(f"bench.cases.{name}")
    assert list(case.LOADS) == ["quick", "usual", "long"]
    assert len(inspect.signature(case.measure).parameters) == 2


def cases_imported(text):
    """Modules of bench.cases that a source text imports, in functions too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith((".", "bench.cases")))


@pytest.mark.parametrize("name", NAMES)
def test_no_case_imports_another(name):
    assert not list(cases_imported((CASES / f"{name}.py").read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "from bench.cases import xattr",
        "from bench.cases.xattr import CLOCK",
        "def f():\n    import bench.cases.xattr",
        "from . import xattr",
    ],
)
def test_an_import_of_a_case_is_seen(text):
    assert len(list(cases_imported(text))) == 1


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(common.Failure, match="bench-nothing: expected one of spread, functions"):
        run.bench("nothing")


def test_sides_take_turns():
    order = [(0, "base"), (0, "ours"), (1, "ours"), (1, "base")]
    assert list(rounds.alternate(2)) == order
    assert list(rounds.alternate(2, ["a", "b", "c"])) == [
        *((0, side) for side in "abc"),
        *((1, side) for side in "cba"),
    ]


def test_estimate_of_what_is_left():
    assert rounds.remaining(0, 10, 1) == ""
    assert rounds.remaining(2, 10, 60) == "about 4 min were left at its start"
    assert rounds.remaining(1, 4, 100) == "about 5 min were left at its start"


def test_every_job_is_run_in_order(capsys):
    jobs = [SimpleNamespace(title="a", work=1), SimpleNamespace(title="b", work=2)]
    seen = []
    rounds.run_jobs(jobs, seen.append)
    assert seen == jobs
    said = capsys.readouterr().out
    assert "a, 1 of 2 ..." in said and "b, 2 of 2 ..." in said
    turns = []
    rounds.run_turns("all", [(1, "x"), (2, "y")], lambda *words: turns.append(words))
    assert turns == [(1, "x"), (2, "y")]
    assert "all ... 0.0 s, 2 kernels\n" in capsys.readouterr().out


def test_noise():
    assert rounds.same_again([5]) == 1
    assert rounds.same_again([10, 11, 10, 13, 10]) == 1.2
    assert rounds.furthest([1.05, 0.9, 1.1]) == 0.9
    assert rounds.furthest([1.2, 0.9]) == 1.2


def test_runs_are_chosen_by_values(result):
    result.run("count", kernel="base", cpus=1)
    result.run("count", kernel="ours", cpus=1)
    assert [one["kernel"] for one in result.runs("count")] == ["base", "ours"]
    assert [one["kernel"] for one in result.runs("count", kernel="ours", cpus=1)] == ["ours"]
    assert result.runs("count", kernel="ours", cpus=2) == []


def test_rounds_are_paired(result):
    for number, (base, ours) in enumerate([(10, 11), (20, 20), (10, 5)]):
        for place, factor in ("here", 1), ("there", 2):
            result.run("rate", kernel="base", round=number, rate=base, place=place)
            result.run("rate", kernel="ours", round=number, rate=factor * ours, place=place)
    assert rounds.paired(result, "rate", "rate", "ours", place="here") == 1
    assert rounds.paired(result, "rate", "rate", "ours", place="there") == 2
