# SPDX-License-Identifier: GPL-2.0
"""mm/boot_hash.c as a program: the command lines that tests/long/test_fuzz.py begins with."""

import subprocess

import pytest

import boot_hash_program
from boot_hash_program import FUZZ, SOURCE


def run(folder, text):
    words = ["gcc", "-fsanitize=address,undefined", FUZZ / "run_files.c"]
    program = boot_hash_program.build(folder / "build", text, *words)
    seeds = boot_hash_program.write_seeds(folder / "seeds")
    return subprocess.run([program, *seeds], text=True, errors="replace", capture_output=True)


def test_no_check_is_broken(tmp_path):
    done = run(tmp_path, SOURCE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", ["hash_entries: expected", "%s: %s: expected a number"])
def test_missing_warning_is_found(text, tmp_path):
    warning = f'pr_warn("{text}'
    assert SOURCE.count(warning) == 1
    assert "broken: " in run(tmp_path, SOURCE.replace(warning, f"if (0) {warning}")).stderr
