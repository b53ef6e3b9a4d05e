# SPDX-License-Identifier: GPL-2.0
"""The report: its text, and that Documentation has what was measured."""

import json
import re
import shutil

import pytest

import common
from bench import record
from report import page, run
from report import pagecache as report_pagecache
from report import wakeups as report_wakeups
from report.page import AGAIN, NEVER, Section, Table

MACHINES = sorted(path for path in run.RESULTS.iterdir() if path.is_dir())
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
    "mbcache": ("V=10", "V=100", "V=1000", "V=10000", "V=100000"),
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
    "htree": ("Bytes filled", "Time of", "Fragmentation"),
}


@pytest.fixture(name="results", scope="module", params=MACHINES, ids=lambda path: path.name)
def kept_results(request):
    return run.Results(request.param)


def test_documentation_is_what_was_measured(results):
    assert run.PAGE.read_text() == run.page(results, run.KEPT_PICTURE)


def test_quotes_are_no_markup():
    assert "`" not in re.sub(r"``[^`]+``", "", run.PAGE.read_text())


@pytest.mark.parametrize("document", run.DOCUMENTS, ids=lambda module: module.__name__)
def test_each_table_of_the_documents_has_its_row(results, document):
    names = [section.name for section in document.sections(results)]
    assert len(set(names)) == len(names)
    for wanted in WANTED[document.__name__.removeprefix("report_")]:
        assert [name for name in names if wanted in name], wanted


def test_tables_are_rectangular(results):
    for document in run.DOCUMENTS:
        for section in document.sections(results):
            assert section.answer.endswith("."), section.name
            for block in section.blocks:
                if isinstance(block, Table):
                    assert {len(row) for row in block.rows} == {len(block.head)}, section.name


def test_missing_benchmark_is_named(results, tmp_path):
    folder = tmp_path / "machine"
    shutil.copytree(results.folder, folder)
    for path in folder.glob("herd-*"):
        path.unlink()
    with pytest.raises(common.Failure, match="no result of bench-herd; run `make bench-herd`"):
        run.page(run.Results(folder), run.KEPT_PICTURE)


def test_newest_result_is_taken(results, tmp_path):
    (old,) = results.folder.glob("herd-*.json")
    data = json.loads(old.read_text())
    data["date"] = "2999-01-01T00:00:00Z"
    (tmp_path / "herd-29990101T000000Z.json").write_text(json.dumps(data))
    shutil.copy(old, tmp_path)
    assert run.Results(tmp_path).get("herd").data == data


def test_no_results_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("RESULTS", str(tmp_path / "none"))
    with pytest.raises(
        common.Failure, match="none: no folder of results; run `make bench QUICK=1` first"
    ):
        run.report()


def test_keeping_copies_page_and_results(results, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(run, "PAGE", tmp_path / "page.rst")
    text = run.page(results, run.KEPT_PICTURE)
    monkeypatch.setattr(run, "draw", lambda *_: None)
    run.keep(results)
    assert run.PAGE.read_text() == text
    copied = tmp_path / "results" / results.folder.name
    assert {path.name for path in copied.iterdir()} == {
        path.name for path in results.folder.iterdir()
    }


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
        == "where 6.12 differs from itself by up to 30%."
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


def test_wrapped():
    text = page.wrapped("* " + "word " * 30, rest="  ")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 78
    assert all(line.startswith("  word") for line in lines[1:])


def test_what_is_impossible_says_why():
    text = run.chapter(
        Section("Table 9", "What?", NEVER, "No such disk.", "It stays open."), "{}.png"
    )
    assert "Why not: No such disk." in text
    text = run.chapter(Section("Table 9", "What?", AGAIN, "``make``.", "So."), "{}.png")
    assert "Run: ``make``." in text and "**So.**" in text


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
