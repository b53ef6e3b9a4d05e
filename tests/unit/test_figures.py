# SPDX-License-Identifier: GPL-2.0
"""Each figure that README, patches and documents quote is that of results/."""

import re
import shutil

import pytest

import common
from bench.run import BENCHMARKS
from report import measured, quoted, stored
from report.passages import constant, faults, passage, written


@pytest.fixture(name="results", scope="module")
def stored_results():
    return stored.Results(*stored.machines())


def test_each_benchmark_has_one_stored_result():
    found = sorted(path.name.partition("-")[0] for path in stored.RESULTS.glob("*/*.json"))
    assert found == sorted(BENCHMARKS)


def test_quoted_figures_are_those_of_the_results(results):
    assert not "\n".join(quoted.all_faults(results))


@pytest.mark.parametrize("part", quoted.PATCHES)
def test_each_message_with_passages_is_there(part):
    # One patch, which may have a text for each base.
    assert len({path.name for path in common.ROOT.glob(quoted.MESSAGES) if part in path.name}) == 1


def test_page_of_what_was_measured_is_written_from_the_results(results):
    assert (common.ROOT / measured.PAGE).read_text() == measured.page(results)


def copy_of_texts(folder):
    for path, _ in quoted.all_files():
        copy = folder / path.relative_to(common.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return folder


@pytest.mark.parametrize(
    "name,text,said",
    [
        ("README", r"XArray, dependent lookups, 2^17 entries +ns +{} +", "expected {}, "),
        ("patches/ext4-dirhash/cover-letter", r"bytes takes {}", "expected {}"),
        ("patches/wait/cover-letter", r"met {} waiters", "expected {}"),
        ("patches/xarray/*-xarray-*", r"take {} of", "expected {}, "),
        (f"{quoted.DOCUMENTS}/page-index.rst", r"The slowest of the (\d+)", "nowhere"),
        ("patches/core/01-*", r"each such table()", "7.5 is in no passage"),
    ],
)
def test_another_figure_is_a_fault(results, tmp_path, name, text, said):
    """The number behind the words becomes another."""
    root = copy_of_texts(tmp_path)
    (path,) = root.glob(name)
    pattern = text.replace("^", r"\^").replace("{}", r"(\d+\.\d+)").replace(" ", r"\s")
    before = path.read_text()
    (match,) = re.finditer(pattern, before)
    new = " 7.5" if not match[1] else "x" if said == "nowhere" else f"{match[1]}7"
    path.write_text(before[: match.start(1)] + new + before[match.end(1) :])
    found = quoted.all_faults(results, root)
    assert found and all(one.startswith(str(path.relative_to(root))) for one in found)
    assert said.format(match[1]) in found[0]


def test_writing_mends_a_figure(results, tmp_path):
    root = copy_of_texts(tmp_path)
    readme = root / "README"
    right = readme.read_text()
    wrong = re.sub(
        r"(dependent lookups, 2\^17 entries .*)(\d)$",
        lambda match: f"{match[1]}{9 - int(match[2])}",
        right,
        flags=re.M,
    )
    assert wrong != right
    readme.write_text(wrong)
    quoted.write(results, root)
    for path, _ in quoted.all_files():
        assert (root / path.relative_to(common.ROOT)).read_text() == path.read_text()


def test_lines_end_anywhere():
    said = [passage("takes {:.2f} of the time, {:,.0f} blocks", 0.654, 75642)]
    assert not faults("It takes\n0.65 of\n  the time, 75,642 blocks.", said)
    (fault,) = faults("takes 0.65 of the time, 75,641 blocks", said)
    assert "expected 0.65, 75,642" in fault


def test_number_in_no_passage_is_named_with_its_line():
    (fault,) = faults("fine\ntakes 0.56 of it\non Linux 2.6.27 and 6.12.117", [])
    assert fault == "line 2, 0.56 is in no passage: takes 0.56 of it"
    assert not faults("takes 0.56 of it", [constant("takes 0.56 of it")])


def test_columns_keep_their_width_when_written():
    text = "hit    9.5   12.5\nmiss  10.5    1.0\n"
    said = [passage("hit {:.1f} {:.1f}", 110.25, 8), passage("miss {:.1f} {:.1f}", 7, 1)]
    assert written(text, said) == "hit  110.2    8.0\nmiss   7.0    1.0\n"
    assert not faults(written(text, said), said)


def test_passage_that_is_gone_stops_the_writing():
    with pytest.raises(common.Failure, match="expected the passage 'hit.*nothing is written"):
        written("miss 1.0", [passage("hit {:.1f}", 1)])


def test_unknown_figure_stays(tmp_path):
    results = stored.Results(tmp_path)
    said = [passage("crowd {:.1f} and {:.1f}", results.figure("crowd", "worst"), 2)]
    assert written("crowd 7.5 and 1.0", said) == "crowd 7.5 and 2.0"
    assert not faults("crowd 7.5 and 2.0", said)


def test_run_that_is_missing_is_named(results):
    with pytest.raises(common.Failure, match="bench-halfmd4: no run of kind names with"):
        results.median("halfmd4", "names", "ours_ns", hash="md5")
