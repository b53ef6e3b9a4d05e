# SPDX-License-Identifier: GPL-2.0
"""The crowd benchmark's machinery: the crowds, their operations, the figures."""

import re

import pytest

import benchprogram
import common
from bench import record, symbol_counts
from bench.cases import crowd as bench_crowd

LOAD = bench_crowd.Load((50, 60), 1, bench_crowd.TWICE)
# Enough for a test: 60 members, and few operations.
CROWDS = [
    crowd._replace(most=min(crowd.most, 60), ops=20)
    for crowd in (*bench_crowd.CROWDS, bench_crowd.MOUNTS)
]
USERS, TIMERS = (
    next(crowd for crowd in CROWDS if crowd.name == name) for name in ("users", "timers")
)


crowd = benchprogram.program("crowd")


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: crowd KIND"),
        (["timers"], "usage: crowd KIND"),
        (["dogs", "5"], "usage: crowd KIND"),
        (["timers", "-x", "5"], "usage: crowd KIND"),
        (["timers", "0"], "crowd: SIZE 0: accepted: 1 to 1000000\n"),
        (["timers", "5x"], "crowd: SIZE 5x: accepted: 1 to 1000000\n"),
        (["timers", "5", "5"], "crowd: SIZE 5 after 5: accepted: larger ones\n"),
        (["timers", "-n", "", "5"], "crowd: -n : accepted: 1 to"),
        (["users", "-s", "-1", "5"], "crowd: -s -1: accepted: 1 to"),
        (["probe", "5"], "usage: crowd KIND"),
        (["sessions"], "usage: crowd KIND"),
        (["keys", "-d", "/mnt", "0"], "crowd: SIZE 0: accepted: 1 to 1000000\n"),
        (["clients", "-n", "0", "5"], "crowd: -n 0: accepted: 1 to"),
    ],
)
def test_bad_arguments(words, said):
    done = crowd(*words)
    assert done.returncode == 2
    assert said in done.stderr and not done.stdout


@pytest.mark.parametrize(
    "words, said",
    [
        (["quotas", "-d", "/nowhere", "1"], "crowd: quotas /nowhere/crowd-0: No such file"),
        (["locks", "-d", "/nowhere", "1"], "crowd: locks /nowhere/lock-0: No such file"),
        (["cgroups", "-d", "/nowhere", "1"], "crowd: cgroups /nowhere/crowd-0: No such file"),
        (["mounts", "-d", "/nowhere", "1"], "crowd: mounts mount: "),
        (["measured", "-d", "/nowhere", "1"], "crowd: measured /nowhere/crowd-0: No such file"),
        (["keys", "-d", "/nowhere", "1"], "crowd: keys /nowhere: No such file"),
    ],
)
def test_what_fails_is_named(words, said):
    done = crowd(*words)
    assert done.returncode == 1
    assert done.stderr.startswith(said)


@pytest.mark.parametrize("one", CROWDS, ids=[one.name for one in CROWDS])
def test_every_operation_looks_up(kernel, one):
    """In a guest: the functions that are counted are those that are called."""
    segments, output, _ = symbol_counts.count(
        kernel, bench_crowd.script(one, LOAD), **bench_crowd.options() | {"mem": "2G"}
    )
    said = bench_crowd.parse(output, one, LOAD)
    assert len(segments) == len(said)
    for line, segment in zip(said, segments):
        found = {
            of: sum(segment.insns[symbol] for symbol in symbols)
            for of, symbols in one.lookups.items()
        }
        bench_crowd.check_lookups(one, line, segment, found)


@pytest.mark.long
@pytest.mark.parametrize("kept", bench_crowd.KEPT, ids=[one.crowd.name for one in bench_crowd.KEPT])
def test_every_operation_looks_up_in_a_kept_table(kept):
    crowd = kept.crowd._replace(ops=20)
    segments, output, _ = symbol_counts.count(
        bench_crowd.kept_kernel(),
        bench_crowd.script(crowd, LOAD),
        **bench_crowd.kept_options(kept) | {"mem": "2G"},
    )
    result = record.Result("crowd", size="quick")
    bench_crowd.keep_kept(result, crowd, LOAD, segments, output)
    assert len(result.runs("kept")) == 2 * len(crowd.lookups)


def test_what_was_not_called_is_refused():
    segment = symbol_counts.Segment(1)
    segment.insns["alloc_uid"], segment.entries["alloc_uid"] = 100, 17
    one = {"operation": "live", "ops": 20}
    uid = USERS._replace(lookups={"uid": bench_crowd.USERS})
    with pytest.raises(common.Failure, match="users live: 17 calls of alloc_uid"):
        bench_crowd.check_lookups(uid, one, segment, {"uid": 5})
    segment.entries["alloc_uid"] = 18
    bench_crowd.check_lookups(uid, one, segment, {"uid": 5})


def test_reports():
    good = (
        "timers gettime 50 20 4000\ntimers create 50 20 8000\n"
        "timers gettime 60 20 4000\ntimers create 60 20 8000\n"
    )
    said = bench_crowd.parse(good, TIMERS, LOAD)
    assert said[1] == {"operation": "create", "size": 50, "ops": 20, "nanoseconds": 8000}
    for bad, why in (
        (good[:25], "printed 1 lines"),
        ("", "printed 0 lines"),
        ("mounts" + good[6:], "crowd printed 'mounts gettime"),
        (good + "more\n", "crowd printed 'more'"),
    ):
        with pytest.raises(common.Failure, match=why):
            bench_crowd.parse(bad, TIMERS, LOAD)


