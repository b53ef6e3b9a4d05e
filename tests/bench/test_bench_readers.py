# SPDX-License-Identifier: GPL-2.0
"""The readers benchmark's machinery: its load, what it counts, its figures."""

import subprocess

import pytest

import common
from bench import record, symbol_counts
from bench.cases import readers as bench_readers
from bench.cases.readers import Case
from guest import initramfs, vm

LOAD = bench_readers.Load(rounds=1, again=1, reads=500, large=4, memory="256M")
CASES = [
    Case("ext4", "sequential", 1),
    Case("ext4", "mapped", 1),
    Case("ext4", "random", 1),
    Case("tmpfs", "random", 1),
]


def test_instructions_are_those_of_reads(kernel):
    """One processor, one thread: each mode does what it says."""
    found, output, _ = symbol_counts.count(
        kernel, bench_readers.job(CASES, LOAD, "ours"), **bench_readers.machine(LOAD, "ours")
    )
    reports = bench_readers.parse(output, CASES, "ours")
    assert [one["reads"] for one in reports] == 4 * [LOAD.reads]
    sequential, mapped, random, shmem = found
    assert sequential.entries["filemap_read"] == LOAD.reads
    assert random.entries["filemap_read"] == LOAD.reads
    assert shmem.entries["shmem_file_read_iter"] == LOAD.reads
    # A fault maps pages next to it as well.
    assert 0 < mapped.entries["filemap_map_pages"] < LOAD.reads
    assert mapped.entries["filemap_read"] == 0
    costs = bench_readers.costs(random, LOAD.reads)
    assert 4096 <= costs["copied"] < 4200
    assert 200 < costs["insns"] < 5000
    assert 0 <= costs["locking"] < costs["insns"]


def test_threads_with_the_page_hash(kernel):
    """Several threads, more than processors; all pages stay in memory."""
    cases = [Case("ext4", "sequential", 4), Case("ext4", "mapped", 4), Case("tmpfs", "random", 2)]
    output = vm.run(
        kernel,
        bench_readers.job(cases, LOAD, "hash"),
        cpus=2,
        **bench_readers.machine(LOAD, "hash"),
    ).output
    reports = bench_readers.parse(output, cases, "hash")
    assert [one["reads"] for one in reports] == [case.threads * LOAD.reads for case in cases]
    assert min(one["rate"] for one in reports) > 0


def test_no_page_hash_is_no_result(kernel):
    job = bench_readers.job([], LOAD, "hash")
    output = vm.run(kernel, job, **bench_readers.machine(LOAD, "ours")).output
    with pytest.raises(common.Failure, match="shows no buckets of the table `page`"):
        bench_readers.parse(output, [], "hash")


