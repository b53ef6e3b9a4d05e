# SPDX-License-Identifier: GPL-2.0
"""Instructions by symbol: known answers of the plugin and of what reads its file."""

import pytest

import common
from bench.hashstats import case as bench_hashstats
from bench.lib import symbol_counts, symbols


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
