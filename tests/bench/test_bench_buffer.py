# SPDX-License-Identifier: GPL-2.0
"""The buffer benchmark's machinery: its load, what it counts, its figures."""

import re

import pytest

import benchprogram
import common
from bench import lockstat, record, symbol_counts
from bench.cases import buffer as bench_buffer
from guest import vm

FILES, SETS, LINKS = 1200, 100, 200
PHASES = bench_buffer.PHASES


metadata = benchprogram.program("metadata")


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: metadata DIR"),
        ([".", "."], "usage: metadata DIR"),
        ([".", "-z"], "usage: metadata DIR"),
        ([".", "-n", "0"], "metadata: -n 0: accepted: 1 to 1000000\n"),
        ([".", "-d", "x"], "metadata: -d x: accepted: 1 to"),
        ([".", "-l", "16"], "metadata: -l 16: accepted: more than the 16 of"),
        ([".", "-j", "1001"], "metadata: -j 1001: accepted: 1 to 1000\n"),
    ],
)
def test_bad_arguments(words, said):
    done = metadata(*words)
    assert done.returncode == 2
    assert said in done.stderr and not done.stdout


def test_what_fails_is_named(tmp_path):
    done = metadata("/nowhere")
    assert (done.returncode, done.stderr) == (
        1,
        "metadata: chdir /nowhere: No such file or directory\n",
    )
    (tmp_path / "files").mkdir()
    done = metadata(tmp_path)
    assert (done.returncode, done.stderr) == (1, "metadata: mkdir files: File exists\n")


@pytest.fixture(scope="module", name="counted")
def counted_phases(kernel):
    """{phase: (report, segment)} of the load in a guest, blocks of 1 KiB."""
    segments, output, _ = symbol_counts.count(
        kernel, bench_buffer.script("1k", FILES, SETS, LINKS), **bench_buffer.options()
    )
    return {
        one["phase"]: (one, segment)
        for one, segment in bench_buffer.by_phase(segments, bench_buffer.parse(output))
    }


def test_phases_do_what_they_say(counted):
    assert counted["create"][1].entries["ext4_create"] == FILES
    for phase in ("cold-list", "warm-list", "reread-list"):
        assert counted[phase][0]["operations"] == FILES
        assert counted[phase][1].entries["ext4_getattr"] >= FILES
    assert counted["cold-list"][1].entries["ext4_alloc_inode"] >= FILES
    assert counted["reread-list"][1].entries["ext4_alloc_inode"] >= FILES
    assert counted["warm-list"][1].entries["ext4_alloc_inode"] == 0
    assert counted["reread-list"][1].entries["submit_bio"] == 0
    assert counted["setxattr"][1].entries["ext4_xattr_set"] == SETS
    assert counted["remove"][1].entries["ext4_unlink"] == FILES


def test_links_are_one_lookup_each(counted):
    """With callers that cannot sleep, and that can; the table has them all."""
    for phases in bench_buffer.LOOKUPS.values():
        for phase, misses in zip(phases, (LINKS, 0)):
            one, segment = counted[phase]
            found = bench_buffer.lookups(segment, "ours")
            assert found == {"misses": misses, "private_locks": 0, "folio_locks": 0}
            bench_buffer.check_lookups(one, "ours", segment)
    assert counted["follow"][1].entries["__find_get_block"] == LINKS
    assert counted["readlink"][1].entries["__find_get_block"] == 0
    assert counted["readlink"][1].entries["bdev_getblk"] == LINKS


def test_functions_of_a_lookup(kernel, counted):
    symbols = bench_buffer.lookup_symbols(kernel)
    assert {"find_get_block_common", "buffer_hash_find", "touch_buffer", "xas_load"} <= symbols
    assert not {"ext4_getblk", "_raw_spin_lock"} & symbols
    found = bench_buffer.instructions(counted["follow"][1], {"clock": set(), "lookup": symbols})
    assert found["lookup_insns"]["buffer_hash_find"] >= 10 * LINKS
    assert (
        found["kernel_insns"]
        == found["all_insns"]
        > sum(found["lookup_insns"].values()) + found["lock_insns"]
    )


def test_lookups_as_the_kernel_counts_them(kernel):
    output = vm.run(
        kernel,
        bench_buffer.script("4k", FILES, SETS, LINKS, "-c"),
        cpus=1,
        **bench_buffer.options(),
    ).output
    counts = {
        one["phase"]: bench_buffer.counted(one["counters"]) for one in bench_buffer.parse(output)
    }
    for phases in bench_buffer.LOOKUPS.values():
        many, one = (counts[phase] for phase in phases)
        assert many["lookups"] == many["hits"] == LINKS
        assert one["cache_hits"] == LINKS and not one["lookups"]
        assert bench_buffer.hit_rates(many) == (0, 1)
        assert bench_buffer.hit_rates(one) == (1, None)
    assert 0 < counts["cold-list"]["hits"] < counts["cold-list"]["lookups"]


def test_links_are_followed_together(kernel):
    output = vm.run(
        kernel, bench_buffer.script("1k", FILES, SETS, LINKS, "-j 3"), **bench_buffer.options()
    ).output
    (one,) = bench_buffer.parse(output, (bench_buffer.TOGETHER,))
    assert one["operations"] == 3 * LINKS


