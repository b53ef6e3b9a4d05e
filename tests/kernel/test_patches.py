# SPDX-License-Identifier: GPL-2.0
"""Each patch builds by itself, and changes the code of few functions.

One object tree goes from patch to patch with our options on. Another has the
base and then the series with our options off.
"""

import re
import shutil

import pytest

from common import run
from guest import kunit, vm
from kernel import build, machine_code
from series import compose, gitcmd, source

GUEST, OURS = build.GUEST
WALK = (GUEST, build.CONFIGS / "walk.config")
# Where the patches touch what runs after boot.
HOT = (
    "fs/buffer.o",
    "fs/dcache.o",
    "fs/inode.o",
    "fs/locks.o",
    "fs/mbcache.o",
    "fs/namei.o",
    "fs/namespace.o",
    "fs/quota/dquot.o",
    "kernel/cgroup/cgroup.o",
    "kernel/fork.o",
    "kernel/futex/core.o",
    "kernel/sched/build_utility.o",
    "kernel/time/posix-timers.o",
    "kernel/ucount.o",
    "kernel/user.o",
    "mm/filemap.o",
    "mm/khugepaged.o",
    "mm/ksm.o",
    "mm/migrate.o",
)
# With our options off, the patches change the code of these functions only.
CHANGED: dict[str, set[str]] = {}
# Without ACPI only the first core of a socket is found.
SOCKETS = ("-smp", "sockets=4")
# Tests of rules that hold without our options too.
RULES = "CONFIG_WAIT_FILTER_KUNIT_TEST=y\nCONFIG_WAIT_FILTER_STRESS=y\n"
PATCHES = compose.patches()

pytestmark = pytest.mark.stage("patches")


def small(commit, optional=(OURS,), targets=("vmlinux",)):
    """A small kernel at a commit."""
    return build.build("off", WALK, commit, optional=optional, targets=targets)


def walk(number, targets):
    """Targets at a patch; options that it does not have yet are left."""
    commit = compose.commits(compose.compose())[number]
    return build.build("walk", (GUEST,), commit, optional=(OURS,), targets=targets)


@pytest.fixture(scope="module")
def base_objects():
    """Objects of the base, kept apart: the tree goes on."""
    folder = source.version_dir() / "off" / "base"
    base = gitcmd.ref("base", source.base_repo())
    key = build.build_key(WALK, (RULES,), base, [], [])
    mark = folder / f"{base}-{key[0]}"
    if not mark.exists():
        kernel = small(base, optional=(RULES,), targets=HOT)
        shutil.rmtree(folder, ignore_errors=True)
        for name in HOT:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(kernel.obj / name, folder / name)
        mark.touch()
    return folder


each_patch = pytest.mark.parametrize(
    "number", range(len(PATCHES)), ids=[patch.name[:-6] for patch in PATCHES]
)


@each_patch
def test_objects_of_patch_build_without_a_warning(number, kernel):
    """Those that it changes, and those where its headers matter most."""
    patch = PATCHES[number]
    touched = {
        name[:-2] + ".o" for name in {*patch.changes(), *patch.brings} if name.endswith(".c")
    }
    targets = sorted({*HOT, *(name for name in touched if (kernel.obj / name).exists())})
    assert not walk(number, targets).warnings


@pytest.mark.long
@each_patch
def test_patch_builds_without_a_warning(number):
    assert not walk(number, ("vmlinux",)).warnings


@pytest.fixture(scope="module")
def off(base_objects):
    return small(compose.compose(), optional=(RULES,))


def test_options_are_off(off):
    config = off.config.read_text()
    for option in ("HASHSTATS", "PAGE_HASH", "BUFFER_HASH"):
        assert f"# CONFIG_{option} is not set" in config
    assert not off.warnings


@pytest.mark.parametrize("name", HOT)
def test_code_of_these_functions_changes(name, off, base_objects):
    differ = set(machine_code.differences(off.obj / name, base_objects / name))
    assert differ == CHANGED.get(name, set())


def test_code_differs_when_on(kernel, base_objects):
    """The comparison sees a difference where there is one."""
    differ = machine_code.differences(kernel.obj / "fs/dcache.o", base_objects / "fs/dcache.o")
    assert "d_alloc_parallel" in differ


def test_off_boots_without_the_file(off):
    result = vm.run(
        off, "ls /proc; cat /proc/cmdline", append="hash_entries=dentry:4K dhash_entries=8192"
    )
    assert "hashstats" not in result.output.split()
    assert "Dentry cache hash table entries: 8192 " in result.console


def test_rules_of_wakeups_hold_when_off(off):
    result = vm.run(
        off,
        "nproc; echo 50000 > /sys/kernel/debug/wait_filter_stress",
        cpus=4,
        qemu=SOCKETS,
        append="kunit.enable=1 kunit.filter_glob=wait_filter",
        timeout=60,
    )
    suites = kunit.parse(off.src, result.console)
    assert kunit.problems(suites, "wait_filter", {"": 16}) == []
    assert result.output.split() == ["4"]
    assert re.search(r"wait_filter_stress: \d+ waits", result.console)


# A file that another one includes.
PARTS = {"fs/mbcache_kunit.o": "fs/mbcache.o", "fs/ext4/hash-test.o": "fs/ext4/hash.o"}


# Warnings of W=1 and sparse in the files that are ours.
def test_our_files_pass_w1_and_sparse(kernel):
    ours = sorted(
        name[:-2] + ".o"
        for patch in PATCHES
        for name in patch.brings
        if name.endswith(".c") and not name.startswith("tools/")
    )
    objects = [PARTS.get(name, name) for name in ours]
    assert objects
    for name in objects:
        (kernel.obj / name).unlink(missing_ok=True)
    done = run(
        build.make_command(kernel.src, kernel.obj, "W=1", "C=2", "CF=-D__CHECK_ENDIAN__", *objects),
        env=build.environment(),
        log=kernel.obj.parent / "w1.log",
    )
    said = (kernel.obj.parent / "w1.log").read_text()
    assert all(f" {name}" in said for name in objects), done
    lines = [
        line
        for line in said.splitlines()
        if any(f"{name[:-2]}.c:" in line or f"/{name[:-2]}.c" in line for name in ours)
        and ("warning" in line or "error" in line)
    ]
    assert not lines
