# SPDX-License-Identifier: GPL-2.0
"""The five histograms of Lever's "Linux Kernel Hash Table Behavior" (2000): the
samples have the paper's numbers, and the tool gives them back."""

import json
import re

import pytest

from toyhashstats import FOLDER, said

SAMPLES = FOLDER / "samples"


class Paper:
    """One histogram as it is printed: the head, and the last two columns.

    Row 5 of Histogram 3 has 3650 buffers in the paper; they must be 3560, as 712
    buckets have them, for the column to give the number in its head.
    """

    def __init__(self, name, head, buckets, objects, percents):
        self.name = name
        (self.lookups, self.hit_rate, self.buckets, self.objects, self.longest) = head
        self.rows = [*zip([*map(str, range(16)), ">15"], buckets, objects, percents)]


NONE = [0] * 5
PAPER = {
    1: Paper(
        "buffer",
        (296481, 54, 16384, 37256, 116),
        [12047, 1037, 381, 295, 325, 399, 188, 303, 160, 169, 224, 64, 49, 15, 3, 4, 721],
        [0, 1037, 762, 885, 1300, 1995, 1128, 2121, 1280, 1521, 2240, 704, 588, 195, 42, 60, 21398],
        [0, 2, 4, 7, 10, 16, 19, 24, 28, 32, 38, 40, 41, 42, 42, 42, 100],
    ),
    2: Paper(
        "buffer",
        (3548568, 78, 16384, 2644, 80),
        [16167, 110, 10, 3, 1, 0, 3, 1, 6, 2, 1, 2, 3, 3, 3, 1, 68],
        [0, 110, 20, 9, 4, 0, 18, 7, 48, 18, 10, 22, 36, 39, 42, 15, 2246],
        [0, 4, 4, 5, 5, 5, 6, 6, 8, 8, 9, 10, 11, 12, 14, 15, 100],
    ),
    3: Paper(
        "buffer",
        (287696, 54, 16384, 37261, 11),
        [2034, 3317, 4034, 3833, 2082, 712, 222, 78, 46, 19, 5, 2, *NONE],
        [0, 3317, 8068, 11499, 8328, 3560, 1332, 546, 368, 171, 50, 22, *NONE],
        [0, 8, 30, 61, 83, 93, 96, 98, 99, 99, 99, *[100] * 6],
    ),
    4: Paper(
        "buffer",
        (3530977, 78, 16384, 2717, 6),
        [14302, 1555, 442, 73, 5, 3, 4, *NONE, *NONE],
        [0, 1555, 884, 219, 20, 15, 24, *NONE, *NONE],
        [0, 57, 89, 97, 98, 99, *[100] * 11],
    ),
    5: Paper(
        "inode", (189321, 3, 256, 9785, 54), [0] * 16 + [256], [0] * 16 + [9785], [0] * 16 + [100]
    ),
}
# What a reader of the paper would say: 1 and 2 "congregate in large buckets" with
# most buckets empty, 3 is "what a preferred bucket size distribution looks like", in
# 4 buffers are found "after checking fewer than two or three", and 5 has "too many
# objects in an undersized hash table".
VERDICT = {1: {"skewed"}, 2: {"skewed"}, 3: {"ok"}, 4: {"ok", "oversized"}, 5: {"crowded"}}

every = pytest.mark.parametrize("number", PAPER)


def sample(number):
    return SAMPLES / f"citi-{number}.hashstats"


class Parsed(dict):
    """The sample as plain text has it: label -> number, and the rows."""

    def __init__(self, number):
        super().__init__()
        lines = sample(number).read_text().splitlines()
        head = next(at for at, line in enumerate(lines) if line.startswith("size "))
        for label, _, text in (line.partition(": ") for line in lines[:head]):
            self[label] = float(text) if re.fullmatch(r"[0-9.]+", text) else text
        cells = [line.split() for line in lines[head + 1 :]]
        self.rows = [(size, *map(int, rest)) for size, *rest in cells]


def told(number):
    """The table as the tool understood it."""
    [table] = json.loads(said("json", "-f", sample(number)))["tables"]
    return table


# --- the samples --------------------------------------------------------------


@every
def test_sample_has_the_paper_s_rows(number):
    assert Parsed(number).rows == PAPER[number].rows


@every
def test_sample_has_the_paper_s_head(number):
    table, paper = Parsed(number), PAPER[number]
    for label in ("buckets", "objects", "longest", "lookups"):
        assert table[label] == getattr(paper, label)
    assert table["hit-rate"] == paper.hit_rate / 100
    assert round(100 * table["hits"] / table["lookups"]) == paper.hit_rate


# --- what the tool makes of them ----------------------------------------------


@every
def test_tool_gives_the_rows_back(number):
    rows = [
        (row["size"], row["buckets"], row["objects"], row["sum_pct"])
        for row in told(number)["histogram"]
    ]
    assert [(str(size), *rest) for size, *rest in rows] == PAPER[number].rows


@every
def test_tool_gives_the_verdict_of_a_reader(number):
    assert told(number)["verdict"] in VERDICT[number]
    shown = said("show", "-f", sample(number))
    assert re.search(rf"\b{told(number)['verdict']}\b", shown)


def test_advice_for_the_inodes_of_the_paper():
    """Its 12 and its 14 bits were faster than 256 buckets; an object a bucket is
    the larger of the two."""
    assert "\nhash_entries=inode:16K\n" in said("advise", "-f", sample(5))
    assert "\nhash_entries=inode:4K\n" in said("advise", "--target", "2.5", "-f", sample(5))
