# SPDX-License-Identifier: GPL-2.0
"""The inode benchmark's machinery: its load, what it counts, its figures."""

import subprocess

import pytest

import common
from bench import lockstat, record, symbol_counts
from bench.cases import inode as bench_inode
from bench.symbols import functions_of
from guest import hashstats_file, initramfs, vm
from kernel import variants
from series import compose, gitcmd, source

FILES = 100
PHASES = bench_inode.PHASES


def on_tmpfs(*options):
    return f"mkdir /tmp/d /tmp/e\ninodes /tmp/d {' '.join(options)}\n"


def test_phases_on_a_tmpfs(kernel):
    """Two processes; a tmpfs hashes an inode only for its handle."""
    output = vm.run(
        kernel,
        "echo '=== run tmpfs 2'\n"
        + on_tmpfs("/tmp/e", "-p 2", f"-n {FILES}", "-c")
        + "ls -A /tmp/d /tmp/e\n",
        mem="256M",
    ).output
    reports = bench_inode.parse(output, [("tmpfs", 2, None)])
    assert [one["operations"] for one in reports] == 4 * [2 * FILES]
    tables = [hashstats_file.parse(one["counters"])["inode"] for one in reports]
    assert tables[PHASES.index("handle")]["hits"] >= 2 * FILES
    assert tables[PHASES.index("handle")]["objects"] >= 2 * FILES
    assert tables[PHASES.index("create")]["objects"] < 2 * FILES
    assert output.rstrip().endswith("/tmp/d:\n\n/tmp/e:")


def test_instructions_are_counted_by_phase(kernel):
    """On ext4 each of the phases does what it says to the inode table."""
    load = [("ext4", 1, FILES)]
    found, output, _ = symbol_counts.count(
        kernel, bench_inode.job(3, load), **bench_inode.machine()
    )
    reports = bench_inode.parse(output, load)
    assert [segment.label for segment in found] == [1, 2, 3, 4]
    create, stat, unlink, handle = found
    assert create.entries["insert_inode_locked"] == FILES
    assert stat.entries["ext4_alloc_inode"] >= FILES
    assert stat.entries["iget_locked"] >= FILES
    assert unlink.entries["__remove_inode_hash"] == FILES
    assert handle.entries["iget_locked"] == FILES
    assert handle.entries["ext4_alloc_inode"] == 0
    bench_inode.check_work(stat, reports[1])
    stat.entries["ext4_alloc_inode"] = FILES - 1
    with pytest.raises(common.Failure, match="read 99 inodes: they were still"):
        bench_inode.check_work(stat, reports[1])


def test_symbols_are_those_of_inode_c(kernel):
    symbols = functions_of(kernel, "fs/inode.o")
    assert {"iget_locked", "insert_inode_locked", "__remove_inode_hash", "new_inode"} <= symbols
    assert not {"ext4_iget", "_raw_spin_lock", "__d_lookup_rcu"} & symbols
    assert "init_once" not in symbols  # others have one as well


