# SPDX-License-Identifier: GPL-2.0
"""The report: its text, and that Documentation has what was measured."""

import json
import re
import shutil

import pytest

import common
from bench import record
from bench.cases import readers as bench_readers
from report import bases, losses, page, quoted, run, stored
from report import mbcache as report_mbcache
from report import pagecache as report_pagecache
from report import wakeups as report_wakeups
from report.page import AGAIN, OPEN, Section, Table
from series import source

# What each document has: tables, histograms, figures.
WANTED = {
    "citi": (
        "Table 1",
        "Table 2",
        "Table 3",
        "Table 4",
        "Table 5",
        "Table 6",
        "Histogram 1",
        "Histogram 2",
        "Histogram 3",
        "Histogram 4",
        "Histogram 5",
    ),
    "wakeups": ("Tiotest", "Throughput scaled", "Top 10 kernel CPU", "Top 10 callers"),
    "mbcache": ("V, F and P", "disabled"),
    "pagecache": (
        "Table 1",
        "Table 2",
        "Table 3",
        "Table 4",
        "Table 5",
        "Figure 1",
        "Figure 2",
        "Figure 3",
    ),
    "htree": ("Bytes filled", "Time of", "Lookups", "Fragmentation"),
}


@pytest.fixture(name="results", scope="module")
def kept_results():
    return stored.Results(*stored.machines())


@pytest.fixture(name="folder")
def folder_of_all(tmp_path, monkeypatch):
    """All stored results of the default base, as if of one machine."""
    monkeypatch.setenv("BASE", source.DEFAULT)
    folder = tmp_path / "machine"
    folder.mkdir()
    for path in stored.RESULTS.glob("*/*.json"):
        shutil.copy(path, folder)
    return folder


def test_documentation_is_what_was_measured(results):
    for name, text in run.pages(
        results, run.PAGE.stem, run.KEPT_PICTURE, run.other_bases()
    ).items():
        assert (common.ROOT / run.PAGE).with_name(f"{name}.rst").read_text() == text


def test_each_picture_of_a_page_is_there():
    pages = [*common.ROOT.glob("results/*.rst"), *common.ROOT.glob("Documentation/**/*.rst")]
    named = {
        page.parent / name
        for page in pages
        for name in re.findall(r"^\.\. (?:kernel-)?figure:: (.+)$", page.read_text(), re.M)
    }
    assert named and not [path for path in named if not path.is_file()]
    # A picture that no page shows is not kept.
    assert not {*common.ROOT.glob("results/*.svg")} - named


def test_quotes_are_no_markup(results):
    for text in run.pages(results, "results", run.KEPT_PICTURE, run.other_bases()).values():
        assert "`" not in re.sub(r"``[^`]+``", "", text)


def test_findings_fit_one_screen(results):
    text = run.pages(results, "results", run.KEPT_PICTURE, run.other_bases())["results"]
    assert len(text.partition("\nLosses\n")[0].splitlines()) < 50


def test_first_page_leads_to_the_others(results):
    texts = run.pages(results, "results", run.KEPT_PICTURE, run.other_bases())
    assert len(texts) == len(run.DOCUMENTS) + 2
    assert all(f"\n* {name}.rst\n" in texts["results"] for name in texts if name != "results")


@pytest.mark.parametrize("document", run.DOCUMENTS, ids=lambda module: module.__name__)
def test_each_table_of_the_documents_has_its_row(results, document):
    names = [section.name for section in document.sections(results)]
    assert len(set(names)) == len(names)
    for wanted in WANTED[document.__name__.removeprefix("report.")]:
        assert [name for name in names if wanted in name], wanted


def test_tables_are_rectangular(results):
    for document in run.DOCUMENTS:
        for section in document.sections(results):
            assert section.answer.endswith("."), section.name
            for block in section.blocks:
                if isinstance(block, Table):
                    assert {len(row) for row in block.rows} == {len(block.head)}, section.name


