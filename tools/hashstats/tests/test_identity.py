# SPDX-License-Identifier: GPL-2.0
"""hashstats: reading what the kernel prints loses nothing, whatever the tables."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from any_copy import text_of, whole_copy
from hashstats_tool import jsonout, openmetrics, reading, show, sizing, spread, verdicts
from hashstats_tool.errors import Complaint
from hashstats_tool.terminal import Terminal
from toyhashstats import FOLDER, SAMPLES, hashstats

OURS = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@OURS
@given(whole_copy())
def test_reading_what_is_written(copy):
    text = text_of(copy)
    again = reading.parse(text.encode())
    assert again == copy
    assert text_of(again) == text


@OURS
@given(whole_copy())
def test_every_readable_copy_can_be_shown(copy):
    """What passes the reader may be odd, but no figure of it is impossible."""
    judged = verdicts.of_copy(copy)
    assert {one.verdict for one in judged} <= set(verdicts.WORDS)
    show.lines(judged, Terminal())
    jsonout.document(copy, judged)
    list(openmetrics.lines(copy, judged))
    plans = sizing.plans(judged, {one.table.name for one in judged}, 1.5, 1 << 30)
    for plan in plans:
        assert plan.buckets == plan.now or plan.buckets & (plan.buckets - 1) == 0
    sizing.line_of(plans)


@OURS
@given(whole_copy(), st.data())
def test_what_is_read_in_spite_of_damage_is_written_so(copy, data):
    """One letter is another: it is refused, or read for what it is."""
    text = text_of(copy)
    at = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(" 0159:-.ax\n>"))
    damaged = text[:at] + letter + text[at + 1 :]
    try:
        result = reading.parse(damaged.encode())
    except Complaint as complaint:
        assert "line " in str(complaint) and "expected" in str(complaint)
        return
    again = text_of(result)
    assert reading.parse(again.encode()) == result
    assert again.split() == damaged.split() or result.notes


def test_kernels_own_text():
    data = (SAMPLES / "after.hashstats").read_bytes()
    assert text_of(reading.parse(data)).encode() == data


def test_the_corpus_of_2000():
    paths = sorted((FOLDER / "samples").glob("*.hashstats"))
    assert len(paths) == 5
    for path in paths:
        data = path.read_bytes()
        assert text_of(reading.parse(data)).encode() == data
        assert hashstats("show", "-f", path).returncode == 0


# --- the arithmetic beside the kernel's own -----------------------------------


def test_figures_are_the_kernels():
    copy = reading.parse((SAMPLES / "after.hashstats").read_bytes())
    for table in copy.tables:
        if not table.objects:
            continue
        figures = {
            "used-expected": spread.used_expected(table.buckets, table.objects),
            "nodes-per-hit": spread.nodes_of(table),
            "nodes-per-hit-expected": spread.nodes_expected(table.buckets, table.objects),
        }
        for label, value in figures.items():
            assert abs(table.fraction(label) - value) <= 0.0006, (table.name, label)


@OURS
@given(st.integers(1, 1 << 24), st.integers(0, 1 << 26))
def test_poisson_adds_up(buckets, objects):
    rows = spread.poisson(buckets, objects)
    assert len(rows) == 17 and min(rows) >= 0
    assert abs(sum(rows) - buckets) <= 1e-6 * buckets


@OURS
@given(st.integers(0, 1 << 40), st.floats(1.01, 50))
def test_smallest_size_that_meets_the_target(objects, target):
    buckets = spread.buckets_for(objects, target)
    assert spread.nodes_expected(buckets, objects) <= target * (1 + 1e-9)
    if buckets > 1:
        assert spread.nodes_expected(buckets // 2, objects) > target * (1 - 1e-9)
