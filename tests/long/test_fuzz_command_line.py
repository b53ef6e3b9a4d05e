# SPDX-License-Identifier: GPL-2.0
"""The command line, fuzzed: mm/boot_hash.c as a program, with sanitizers.

libFuzzer searches for a text that reads behind its end, breaks a bound of a table,
or is ignored without a warning.
"""

import re
import subprocess

import pytest

from common import ROOT
from common.packages import ensure_packages

pytestmark = pytest.mark.long

SECONDS = 600
FUZZ = ROOT / "tests/helpers/fuzz"
SOURCE = (ROOT / "mm/boot_hash.c").read_text()
SEEDS = (
    "\x12dentry:4K,inode:0x100\n1G\n64K",
    "\x10page:auto,uid:2\nmax\n",
    "\x1fpage:0,a:1G,tcp-established:1M",
    "\x01nothing:1,dentry,:1\n0x10\n-1",
    "\x12dentry:010K\n20000000000G\n18446744073709551616",
)


def build(folder, text):
    """Compile the kernel's file, or one with a fault in it."""
    ensure_packages("fuzz")
    headers = folder / "linux"
    headers.mkdir()
    (folder / "boot_hash.c").write_text(text)
    (folder / "boot_hash.h").write_bytes((ROOT / "mm/boot_hash.h").read_bytes())
    for header in re.findall(r"<linux/(\S+)>", text) + ["types.h"]:
        (headers / header).write_text('#include "kernel.h"\n')
    words = ["clang", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    words += ["-g", "-O1", f"-I{folder}", f"-I{FUZZ}", str(FUZZ / "command_line.c")]
    subprocess.run([*words, "-o", folder / "program"], check=True)
    return folder / "program"


def fuzz(folder, text, seconds):
    program, corpus = build(folder, text), folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed.encode("latin-1"))
    words = [program, f"-max_total_time={seconds}", "-max_len=512", "-print_final_stats=1", corpus]
    return subprocess.run(words, cwd=folder, text=True, errors="replace", capture_output=True)


def test_any_command_line_is_survived(tmp_path):
    done = fuzz(tmp_path, SOURCE, SECONDS)
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
        ('pr_warn("hash_entries: expected', 'if (0) pr_warn("hash_entries: expected'),
        ('pr_warn("%s: %s: expected a number', 'if (0) pr_warn("%s: %s: expected a number'),
        ('pr_warn("hash_memory: expected', 'if (0) pr_warn("hash_memory: expected'),
    ],
)
def test_fault_is_found(tmp_path, right, wrong):
    assert SOURCE.count(right) == 1
    done = fuzz(tmp_path, SOURCE.replace(right, wrong), 60)
    print(done.stderr[-2000:])
    assert re.search(r"broken: |runtime error: |ERROR: AddressSanitizer", done.stderr)