def test_missing_benchmark_is_named(folder):
    for path in folder.glob("herd-*"):
        path.unlink()
    with pytest.raises(common.Failure, match="no result of bench-herd; run `make bench-herd`"):
        run.pages(stored.Results(folder), "results", run.KEPT_PICTURE, run.other_bases())


def newer(folder, name):
    """One more result of a benchmark, of a later year."""
    (old,) = folder.glob(f"{name}-*.json")
    data = json.loads(old.read_text())
    data["date"] = "2999-01-01T00:00:00Z"
    (folder / f"{name}-29990101T000000Z.json").write_text(json.dumps(data))
    return data


def test_newest_result_is_taken(folder):
    data = newer(folder, "herd")
    assert stored.Results(folder).get("herd").data == data


def test_first_folder_that_has_a_result_is_taken(folder, tmp_path):
    second = tmp_path / "second"
    shutil.copytree(folder, second)
    data = newer(second, "herd")
    assert stored.Results(folder, second).get("herd").data != data
    for path in folder.glob("herd-*"):
        path.unlink()
    assert stored.Results(folder, second).get("herd").data == data


def test_no_results_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("RESULTS", str(tmp_path / "none"))
    with pytest.raises(
        common.Failure, match="none: no folder of results; run `make bench QUICK=1` first"
    ):
        run.report()


def test_other_base_without_keeping(monkeypatch, tmp_path):
    monkeypatch.setenv("RESULTS", str(tmp_path))
    monkeypatch.setenv("BASE", "7.3")
    with pytest.raises(common.Failure, match="BASE=7.3: the report is of 6.12; accepted: KEEP=1"):
        run.report()


