# SPDX-License-Identifier: GPL-2.0
"""The xattr benchmark's machinery: the load, its sharing, the figures."""

import pytest

import benchprogram
import common
from bench import record, symbol_counts, symbols
from bench.cases import xattr as bench_xattr
from guest import vm

REPORT = """\
=== cell
processes: {processes}
files: {files}
values: {values}
sets: {sets}
errors: {errors}
seconds: 1.500000
distinct: {distinct}
blocks: {blocks}
block-size: 4096
"""
CELL = bench_xattr.Cell("ext4", 2, 10, 5, 50)


def report(cell, **changed):
    said = (
        cell._asdict()
        | {"sets": cell.processes * cell.sets, "errors": 0, "distinct": 5, "blocks": 5}
        | changed
    )
    return REPORT.format(**said)


xattr_bench = benchprogram.program("xattr_bench")


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: xattr_bench DIR"),
        ([".", "."], "usage: xattr_bench"),
        ([".", "-x"], "usage: xattr_bench"),
        ([".", "-p", "0"], "xattr_bench: -p 0: accepted: 1 to 1000\n"),
        ([".", "-f", "10x"], "xattr_bench: -f 10x: accepted: 1 to 1000000\n"),
        ([".", "-v", "-1"], "xattr_bench: -v -1: accepted: 1 to 10000000\n"),
        ([".", "-n", ""], "xattr_bench: -n : accepted: 1 to 100000000\n"),
        ([".", "-s", "3"], "xattr_bench: -s 3: accepted: 4 to 3000\n"),
        ([".", "-r", "1000001"], "xattr_bench: -r 1000001: accepted: 1 to"),
    ],
)
def test_bad_arguments(words, said):
    done = xattr_bench(*words)
    assert done.returncode == 2
    assert said in done.stderr and not done.stdout


def test_missing_folder(tmp_path):
    done = xattr_bench(tmp_path / "none")
    assert done.returncode == 1
    assert done.stderr == (f"xattr_bench: chdir {tmp_path}/none: No such file or directory\n")


def test_values_are_shared(kernel):
    """Blocks follow the values, not the files, for each file system."""
    cells = [
        bench_xattr.Cell(system, processes, 200, values, 300)
        for system in bench_xattr.SYSTEMS
        for processes in (1, 3)
        for values in (1, 8, 100_000)
    ]
    output = vm.run(
        kernel, bench_xattr.script(cells, bench_xattr.SMALL), programs=["mkfs.ext4"], timeout=60
    ).output
    for cell, said in zip(cells, bench_xattr.parse(output, cells)):
        # Processes that set a new value at the same time do not see each
        # other's block.
        assert said["distinct"] <= said["blocks"] <= cell.processes * said["distinct"], cell
        if cell.values == 100_000:
            assert said["distinct"] > 190 * cell.processes
        else:
            assert said["distinct"] == cell.values


def test_values_in_the_inode_and_a_full_disk(kernel):
    """Small values take no block, and a full disk is counted."""
    one = bench_xattr.Cell("ext4", 1, 200, 100_000, 400)
    tiny = bench_xattr.Disk("512K", 256)
    script = bench_xattr.script([one], tiny).replace(
        "xattr_bench", "xattr_bench -s 16"
    ) + bench_xattr.script([one], tiny)
    output = vm.run(kernel, script, programs=["mkfs.ext4"]).output
    inside, full = output.split("=== cell\n")[1:]
    assert "errors: 0\n" in inside and "\nblocks: 0\n" in inside
    with pytest.raises(
        common.Failure,
        match="[0-9]+ different values took 0 blocks of ext4: they do not go to blocks",
    ):
        bench_xattr.parse("=== cell\n" + inside, [one])
    with pytest.raises(common.Failure, match="sets of 400 were made on ext4, [0-9]+ failed"):
        bench_xattr.parse("=== cell\n" + full, [one])