def test_what_was_not_done_is_refused():
    segment = symbol_counts.Segment(1)
    one = {"phase": "follow", "operations": 100}
    segment.calls["find_get_block_common", "__filemap_get_folio"] = 98
    with pytest.raises(
        common.Failure, match="follow, base: 98 lookups after a miss of the LRU in 100 operations"
    ):
        bench_buffer.check_lookups(one, "base", segment)
    segment.calls["__find_get_block_slow", "__filemap_get_folio"] = 1
    bench_buffer.check_lookups(one, "base", segment)
    with pytest.raises(common.Failure, match="follow-one, base: 99 lookups"):
        bench_buffer.check_lookups(one | {"phase": "follow-one"}, "base", segment)
    with pytest.raises(common.Failure, match="0 blocks read: they were still in memory"):
        bench_buffer.check_lookups(one | {"phase": "cold-list"}, "base", segment)


def test_missing_phases_and_counters():
    with pytest.raises(common.Failure, match="the phases none; expected create cold-list"):
        bench_buffer.parse("")
    with pytest.raises(common.Failure, match="saw 0 segments of 1"):
        bench_buffer.by_phase([], [{}])
    with pytest.raises(common.Failure, match="no lookups of buffer"):
        bench_buffer.counted("version: 1\n")


def test_line_of_lock_stat():
    line = (
        "               &mapping->i_private_lock:             1            "
        "  3           0.00           0.00           0.00           0.00 "
        "             7           2000           0.77         183.33       "
        " 1369.22           0.68\n"
    )
    assert lockstat.parse(line, bench_buffer.PRIVATE_LOCK) == [(2000, 3)]
    assert lockstat.parse(line) == []


BASE = {"find_get_block_common": 400, "xas_load": 80}
OURS = {"find_get_block_common": 300, "buffer_hash_find": 60}


def filled(monkeypatch):
    """A lookup is 480 + 20 instructions in the base, 360 + 40 in ours."""
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("buffer", size="quick")
    result.machine(accelerator="tcg")
    cells = [(size, phase) for size in bench_buffer.BLOCKS for phase in PHASES]
    for size, phase in cells:
        where = {"blocks": size, "phase": phase, "operations": 10}
        many = phase in ("follow", "readlink")
        taken = {
            "misses": 10 if many else 0,
            "private_locks": 0,
            "folio_locks": 10 if phase == "readlink" else 0,
        }
        for name, total, locks in (("base", 900, 20), ("ours", 800, 40), ("again", 910, 20)):
            symbols = OURS if name == "ours" else BASE
            result.run(
                "instructions",
                kernel=name,
                all_insns=9999,
                kernel_insns=10 * (total if many else 300),
                lookup_insns={of: 10 * insns for of, insns in symbols.items()} if many else {},
                lock_insns=10 * (100 + locks * many),
                **where,
                **taken,
            )
        for name, count in (("base", 10), ("ours", 0)):
            result.run(
                "locks",
                kernel=name,
                **where,
                **taken,
                acquisitions=count if phase in ("follow", "create") else 0,
            )
            result.run("seconds", kernel=name, round=0, blocks=size, phase=phase, microseconds=5.0)
        result.run("hits", **where, lookups=4, hits=3, cache_hits=6)
    for size in bench_buffer.BLOCKS:
        for name, count in (("base", 40), ("ours", 0)):
            result.run(
                "contentions",
                kernel=name,
                blocks=size,
                operations=40,
                acquisitions=count,
                contentions=count // 10,
            )
    return result


def test_figures(monkeypatch):
    result = filled(monkeypatch)
    bench_buffer.figures(result)
    found = result.data["figures"]
    assert found["insn_ratio_lru_miss"] == 400 / 500
    assert found["insn_ratio_lru_miss_sleeping_4k"] == 400 / 500
    assert found["insn_ratio_lru_miss_over_hit"] == round(500 / 605, 6)
    assert found["private_lock_acquisitions_per_lookup"] == 0
    assert found["private_lock_acquisitions_per_lookup_base"] == 1
    assert found["folio_lock_acquisitions_per_lookup_base"] == 1
    assert found["private_lock_contentions_per_follow_base"] == 0.1
    assert found["insn_ratio_cold_ls"] == found["insn_ratio_cold_ls_1k"] == 1
    assert found["insn_ratio_follow_1k"] == round(800 / 905, 6)
    assert found["insn_aa_ratio_follow_1k"] == round(910 / 900, 6)
    assert found["lru_hit_rate_create_4k"] == 0.6
    assert found["table_hit_rate_create_4k"] == 0.75


def test_base_without_its_lock_is_refused(monkeypatch):
    result = filled(monkeypatch)
    for one in result.runs("locks"):
        one["acquisitions"] = 0
    with pytest.raises(common.Failure, match="no acquisition of i_private_lock"):
        bench_buffer.figures(result)


def test_tables(monkeypatch, capsys):
    bench_buffer.show(filled(monkeypatch))
    said = capsys.readouterr().out
    for line in (
        r"lookup as a whole, atomic, 1k +500.0 +400.0 +0.8000",
        r"sleeping, 4k: buffer_hash_find +0.0 +60.0 +\+60.0",
        r"atomic, 1k: locks +20.0 +40.0 +\+20.0",
        r"follow, 1k +10 +10 +0 +0 +10 +10 +0 +0",
        r"1k +40 +40 +4 +0 +0",
        r"follow, 4k +10 +6 +4 +3 +60.0 % +75.0 %",
    ):
        assert re.search(f"^  {line}$", said, re.M), line
