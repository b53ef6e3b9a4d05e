# SPDX-License-Identifier: GPL-2.0
"""mm/boot_hash.c as a program: the command lines that tests/long/test_fuzz.py begins with."""

import subprocess

import boot_hash_program
from boot_hash_program import FUZZ, SOURCE


def test_no_check_is_broken(tmp_path):
    words = ["gcc", "-fsanitize=address,undefined", FUZZ / "run_files.c"]
    program = boot_hash_program.build(tmp_path / "build", SOURCE, *words)
    seeds = boot_hash_program.write_seeds(tmp_path / "seeds")
    done = subprocess.run([program, *seeds], text=True, errors="replace", capture_output=True)
    assert done.returncode == 0, done.stderr
