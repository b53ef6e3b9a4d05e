# SPDX-License-Identifier: GPL-2.0
"""The benchmark of the cache of extended attributes: what it reads."""

import pytest

import common
from bench import record
from bench.cases import mbcache as bench_mbcache

LINE = (
    "mbcache_bench: op {op} cache {cache} entries {entries} buckets "
    "{buckets} min_ps {least} median_ps {median}\n"
)


def output(ns, buckets=1024, sizes=(1000, 16384)):
    """What a kernel prints: ns in cache, three times as much out of it."""
    lines = [
        LINE.format(
            op=op, cache=cache, entries=entries, buckets=buckets, least=1000 * ns, median=3000 * ns
        )
        for op in bench_mbcache.OPS
        for cache in bench_mbcache.CACHES
        for entries in sizes
    ]
    return (
        "Console initialized\n"
        + "".join(lines)
        + "mbcache_bench: entries 65536 kept 30000\nmbcache_bench: end 0\n"
    )


def test_lines_of_the_kernel_are_read():
    cases = bench_mbcache.parse(output(50), 1024)
    assert len(cases) == 3 * 2 * 2
    assert {"op": "miss", "cache": "hot", "entries": 16384, "ns": 50} in cases
    assert {"op": "miss", "cache": "cold", "entries": 1000, "ns": 150} in cases


@pytest.mark.parametrize(
    "text, reason",
    [
        ("mbcache_bench: end -22\n", "did not end well: mbcache_bench: end -22"),
        ("Kernel command line:\n", "did not end well: it never began"),
        (output(50, sizes=[1000]), "with 16384 entries was not timed"),
        (output(50, buckets=2048), "has 2048 buckets, not 1024"),
    ],
)
def test_bad_output_is_refused(text, reason):
    with pytest.raises(common.Failure, match=reason):
        bench_mbcache.parse(text, 1024)


def test_figures(monkeypatch, capsys):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("mbcache", size="quick")
    for turn in range(2):
        for side, (*_, buckets) in bench_mbcache.SIDES.items():
            ns = (80 if side == "base" else 20) + turn
            sizes = (1000, 16384, 65536)[: 2 if side == "base" else 3]
            result.run(
                "mbcache",
                side=side,
                round=turn,
                huge_pages=True,
                cases=bench_mbcache.parse(output(ns, buckets, sizes), buckets),
            )
    bench_mbcache.figures(result)
    figures = result.data["figures"]
    assert figures["hit_ratio"] == round(20.5 / 80.5, 6)
    assert figures["aa_miss_cold"] == round(81 / 80, 6)
    assert {
        "miss_ratio",
        "create_delete_ratio",
        "hit_ratio_cold",
        "hit_ratio_small",
        "hit_ratio_512m",
        "miss_ratio_old_size",
    } <= figures.keys()
    bench_mbcache.tables(result)
    shown = capsys.readouterr().out
    assert "hit hot 16384" in shown and "20.5 (0.255)" in shown
    (line,) = (line for line in shown.splitlines() if "hit hot 65536" in line)
    assert line.split()[3] == "-"
