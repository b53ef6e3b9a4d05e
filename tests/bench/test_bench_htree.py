# SPDX-License-Identifier: GPL-2.0
"""The benchmark of a large directory: the load, its leaves, the figures."""

import os
import re

import pytest

import benchprogram
import common
from bench import record
from bench.cases import htree as bench_htree
from guest import vm

PATTERNS = bench_htree.LOADS["long"].patterns
DUMP = """\
Root node dump:
\t Reserved zero: 0
\t Hash Version: 1
\t Info length: 8
\t Indirect levels: 0
Entry #0: Hash 0x00000000, block 1
Entry #1: Hash 0x7fffffff, block 2

Entry #0: Hash 0x00000000, block 1
Reading directory block 1, phys 11
12 0x10000000-00000001 (16) f000000   13 0x20000000-00000002 (4068) f000001
leaf block checksum: 0x0884b76f
Entry #1: Hash 0x7fffffff, block 2
Reading directory block 2, phys 12
0 0x80000000-00000001 (16) f000002
14 0x90000000-00000003 (4080) long-name
leaf block checksum: 0x0884b76f
---------------------
"""


htree = benchprogram.program("htree")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_names_come_and_change(tmp_path, pattern):
    words = ("-n", "300", "-p", pattern)
    assert htree(tmp_path, "create", *words).returncode == 0
    first = set(os.listdir(tmp_path))
    assert len(first) == 300
    assert htree(tmp_path, "lookup", *words).returncode == 0
    assert htree(tmp_path, "churn", *words).returncode == 0
    then = set(os.listdir(tmp_path))
    # One that is made new may be removed again: 1/e are as they were.
    assert len(then) == 300 and 70 < len(first & then) < 150
    # The program knows what is there after one churn.
    assert htree(tmp_path, "churn", *words, "-d", "1", "-t", "3").returncode == 0
    last = set(os.listdir(tmp_path))
    assert len(last) == 300 and len(first & last) < 20
    # No longer there.
    done = htree(tmp_path, "lookup", *words)
    assert done.returncode == 1 and "htree: stat " in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        (".",),
        (".", "none"),
        (".", "create", "-n", "0"),
        (".", "create", "-p", "none"),
        (".", "churn", "-t", "0"),
        (".", "create", "more"),
        ("-z",),
    ],
)
def test_bad_words_are_refused(words):
    assert htree(*words).returncode == 2


def test_leaves():
    found = bench_htree.leaves(DUMP, "half_md4", 3)
    # Eight bytes before a name, in steps of four: twice 16, and 20.
    assert (found["leaves"], found["filled"]) == (2, 26)
    assert (found["least"], found["most"]) == (20, 32)
    other = bench_htree.leaves(DUMP.replace("-00000003", "-00000004"), "half_md4", 3)
    assert other["sha256"] != found["sha256"]
    other = bench_htree.leaves(DUMP.replace("\n14 ", "\n15 "), "half_md4", 3)
    assert other["sha256"] == found["sha256"]


@pytest.mark.parametrize(
    "text, name, files, said",
    [
        (DUMP, "tea", 3, "hash version 1; expected 2, tea"),
        (DUMP, "half_md4", 4, "3 names in a directory of 4"),
        ("debugfs: not a directory\n", "tea", 3, "hash version none"),
    ],
)
def test_wrong_leaves_are_refused(text, name, files, said):
    with pytest.raises(common.Failure, match=said):
        bench_htree.leaves(text, name, files)


def test_directory_of_a_guest(kernel):
    """Each hash, as the kernel writes it and as debugfs reads it."""
    for name in bench_htree.HASHES:
        cell = bench_htree.Cell("ours", name, "mail")
        output = vm.run(
            kernel,
            bench_htree.script(cell, 500, longer=True),
            mem="1G",
            programs=["mkfs.ext4", "tune2fs", "debugfs"],
            timeout=60,
        ).output
        seconds, dumps = bench_htree.parse(output, 500, longer=True)
        assert len(seconds) == 4 and len(dumps) == 3
        for dump in dumps:
            found = bench_htree.leaves(dump, name, 500)
            # An entry takes 44 bytes.
            assert found["leaves"] * found["filled"] == 500 * 44
            assert 0 < found["least"] < found["most"] <= bench_htree.BLOCK


def test_bad_output_is_refused():
    with pytest.raises(common.Failure, match="the guest printed create; "):
        bench_htree.parse("=== create\nphase: create\n", 5)
    text = "".join(
        f"=== {name}\n" for name in ("create", "lookup", "leaves", "end", "churn", "leaves", "end")
    )
    with pytest.raises(common.Failure, match="htree did not end create"):
        bench_htree.parse(text, 5)


def test_plan():
    cells = bench_htree.plan(bench_htree.LOADS["long"])
    assert len(cells) == len(set(cells)) == 3 * (2 * 4 + 2)
    assert [cell.kernel for cell in cells[:4]] == ["base", "ours", "again", "base"]


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    one = record.Result("htree", size="quick")
    load = bench_htree.Load(10, ("number", "mail"), ("number",), longer=("mail",))
    for cell in bench_htree.plan(load):
        insns = {"base": 1000, "ours": 900, "again": 1010}[cell.kernel]
        for phase in bench_htree.phases(cell, load):
            one.run(
                "phase",
                **cell._asdict(),
                phase=phase,
                operations=bench_htree.operations(phase, 10),
                insns=insns,
                hash_insns=insns / 10,
                names_insns=50,
            )
        leaves_ = {"created": 2800.5, "churned": 2100}
        if cell.pattern in load.longer:
            leaves_["churned more"] = 1400.25
        for when, filled in leaves_.items():
            one.run("leaves", **cell._asdict(), when=when, leaves=7, filled=filled, sha256=when)
    return one


def test_figures(result):
    bench_htree.check_same(result)
    bench_htree.figures(result)
    found = result.data["figures"]
    assert found["fill_half_md4_number"] == 2800.5
    assert found["fill_churned_tea_mail"] == 2100
    assert found["insn_create_legacy_number"] == 90
    assert found["insn_ratio_churn_tea_mail"] == 0.9
    assert found["fill_more_tea_mail"] == 1400.25
    assert found["insn_longer_churn_tea_mail"] == 30
    assert "fill_more_tea_number" not in found
    assert found["insn_hash_half_md4_mail"] == 9
    assert found["insn_hash_base_half_md4_mail"] == 10
    assert found["insn_aa_ratio_worst"] == 1.01


def test_figures_without_the_base_again(result):
    result.data["runs"] = [one for one in result.data["runs"] if one["kernel"] != "again"]
    bench_htree.figures(result)
    assert "insn_aa_ratio_worst" not in result.data["figures"]


def test_other_directory_is_refused(result):
    result.runs("leaves")[-1]["sha256"] = "other"
    with pytest.raises(common.Failure, match="leave different directories"):
        bench_htree.check_same(result)


def test_tables(result, capsys):
    bench_htree.figures(result)
    bench_htree.show(result)
    said = capsys.readouterr().out
    assert re.search("number, half_md4 +2800 +7 +2100 +7 +- +-\n", said)
    assert re.search("mail, half_md4 +2800 +7 +2100 +7 +1400 +7\n", said)
    assert "90 (0.9000)" in said