def test_keeping_replaces_results_and_writes_what_quotes_them(folder, monkeypatch, tmp_path):
    root = tmp_path / "root"
    for path in [*stored.RESULTS.glob("*/*.json"), *(path for path, _ in quoted.all_files())]:
        copy = root / path.relative_to(common.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    (root / run.PAGE).write_text("")
    monkeypatch.setattr(record, "draw", lambda *_: None)
    data = newer(folder, "herd")
    data["figures"]["foreign_examined_per_wake"] = 0.25
    (folder / "herd-29990101T000000Z.json").write_text(json.dumps(data, indent=1))
    run.keep(folder, root)
    (kept,) = (root / "results").glob("*/herd-*.json")
    assert kept == root / "results/machine/herd-29990101T000000Z.json"
    assert kept.read_text() == record.as_text(data)
    assert "2999-01-01" in (root / run.PAGE).read_text()
    cover = (root / "patches/wait/cover-letter").read_text()
    assert "now meets 0.25 other waiters and calls none" in " ".join(cover.split())


def test_older_result_replaces_none(folder, monkeypatch, tmp_path):
    root = tmp_path / "root"
    for path in stored.RESULTS.glob("*/*.json"):
        copy = root / path.relative_to(common.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    before = {path: path.read_text() for path in root.glob("results/*/*.json")}
    for path in folder.glob("herd-*"):
        path.rename(folder / "herd-20000101T000000Z.json")
    run.keep_results(folder, root / "results")
    assert before == {path: path.read_text() for path in root.glob("results/*/*.json")}


def test_results_of_another_base_are_kept_apart(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("BASE", "7.3")
    for name in ("herd", "contention"):
        newer(folder, name)
    run.keep_results(folder, tmp_path / "results")
    kept = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("results/**/*-2999*")}
    # What no other base can run is with the results of the default.
    assert kept == {
        "results/linux-7.3/machine/herd-29990101T000000Z.json",
        "results/machine/contention-29990101T000000Z.json",
    }
    assert not list(tmp_path.glob("results/**/wake-*"))
    (other,) = run.other_bases(tmp_path / "results").values()
    assert other.get("herd").data["date"].startswith("2999")


def cells_of(median, *names):
    return [losses.Cell(name, [1.0], [median + 0.1 * at]) for at, name in enumerate(names)]


def test_bases_are_compared_by_the_cells_that_both_have(results):
    assert bases.medians(cells_of(1.0, "a", "b", "c"), cells_of(2.0, "b", "x")) == (1.1, 2.0)
    assert bases.medians(cells_of(1.0, "a"), cells_of(2.0, "x")) == ()
    same = bases.compare(results, stored.Results(*stored.machines()))
    assert len(same) > 50 and all(one.ratios[0] == one.ratios[1] for one in same)
    assert bases.words("9.9", same, results).startswith("bench-herd, bench-wake, bench-xattr, ")


def herd(*rounds):
    """A result of bench-herd with so many context switches of the base."""
    return record.Kept(
        {
            "runs": [
                {"kind": "throughput", "kernel": "base", "phase": "read", "context_switches": found}
                for found in rounds
            ]
        }
    )


def test_rounds_say_how_much_a_kernel_differs_from_itself():
    of = report_wakeups.by_itself
    assert (
        of(herd(10, 13, 12), ["read"], report_wakeups.switches)
        == "where mainline differs from itself by up to 30%."
    )
    assert of(herd(10), ["read"], report_wakeups.switches) == "in one round of each."


def test_no_tick_of_a_processor_is_no_division_by_zero():
    assert (
        report_wakeups.moved(
            {"seconds": 2, "mb_per_second": 3, "user_percent": 0, "system_percent": 0}
        )
        > 6
    )


def test_simple_table():
    assert (
        page.simple_table(("a", "b"), [("long", 1), ("", 22)])
        == """\
====  ==
a      b
====  ==
long   1
\\     22
====  ==
"""
    )


def test_rules_are_no_conflict_markers():
    text = page.simple_table(("seven",), [("1234567",)])
    assert text.startswith("========\n")
    assert page.heading("Wakeups", "=") == "Wakeups\n========\n"


def test_wrapped():
    text = page.wrapped("* " + "word " * 30, rest="  ")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 78
    assert all(line.startswith("  word") for line in lines[1:])


def test_what_was_not_run_says_why():
    text = run.chapter(Section("Table 9", "What?", OPEN, "No such disk.", "Not run."), "{}.png")
    assert "Why not: No such disk." in text
    text = run.chapter(Section("Table 9", "What?", AGAIN, "``make``.", "So."), "{}.png")
    assert "Source: ``make``." in text and "\nSo.\n" in text


def test_list_table():
    text = page.list_table(("a", "b"), [("word " * 20, "x")], (70, 30))
    assert text.startswith(".. list-table::\n   :header-rows: 1\n   :widths: 70 30\n\n")
    assert "   * - a\n     - b\n   * - word" in text and text.endswith("\n     - x\n")


def with_runs(results, name, runs):
    """The results, with more runs of a benchmark."""
    more = stored.Results(*stored.machines())
    data = results.get(name).data
    more.used[name] = record.Kept(data | {"runs": data["runs"] + runs})
    return more


def without_runs(results, name, kind):
    less = stored.Results(*stored.machines())
    data = results.get(name).data
    runs = [one for one in data["runs"] if one["kind"] != kind]
    less.used[name] = record.Kept(data | {"runs": runs})
    return less


def test_instructions_of_a_herd_are_shown_when_they_are_stored(results):
    runs = [
        {
            "kind": "instructions",
            "kernel": kernel,
            "round": number,
            "phase": phase,
            "kernel_insns": 1000 + 10 * number + 30 * (kernel == "ours"),
            "code_insns": 100 + 2 * (kernel == "ours"),
            "functions": {"same": 900, "grows": 50 + 30 * (kernel == "ours")},
        }
        for phase in report_wakeups.PHASES
        for number in range(2)
        for kernel in ("base", "ours")
    ]
    none = without_runs(results, "herd", "instructions")
    before = report_wakeups.scaled(none)
    after = report_wakeups.scaled(with_runs(none, "herd", runs))
    assert "The cause is not known" in before.answer
    assert "executes 1.030 to 1.030 times mainline's instructions" in after.answer
    assert "waits for them executes 1.020 to 1.020 times" in after.answer
    assert len(after.blocks) == len(before.blocks) + 2
    assert after.blocks[-1].rows[0] == ("grows", "0", "1")


def test_disabled_cache_is_shown_when_it_is_stored(results):
    data = results.get("xattr").data
    kept = [one for one in data["runs"] if one.get("kernel") != "disabled"]
    runs = [
        one | {"kernel": "disabled", "seconds": one["seconds"] / 2}
        for one in results.get("xattr").runs("seconds", kernel="base", system="ext4")
    ]
    none, half = (stored.Results(*stored.machines()) for _ in range(2))
    none.used["xattr"] = record.Kept(data | {"runs": kept})
    half.used["xattr"] = record.Kept(data | {"runs": kept + runs})
    assert report_mbcache.disabled(none).kind == OPEN
    after = report_mbcache.disabled(half)
    assert "Mainline takes 2.00 to 2.00 times the seconds" in after.answer


def test_what_saves_instructions_is_shown_when_it_is_stored(results):
    objects = {"fs/buffer.o": [50, 35, 50], "lib/xarray.o": [9, 5, 9], "fs/inode.o": [5, 6, 5]}
    objects["fs/dcache.o"] = [3, 1, 3]
    runs = [
        {
            "kind": "differences",
            "system": "ext4",
            "insns": [995, 980, 1005],
            "objects": objects,
            "functions": {"__find_get_block": [45000, 20000, 45000]},
        }
    ]
    none = without_runs(results, "xattr", "differences")
    before = report_mbcache.whole_table(none)
    after = report_mbcache.whole_table(with_runs(none, "xattr", runs))
    assert before.answer.endswith("Where the rest comes from is not known.")
    assert after.answer.endswith(
        "On ext4 all cells together save 2.0% of their instructions: 75% in fs/buffer.o, 20% in "
        "lib/xarray.o, 10% in fs/dcache.o of this; 5% are lost in fs/inode.o."
    )
    assert len(after.blocks) == len(before.blocks) + 2
    assert after.blocks[-1].rows == [("ext4, __find_get_block", "45", "45", "20", "25")]


def test_many_readers_are_shown_when_they_are_stored(results):
    few = [
        one
        for one in results.get("readers").runs("locks")
        if one["threads"] not in bench_readers.MANY
    ]
    before = report_pagecache.readers(
        with_runs(without_runs(results, "readers", "locks"), "readers", few)
    )
    after = report_pagecache.readers(results)
    assert "12 to 16 threads were not run." in before.run + before.lost[0]
    assert "not run" not in after.run + after.lost[0]
    assert "with 1 to 16 threads" in after.answer
    assert before.blocks[0].rows[-1][5] == "-" != after.blocks[0].rows[-1][5]


def test_another_structure_needs_no_change_here(results):
    data = results.get("index").data
    runs = [
        one
        | {
            "cells": one["cells"]
            + [
                cell | {"index": "rhashtable"}
                for cell in one["cells"]
                if cell["index"] == "chained"
            ],
            "bytes": one["bytes"]
            | {name.replace("chained", "rhashtable"): size for name, size in one["bytes"].items()},
        }
        if one["kind"] == "structures"
        else one
        for one in data["runs"]
    ]
    more = stored.Results(*stored.machines())
    more.used["index"] = record.Kept(data | {"runs": runs})
    text = run.pages(more, "results", run.KEPT_PICTURE, run.other_bases())["results-pagecache"]
    assert text.count("\nrhashtable ") == 3


@pytest.mark.parametrize(
    "pages,span",
    [
        (64, "256 KiB"),
        (4096, "16 MiB"),
        (1 << 18, "1 GiB"),
        (1 << 24, "64 GiB"),
        (1 << 36, "256 TiB"),
    ],
)
def test_spans_of_table_2(pages, span):
    assert report_pagecache.span(pages << 12) == span
