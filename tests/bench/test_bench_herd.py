# SPDX-License-Identifier: GPL-2.0
"""The herd benchmark's machinery: the load, its watchdog, the figures."""

import os

import pytest

import benchprogram
import common
from bench import record
from bench.cases import herd as bench_herd
from guest import vm
from kernel import variants
from series import gitcmd, source

PHASES = [*bench_herd.PHASES, *bench_herd.HERDS]
STATS = """\
=== counters
version: 1

name: folio_wait
buckets: 256
bytes: 6144
sized-by: fixed
wakes: 10
entries-examined: 25
entries-matched: 10
functions-called: 25
foreign-per-wake: 1.500

name: bit_wait
buckets: 256
bytes: 6144
sized-by: fixed
wakes: 0
entries-examined: 0
entries-matched: 0
functions-called: 0
foreign-per-wake: 0.000
=== end
"""


def report(phase):
    return f"phase: {phase}\nthreads: 512\nseconds: 2.000\nmb-per-second: 8.000\n"


herd = benchprogram.program("herd")


def test_phases_on_a_folder(tmp_path):
    for phase in ("write", "random-write"):
        done = herd(tmp_path, phase, "-t", "3", "-b", "2", "-n", "5")
        assert done.returncode == 0, done.stderr
        assert f"phase: {phase}\nthreads: 3\nseconds: " in done.stdout
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    assert sizes == 3 * [2 * 4096]


def test_hang_is_said(tmp_path):
    os.mkfifo(tmp_path / "file-1")  # nobody reads: opening it waits
    done = herd(tmp_path, "write", "-t", "4", "-b", "2", "-w", "5")
    assert done.returncode == 3
    assert done.stderr == (
        "herd: write did not end within 5 s: 1 of 4 threads are not through; thread 1 did 0 of 2\n"
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (["."], "usage: herd DIR PHASE"),
        ([".", "sleep"], "usage: herd"),
        ([".", "read", "-t", "0"], "herd: -t 0: accepted: 1 to 1000000"),
        ([".", "read", "-n", "2x"], "herd: -n 2x: accepted"),
    ],
)
def test_bad_arguments(words, said):
    done = herd(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_herds_in_a_guest(kernel):
    output = vm.run(
        kernel, "".join(f"herd /tmp {phase} -t 8 -b 4 -n 2\n" for phase in PHASES), mem="256M"
    ).output
    for found in bench_herd.parse(output):
        assert bench_herd.values(found)["threads"] == 8


def test_report_with_counters():
    found = bench_herd.parse("".join(report(phase) + STATS for phase in PHASES))
    assert [one["phase"] for one in found] == PHASES
    assert bench_herd.values(found[0]) == {
        "phase": "write",
        "threads": 512,
        "seconds": 2,
        "mb_per_second": 8,
    }
    counts = dict(bench_herd.counters(found[0]))
    assert counts["folio_wait"] == {"wakes": 10, "examined": 25, "matched": 10, "called": 25}
    assert bench_herd.per_wake([counts["folio_wait"]], "examined") == 1.5
    assert bench_herd.per_wake([counts["bit_wait"]], "examined") == 0


def test_missing_phase_and_counters():
    with pytest.raises(common.Failure, match="phases write; expected write random-write"):
        bench_herd.parse(report("write"))
    stats = STATS.replace("wakes: 10\n", "").partition("\n")[2]
    with pytest.raises(common.Failure, match="no wakes of folio_wait"):
        list(bench_herd.counters({"stats": stats.removesuffix("=== end\n")}))


def test_figures(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("herd", size="quick")
    for kind, rates in (("base", (10, 20, 10)), ("ours", (11, 20, 8)), ("ours-256", (5, 10, 5))):
        for number, rate in enumerate(rates):
            for phase in PHASES:
                result.run("throughput", kernel=kind, round=number, phase=phase, mb_per_second=rate)
        for phase in PHASES:
            result.run(
                "counters",
                kernel=kind,
                phase=phase,
                round=0,
                table="folio_wait",
                wakes=10,
                matched=10,
                examined=25 if phase == "read" else 10,
                # Herds of our own do not count.
                called=10 if kind != "base" else 25 if phase in bench_herd.PHASES else 90,
            )
    bench_herd.counter_figures(result)
    bench_herd.throughput_figures(result)
    figures = result.data["figures"]
    assert figures["throughput_ratio_random_write"] == 1
    assert figures["throughput_ratio_read_256"] == 0.5
    assert figures["throughput_spread_write"] == 2
    assert figures["foreign_calls_per_wake_base"] == 1.5
    assert figures["foreign_calls_per_wake"] == 0
    assert figures["foreign_examined_per_wake"] == round(15 / 40, 6)
    assert figures["foreign_examined_per_wake_worst_256"] == 1.5


def test_counted_base_is_the_same_each_time():
    commit = variants.wakeups_commit()
    assert commit == variants.wakeups_commit()
    parent = f"{commit}~{len(variants.COUNT_WAKEUPS)}"
    assert gitcmd.out("rev-parse", parent, repo=source.base_repo()) == gitcmd.ref(
        "base", source.base_repo()
    )


def test_patch_that_does_not_apply(tmp_path, monkeypatch):
    bad = tmp_path / "count-wakeups.patch"
    bad.write_text(variants.COUNT_WAKEUPS[0].read_text().replace("softirqs", "hardirqs"))
    monkeypatch.setattr(variants, "COUNT_WAKEUPS", (bad,))
    said = f"count-wakeups.patch does not apply to Linux {source.base_name()}"
    with pytest.raises(common.Failure, match=said):
        variants.wakeups_commit()
