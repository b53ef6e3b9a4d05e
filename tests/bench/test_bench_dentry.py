# SPDX-License-Identifier: GPL-2.0
"""The benchmark of the dentry table: what it reads, what it refuses."""

import json

import pytest

import common
from bench import record
from bench.cases import dentry as bench_dentry
from guest import uml
from series import compose, source

DEFAULT = bench_dentry.default_buckets(bench_dentry.MEMORY)
SMALL_DEFAULT = bench_dentry.default_buckets(bench_dentry.PRESSURE_MEMORY)
# Nanoseconds by size: the default is neither the best nor the worst.
NS = {"1_64": 64, "1_16": 16, "1_4": 8, "1": 10, "4": 12, "again": 11}
TIMES = {"hot": 1, "shared": 2, "cold": 5}


def output(ns, buckets, missing=()):
    """What a kernel prints: `ns` in cache, more out of it."""
    lines = [
        f"dentry_bench: set {set_} op {op} cache {cache} names 10000 hot "
        f"10000 min_ps {1000 * ns * TIMES[cache]} median_ps "
        f"{1100 * ns * TIMES[cache]} millinodes 1500\n"
        for set_ in bench_dentry.SETS
        for op in bench_dentry.OPS
        for cache in bench_dentry.CACHES
        if (set_, op, cache) not in missing
    ]
    return (
        f"Console initialized\ndentry_bench: buckets {buckets}\n"
        + "".join(lines)
        + "dentry_bench: end 0\n"
    )


def load(pressure, hits=900, buckets=SMALL_DEFAULT):
    return (
        f"dentry_bench: buckets {buckets}\n"
        f"dentry_bench: pressure {pressure} lookups 1000 hits {hits} "
        f"millinodes {150000 // pressure} median_ps {10000000 // pressure} "
        f"names {5000000 // pressure} made 90000 pages {40 * pressure} "
        f"step_ps {4000000 + pressure}\ndentry_bench: end 0\n"
    )


def test_sizes_are_read():
    found = bench_dentry.parse_sizes(output(10, DEFAULT), "1")
    assert found["buckets"] == DEFAULT == 524288
    assert found["bytes"] == 4 << 20
    assert len(found["cases"]) == 3 * 3 * 3
    assert found["cases"][2] == {
        "set": "small",
        "op": "hit",
        "cache": "cold",
        "names": 10000,
        "hot": 10000,
        "min_ns": 50,
        "median_ns": 55,
        "nodes": 1.5,
    }


def test_command_line_of_a_size():
    assert not bench_dentry.entries("1", DEFAULT)
    assert not bench_dentry.entries("again", DEFAULT)
    assert bench_dentry.entries("1_64", DEFAULT) == ["hash_entries=dentry:8192"]
    assert bench_dentry.entries("4", DEFAULT) == ["hash_entries=dentry:2097152"]


@pytest.mark.parametrize(
    "text, reason",
    [
        (
            "dentry_bench: small hit: 3 of 8 lookups found what they should\n"
            "dentry_bench: end -22\n",
            "did not end well: .*3 of 8 lookups.*end -22",
        ),
        ("Kernel command line:\n", "did not end well: it never began"),
        (output(10, DEFAULT).rpartition("dentry_bench: end")[0], "did not end well"),
        (output(10, DEFAULT, missing=[("among", "miss", "hot")]), "timed 26 cases of 27"),
        (output(10, 8192), "is 524288 buckets of the table `dentry`; .* has 8192"),
        (
            "hash_entries=dentry:1: more than memory allows, 2 used\n" + output(10, DEFAULT),
            "command line: hash_entries=dentry:1: more than",
        ),
    ],
)
def test_bad_sizes_are_refused(text, reason):
    with pytest.raises(common.Failure, match=reason):
        bench_dentry.parse_sizes(text, "1")


def test_load_is_read():
    found = bench_dentry.parse_pressure(load(100), 100, "1")
    assert found == {
        "buckets": 32768,
        "lookups": 1000,
        "hits": 900,
        "hit_rate": 0.9,
        "nodes": 1.5,
        "lookup_ns": 100,
        "names": 50000,
        "made": 90000,
        "pages": 4000,
        "step_ns": 4000.1,
    }