def test_processes_that_cannot_go_on_end(tmp_path):
    (tmp_path / "proc-1").mkdir()
    done = subprocess.run(
        [initramfs.tools() / "inodes", tmp_path, "-p", "3"],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "inodes: mkdir proc-1: File exists" in done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: inodes DIR"),
        ([".", "-n", "0"], "-n 0: accepted: 1 to"),
        ([".", "-p", "2x"], "-p 2x: accepted:"),
        ([".", "-z"], "usage: inodes"),
        (9 * ["."], "usage: inodes"),
    ],
)
def test_bad_arguments(words, said):
    done = subprocess.run(
        [initramfs.tools() / "inodes", *words],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr


def test_missing_phase():
    with pytest.raises(common.Failure, match="reported 0 phases of 4"):
        bench_inode.parse("=== run ext4 1\n", [("ext4", 1, FILES)])


LOCK_STAT = """\
                         inode_hash_lock:             3              5           0.10 \
          2.30           5.10           0.90            700           1234           0.05 \
          9.90         300.00           0.40
                       inode_hash_lock#2:             0              0           0.00 \
          0.00           0.00           0.00              1             17           0.05 \
          9.90         300.00           0.40
                        inode_hash_lock#1             5          [<00000000a1b2c3d4>] \
iget_locked+0x52/0x150
"""


def test_lines_of_lock_stat():
    assert lockstat.parse(LOCK_STAT) == [(1234, 5), (17, 0)]
    assert lockstat.parse("") == []
    with pytest.raises(common.Failure, match="a line with 2 numbers"):
        lockstat.parse("  inode_hash_lock:   3   5\n")


def test_lock_classes_are_one_commit():
    commit = variants.lock_classes_commit()
    assert commit == variants.lock_classes_commit()
    assert gitcmd.out("rev-parse", f"{commit}^", repo=source.base_repo()) == compose.compose()


def test_patch_that_does_not_apply(tmp_path, monkeypatch):
    bad = tmp_path / variants.INODE_LOCK_CLASSES.name
    bad.write_text(variants.INODE_LOCK_CLASSES.read_text().replace("spin_lock_init", "mutex_init"))
    monkeypatch.setattr(variants, "INODE_LOCK_CLASSES", bad)
    with pytest.raises(
        common.Failure, match="inode-lock-classes.patch does not apply to the series"
    ):
        variants.lock_classes_commit()


def test_chain_cost():
    cost = bench_inode.chain_cost({0: 2, 1: 1, 3: 1})
    assert cost["objects"] == 4 and cost["buckets"] == 4
    assert cost["nodes_per_hit"] == 7 / 4
    assert cost["nodes_per_hit_random"] == 1 + 3 / 8
    assert cost["longest"] == 3


@pytest.fixture(name="result")
def empty_result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    return record.Result("inode", size="quick")


def test_instruction_figures(result):
    for kind, insns in (("base", 100), ("ours", 101)):
        for draw in (0, 0, 1, 1):
            for phase in PHASES:
                for system in bench_inode.SYSTEMS:
                    more = 5 if (kind, phase, system) == ("ours", "stat", "two") else 0
                    result.run(
                        "instructions",
                        kernel=kind,
                        draw=draw,
                        system=system,
                        phase=phase,
                        operations=10,
                        all_insns=5000,
                        insns={"iget": insns + more}
                        if (phase, system) != ("stat", "tmpfs")
                        else {},
                    )
    bench_inode.instruction_figures(result)
    figures = result.data["figures"]
    assert figures["insn_ratio_create"] == 1.01
    assert figures["insn_ratio_stat"] == 1.06  # of the worst system
    assert figures["insn_ratio_stat_ext4"] == 1.01
    assert "insn_ratio_stat_tmpfs" not in figures
    assert figures["insn_total_ratio_stat"] == 1
    assert figures["insn_aa_ratio_stat_base"] == 1


def test_lock_figures(result):
    for kind, hottest, locks in (("base", 1000, 1), ("ours", 25, 64)):
        for phase in PHASES:
            for system in bench_inode.SYSTEMS:
                none = system == "tmpfs"
                result.run(
                    "locks",
                    kernel=kind,
                    system=system,
                    phase=phase,
                    operations=1000,
                    acquisitions=0 if none else 1000,
                    hottest=0 if none else hottest,
                    locks=0 if none else locks,
                    contentions=0,
                )
    bench_inode.lock_figures(result)
    figures = result.data["figures"]
    assert figures["hottest_lock_share"] == 0.025
    assert figures["lock_acquisitions_per_create_base"] == 1
    assert bench_inode.hottest_share(result, phase="create", system="tmpfs") is None


def test_locks_that_are_not_told_apart(result):
    """The base's file without its lock, or with several, is no result."""
    for kind, locks in (("base", 2), ("ours", 64)):
        result.run(
            "locks",
            kernel=kind,
            system="ext4",
            phase="create",
            operations=1,
            acquisitions=9,
            hottest=5,
            locks=locks,
            contentions=0,
        )
    with pytest.raises(common.Failure, match="has 2 inode hash locks"):
        bench_inode.hottest_share(result, system="ext4", phase="create")


def test_chain_figures(result):
    for kind, nodes in (("base", 4.0), ("ours", 2.0)):
        result.run(
            "walk", kernel=kind, system="ext4", nodes_per_hit=nodes, nodes_per_hit_random=2.0
        )
    with pytest.raises(common.Failure, match="counted no hit"):
        bench_inode.chain_figures(result)
    result.run("nodes", phase="handle", nodes_per_counted_hit=1.5)
    bench_inode.chain_figures(result)
    assert result.data["figures"]["nodes_vs_random_worst_base"] == 2
    assert result.data["figures"]["nodes_per_counted_hit"] == 1.5
