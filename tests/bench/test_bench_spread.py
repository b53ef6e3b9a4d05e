# SPDX-License-Identifier: GPL-2.0
"""The spread study: its program, what is read from it, and the figures."""

import re

import pytest

import benchprogram
import common
from bench import record
from bench.cases import spread as bench_spread

PATTERN = "ext4 64 of 8192"


hash_spread = benchprogram.program("hash_spread")


@pytest.fixture(scope="module")
def small():
    done = hash_spread("-a", "20", "-b", "12")
    assert done.returncode == 0, done.stderr
    return done.stdout


class Figures(dict):
    def figure(self, name, value):
        self[name] = value


def figures(text):
    found = Figures()
    bench_spread.figures(found, *bench_spread.parse(text))
    return found


def test_ours_is_random_and_the_base_is_not(small):
    found = figures(small)
    assert found["inode_worst_vs_ideal"] < 1.15
    assert found["inode_worst_vs_ideal_random"] < 1.15
    assert found["inode_worst_vs_ideal_base"] > 5
    assert found["inode_worst_vs_ideal_fold"] > 1.15


def test_one_pattern_is_the_same_in_each_run(small):
    done = hash_spread("-a", "20", "-b", "12", "-p", PATTERN)
    lines = [line for line in done.stdout.splitlines() if line.startswith("pattern")]
    assert len(lines) == len(bench_spread.SUFFIXES)
    assert all(line in small for line in lines)


def test_vectors_are_the_kernels():
    """lib/tests/hash_spread_kunit.c holds the kernel to the same numbers."""
    said = re.findall(r"^vector (\S+) (\S+) (\S+) (\S+)$", hash_spread("-v").stdout, re.M)
    test = (common.ROOT / "lib/tests/hash_spread_kunit.c").read_text()
    table = test[test.index("} vectors[] = {") :]
    table = table[: table.index("};")]
    kept = re.findall(r"\{ (\S+), (\S+),\s+(\S+), (\S+) \}", table)
    assert len(said) == 8
    assert said == kept


@pytest.mark.parametrize(
    "words",
    [("-b", "9"), ("-b", "20"), ("-a", "0"), ("-a", "x"), ("-p", "none"), ("-z",), ("more",)],
)
def test_bad_words_are_refused(words):
    done = hash_spread(*words)
    assert done.returncode == 2
    assert "accepted: -a ADDRESSES" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "old, new",
    [
        ("function pair median", "function other median"),
        ("worst", "wurst"),
        ("function mainline ns", "function mainstream ns"),
    ],
)
def test_bad_output_is_seen(small, old, new):
    assert old in small
    with pytest.raises(common.Failure):
        bench_spread.parse(small.replace(old, new))


def test_missing_line_is_seen(small):
    lines = small.splitlines(keepends=True)
    with pytest.raises(common.Failure):
        bench_spread.parse("".join(lines[1:]))


def test_where_ours_loses(small):
    rows, _ = bench_spread.parse(small)
    cells = bench_spread.by_pattern(rows)["stride 64"]
    assert "median" in bench_spread.lost(cells)
    cells[bench_spread.OURS]["median"] = 0.1
    assert "median" not in bench_spread.lost(cells)


def test_table_names_each_pattern(small, capsys):
    rows, times = bench_spread.parse(small)
    bench_spread.show(rows, times)
    said = capsys.readouterr().out
    assert all(name in said for name in bench_spread.by_pattern(rows))


def test_no_picture_is_no_failure(small, monkeypatch, capsys):
    def refuse(*_):
        raise common.Failure("no matplotlib")

    monkeypatch.setattr(record, "ensure_packages", refuse)
    bench_spread.draw(bench_spread.parse(small)[0])
    assert "no picture: no matplotlib" in capsys.readouterr().out
