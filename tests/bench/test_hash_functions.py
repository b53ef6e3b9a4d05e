# SPDX-License-Identifier: GPL-2.0
"""Hash functions: known answers of the programs that compare them."""

import re
import subprocess

import pytest

import benchprogram
import common
from bench.functions import case as bench_functions
from bench.functions import citi_keys
from bench.spread import case as bench_spread
from guest import initramfs
from series import compose, source

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
    inode = compose.blob(f"{source.base_commit()}:fs/inode.c", repo)
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


# The spread over the inode table.


hash_spread = benchprogram.program("hash_spread")


@pytest.fixture(scope="module")
def spread():
    done = hash_spread("-a", "20", "-b", "12")
    assert done.returncode == 0, done.stderr
    return done.stdout


class Figures(dict):
    def figure(self, name, value):
        self[name] = value


def test_ours_is_random_and_the_base_is_not(spread):
    found = Figures()
    bench_spread.figures(found, *bench_spread.parse(spread))
    assert found["inode_worst_vs_ideal"] < 1.15
    assert found["inode_worst_vs_ideal_random"] < 1.15
    assert found["inode_worst_vs_ideal_base"] > 5
    assert found["inode_worst_vs_ideal_fold"] > 1.15


def test_one_pattern_is_the_same_in_each_run(spread):
    done = hash_spread("-a", "20", "-b", "12", "-p", "ext4 64 of 8192")
    lines = [line for line in done.stdout.splitlines() if line.startswith("pattern")]
    assert len(lines) == len(bench_spread.SUFFIXES)
    assert all(line in spread for line in lines)


def test_vectors_are_the_kernels():
    """lib/tests/hash_spread_kunit.c holds the kernel to the same numbers."""
    said = re.findall(r"^vector (\S+) (\S+) (\S+) (\S+)$", hash_spread("-v").stdout, re.M)
    test = (common.ROOT / "lib/tests/hash_spread_kunit.c").read_text()
    table = test[test.index("} vectors[] = {") :]
    table = table[: table.index("};")]
    kept = re.findall(r"\{ (\S+), (\S+),\s+(\S+), (\S+) \}", table)
    assert len(said) == 8
    assert said == kept