def test_same_work_each_time(kernel):
    """Two guests do the same in the same order; only sets are counted."""
    cell = bench_xattr.Cell("ext2", 3, 50, 20, 100)
    found = []
    for _ in range(2):
        segments, output, _ = symbol_counts.count(
            kernel,
            bench_xattr.script([cell], bench_xattr.SMALL, turns=True),
            programs=["mkfs.ext4"],
            append=bench_xattr.APPEND,
        )
        (segment,) = segments
        (said,) = bench_xattr.parse(output, [cell])
        found.append(
            [
                segment.entries[name]
                for name in (
                    "ext2_xattr_set",
                    "mb_cache_entry_create",
                    "mb_cache_entry_find_first",
                    "mb_cache_entry_delete_or_get",
                )
            ]
            + [said["distinct"]]
        )
        assert not segment.entries["ext2_create"]
        assert segment.entries["__x64_sys_sched_yield"] == cell.processes * cell.sets
    assert found[0] == found[1]
    assert found[0][0] == cell.processes * cell.sets


def test_instructions_of_the_cache():
    segment = symbol_counts.Segment(1)
    segment.insns.update(
        {"mb_cache_entry_get": 3, "ext4_xattr_set": 4, "ktime_get": 6, symbols.USER: 5}
    )
    assert bench_xattr.instructions(segment, {"mb_cache_entry_get"}, {"ktime_get"}) == {
        "all_insns": 13,
        "insns": 7,
        "mbcache_insns": 3,
    }


