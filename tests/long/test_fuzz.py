# SPDX-License-Identifier: GPL-2.0
"""The command line, fuzzed: mm/boot_hash.c as a program, with sanitizers.

libFuzzer searches for a text that reads behind its end, breaks a bound of a table,
or is ignored without a warning.
"""

import re
import subprocess
from pathlib import Path

import pytest

import boot_hash_program
from boot_hash_program import SOURCE
from common.packages import ensure_packages

pytestmark = pytest.mark.long

SECONDS = 600


@pytest.fixture(name="build", scope="module")
def build_fixture(tmp_path_factory):
    """Compile the kernel's file, or one with a fault in it."""
    ensure_packages("fuzz")
    folder = tmp_path_factory.mktemp("fuzz")
    words = ["clang", "-fsanitize=fuzzer,address,undefined"]
    return lambda name, text: boot_hash_program.build(folder / name, text, *words)


def fuzz(program: Path, seconds: int):
    corpus = program.parent / "corpus"
    boot_hash_program.write_seeds(corpus)
    words = [program, f"-max_total_time={seconds}", "-max_len=512", "-print_final_stats=1", corpus]
    return subprocess.run(
        words, cwd=program.parent, text=True, errors="replace", capture_output=True
    )


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
        ('pr_warn("hash_entries: expected', 'if (0) pr_warn("hash_entries: expected'),
        ('pr_warn("%s: %s: expected a number', 'if (0) pr_warn("%s: %s: expected a number'),
        ('pr_warn("hash_memory: expected', 'if (0) pr_warn("hash_memory: expected'),
    ],
)
def test_fault_is_found(build, right, wrong):
    assert SOURCE.count(right) == 1
    done = fuzz(build(str(SOURCE.index(right)), SOURCE.replace(right, wrong)), 60)
    print(done.stderr[-2000:])
    assert re.search(r"broken: |runtime error: |ERROR: AddressSanitizer", done.stderr)
