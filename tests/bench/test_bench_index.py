# SPDX-License-Identifier: GPL-2.0
"""The benchmark of page indices: what it reads, what it refuses."""

import json

import pytest

import common
from bench import record
from bench.cases import index as bench_index
from guest import uml
from series import gitcmd, source

LINE = (
    "index_bench: part {part} index {index} op {op} how {how} order "
    "{order} bits {bits} min_ps {ps} millisteps {ps} median_ps {ps}\n"
)
STRUCTURES = (
    "xarray_kernel",
    "xarray_4",
    "xarray_7",
    "xarray_8",
    "extendible",
    "threaded_rbtree",
    "treap",
    "chained",
    "rhashtable",
)
CELLS = {
    "xarray": [
        ("xarray", "lookup", "independent"),
        ("xarray", "lookup", "dependent"),
        ("xarray", "store", "empty"),
    ],
    "pages": [("file", "lookup", how) for how in ("independent", "dependent", "touching")],
    "structures": [
        (index, op, how)
        for index in STRUCTURES
        for op in bench_index.OPS
        for how in ("alone", "touching")
    ],
}


def output(part, ps, sizes=(12, 15, 17, 20), slots=0):
    """What a kernel prints: so many ps in each cell."""
    lines = [
        LINE.format(part=part, index=index, op=op, how=how, order=order, bits=bits, ps=ps)
        for bits in sizes
        for order in bench_index.ORDERS
        for index, op, how in CELLS[part]
        if how != "touching" or part != "pages" or bits < 20
    ]
    if part == "pages":
        lines.append(f"index_bench: bits 12 page_hash_slots {slots}\n")
    if part == "structures":
        lines += [
            f"index_bench: index {index} bits {bits} bytes {48 << bits}\n"
            f"index_bench: index {index} bits {bits} first_fill_ps {fill}\n"
            for index in STRUCTURES
            for bits in sizes
            for fill in (4 * ps, 3 * ps if index == "rhashtable" else 2 * ps)
        ]
    return (
        "Console initialized\n" + "".join(lines) + "index_bench: step_ps 1000\nindex_bench: end 0\n"
    )


def test_lines_of_the_kernel_are_read():
    found = bench_index.parse(output("xarray", 5000), "xarray", "ours")
    assert len(found["cells"]) == 3 * 3 * 4
    assert found["cells"][0] == {
        "index": "xarray",
        "op": "lookup",
        "how": "independent",
        "order": "sequential",
        "bits": 12,
        "min_ns": 5.0,
        "steps": 5.0,
        "median_ns": 5.0,
    }
    assert found["step_ns"] == 1 and found["page_hash_slots"] == 0
    found = bench_index.parse(output("structures", 5000, [12]), "structures", "ours")
    assert found["bytes"]["treap 12"] == 48
    assert found["first_fill_ns"]["treap 12"] == 10


@pytest.mark.parametrize(
    "text, side, reason",
    [
        (
            "index_bench: treap loses or keeps entries\nindex_bench: end -22\n",
            "ours",
            "did not end well: .*treap loses or keeps entries; .*end -22",
        ),
        ("Kernel command line:\n", "ours", "did not end well: it never began"),
        (
            output("pages", 5).rpartition("index_bench: end")[0],
            "ours",
            "did not end well: .*step_ps 1000",
        ),
        ("index_bench: step_ps 1\nindex_bench: end 0\n", "ours", "printed no result of pages"),
        (output("xarray", 5), "ours", "printed no result of pages"),
        (output("pages", 5, sizes=(12, 12)), "ours", "timed a cell twice"),
        (output("pages", 5, slots=64), "ours", "ours: the page hash has 64 slots"),
        (output("pages", 5), "page_hash", "page_hash: the page hash has 0 slots"),
        (
            "hash_entries=page:auto: no such table, ignored; there are: dentry\n"
            + output("pages", 5),
            "page_hash",
            "page:auto: no such table, ignored",
        ),
    ],
)
def test_bad_output_is_refused(text, side, reason):
    with pytest.raises(common.Failure, match=reason):
        bench_index.parse(text, "pages", side)


