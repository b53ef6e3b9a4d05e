# SPDX-License-Identifier: GPL-2.0
"""The command line, fuzzed: mm/boot_hash.c as a program, with sanitizers.

libFuzzer searches for a text that reads behind its end, breaks a bound of a table,
or is ignored without a warning.
"""

import re
import subprocess
from pathlib import Path

import pytest

from common import ROOT
from common.packages import ensure_packages

pytestmark = pytest.mark.long

FUZZ = ROOT / "tests/helpers/fuzz"
SECONDS = 600
SEEDS = (
    "\x12dentry:4K,inode:0x100\n1G\n64K",
    "\x10page:auto,uid:2\nmax\n",
    "\x1fpage:0,a:1G,tcp-established:1M",
    "\x01nothing:1,dentry,:1\n0x10\n-1",
    "\x12dentry:010K\n20000000000G\n18446744073709551616",
)


@pytest.fixture(name="build", scope="module")
def build_fixture(tmp_path_factory):
    """Compile the kernel's file, or one with a fault in it."""
    ensure_packages("fuzz")
    folder = tmp_path_factory.mktemp("fuzz")

    def build(name, text):
        here = folder / name
        headers = here / "linux"
        headers.mkdir(parents=True)
        (here / "boot_hash.c").write_text(text)
        (here / "boot_hash.h").write_bytes((ROOT / "mm/boot_hash.h").read_bytes())
        for header in re.findall(r"<linux/(\S+)>", text) + ["types.h"]:
            (headers / header).write_text('#include "kernel.h"\n')
        program = here / "fuzz"
        sanitize = "-fsanitize=fuzzer,address,undefined"
        words = ["clang", "-g", "-O1", sanitize, "-fno-sanitize-recover=all"]
        words += [f"-I{here}", f"-I{FUZZ}", str(FUZZ / "command_line.c"), "-o", str(program)]
        subprocess.run(words, check=True)
        return program

    return build


def fuzz(program: Path, seconds: int):
    corpus = program.parent / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed.encode("latin-1"))
    words = [program, f"-max_total_time={seconds}", "-max_len=512", "-print_final_stats=1", corpus]
    return subprocess.run(
        words, cwd=program.parent, text=True, errors="replace", capture_output=True
    )


SOURCE = (ROOT / "mm/boot_hash.c").read_text()


def test_any_command_line_is_survived(build):
    done = fuzz(build("whole", SOURCE), SECONDS)
    print(done.stderr[-2000:])
    assert done.returncode == 0
    assert int(re.search(r"number_of_executed_units: (\d+)", done.stderr)[1]) > 100_000


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("if (len >= sizeof(digits))", "if (len > sizeof(digits))"),
        ("hard.fewest = max(hard.fewest, 2ULL);", ""),
        ("if (nr_requests == BOOT_HASH_REQUESTS) {", "if (nr_requests > BOOT_HASH_REQUESTS) {"),
        ("if (parsed > U64_MAX >> shift)", "if (0)"),
    ],
)
def test_fault_is_found(build, right, wrong):
    assert SOURCE.count(right) == 1
    done = fuzz(build(str(SOURCE.index(right)), SOURCE.replace(right, wrong)), 60)
    print(done.stderr[-2000:])
    assert re.search(r"broken: |runtime error: |ERROR: AddressSanitizer", done.stderr)
