# SPDX-License-Identifier: GPL-2.0
"""What stress.h gives to all of our stress tests: options and a watchdog."""

import re
import subprocess

import pytest

from guest import initramfs, vm

PROGRAMS = ("crowd_stress", "inode_stress", "page_stress")


@pytest.mark.parametrize("program", PROGRAMS)
def test_stuck_process_is_named(kernel, program):
    result = vm.run(
        kernel,
        f"""
        {program} /tmp -t 5 -p 2 -w 1 &
        sleep 1
        for process in $(pidof {program}); do
            [ $process = $! ] || kill -STOP $process 2> /dev/null || true
        done
        wait $!
        """,
        cpus=2,
        check=False,
        timeout=60,
    )
    assert result.status == 1
    assert re.search("^Bail out! no end 1 s after the time", result.output, re.M)
    assert re.search(r"^# process \d is stuck in: \S", result.output, re.M)


@pytest.mark.parametrize(
    "program, words, said",
    [
        ("crowd_stress", ["a", "-t", "0"], "-t 0: accepted: 1 to"),
        ("crowd_stress", ["a", "-p", "many"], "-p many: accepted:"),
        ("crowd_stress", ["a", "b"], "usage"),
        ("crowd_stress", ["a", "-q", "dir"], "usage"),
        ("crowd_stress", ["a", "-x"], "usage: crowd_stress [DIR]"),
        ("inode_stress", ["a", "-t", "0"], "-t 0: accepted: 1 to"),
        ("inode_stress", ["a", "-p", "many"], "-p many: accepted:"),
        ("inode_stress", ["a", "b", "-p", "1"], "usage"),
        ("inode_stress", ["a", "-m", "disk:ext4"], "usage"),
        ("inode_stress", ["a", "-x"], "usage: inode_stress [DIR...]"),
        ("page_stress", ["a", "-t", "0"], "-t 0: accepted: 1 to"),
        ("page_stress", ["a", "-p", "many"], "-p many: accepted:"),
        ("page_stress", ["a", "-d", "disk"], "usage"),
        ("page_stress", 9 * ["a"], "usage"),
        ("page_stress", ["a", *(5 * ["-b", "disk"])], "usage"),
        ("page_stress", ["a", "-x"], "usage: page_stress [DIR...]"),
    ],
)
def test_bad_arguments(program, words, said):
    done = subprocess.run(
        [initramfs.tools() / program, *words],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