@pytest.mark.parametrize(
    "text, reason",
    [
        ("dentry_bench: end -12\n", "did not end well: dentry_bench: end -12"),
        (load(200), "reported 1 loads, expected one with vfs_cache_pressure 100"),
        ("dentry_bench: end 0\n", "reported 0 loads"),
        (load(100, hits=1001), "counted 1001 hits of 1000 lookups"),
        (load(100, buckets=512), "is 32768 buckets"),
    ],
)
def test_bad_load_is_refused(text, reason):
    with pytest.raises(common.Failure, match=reason):
        bench_dentry.parse_pressure(text, 100, "1")


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    one = record.Result("dentry", size="quick")
    one.machine(huge_pages=True)
    for turn in range(2):
        for size, ns in NS.items():
            buckets = int(bench_dentry.SIZES[size] * DEFAULT)
            one.run(
                "size",
                size=size,
                round=turn,
                huge_pages=True,
                **bench_dentry.parse_sizes(output(ns + turn, buckets), size),
            )
        for size in bench_dentry.PRESSURE_SIZES:
            for pressure in bench_dentry.PRESSURES:
                buckets = int(bench_dentry.SIZES[size] * SMALL_DEFAULT)
                one.run(
                    "pressure",
                    pressure=pressure,
                    size=size,
                    round=turn,
                    **bench_dentry.parse_pressure(load(pressure, buckets=buckets), pressure, size),
                )
    return one


def test_figures(result):
    bench_dentry.figures(result)
    figures = result.data["figures"]
    assert figures["ns_1_64_small"] == 6.4
    assert figures["ns_4_among_miss"] == 1.2
    assert figures["ns_4_large_miss"] == round(12.5 / 10.5, 6)
    # Medians of the rounds, and of the samples.
    assert figures["ns_1_4_among_cold"] == round(8.5 / 10.5, 6)
    assert figures["aa_ns_small"] == 1.1
    assert figures["best_size_small"] == figures["best_size_large"] == 0.25
    assert figures["nodes_1_64_large"] == 1.5
    assert figures["ns_default_small"] == 10
    assert figures["pressure_hit_rate_100"] == 0.9
    assert figures["pressure_lookup_ns_ratio_200"] == 0.5
    assert figures["pressure_nodes_1000_1_64"] == 0.15
    assert "ns_again_small" not in figures
    json.dumps(result.data)


def test_tables_and_picture(result, monkeypatch, capsys):
    bench_dentry.figures(result)
    bench_dentry.tables(result)
    shown = capsys.readouterr().out
    (line,) = (line for line in shown.splitlines() if line.startswith("  small, hit, hot"))
    assert line.split()[3:] == [
        "64.0",
        "(6.400)",
        "16.0",
        "(1.600)",
        "8.0",
        "(0.800)",
        "10.0",
        "12.0",
        "(1.200)",
        "11.0",
        "(1.100)",
    ]
    assert "4096 KiB, default" in shown and "200, 32768 buckets" in shown
    monkeypatch.setattr(bench_dentry, "PICTURE", common.BUILD / "dentry-try.png")
    bench_dentry.draw(bench_dentry.rows_of_picture(result))
    try:
        assert "picture: build/dentry-try.png" in capsys.readouterr().out
        assert bench_dentry.PICTURE.read_bytes().startswith(b"\x89PNG")
    finally:
        bench_dentry.PICTURE.unlink(missing_ok=True)


@pytest.mark.long
@pytest.mark.skipif(source.base_name() != "6.12", reason="the benchmark is for Linux 6.12")
def test_kernel_counts_nodes():
    """More in small tables; and names go while others are made."""
    kernel = uml.kernel("dentry_bench", "dentry-patched", compose.compose())
    assert not kernel.warnings
    found = {}
    for size in ("1_64", "1"):
        text = uml.boot(
            kernel.vmlinux,
            bench_dentry.MEMORY,
            [
                "dentry_bench.samples=10",
                "dentry_bench.budget_ms=1",
                "dentry_bench.large=100000",
                *bench_dentry.entries(size, DEFAULT),
            ],
        )
        for case in bench_dentry.parse_sizes(text, size)["cases"]:
            found[size, case["set"], case["op"]] = case["nodes"]
    assert 1 <= found["1", "small", "hit"] < found["1_64", "small", "hit"] < 2
    # The load is 100,000 names in 8192 buckets.
    assert 12 < found["1_64", "large", "miss"] < 13
    assert 6.5 < found["1_64", "large", "hit"] < 7.5
    text = uml.boot(
        kernel.vmlinux,
        bench_dentry.PRESSURE_MEMORY,
        ["dentry_bench.pressure=100", "dentry_bench.steps=200000"],
    )
    load = bench_dentry.parse_pressure(text, 100, "1")
    assert 0 < load["names"] < load["made"]
    assert load["hits"] > load["lookups"] / 2
