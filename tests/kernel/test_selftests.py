# SPDX-License-Identifier: GPL-2.0
"""The kernel's own selftests of what the series changes, from its tree.

Timers, cgroups and file locks.  Of quotas there are none in
tools/testing/selftests, nor of users or user namespaces by themselves.
"""

import re
import subprocess

import pytest

import sections
from guest import vm
from kernel import variants

FOLDER = "tools/testing/selftests"
# Each as its Makefile builds it, but static; ofdlocks compares the padding of
# two structs on its stack.
FLAGS = {
    "timers/posix_timers": ["-O3", "-Wl,-no-as-needed"],
    "filelock/ofdlocks": ["-ftrivial-auto-var-init=zero"],
    "cgroup/test_core": ["cgroup/cgroup_util.c"],
    "cgroup/test_kill": ["cgroup/cgroup_util.c"],
    "cgroup/test_pids": ["cgroup/cgroup_util.c"],
}
NAMES = [path.rpartition("/")[2] for path in FLAGS]
# How many there are; what of them fails, in base as well, and why.
COUNT = {"posix_timers": 18, "test_core": 12, "test_kill": 3, "test_pids": 2}
NEWER = "tests what 6.13 changed: signals of timers that are ignored or deleted"
DOMAIN = "needs a controller that does not know threads, and the guests have none"
FAILS = {
    "posix_timers": {
        "check_sig_ign SIGEV_SIGNAL": NEWER,
        "check_rearm": NEWER,
        "check_delete": NEWER,
    },
    "test_core": {
        "test_cgcore_internal_process_constraint": DOMAIN,
        "test_cgcore_top_down_constraint_disable": DOMAIN,
    },
}
SCRIPT = """
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd /tmp
""" + "".join(
    f"""
echo "=== {name}"
{name} || echo "status $?"
"""
    for name in NAMES
)
# Measure time of the processor by the clock on the wall, and say themselves
# that others who run make them fail: so may the host's other processes.
BUSY = re.compile(r"ITIMER_(VIRTUAL|PROF)|.*CPUTIME_ID$")
TRIES = 3
# What is wrong may stand before it in the same line.
RESULT = re.compile(r"(?:^|\.\.)(not )?ok \d+ (?:# SKIP )?(.*)$", re.MULTILINE)


def compiled(kernel, folder):
    """{path in the guest: program}"""
    tests = kernel.src / FOLDER
    result = {}
    for path, flags in FLAGS.items():
        name = path.rpartition("/")[2]
        text = (tests / f"{path}.c").read_text()
        if name == "test_core":
            # It skips all for what two of its tests need.
            text = text.replace(
                'ksft_exit_skip("Failed to set memory', 'ksft_print_msg("Failed to set memory'
            )
        # Where the original is, for its relative includes.
        subprocess.run(
            [
                "gcc",
                "-D_GNU_SOURCE=",
                "-static",
                "-pthread",
                "-Wall",
                f"-I{(tests / path).parent}",
                "-x",
                "c",
                "-",
                *flags,
                "-o",
                folder / name,
                "-lrt",
                "-lpthread",
                "-lm",
            ],
            input=text,
            text=True,
            check=True,
            timeout=60,
            cwd=tests,
        )
        result[f"/bin/{name}"] = folder / name
    return result


def run(kernel, folder):
    result = vm.run(kernel, SCRIPT, cpus=2, files=compiled(kernel, folder), timeout=60)
    return sections.named(result.output)


def failed(output):
    return {name for bad, name in RESULT.findall(output) if bad}


def surprises(name, output):
    return failed(output) - set(FAILS.get(name, ()))


@pytest.fixture(scope="module")
def outputs(kernel, tmp_path_factory):
    for _ in range(TRIES):
        found = run(kernel, tmp_path_factory.mktemp("selftests"))
        bad = surprises("posix_timers", found["posix_timers"])
        if not bad or not all(map(BUSY.match, bad)):
            break
    return found


@pytest.mark.parametrize("name", list(COUNT))
def test_selftest(outputs, name):
    print(outputs[name])
    assert len(RESULT.findall(outputs[name])) == COUNT[name]
    assert surprises(name, outputs[name]) == set()


def test_locks_of_open_files(outputs):
    """It says no `ok`."""
    assert "[FAIL]" not in outputs["ofdlocks"]
    assert "status" not in outputs["ofdlocks"]
    assert outputs["ofdlocks"].count("[SUCCESS]") == 4


def test_failure_is_seen():
    assert failed(
        "TAP version 13\nok 1 one\nnot ok 2 the other\n# not ok 3 no\n"
        "Diff too high: 9..not ok 4 late\n"
    ) == {"the other", "late"}


def test_there_is_none_of_quotas(kernel):
    calls = [
        path for path in (kernel.src / FOLDER).rglob("*.c") if b"quotactl" in path.read_bytes()
    ]
    assert calls == []


@pytest.mark.long
def test_base_fails_in_the_same_way(tmp_path):
    base = variants.base()
    found = run(base, tmp_path)
    for name in COUNT:
        assert set(FAILS.get(name, ())) <= failed(found[name]), name
