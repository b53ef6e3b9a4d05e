# SPDX-License-Identifier: GPL-2.0
"""The study of hash functions: its program, keys, what is read, the figures."""

import re
import subprocess

import pytest

import common
from bench import citi_keys, record
from bench.cases import functions as bench_functions
from guest import initramfs, uml
from series import compose, gitcmd, source

KINDS = bench_functions.KINDS

# A few of each kind: what runs through the program at once.
KEYS = [
    "layout 584 360",
    "device 0x801 0xffff888003cc5a00",
    "vector hash_32 0x1 0 32 0x61c88647",
    *(f"page {0xFFFF888004000000 + i % 7 * 1080:#x} {i}" for i in range(400)),
    *(f"buffer 0x801 {8192 * i}" for i in range(300)),
    *(f"dentry {0xFFFF888005000000:#x} {i * 0x9E3779B1 & 0xFFFFFFFF:#x}" for i in range(500)),
    *(f"name 0xffff888005000000 {i:#x}" for i in range(500)),
    *(f"inode 0xffff888004a61800 {12 + i}" for i in range(600)),
]


def program(lines, *words):
    return subprocess.run(
        [initramfs.tools() / "hash_functions", *words],
        input="".join(f"{line}\n" for line in lines),
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def small():
    done = program(KEYS, "-B", "12")
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_by(found, **wanted):
    return [
        row for row in found["rows"] if all(row[name] == value for name, value in wanted.items())
    ]


# The program.


def test_all_functions_and_sizes(small):
    found = bench_functions.parse(small)
    assert found["keys"] == {"page": 400, "buffer": 300, "dentry": 500, "name": 500, "inode": 600}
    assert found["vectors"] == 1
    assert {row["bits"] for row in found["rows"]} == {8, 9, 10, 11, 12}
    # 300 keys are nearest to 2^8, 400 to 2^9: between them is the root of 2.
    assert [bits for kind, function, bits, _ in found["chains"] if function == "pair"] == [
        9,
        8,
        9,
        9,
        9,
    ]


def test_counts_are_the_same_in_each_run(small):
    again = program(KEYS, "-B", "12", "-n").stdout
    assert again == "".join(
        line for line in small.splitlines(keepends=True) if not line.startswith("time")
    )
    assert bench_functions.parse(again, timed=False)["times"] == []


def test_counts_are_right():
    """Four buffers of one bucket, by the old function, and one beside them."""
    keys = [f"buffer 0 {256 * i}" for i in range(4)] + ["buffer 0 1"]
    found = bench_functions.parse(program(keys, "-o", "8", "-n").stdout, timed=False)
    (row,) = rows_by(found, function="original")
    assert row["hit"] == (1 + 2 + 3 + 4 + 1) / 5
    assert row["hit_ideal"] == round(1 + 4 / 512, 4)
    assert row["longest"] == 4
    mean = 5 / 256
    assert row["variance_over_mean"] == round((17 / 256 - mean * mean) / mean, 4)
    assert found["chains"][0][3] == {0: 254, 1: 1, 4: 1}


def test_a_miss_costs_a_chain():
    """All keys in one bucket: a lookup in vain meets all that are there."""
    keys = [f"buffer 0 {256 * i}" for i in range(64)]
    found = bench_functions.parse(program(keys, "-o", "8", "-n").stdout, timed=False)
    (row,) = rows_by(found, function="original")
    assert 48 <= row["miss"] <= 60
    assert row["miss_ideal"] == pytest.approx(row["miss"] / 256, abs=1e-4)


def test_constant_of_32_bits_needs_words_of_32_bits(small):
    """The product of a small number with it does not reach the upper bits."""
    found = bench_functions.parse(small)
    for kind in ("inode", "name"):
        for bits in (8, 12):
            rows = {
                function: rows_by(found, key=kind, bits=bits, function=function)[0]["hit"]
                for function in ("const-32", "hash-32", "hash-64")
            }
            assert rows["const-32"] > 10 * rows["hash-64"]
            assert rows["hash-32"] < 1.5 * rows["hash-64"]


def test_device_is_hashed_by_its_address():
    buffer = ["buffer 0x801 1", "buffer 0x801 2"]
    plain = program([*buffer, "page 8 9"], "-n").stdout
    same = program(["device 0x801 0x801", "layout 8 0", *buffer, "page 8 9"], "-n").stdout
    assert plain == same


# Copies of the kernel's functions.

SHIM = """\
#include <stdint.h>
#include <stdio.h>
#define __always_inline inline __attribute__((always_inline))
#define BITS_PER_LONG 64
#define L1_CACHE_BYTES 64
typedef uint32_t u32;
typedef uint64_t u64;
struct super_block;
static unsigned int i_hash_shift, i_hash_mask;
"""
MAIN = """
int main(void)
{
	unsigned long long x, y;
	unsigned int bits, value;
	char name[32];

	while (scanf("vector %31s %llx %llx %u %x ", name, &x, &y, &bits,
		     &value) == 5) {
		i_hash_shift = bits;
		i_hash_mask = (1u << bits) - 1;
		printf("%s %x %x %x %x %x\\n", name, value, hash_32(x, bits),
		       hash_64(x, bits), hash_pair(x, y, bits),
		       (u32)hash((struct super_block *)y, x));
	}
	return 0;
}
"""


def kernel_program(folder):
    """include/linux/hash.h of ours and hash() of the base's fs/inode.c."""
    repo = source.base_repo()
    header = compose.blob(f"{compose.compose()}:include/linux/hash.h", repo)
    inode = compose.blob(f"{gitcmd.ref('base', repo)}:fs/inode.c", repo)
    function = re.search(r"^static unsigned long hash\(.*?^}\n", inode, re.M | re.S)[0]
    body = re.sub(r"^#include .*\n", "", header, flags=re.M)
    path = folder / "kernel.c"
    path.write_text(SHIM + body + function + MAIN)
    common.run(["gcc", "-O2", "-w", path, "-o", folder / "kernel"])
    return folder / "kernel"


def test_copies_are_the_kernels(tmp_path):
    said = program([], "-v").stdout
    done = common.run([kernel_program(tmp_path)], input=said)
    place = {"hash_32": 0, "hash_64": 1, "hash_pair": 2, "inode_hash": 3}
    lines = done.stdout.splitlines()
    assert len(lines) == len(said.splitlines()) == 32
    for line in lines:
        name, value, *kernels = line.split()
        assert value == kernels[place[name]], line


def test_another_result_of_the_kernel_ends_it():
    done = program(["page 1 2", "vector hash_32 0x1 0 8 0x62"])
    assert done.returncode == 1
    assert done.stderr == (
        "hash_functions: line 2: hash_32(0x1, 0, 8) is 0x62 in the kernel and 0x61 here\n"
    )


# What is refused.


@pytest.mark.parametrize(
    "line",
    [
        "folio 1 2",
        "page 1",
        "page 1 2 3",
        "page 1 x",
        "page 1 -2",
        "",
        "page 1 0x1ffffffffffffffff",
        "layout 0 0",
        "layout 8 8",
        "vector hash_128 1 2 8 4",
        "vector hash_64 1 2 33 4",
        "vector hash_64 1 2 8 4 5",
    ],
)
def test_bad_lines_are_refused(line):
    done = program(["page 1 2", line])
    assert done.returncode == 1
    assert done.stderr.startswith("hash_functions: line 2: ")
    assert (
        "; accepted: page, buffer, dentry, name, inode, layout or device "
        "with two numbers" in done.stderr
    )


def test_no_keys_are_refused():
    done = program([])
    assert done.returncode == 1
    assert "nothing on standard input; accepted" in done.stderr


@pytest.mark.parametrize(
    "words", [("-b", "7"), ("-B", "21"), ("-o", "x"), ("-b", "12", "-B", "11"), ("-z",), ("more",)]
)
def test_bad_words_are_refused(words):
    done = program(["page 1 2"], *words)
    assert done.returncode == 2
    assert "accepted: -b BITS of the smallest table" in done.stderr


@pytest.mark.parametrize(
    "old, new",
    [
        ("spread page slot bits 9", "spread page slit bits 9"),
        ("hit 1", "hot 1"),
        ("chains page slot", "chains page slats"),
        ("time page pair", "time page pear"),
        (" 1:", " 2:"),
        ("vectors 1\n", ""),
        ("keys page 400", "keys page 401"),
    ],
)
def test_bad_output_is_seen(small, old, new):
    assert old in small
    with pytest.raises(common.Failure, match="hash_functions"):
        bench_functions.parse(small.replace(old, new))


@pytest.mark.parametrize("word", ["spread", "chains", "time"])
def test_missing_line_is_seen(small, word):
    lines = small.splitlines(keepends=True)
    lines.remove([line for line in lines if line.startswith(word)][3])
    with pytest.raises(common.Failure, match="hash_functions"):
        bench_functions.parse("".join(lines))


# The guest.

HASHSTATS = """\
version: 1
counting: off
"""
TABLE = """
name: {kind}
buckets: 512
bytes: 4096
sized-by: memory
objects: {objects}
used: {used}
longest: {longest}
nodes-per-hit: {hit:.3f}
size    buckets    objects sum-pct
{rows}
"""


def hashstats(small, objects=0, hit=0.0):
    """What a kernel with these keys in its tables would show."""
    found, text = bench_functions.parse(small), HASHSTATS
    for kind in bench_functions.TABLES:
        function = bench_functions.OURS[kind]
        (row,) = rows_by(found, key=kind, function=function, bits=9)
        keys = found["keys"][kind] + objects
        # The rows need not be those; what is compared stands above them.
        chains = {1: keys, 0: 512 - keys} if keys < 512 else {1: 1024 - keys, 2: keys - 512}
        text += TABLE.format(
            kind=kind,
            objects=keys,
            used=512 - chains.get(0, 0),
            longest=max(chains),
            rows="\n".join(" ".join(map(str, line)) for line in bench_functions.rows_of(chains)),
            hit=sum(n * (n + 1) / 2 * m for n, m in chains.items()) / keys,
        )
        row["hit"] = sum(n * (n + 1) / 2 * m for n, m in chains.items()) / keys + hit
    return found, text


def output(text):
    parts = {
        "fstree": "operations: 10\n",
        "hashstats": text,
        "about": "layout 584 360\n",
        **{kind: f"{kind} 1 2\n" for kind in KINDS},
    }
    return "".join(f"=== {name}\n{part}" for name, part in parts.items()) + "=== end\n"


def test_guest_output_is_cut_into_sections():
    found = bench_functions.sections("noise\n" + output(HASHSTATS))
    assert found["hashstats"] == HASHSTATS
    assert found["inode"] == "inode 1 2\n"


@pytest.mark.parametrize(
    "old, new",
    [("=== inode\n", ""), ("=== end\n", ""), ("page 1 2\n", ""), ("=== name", "=== names")],
)
def test_incomplete_guest_output_is_refused(old, new):
    with pytest.raises(
        common.Failure, match="the guest printed .*; expected fstree hashstats about page buffer"
    ):
        bench_functions.sections(output(HASHSTATS).replace(old, new))


def test_tables_of_the_guest_are_compared(small, result):
    bench_functions.check_tables(result, 0, *hashstats(small))
    assert [one["key"] for one in result.runs("check")] == list(bench_functions.TABLES)


@pytest.mark.parametrize("wrong", [{"objects": 40}, {"hit": 0.1}])
def test_another_table_in_the_guest_is_refused(small, result, wrong):
    with pytest.raises(common.Failure, match="buffer: .* keys take .* nodes, the kernel says"):
        bench_functions.check_tables(result, 0, *hashstats(small, **wrong))


def test_guest_makes_what_it_shows():
    script = bench_functions.script(bench_functions.LOADS["quick"], 2)
    assert script.count("mount -t tmpfs draw") == 2
    for part in ("about", *KINDS):
        assert f"hash_keys/{part}\n" in script
    source_of_dumper = (common.ROOT / uml.BENCHES / "hash_keys/hash_keys.c").read_text()
    for kind in KINDS:
        assert re.search(rf'{{ "{kind}",\t', source_of_dumper)


# Keys like the paper's.


@pytest.mark.parametrize("name, longest", [("paper-buffers", 116), ("paper-buffers-after", 80)])
def test_paper_is_rebuilt(name, longest):
    paper = bench_functions.papers()[name]
    known = bench_functions.printed_histogram(paper.histogram)
    found = bench_functions.parse(program(paper.keys, "-n", "-o", "14").stdout, timed=False)
    (old,) = rows_by(found, function="original")
    assert old["keys"] == known["objects"]
    assert old["longest"] == known["longest"] == longest
    assert old["hit"] == pytest.approx(known["nodes-per-hit"], rel=0.01)
    assert old["variance_over_mean"] == pytest.approx(known["variance-over-mean"], rel=0.01)
    for function in ("mult-11", "mult-17", "pair", "hash-64"):
        (row,) = rows_by(found, function=function)
        assert row["hit"] < 1.2 * row["hit_ideal"]
        assert row["longest"] <= 12


def test_paper_keys_are_different():
    for paper in bench_functions.papers().values():
        assert len(set(paper.keys)) == len(paper.keys)
    assert len(set(citi_keys.far())) == len(citi_keys.far())


def test_inodes_are_spread_and_too_many():
    paper = bench_functions.papers()["paper-inodes"]
    found = bench_functions.parse(program(paper.keys, "-n", "-o", "8").stdout, timed=False)
    chains = {function: chains for _, function, _, chains in found["chains"]}
    for function in ("original", "mult", "mainline", "pair"):
        rows = bench_functions.rows_of(chains[function])
        assert rows == [*([str(size), 0, 0, 0] for size in range(16)), [">15", 256, 9785, 100]]


def test_rows_are_the_papers():
    """Histogram 2: 15 % of the buffers in buckets of up to 15."""
    known = bench_functions.printed_histogram(2)
    chains = {int(size): buckets for size, buckets, *_ in known.rows[:-1] if buckets}
    chains |= {33: 66, 34: 2}
    assert [tuple(row) for row in bench_functions.rows_of(chains)] == known.rows


# Figures.


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    return record.Result("functions", "quick")


@pytest.fixture
def filled(result):
    tool = initramfs.tools() / "hash_functions"
    bench_functions.count(result, tool, "guest-0", KEYS, "-B", "12")
    bench_functions.count(result, tool, "guest-1", KEYS, "-n")
    for name, paper in bench_functions.papers().items():
        bench_functions.count_paper(result, tool, name, paper)
    bench_functions.count_far(result, tool)
    return result


def set_hit(result, hit, ideal=1.0, **wanted):
    for row in result.runs("spread", **wanted):
        row["hit"], row["hit_ideal"] = hit, ideal


def test_figures(filled):
    set_hit(filled, 3.0, 1.5, key="page", function="slot")
    # At load 1 it is that of the worst guest, and over all sizes any.
    set_hit(filled, 6.0, 1.5, key="page", function="slot", set="guest-1", bits=9)
    set_hit(filled, 15.0, 1.5, key="page", function="slot", bits=12)
    set_hit(filled, 2.0, 2.0, key="buffer", function="pair")
    set_hit(filled, 40.0, key="inode", function="const-32", bits=12)
    for name in ("guest-0", "guest-1"):
        for function in ("const-32", "hash-32", "hash-64"):
            set_hit(filled, 2.0, function=function, set=name)
    set_hit(filled, 14.0, key="inode", function="const-32", set="guest-1", bits=12)
    set_hit(filled, 5.0, key="name", function="hash-32", set="guest-0", bits=8)
    bench_functions.figures(filled)
    found = filled.data["figures"]
    assert found["page_ours_vs_ideal"] == 4
    assert found["page_ours_worst_vs_ideal"] == 10
    assert found["buffer_ours_vs_ideal"] == 1
    assert found["constant_32_vs_64_worst"] == 7
    assert found["constant_32_low_vs_64_worst"] == 2.5
    assert found["constant_32_low_vs_64_worst_far"] > 10
    assert found["page_keys"] == 400
    for kind in bench_functions.OURS:
        for side in ("ours", "base", "paper", "paper_mult"):
            for what in ("vs_ideal", "miss_vs_ideal", "worst_vs_ideal", "ns"):
                assert f"{kind}_{side}_{what}" in found
    assert found["paper_buffers_original_longest"] == 116
    assert found["paper_buffers_original_vs_ideal"] > 4
    assert found["paper_buffers_ours_vs_ideal"] < 1.05


def test_keys_are_kept_beside_the_result(filled):
    kept = record.FOLDER / "keys-guest-0.txt"
    assert kept.read_text().splitlines() == KEYS
    assert "keys-guest-0.txt" in filled.data["commands"]["guest-0"]


def test_tables_name_all_functions(filled, capsys):
    bench_functions.figures(filled)
    bench_functions.show(filled)
    said = capsys.readouterr().out
    for kind in KINDS:
        for function in bench_functions.FUNCTIONS[kind]:
            assert f"  {kind} {function}" in said
    assert "paper's 1" in said and "mult-11" in said


def test_picture_is_drawn_or_no_failure(filled, monkeypatch, capsys):
    def refuse(*_):
        raise common.Failure("no matplotlib")

    monkeypatch.setattr(record, "ensure_packages", refuse)
    bench_functions.draw_picture(filled)
    assert "no picture: no matplotlib" in capsys.readouterr().out


def test_dumper_is_built_in():
    commit = uml.with_bench("hash_keys", compose.compose())
    top = compose.blob(f"{commit}:Kbuild", source.base_repo())
    assert top.endswith("obj-y += bench-src/kernel/hash_keys/\n")


@pytest.mark.long
def test_keys_of_a_guest(result):
    """Files that were just made are there, and all adds up."""
    load = bench_functions.Load(("mm",), dirs=4, files=50, draws=1, most=18)
    tool = initramfs.tools() / "hash_functions"
    bench_functions.one_guest(result, bench_functions.build_kernel(), tool, load, 0)
    found = {one["key"]: one["keys"] for one in result.runs("keys")}
    files = (
        len(gitcmd.records("ls-tree", "-rz", "--name-only", "base", "mm", repo=source.base_repo()))
        + 4 * 50
    )
    # One in eight of fstree's goes; 50 names of each directory are not there.
    assert found["inode"] > 0.85 * files
    assert found["dentry"] == found["name"] > files
    assert found["page"] > files and found["buffer"] > 100