def test_page_that_was_dropped_is_seen(kernel):
    result = vm.run(
        kernel,
        """
        mkfs.ext4 -q /dev/vda
        mount /dev/vda /mnt
        (while :; do echo 1; done > /proc/sys/vm/drop_caches) &
        readers /mnt sequential -n 2000 -s 4
        """,
        disk="64M",
        programs=["mkfs.ext4"],
        check=False,
    )
    assert result.status == 1
    assert "readers: page " in result.output and "is not in memory" in result.output


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: readers DIR MODE"),
        (["."], "usage: readers"),
        ([".", "backwards"], "usage: readers"),
        ([".", "random", "-n", "0"], "-n 0: accepted"),
        ([".", "random", "-t", "65"], "-t 65: accepted: 1 to 64"),
        (["/nowhere", "random"], "readers: enter /nowhere: No such"),
    ],
)
def test_bad_arguments(words, said):
    done = subprocess.run(
        [initramfs.tools() / "readers", *words],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode
    assert said in done.stderr


def test_threads_of_the_paper():
    """Each number of Table 3, and time for its reads."""
    threads = {case.threads for case in bench_readers.TABLE if case.mode == "sequential"}
    assert {1, 4, 8, 12, 14, 16} <= threads
    options = bench_readers.machine(bench_readers.LOADS["long"], "base")
    assert options["timeout"] > 2000


def test_missing_load():
    with pytest.raises(common.Failure, match="reported 0 loads of 4"):
        bench_readers.parse("", CASES, "base")


LOCK_STAT = """\
lock_stat version 0.4
-----------------------------------------------------------------------------------
                 &rq->__lock:             3              5           0.10 \
          2.30        2000.50           0.90            700           1234           0.05 \
          9.90         300.00           0.40
                 -----------
                 &rq->__lock              5          [<00000000a1b2c3d4>] \
__schedule+0x52/0x150
           rcu_read_lock-R:             0              0           0.00 \
          0.00           0.00           0.00              1          90000           0.05 \
          9.90         300.00           0.40
           &xa->xa_lock#13:             0              0           0.00 \
          0.00           0.00           0.00              1              9           0.05 \
          9.90         300.00           0.40
        &mm->mmap_lock-W:             0              1           0.00 \
          0.00        1999.50           0.00              1             17           0.05 \
          9.90         300.00           0.40
"""


def test_lines_of_lock_stat():
    locks = bench_readers.locked(LOCK_STAT)
    assert locks == {
        "acquisitions": 1260,
        "contentions": 6,
        "waited_us": 4000,
        "index_acquisitions": 9,
        "most_taken": "&rq->__lock",
        "most_acquisitions": 1234,
    }
    assert bench_readers.lock_share(locks | {"threads": 2, "seconds": 0.1}) == pytest.approx(0.02)
    with pytest.raises(common.Failure, match="shows no lock"):
        bench_readers.locked("lock_stat version 0.4\n")


def test_costs_of_a_read():
    segment = symbol_counts.Segment(1)
    segment.insns.update(
        {"[user]": 900, "filemap_read": 40, "_raw_spin_lock": 20, "rep_movs_alternative": 40960}
    )
    assert bench_readers.costs(segment, 10) == {
        "insns": 6,
        "copied": 4096,
        "locking": 2,
        "functions": {"_raw_spin_lock": 2, "filemap_read": 4},
    }


@pytest.fixture(name="result")
def empty_result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    return record.Result("readers", size="quick")


def test_instruction_figures(result):
    for number in range(2):
        for kind, cost in (("base", 100), ("ours", 110), ("hash", 80)):
            for case in bench_readers.SINGLE:
                result.run(
                    "instructions",
                    kernel=kind,
                    round=number,
                    place=case.place,
                    mode=case.mode,
                    insns=cost,
                    copied=100,
                    locking=4,
                )
    bench_readers.instruction_figures(result)
    figures = result.data["figures"]
    assert figures["insn_ratio_random_read_off"] == 1.1
    assert figures["insn_ratio_random_read_on_tmpfs"] == 0.8
    assert figures["insn_lock_share_base"] == 0.02
    assert figures["insn_aa_ratio_random_read"] == 1


def test_lock_figures(result):
    for kind, acquired in (("base", 400), ("ours", 200)):
        for case in bench_readers.TABLE:
            result.run(
                "locks",
                kernel=kind,
                mode=case.mode,
                threads=case.threads,
                reads=100,
                seconds=1,
                waited_us=8000,
                acquisitions=acquired,
                index_acquisitions=5,
            )
    bench_readers.lock_figures(result)
    figures = result.data["figures"]
    assert figures["lock_share_8_base"] == 0.001
    assert figures["lock_acquisitions_per_read_4_ours"] == 2
    assert figures["lock_acquisitions_per_read_16_base"] == 4
    assert figures["index_lock_acquisitions_per_read_1_base"] == 0.05


def test_throughput_is_paired(result):
    for number, (base, ours, hashed) in enumerate([(10, 11, 20), (20, 20, 40), (10, 5, 30)]):
        for case in (*bench_readers.TABLE, *bench_readers.RANDOM):
            for kind, rate in (("base", base), ("ours", ours), ("hash", hashed)):
                result.run("throughput", kernel=kind, round=number, rate=rate, **case._asdict())
    bench_readers.throughput_figures(result)
    figures = result.data["figures"]
    assert figures["readers_ratio_8"] == figures["mapped_readers_ratio_1"] == 1
    assert figures["random_read_hash_off"] == 1
    assert figures["random_read_hash_on_tmpfs"] == 2
