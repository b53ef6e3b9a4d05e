# SPDX-License-Identifier: GPL-2.0
"""The benchmark of atomic operations: its load, what it counts, its figures."""

import re

import pytest

import benchprogram
import common
from bench import record, symbol_counts, symbols
from bench.cases import atomics as bench_atomics
from bench.cases.atomics import Case

REPEATS = 3


batches = benchprogram.program("batches")


@pytest.mark.parametrize("operation", ["read", "write", "truncate"])
@pytest.mark.parametrize("how", bench_atomics.HOWS)
def test_pages_are_operated_on(operation, how, tmp_path):
    """Anywhere: with pages that were written, nothing is asked of a disk."""
    done = batches(tmp_path, operation, how, "-n", "5", "-r", "2", "-l")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"operation: {operation}\nhow: {how}\npages: 5\nfolios: large\nrepeats: 2\n"
    )
    size = (tmp_path / "batches").stat().st_size
    assert size == (0 if operation == "truncate" else 5 * 4096)


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: batches DIR"),
        ([".", "read"], "usage: batches"),
        ([".", "look", "one"], "usage: batches"),
        ([".", "read", "all"], "usage: batches"),
        ([".", "read", "one", "-n", "257"], "-n 257: accepted: 1 to 256"),
        ([".", "read", "one", "-r", "0"], "-r 0: accepted: 1 to 1000"),
        (["/nowhere", "read", "one"], "batches: enter /nowhere: No such"),
    ],
)
def test_bad_arguments(words, said):
    done = batches(*words)
    assert done.returncode
    assert said in done.stderr and not done.stdout


