# SPDX-License-Identifier: GPL-2.0
"""hashstats: reading what the kernel prints loses nothing, whatever the tables."""

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from toyhashstats import FOLDER, ROOT, SAMPLES, hashstats

# What it remembers stays out of the source folders.
set_hypothesis_home_dir(ROOT / "build/hypothesis")
sys.path.insert(0, str(FOLDER))

from hashstats_tool import (  # noqa: E402
    jsonout,
    openmetrics,
    reading,
    show,
    sizing,
    spread,
    tables,
    verdicts,
)
from hashstats_tool.errors import Complaint  # noqa: E402
from hashstats_tool.terminal import Terminal  # noqa: E402

OURS = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
HUGE = (1 << 64) - 1

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
LABELS = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(
    lambda label: label not in reading.KNOWN | reading.KNOWN_ABOVE
)
# What stands behind a label: printable, and does not begin with a space.
WORDS = st.text(
    st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=30
).filter(lambda text: text.isprintable() and not text[0].isspace())
COUNTS = st.integers(0, HUGE)
THOUSANDTHS = st.integers(0, HUGE).map(lambda n: f"{n // 1000}.{n % 1000:03}")
CHAINS = st.lists(st.integers(0, 1 << 24), min_size=1, max_size=16)
LONG = st.lists(st.integers(16, 32768), max_size=5)


def text_of(copy):
    """The text of a copy, letter for letter as the kernel prints it."""
    paragraphs = [labelled(copy.header)]
    for table in copy.tables:
        lines = labelled(table.fields)
        if table.rows:
            lines.append("size    buckets    objects sum-pct")
            lines += [
                f"{size:>4} {row.buckets:10} {row.objects:10} {row.percent:7}"
                for size, row in zip(tables.SIZES, table.rows)
            ]
        paragraphs.append(lines)
    return "\n\n".join("\n".join(lines) for lines in paragraphs) + "\n"


def labelled(fields):
    return [f"{label}: {text}" for label, text in fields.items()]


def rows_of(chains, long):
    """The histogram of so many buckets of 0, 1, ... objects, and longer ones."""
    counts = [*chains, *[0] * (16 - len(chains))]
    objects = [size * count for size, count in enumerate(counts)] + [sum(long)]
    total, reached = sum(objects), 0
    for count, some in zip([*counts, len(long)], objects):
        reached += some
        yield tables.Row(count, some, reached * 100 // total if total else 0)


@st.composite
def one_table(draw):
    table = tables.Table()
    fields = {"name": draw(NAMES)}
    rest = {}
    if draw(st.booleans()):
        chains, long = draw(CHAINS), draw(LONG)
        table.rows = list(rows_of(chains, long))
        counts = [row.buckets for row in table.rows]
        longest = max([size for size, count in enumerate(counts[:16]) if count] + long, default=0)
        rest = {
            "buckets": sum(counts),
            "used": sum(counts[1:]),
            "objects": sum(row.objects for row in table.rows),
            "longest": longest,
        }
        if rest["objects"] and not long and draw(st.booleans()):
            rest["nodes-per-hit"] = f"{spread.nodes_of_rows(table.rows):.3f}"
    else:
        rest["buckets"] = draw(COUNTS)
    rest |= {"bytes": draw(COUNTS), "sized-by": draw(WORDS)}
    if draw(st.booleans()):
        rest["lookups"] = draw(COUNTS)
        rest["hits"] = draw(st.integers(0, rest["lookups"]))
    for label in draw(
        st.sets(st.sampled_from(["wakes", "entries-examined", "entries-matched", "walk-us"]))
    ):
        rest[label] = draw(COUNTS)
    for label in draw(
        st.sets(st.sampled_from(["variance-over-mean", "foreign-per-wake", "used-expected"]))
    ):
        rest[label] = draw(THOUSANDTHS)
    rest |= draw(st.dictionaries(LABELS, WORDS, max_size=3))
    for label in draw(st.permutations(list(rest))):
        fields[label] = str(rest[label])
    table.fields = fields
    return table


@st.composite
def whole_copy(draw):
    copy = tables.Copy()
    copy.header = {
        "version": "1",
        "counting": draw(st.sampled_from(["on", "off"])),
        **draw(st.dictionaries(LABELS, WORDS, max_size=2)),
    }
    copy.tables = draw(st.lists(one_table(), max_size=4, unique_by=lambda table: table.name))
    return copy


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


@pytest.mark.parametrize("name", ["before", "after"])
def test_kernels_own_text(name):
    data = (SAMPLES / f"{name}.hashstats").read_bytes()
    assert text_of(reading.parse(data)).encode() == data


def test_the_corpus_of_2000():
    for path in sorted((FOLDER / "samples").glob("*.hashstats")):
        data = path.read_bytes()
        assert text_of(reading.parse(data)).encode() == data
        assert hashstats("show", "-f", path).returncode == 0


# --- the arithmetic beside the kernel's own -----------------------------------


@pytest.mark.parametrize("name", ["before", "after"])
def test_figures_are_the_kernels(name):
    copy = reading.parse((SAMPLES / f"{name}.hashstats").read_bytes())
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