def test_what_differs_is_kept(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("xattr", size="quick")
    for cell in range(2):
        for name, lookup, sent in (("base", 60, 7), ("ours", 50, 7), ("again", 62, 9)):
            functions = {"__find_get_block": lookup, "submit_bio": sent, "many": 5000 + cell}
            if name == "ours":
                functions["lookup_bh"] = 4
            for system in bench_xattr.SYSTEMS:
                result.run("count", kernel=name, system=system, functions=functions.copy())
    files = {"__find_get_block": "fs/buffer.o", "lookup_bh": "fs/buffer.o", "many": "fs/inode.o"}
    bench_xattr.keep_differences(result, dict.fromkeys(bench_xattr.ORDER, files))
    assert all("functions" not in one for one in result.runs("count"))
    ext4, ext2 = result.runs("differences")
    assert (ext4["system"], ext2["system"]) == bench_xattr.SYSTEMS
    assert ext4["objects"] == {"fs/buffer.o": [120, 108, 124]}
    assert ext4["functions"] == {"__find_get_block": [120, 100, 124], "lookup_bh": [0, 8, 0]}
    assert bench_xattr.saving(ext4["functions"]["__find_get_block"]) == 22


def test_functions_of_the_cache(kernel):
    found = symbols.functions_of(kernel, "fs/mbcache.o")
    assert {"mb_cache_entry_create", "mb_cache_entry_get"} <= found
    assert "ext4_xattr_set" not in found
    clock = symbols.functions_of(kernel, *symbols.CLOCK)
    assert {"ktime_get", "update_process_times", "sched_tick"} <= clock
    assert "__wake_up_bit" not in clock
    with pytest.raises(common.Failure, match="no functions in fs/none.o"):
        symbols.functions_of(kernel, "fs/none.o")
    objects = symbols.objects_of(kernel)
    assert objects["ext4_xattr_set"] == "fs/ext4/xattr.o"
    assert objects["mb_cache_entry_get"] == "fs/mbcache.o"
    assert objects["wake_up_bit"] == "kernel/sched/build_utility.o"
    assert objects["xas_load"] == "lib/xarray.o"


def test_reports():
    (said,) = bench_xattr.parse(report(CELL), [CELL])
    assert said["seconds"] == 1.5 and said["blocks"] == 5
    with pytest.raises(common.Failure, match="1 cells of 2"):
        bench_xattr.parse(report(CELL), [CELL, CELL])
    with pytest.raises(common.Failure, match="99 sets of 100 were made on ext4, 1 failed"):
        bench_xattr.parse(report(CELL, sets=99, errors=1), [CELL])
    with pytest.raises(common.Failure, match="5 different values took 4 "):
        bench_xattr.parse(report(CELL, blocks=4), [CELL])


def test_plan_has_every_cell():
    jobs = bench_xattr.plan(bench_xattr.LOADS["long"], {"base": "base", "ours": "ours"})
    cells = [
        cell
        for job in jobs
        if job.kind == "count" and job.side.name == "ours"
        for cell in job.cells
    ]
    assert len(cells) == len(set(cells)) == 2 * 7 * 3 * 5
    names = [
        (job.side.name, job.side.kernel)
        for job in jobs
        if job.kind == "beyond" and job.cells[0].system == "ext2"
    ]
    assert names == [
        ("base", "base"),
        ("ours", "ours"),
        ("again", "base"),
        ("buckets", "ours"),
        ("entries", "ours"),
    ]
    assert [job.side.name for job in jobs if job.kind == "seconds"][:4] == [
        "base",
        "ours",
        "ours",
        "base",
    ]


def test_cache_is_disabled_by_mounting():
    jobs = bench_xattr.plan(bench_xattr.LOADS["usual"], {"base": "base", "ours": "ours"})
    off = [job for job in jobs if job.side.name == "disabled"]
    assert {(job.kind, job.side.kernel, job.cells[0].system) for job in off} == {
        ("seconds", "base", "ext4")
    }
    assert len(off) == 5 * 2
    text = bench_xattr.script([CELL], bench_xattr.SMALL, mount=off[0].side.mount)
    assert "mount -t ext4 -o noinit_itable,nombcache /dev/ram0 /mnt\n" in text
    assert "nombcache" not in bench_xattr.script([CELL], bench_xattr.SMALL)


def filled(monkeypatch):
    """A result of two cells and the case beyond the cap."""
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("xattr", size="quick")
    for system in bench_xattr.SYSTEMS:
        for name, insns in (("base", 1000), ("ours", 990), ("again", 1020)):
            result.run(
                "count",
                kernel=name,
                all_insns=insns + 5,
                insns=insns,
                mbcache_insns=10,
                blocks=7,
                **CELL._replace(system=system)._asdict(),
            )
        for name, seconds in ("base", 2.0), ("ours", 1.0):
            result.run(
                "seconds", kernel=name, seconds=seconds, **CELL._replace(system=system)._asdict()
            )
        beyond = bench_xattr.Cell(system, **bench_xattr.BEYOND)._asdict()
        slower = system == "ext2"
        for name, insns, blocks in (
            ("base", 100, 10),
            ("again", 100, 10),
            ("ours", 80 + 10 * slower, 5 + slower),
            ("buckets", 99, 10),
        ):
            result.run(
                "beyond",
                kernel=name,
                all_insns=insns + 5,
                insns=insns,
                mbcache_insns=1,
                blocks=blocks,
                distinct=5,
                **beyond,
            )
    return result


def test_figures(monkeypatch):
    result = filled(monkeypatch)
    bench_xattr.seed_figures(result)
    bench_xattr.beyond_figures(result)
    figures = result.data["figures"]
    assert figures["insn_ratio_seed_range_max"] == round(990 / 1010, 6)
    assert figures["insn_aa_ratio_seed_range_worst"] == 1.02
    assert figures["mbcache_insn_ratio_seed_range_max"] == 1
    assert figures["disk_ratio_seed_range"] == 1
    assert figures["insn_total_ratio_seed_range_max"] == round(995 / 1015, 6)
    assert figures["seconds_ratio_seed_range_median"] == 0.5
    assert figures["insn_ratio_beyond_cap"] == 0.9
    assert figures["insn_ratio_beyond_cap_ext4"] == 0.8
    assert figures["disk_ratio_beyond_cap"] == 0.6
    assert figures["insn_ratio_beyond_cap_buckets_only_ext4"] == 0.99
    assert "insn_ratio_beyond_cap_entries_only_ext4" not in figures


def test_table(monkeypatch, capsys):
    load = bench_xattr.Load((2,), (10,), (5,), 50, 1, (), (), bench_xattr.BEYOND)
    result = filled(monkeypatch)
    result.machine(accelerator="tcg")
    bench_xattr.show(result, load)
    said = capsys.readouterr().out
    assert "ext4, V=5, 50 sets of each process" in said
    assert "\n  10   2.000,1.000; 0.980\n" in said
    assert "series, mbcache.max_entries=16384" in said