def test_atomics_of_a_guest(kernel):
    """Where the kernel's code is known, each is counted, and no interrupt."""
    wanted = [
        Case("ext4", "small", operation, how, 16)
        for operation in bench_atomics.OPERATIONS
        for how in bench_atomics.HOWS
    ]
    segments, output, _ = symbol_counts.count(
        kernel,
        bench_atomics.job(wanted, REPEATS, "ours"),
        **bench_atomics.options("ours") | {"programs": ["mkfs.ext4"]},
    )
    bench_atomics.check_output(output, wanted, "ours")
    assert len(segments) == REPEATS * len(wanted)
    # The cheapest of the repeats: the first one fills caches, and background work of the
    # kernel can fall into any of them.
    costs = {}
    for number, segment in enumerate(segments):
        case = wanted[number // REPEATS]
        bench_atomics.check_faults(case, segment)
        assert not segment.entries["asm_sysvec_apic_timer_interrupt"]
        found = bench_atomics.costs(segment, True)
        known = costs.setdefault((case.operation, case.how), found)
        if found["atomics"] < known["atomics"]:
            costs[case.operation, case.how] = found
    # A reference is taken and given back.
    for how in bench_atomics.HOWS:
        assert 32 <= costs["read", how]["atomics"] < 40
        assert costs["read", how]["index_locks"] == 0
        assert costs["readahead", how]["index_locks"] == 16
        assert costs["evict", how]["index_locks"] == 16
    # Once to add it, once to mark it.
    assert costs["write", "one"]["index_locks"] == 32
    folios = 1 if "ext4" in bench_atomics.have_large_folios() else 16
    assert costs["write", "together"]["index_locks"] == 2 * folios
    assert costs["truncate", "one"]["index_locks"] == 16
    assert costs["truncate", "together"]["index_locks"] == 1
    assert costs["fault", "one"]["atomics"] > 2 * 16


def test_bad_addresses_are_refused(tmp_path):
    plugin = symbol_counts.plugin()
    words = symbol_counts.option(plugin, tmp_path / "counts", [0xFFFFFFFF81000000])
    assert words[1].endswith(",skip=ffffffff81000000")
    done = common.run(
        [
            symbol_counts.accelerators.QEMU,
            "-M",
            "none",
            "-accel",
            "tcg",
            "-nodefaults",
            "-display",
            "none",
            words[0],
            words[1] + ":x",
        ],
        check=False,
        timeout=60,
    )
    assert done.returncode
    assert "accepted: out=FILE and then skip=ADDRESSES" in done.stderr


SYSTEM_MAP = """\
ffffffff81000000 T _text
ffffffff81000100 T asm_common_interrupt
ffffffff81000200 T asm_exc_page_fault
ffffffff81000300 T asm_sysvec_apic_timer_interrupt
ffffffff81000400 T sysvec_apic_timer_interrupt
"""


def test_entries_of_interrupts(tmp_path):
    (tmp_path / "System.map").write_text(SYSTEM_MAP)
    found = symbols.Symbols(tmp_path / "vmlinux")
    assert found.interrupts() == [0xFFFFFFFF81000100, 0xFFFFFFFF81000300]
    (tmp_path / "System.map").write_text(SYSTEM_MAP.replace("asm_", "enter_"))
    with pytest.raises(common.Failure, match="names no entry of an interrupt"):
        symbols.Symbols(tmp_path / "vmlinux").interrupts()


def segment(atomics, locks=0):
    one = symbol_counts.Segment(0)
    one.atomics.update({"filemap_read": atomics, symbols.USER: 7})
    one.insns.update({"filemap_read": 100 * atomics, symbols.USER: 700})
    one.calls.update(
        {
            ("__filemap_add_folio", "_raw_spin_lock_irq"): locks,
            ("folio_wait_bit_common", "_raw_spin_lock_irq"): 5,
        }
    )
    return one


def test_costs_of_a_segment():
    assert bench_atomics.costs(segment(32, 16), True) == {
        "atomics": 32,
        "index_locks": 16,
        "insns": 3200,
        "functions": {"filemap_read": 32},
    }
    assert "functions" not in bench_atomics.costs(segment(32), False)


def text_of(case):
    return (
        f"=== run {' '.join(map(str, case))}\noperation: {case.operation}\n"
        f"how: {case.how}\npages: {case.pages}\nfolios: {case.folios}\n"
        "repeats: 3\n"
    )


def test_output_must_be_that_of_the_job():
    wanted = bench_atomics.cases()[:3]
    text = "".join(map(text_of, wanted))
    bench_atomics.check_output(text, wanted, "base")
    with pytest.raises(common.Failure, match="reported 2 cases of 3"):
        bench_atomics.check_output(text.rpartition("=== run")[0], wanted, "base")
    with pytest.raises(common.Failure, match="where .* was wanted"):
        bench_atomics.check_output(text.replace("how: one", "how: together"), wanted, "base")
    with pytest.raises(common.Failure, match="did not report the case .*: batches: no"):
        bench_atomics.check_output(
            "=== run ext4 small read one 1\nbatches: no\n", wanted[:1], "base"
        )
    with pytest.raises(common.Failure, match="shows no buckets of the table `page`"):
        bench_atomics.check_output(text, wanted, "hash")


def test_faults_must_be_as_asked_for():
    one = segment(1)
    one.entries["filemap_fault"] = 4
    bench_atomics.check_faults(Case("ext4", "small", "fault", "one", 4), one)
    bench_atomics.check_faults(Case("xfs", "large", "fault", "one", 16), one)
    with pytest.raises(common.Failure, match="fault together 4: filemap_fault.* 4 t"):
        bench_atomics.check_faults(Case("ext4", "small", "fault", "together", 4), one)


@pytest.mark.parametrize("base, small_writes", [("6.12", {"ext4"}), ("7.3", set())])
def test_writes_of_small_folios(base, small_writes, monkeypatch):
    """Where a write makes one large folio, there is no case of small ones."""
    monkeypatch.setenv("BASE", base)

    def places(how):
        return {
            case.place for case in bench_atomics.cases() if case[1:4] == ("small", "write", how)
        }

    assert places("together") == small_writes
    assert places("one") == {"ext4", "xfs"}


def test_cases_and_their_guest():
    found = bench_atomics.cases()
    assert len(set(found)) == len(found)
    assert Case("xfs", "large", "read", "together", 256) in found
    assert Case("ext4", "large", "read", "together", 256) not in found
    job = bench_atomics.job(found[:1], 2, "hash")
    assert "mkfs.xfs" not in job and "name: page" in job
    assert "batches /ext4 read one -n 1 -r 2\n" in job
    assert " -l\n" in bench_atomics.job(found[-1:], 2, "ours")


@pytest.fixture
def result(monkeypatch):
    """One by one 2 a page, together 1, and ours has one more of each."""
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    one = record.Result("atomics", size="quick")
    for kind in bench_atomics.LOADS["quick"].kinds:
        for case in bench_atomics.cases():
            for turn in range(REPEATS):
                count = case.pages * (2 if case.how == "one" else 1)
                found = segment(count + (kind == "ours"), case.pages)
                one.run(
                    "atomics",
                    kernel=kind,
                    repeat=turn,
                    **case._asdict(),
                    **bench_atomics.costs(found, turn == 0),
                )
    return one


def test_figures_and_tables(result, capsys):
    bench_atomics.figures(result)
    figures = result.data["figures"]
    assert figures["atomics_per_page_one_by_one"] == 2
    assert figures["atomics_per_page_batch_16"] == 1
    assert figures["atomics_ratio_4"] == 1.25
    assert figures["atomics_hash_ratio_4"] == 1
    assert figures["atomics_ratio_worst"] == 2
    assert figures["aa_atomics_worst"] == 1
    assert figures["index_lock_per_page_readahead_one_by_one"] == 1
    assert figures["atomics_per_page_write_xfs_large_batch_256"] == 1
    assert not [name for name in figures if re.search("batch_4_|_small", name)]
    bench_atomics.show(result)
    shown = capsys.readouterr().out
    (line,) = (line for line in shown.splitlines() if line.startswith("  256  "))
    assert line.split() == ["256", "512", "257", "512", "513", "512", "256", "257", "256", "256"]
    assert "read, together, 64" in shown
    assert "ext4 small read one 256: filemap_read 2.00" in shown


def test_missing_case_is_one_line(result):
    result.data["runs"] = []
    with pytest.raises(common.Failure, match="base: there is no case ext4 small"):
        bench_atomics.figures(result)
