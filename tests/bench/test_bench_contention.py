# SPDX-License-Identifier: GPL-2.0
"""The benchmark of operations on several CPUs: what it reads."""

import pytest

import common
from bench import record, run
from bench.cases import contention as bench_contention

LINE = "contention_bench: op {op} threads {threads} done 1000 ps {ps}\n"


def output(ns, cpus=2):
    """What a kernel prints: ns alone, three times as much with another CPU."""
    lines = [
        LINE.format(op=op, threads=threads, ps=(1000 if threads == 1 else 3000) * ns)
        for op in bench_contention.OPS
        for threads in range(1, cpus + 1)
    ]
    return "Console initialized\n" + "".join(lines) + "contention_bench: end 0\n"


def test_lines_of_the_kernel_are_read():
    cases = bench_contention.parse(output(50), 2)
    assert len(cases) == 2 * len(bench_contention.OPS)
    assert {"op": "find_inode", "threads": 2, "ns": 150} in cases


@pytest.mark.parametrize(
    "text, reason",
    [
        ("contention_bench: end -22\n", "did not end well: contention_bench: end -22"),
        (output(50, cpus=1), "timed 9 cases, not 18: has it 2 CPUs"),
    ],
)
def test_bad_output_is_refused(text, reason):
    with pytest.raises(common.Failure, match=reason):
        bench_contention.parse(text, 2)


def test_figures(monkeypatch, capsys):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("contention", size="quick")
    for turn in range(2):
        for side in bench_contention.SIDES:
            ns = (20 if side == "ours" else 80) + turn
            cases = bench_contention.parse(output(ns), 2)
            result.run("contention", side=side, round=turn, cases=cases)
    bench_contention.figures(result, 2)
    figures = result.data["figures"]
    assert figures["create_evict_ratio_2"] == round(61.5 / 241.5, 6)
    assert figures["aa_create_evict_1"] == 1
    bench_contention.tables(result, 2)
    (line,) = (one for one in capsys.readouterr().out.splitlines() if "find_buffer 2" in one)
    assert line.split()[2:] == ["241.5", "241.5", "(1.000)", "61.5", "(0.255)"]


def test_a_base_that_cannot_run_it(monkeypatch):
    monkeypatch.setenv("BASE", "6.12")
    with pytest.raises(common.Failure, match="Linux 6.12 cannot run it; accepted: BASE=7.3"):
        run.measure("contention")
