# SPDX-License-Identifier: GPL-2.0
"""Strategies of hypothesis for copies of /proc/hashstats, and their text."""

import tempfile

from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from hashstats_tool import reading, spread, tables

# What it remembers stays out of the source folders.
set_hypothesis_home_dir(tempfile.gettempdir() + "/hashstats-hypothesis")

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
def one_table(draw, names=NAMES):
    table = tables.Table()
    fields = {"name": draw(names)}
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
def whole_copy(draw, names=NAMES, above=LABELS):
    """A copy that the tool accepts; `above` are labels of more lines before the tables."""
    copy = tables.Copy()
    copy.header = {
        "version": "1",
        "counting": draw(st.sampled_from(["on", "off"])),
        **draw(st.dictionaries(above, WORDS, max_size=2)),
    }
    copy.tables = draw(st.lists(one_table(names), max_size=4, unique_by=lambda table: table.name))
    return copy
