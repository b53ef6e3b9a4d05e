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


# Of each program, or with the option or the number of folders that only it has.
BAD = {
    **{f"{one} a -t 0": "-t 0: accepted: 1 to" for one in PROGRAMS},
    **{f"{one} a -p many": "-p many: accepted:" for one in PROGRAMS},
    **{f"{one} a -x": f"usage: {one} [DIR" for one in PROGRAMS},
    **dict.fromkeys(["crowd_stress a b", "crowd_stress a -q dir"], "usage"),
    **dict.fromkeys(["inode_stress a b -p 1", "inode_stress a -m disk:ext4"], "usage"),
    **dict.fromkeys(["page_stress a -d disk", "page_stress" + 9 * " a"], "usage"),
    "page_stress a" + 5 * " -b disk": "usage",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_arguments(line):
    program, *words = line.split()
    words = [initramfs.tools() / program, *words]
    done = subprocess.run(words, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert BAD[line] in done.stderr