@pytest.fixture
def result(monkeypatch):
    """Ours takes half of what the base takes, with the page hash a quarter."""
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    one = record.Result("index", size="quick")
    ps = {"base": 8000, "again": 8400, "ours": 4000, "page_hash": 2000}
    for part, sides in bench_index.SIDES.items():
        for turn in range(3):
            for side in sides:
                text = output(part, ps[side] + turn, slots=64 if side == "page_hash" else 0)
                one.run(
                    part,
                    side=side,
                    round=turn,
                    huge_pages=True,
                    **bench_index.parse(text, part, side),
                )
    return one


def test_figures(result):
    bench_index.figures(result)
    figures = result.data["figures"]
    assert [figures[f"xa_dep_2_{bits}"] for bits in (12, 15, 17)] == [0.5] * 3
    assert figures["aa_xa_dep_2_12"] == figures["aa_worst_cell"] == 1.05
    assert figures["xa_worst_cell"] == figures["page_hash_off"] == 0.5
    assert figures["page_hash_rand_2_20"] == 0.25
    assert figures["lookup_random_treap"] == 1
    assert figures["bytes_chained"] == 48
    assert figures["first_fill_chained"] == 1
    assert figures["first_fill_rhashtable"] == pytest.approx(1.5)
    assert "page_hash_touch_2_20" not in figures
    json.dumps(result.data)


def test_worst_cell_is_named(result):
    slow = "xarray store empty strided 15"
    for turn in result.runs("xarray"):
        for cell in turn["cells"]:
            if turn["side"] == "ours" and bench_index.name_of(cell) == slow:
                cell["steps"] *= 3
    bench_index.figures(result)
    assert result.data["figures"]["xa_worst_cell"] == 1.5
    (worst,) = (one for one in result.runs("worst") if one["figure"] == "xa_worst_cell")
    assert worst["cell"] == slow


def test_clock_of_the_processor_is_out(result):
    """Where all is in cache, a slower clock makes no cell slower."""
    cell = "xarray lookup dependent random 17"
    before = bench_index.ratio(result, "xarray", "ours", cell)
    for turn in result.runs("xarray"):
        if turn["side"] == "ours":
            turn["step_ns"] *= 2
            for one in turn["cells"]:
                one["min_ns"] *= 2
    assert bench_index.ratio(result, "xarray", "ours", cell) == before
    large = cell.replace("17", "20")
    assert bench_index.ratio(result, "xarray", "ours", large) == pytest.approx(2 * before)


def test_missing_cell_is_one_line(result):
    with pytest.raises(common.Failure, match="ours has no cell 'file lookup"):
        bench_index.ratio(result, "pages", "ours", "file lookup touching random 20")


def test_tables_and_picture(result, monkeypatch, tmp_path, capsys):
    bench_index.figures(result)
    bench_index.tables(result)
    shown = capsys.readouterr().out
    assert "xarray base lookup random" in shown
    assert "xa_worst_cell: 0.500, xarray lookup" in shown
    (line,) = (
        line for line in shown.splitlines() if line.startswith("  file lookup touching random 17")
    )
    assert line.split()[-3:] == ["0.500", "0.250", "1.050"]
    monkeypatch.setattr(bench_index, "PICTURE", common.BUILD / "index-try.png")
    bench_index.draw(bench_index.rows_of_picture(result))
    try:
        assert "picture: build/index-try.png" in capsys.readouterr().out
        assert bench_index.PICTURE.read_bytes().startswith(b"\x89PNG")
    finally:
        bench_index.PICTURE.unlink(missing_ok=True)


@pytest.mark.long
@pytest.mark.parametrize("part", bench_index.SIDES)
def test_base_times_indices(part):
    base = gitcmd.ref("base", source.base_repo())
    kernel = uml.kernel("index_bench", "index-base", base)
    assert not kernel.warnings
    text = uml.boot(
        kernel.vmlinux,
        1024,
        [
            f"index_bench.part={part}",
            "index_bench.bits=12,15",
            "index_bench.least_passes=1",
            "index_bench.budget_bits=12",
        ],
    )
    found = bench_index.parse(text, part, "base")
    assert all(cell["min_ns"] > 0 for cell in found["cells"])
    assert {cell["order"] for cell in found["cells"]} == set(bench_index.ORDERS)
    if part == "structures":
        assert {cell["index"] for cell in found["cells"]} == set(STRUCTURES)
