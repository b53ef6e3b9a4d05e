# SPDX-License-Identifier: GPL-2.0
"""The benchmark of the directory hash: its program, what it reads, figures."""

import subprocess

import pytest

import common
from bench import dirhash, record
from bench.cases import halfmd4 as bench_halfmd4
from series import gitcmd, source

LINE = "hash {name} how {how} length {length} base {base:.3f} again {again:.3f} ours {ours:.3f}\n"


def output(base, ours, again=None, lengths=(*bench_halfmd4.LENGTHS, 192)):
    """What the program prints: the same times for all names."""
    return "+ dirhash_bench -r 1\n" + "".join(
        LINE.format(name=name, how=how, length=length, base=base, ours=ours, again=again or base)
        for length in lengths
        for name in bench_halfmd4.HASHES
        for how in bench_halfmd4.HOWS
    )


def test_program_times_all_that_is_wanted(tmp_path):
    """Each side does the same work; how long it took says nothing here."""
    text = dirhash.text(gitcmd.ref("base", source.base_repo()))
    program = dirhash.build(bench_halfmd4.PROGRAM, text, text, folder=tmp_path)
    done = subprocess.run(
        [program, "-r", "1"], text=True, capture_output=True, timeout=120, check=True
    )
    rows = bench_halfmd4.parse(done.stdout)
    assert all(one[f"{side}_ns"] > 1 for one in rows for side in ("base", "again", "ours"))


# Linux 6.12 has an indirect call in hash.c, 7.3 has none.
INDIRECT_CALL = """
static int (*volatile callee)(void);
static __attribute__((used)) int caller(void) { return callee() + 1; }
"""


def test_retpolines_are_built(tmp_path):
    text = dirhash.text(gitcmd.ref("base", source.base_repo())) + INDIRECT_CALL
    dirhash.build(bench_halfmd4.PROGRAM, text, text, "retpoline", folder=tmp_path)
    code = common.run(["objdump", "-d", tmp_path / "base/hash.o"]).stdout
    assert "pause" in code and "call   *" not in code


@pytest.mark.parametrize(
    "text",
    [
        "",
        output(2, 1, lengths=(8, 16)),
        output(2, 1) + output(2, 1),
        output(2, 1).replace("how chain", "how else"),
        output(2, 1).replace("ours", "theirs"),
    ],
)
def test_bad_output_is_refused(text):
    with pytest.raises(common.Failure, match="dirhash_bench printed"):
        bench_halfmd4.parse(text)


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    one = record.Result("halfmd4", size="quick")
    for compiler, text in (("plain", output(40, 20, 44)), ("retpoline", output(50, 20))):
        for row in bench_halfmd4.parse(text):
            one.run("names", compiler=compiler, **row)
    return one


def test_figures(result):
    bench_halfmd4.figures(result)
    found = result.data["figures"]
    assert {
        "ratio_8",
        "ratio_16",
        "ratio_32",
        "ratio_255",
        "ratio_mixed",
        "chain_ratio_32",
        "unsigned_ratio_4",
        "tea_ratio_12",
    } <= found.keys()
    assert found["ratio_32"] == 0.5
    assert found["retpoline_ratio_32"] == 0.4
    assert found["aa_ratio_worst"] == 1.1
    assert found["ratio_worst_to_16"] == 0.5


def test_table(result, capsys):
    bench_halfmd4.show(result)
    said = capsys.readouterr().out
    assert "half_md4, chain, plain" in said
    assert "1-32 mixed  40.0        44.0    20.0  0.500" in said


def test_picture(result, monkeypatch, capsys):
    monkeypatch.setattr(bench_halfmd4, "PICTURE", common.BUILD / "halfmd4-try.png")
    bench_halfmd4.draw(bench_halfmd4.rows_of_picture(result))
    try:
        assert "picture: build/halfmd4-try.png" in capsys.readouterr().out
        assert bench_halfmd4.PICTURE.read_bytes().startswith(b"\x89PNG")
    finally:
        bench_halfmd4.PICTURE.unlink(missing_ok=True)


def test_picture_has_the_faster_base(result):
    (row,) = (
        row
        for row in bench_halfmd4.rows_of_picture(result)
        if (row["panel"], row["curve"]) == ("", "base")
    )
    assert dict(row["points"])[32] == 40
    assert bench_halfmd4.MIXED not in dict(row["points"])


def test_bad_words_are_refused(tmp_path):
    text = dirhash.text(gitcmd.ref("base", source.base_repo()))
    program = dirhash.build(bench_halfmd4.PROGRAM, text, text, folder=tmp_path)
    for words in (("-r", "0"), ("-z",), ("more",)):
        done = subprocess.run([program, *words], capture_output=True, timeout=60, check=False)
        assert done.returncode == 2