def test_sizes():
    assert bench_crowd.sizes_of(TIMERS, LOAD) == [50, 60]
    assert bench_crowd.sizes_of(TIMERS._replace(most=59), LOAD) == [50]
    assert bench_crowd.sizes_of(bench_crowd.MOUNTS, LOAD) == [1]


def costs(base, ours, again=None):
    return {
        "base": base,
        "ours": ours,
        "ours-again": ours,
        "again": base if again is None else again,
    }


def filled(monkeypatch):
    """Each crowd: 100 instructions, growing in the base to 1000, in ours to 110."""
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("crowd", size="quick")
    result.machine(accelerator="tcg")
    for one in bench_crowd.CROWDS:
        large = {"timers": 130.0}.get(one.name, 110.0)
        for size, insns in ((100, costs(100.0, 99.0, 102.0)), (one.most, costs(1000.0, large))):
            for name, cost in insns.items():
                line = {"operation": "create", "size": size}
                bench_crowd.keep(
                    result,
                    "count",
                    one,
                    name,
                    line,
                    all_insns=50 * cost,
                    lookup_insns=dict.fromkeys(one.lookups, cost),
                )
        for name, time in (("base", 9000.0), ("ours", 3000.0)):
            line = {"operation": "create", "size": 100}
            bench_crowd.keep(result, "seconds", one, name, line, round=0, nanoseconds=time)
    for size, cost in ((100, 100.0), (bench_crowd.MOST, 5000.0)):
        bench_crowd.keep(
            result,
            "count",
            bench_crowd.CROWDS[0],
            "old-size",
            {"operation": "create", "size": size},
            all_insns=1,
            lookup_insns={"uid": cost, "ucounts": 1.0},
        )
    for name, cost in costs(1000.0, 1500.0).items():
        bench_crowd.keep(
            result,
            "count",
            bench_crowd.MOUNTS,
            name,
            {"operation": "mount", "size": 1},
            all_insns=cost,
            lookup_insns={"css_set": cost},
        )
    return result


def test_figures(monkeypatch):
    result = filled(monkeypatch)
    bench_crowd.figures(result)
    found = result.data["figures"]
    for name in (
        "uid_100k",
        "uid_10k",
        "dquot_100k",
        "css_set_10k",
        "ucounts_10k",
        "ucounts_100k",
        "blocked_locks_10k",
        "ksm_mm_10k",
        "khugepaged_mm_10k",
    ):
        assert found[f"{name}_vs_100"] == round(110 / 99, 6)
        assert found[f"{name}_vs_100_base"] == 10
    assert found["posix_timers_100k_vs_100"] == found["worst_growth"] == round(130 / 99, 6)
    assert found["worst_ratio_at_100"] == round(99 / 101, 6)
    assert found["worst_aa_ratio_at_100"] == 1.02
    assert found["css_set_mount_ratio"] == 1.5
    assert found["posix_timers_create_ratio_at_100"] == round(99 / 101, 6)
    assert found["uid_100k_vs_100_at_128_buckets"] == 50


def kept(monkeypatch, calls=20):
    """NFS sessions: searches of 10 and 20 instructions, in calls of 1000 and 1010."""
    result = filled(monkeypatch)
    crowd = next(one.crowd for one in bench_crowd.KEPT if one.crowd.name == "nfsd")
    segments = []
    output = ""
    for size, insns in ((50, 10), (60, 20)):
        for operation, symbols in crowd.lookups.items():
            segment = symbol_counts.Segment(1)
            segment.insns.update({symbols[0]: 20 * insns, "rest": 20 * 990})
            segment.entries[symbols[0]] = calls
            segments.append(segment)
            output += f"clients {operation} {size} 20 4000\n"
    bench_crowd.keep_kept(result, crowd, LOAD, segments, output)
    return result


def test_figures_of_kept_tables(monkeypatch, capsys):
    result = kept(monkeypatch)
    bench_crowd.figures(result)
    found = result.data["figures"]
    assert found["kept_nfsd_sequence_lookup_growth"] == 2
    assert found["kept_nfsd_create_kernel_growth"] == 1.01
    bench_crowd.show(result)
    said = capsys.readouterr().out
    assert re.search(r"^  nfsd +sequence +10.0 1000 +20.0 1010$", said, re.M)


def test_kept_table_that_was_not_searched_is_refused(monkeypatch):
    with pytest.raises(common.Failure, match="nfsd sequence: 17 calls of find_in_sessionid"):
        kept(monkeypatch, calls=17)


def test_table(monkeypatch, capsys):
    result = filled(monkeypatch)
    bench_crowd.show(result)
    said = capsys.readouterr().out
    assert re.search(r"^  css_set +cgroups +create +100.0 99.0 +1000.0 110.0 +0.980$", said, re.M)
    assert re.search(r"^  timers +create +9.0 3.0$", said, re.M)


def test_picture(monkeypatch):
    rows = bench_crowd.curves(filled(monkeypatch))
    assert {row["table"] for row in rows} == set(bench_crowd.TABLES)
    monkeypatch.setattr(bench_crowd, "PICTURE", common.BUILD / "bench" / "crowd-test.png")
    bench_crowd.draw(rows)
    assert bench_crowd.PICTURE.read_bytes().startswith(b"\x89PNG")
    assert "khugepaged_mm" in bench_crowd.PICTURE.with_suffix(".svg").read_text()
    for path in (bench_crowd.PICTURE, bench_crowd.PICTURE.with_suffix(".svg")):
        path.unlink()
