# SPDX-License-Identifier: GPL-2.0
"""Selftests out of the kernel's tree: its own of what the series changes, and ours.

Its own are of timers, cgroups and file locks.  Ours run without arguments, by
the kernel's runner, and the kernel's parser reads what they print; what else
they do is in test_crowd, test_inodes and test_pages.
"""

import re
import subprocess
import sys

import pytest

import sections
from guest import initramfs, vm
from kernel import variants
from series import source

FOLDER = "tools/testing/selftests"
# Each as its Makefile builds it, but static; ofdlocks compares the padding of
# two structs on its stack.
FLAGS = {
    "timers/posix_timers": ["-O3", "-Wl,-no-as-needed"],
    "filelock/ofdlocks": ["-ftrivial-auto-var-init=zero"],
    "cgroup/test_core": [],
    "cgroup/test_kill": [],
    "cgroup/test_pids": [],
}
NAMES = [path.rpartition("/")[2] for path in FLAGS]
# How many there are; what of them fails, in base as well, and why.
COUNT = {"posix_timers": 19, "test_core": 12, "test_kill": 4, "test_pids": 2}
DOMAIN = "needs a controller that does not know threads, and the guests have none"
FAILS = {
    "test_core": {
        "test_cgcore_internal_process_constraint": DOMAIN,
        "test_cgcore_top_down_constraint_disable": DOMAIN,
    },
}
if source.base_name() == "6.12":
    COUNT |= {"posix_timers": 18, "test_kill": 3}
    NEWER = "tests what 6.13 changed: signals of timers that are ignored or deleted"
    FAILS["posix_timers"] = {
        "check_sig_ign SIGEV_SIGNAL": NEWER,
        "check_rearm": NEWER,
        "check_delete": NEWER,
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
BUSY = re.compile(r"ITIMER_(VIRTUAL|PROF)|.*CPUTIME_ID$|check signal distribution$")
TRIES = 3
# What is wrong may stand before it in the same line.
RESULT = re.compile(r"(?:^|\.\.)(not )?ok \d+ (?:# SKIP )?(.*)$", re.MULTILINE)


def compiled(kernel, folder):
    """{path in the guest: program}"""
    tests = kernel.src / FOLDER
    # Linux 7.3 keeps them below cgroup/lib.
    (shared,) = (tests / "cgroup").rglob("cgroup_util.c")
    (header,) = (tests / "cgroup").rglob("cgroup_util.h")
    result = {}
    for path, flags in FLAGS.items():
        name = path.rpartition("/")[2]
        text = (tests / f"{path}.c").read_text()
        if name == "test_core":
            # It skips all for what two of its tests need.
            text = text.replace(
                'ksft_exit_skip("Failed to set memory', 'ksft_print_msg("Failed to set memory'
            )
        words = ["gcc", "-D_GNU_SOURCE=", "-static", "-pthread", "-Wall"]
        words += [f"-I{place}" for place in ((tests / path).parent, header.parent, tests)]
        words += ["-x", "c", "-", *flags, *([shared] if path.startswith("cgroup/") else [])]
        words += ["-o", folder / name, "-lrt", "-lpthread", "-lm"]
        # Where the original is, for its relative includes.
        subprocess.run(words, input=text, text=True, check=True, timeout=60, cwd=tests)
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
        if not bad:
            break
    return found


@pytest.mark.parametrize("name", list(COUNT))
def test_selftest(outputs, name):
    print(outputs[name])
    assert len(RESULT.findall(outputs[name])) == COUNT[name]
    bad = surprises(name, outputs[name])
    if bad and name == "posix_timers" and all(map(BUSY.match, bad)):
        pytest.skip(f"the host is too busy for {', '.join(sorted(bad))}")
    assert bad == set()


def test_locks_of_open_files(outputs):
    """In Linux 6.12 it prints no `ok`; in 7.3 it plans a test too few, and so fails."""
    output = outputs["ofdlocks"]
    print(output)
    if source.base_name() == "6.12":
        assert "[FAIL]" not in output and "status" not in output
        assert output.count("[SUCCESS]") == 4
    else:
        assert failed(output) == set() and len(RESULT.findall(output)) == 5


# --- ours ---------------------------------------------------------------------

OURS = ("crowd_stress", "inode_stress", "page_stress")
# As `make run_tests`; the runner opens its output again, which a port forbids.
RUNNER = f"""
ln -s /proc/self/fd /dev/fd
ln -s fd/1 /dev/stdout
export BASE_DIR=/selftests
cd $BASE_DIR/boothash
(. $BASE_DIR/kselftest/runner.sh; run_many {" ".join(OURS)}) | cat
"""


@pytest.fixture(scope="module")
def ours(kernel):
    """What the runner printed."""
    folder = kernel.src / FOLDER
    files = {
        f"/selftests/kselftest/{path.name}": path for path in (folder / "kselftest").glob("*.sh")
    }
    files["/selftests/boothash/settings"] = folder / "boothash/settings"
    files |= {f"/selftests/boothash/{name}": initramfs.tools() / name for name in OURS}
    return vm.run(kernel, RUNNER, mem="1G", cpus=2, files=files, timeout=120).output


def test_ours_pass_by_themselves(ours):
    print(ours)
    assert "# timeout set to 360\n" in ours
    assert re.findall("^(.*ok .*) selftests: boothash: (.*)$", ours, re.M) == [
        (f"ok {number}", name) for number, name in enumerate(OURS, 1)
    ]


@pytest.mark.parametrize("name", OURS)
def test_kernel_parses_ours(ours, name, kernel, tmp_path):
    start = ours.index(f"# selftests: boothash: {name}\n")
    end = re.compile("^(not )?ok ", re.M).search(ours, start).start()
    tap = tmp_path / "tap"
    tap.write_text(re.sub("^# ", "", ours[start:end], flags=re.M).partition("\n")[2])
    words = [sys.executable, "tools/testing/kunit/kunit.py", "parse", tap]
    done = subprocess.run(words, cwd=kernel.src, text=True, capture_output=True, timeout=60)
    print(done.stdout)
    assert done.returncode == 0 and "Ran 1 tests: passed: 1\n" in done.stdout


def test_ours_are_skipped_where_they_cannot_run(kernel):
    """Without root, and without an option of the kernel."""
    output = vm.run(
        kernel,
        "".join(f"/usr/bin/setpriv --reuid=1000 {name} && exit 1 || [ $? = 4 ]\n" for name in OURS)
        + "mount -t tmpfs tmpfs /sys/kernel/mm\ncrowd_stress && exit 1 || [ $? = 4 ]\n",
        programs=("setpriv",),
    ).output
    assert re.findall("^1..0 # SKIP (.*)$", output, re.M) == 3 * ["needs root"] + [
        "no /sys/kernel/mm/ksm: needs CONFIG_KSM"
    ]


@pytest.mark.long
def test_base_fails_in_the_same_way(tmp_path):
    base = variants.base()
    found = run(base, tmp_path)
    for name in COUNT:
        assert set(FAILS.get(name, ())) <= failed(found[name]), name
