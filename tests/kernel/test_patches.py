# SPDX-License-Identifier: GPL-2.0
"""Each patch builds by itself, and what is optional leaves no code when it is off.

One object tree goes from patch to patch with our options on, another one with
our options off.
"""

import re
import shutil

import pytest

import touched
from common import run
from guest import kunit, vm
from kernel import build, machine_code
from series import compose, source, topics

OURS = build.CONFIGS / "series.config"
SMALL = (*build.BASE_GUEST, build.CONFIGS / "test/small.config")
# Where the patches touch what runs after boot.
HOT = (
    *("fs/buffer.o", "fs/dcache.o", "fs/inode.o", "fs/locks.o", "fs/mbcache.o", "fs/namei.o"),
    *("fs/namespace.o", "fs/quota/dquot.o", "kernel/cgroup/cgroup.o", "kernel/fork.o"),
    *("kernel/futex/core.o", "kernel/sched/build_utility.o", "kernel/time/posix-timers.o"),
    *("kernel/ucount.o", "kernel/user.o", "mm/filemap.o", "mm/khugepaged.o", "mm/ksm.o"),
    "mm/migrate.o",
)
# Patches of which nothing is left with their option off, and where they change code.
OPTIONAL = {
    "dcache: count lookups": ("fs/dcache.o", "fs/namei.o"),
    "fs: count lookups": ("fs/inode.o",),
    "mm/filemap: add an optional page hash": ("mm/filemap.o",),
    "fs/buffer: add an optional lockless hash table": ("block/bdev.o", "mm/migrate.o"),
}
# Without ACPI only the first core of a socket is found.
SOCKETS = ("-smp", "sockets=4")
# Tests of rules that hold without our options too.
RULES = "".join(
    f"CONFIG_{name}=y\n"
    for name in ("RUNTIME_TESTING_MENU", "WAIT_FILTER_KUNIT_TEST", "WAIT_FILTER_STRESS")
)
PATCHES = compose.patches()

pytestmark = pytest.mark.stage("patches")


def without(commit, targets):
    """Targets of a small kernel with our options off."""
    return build.build("off", SMALL, commit, optional=(RULES,), targets=targets)


def walk(number, targets):
    """Targets at a patch; options that it does not have yet are left."""
    commit = compose.commits(compose.compose())[number]
    return build.build("walk", touched.CONFIG, commit, optional=(OURS,), targets=targets)


each_patch = pytest.mark.parametrize(
    "number", range(len(PATCHES)), ids=[f"{patch.topic}-{patch.title}" for patch in PATCHES]
)


@each_patch
def test_objects_of_patch_build_without_a_warning(number, kernel):
    """Those that it changes, and those where its headers matter most."""
    patch = PATCHES[number]
    targets = sorted({*HOT, *touched.objects({*patch.changes(), *patch.brings}, kernel)})
    assert not walk(number, targets).warnings


@pytest.mark.long
@each_patch
def test_patch_builds_without_a_warning(number):
    assert not walk(number, ("vmlinux",)).warnings


@pytest.mark.parametrize(
    "topic", [one for one in topics.needs() if topics.of_base(source.base_name(), [one])]
)
def test_topic_builds_on_what_it_needs(topic, kernel):
    """As a maintainer takes it, without the other topics; tools are no part of the kernel."""
    patches = compose.patches((topic,))
    names = {name for patch in patches for name in {*patch.changes(), *patch.brings}}
    targets = sorted(touched.objects(names, kernel))
    assert bool(targets) == (topic != "tools")
    commit = compose.compose(tuple(topics.with_needs(topic)))
    options = {"optional": (OURS,), "targets": targets or ["prepare"]}
    assert not build.build("topic", touched.CONFIG, commit, **options).warnings


@pytest.mark.parametrize("subject", OPTIONAL)
def test_no_code_is_left_with_the_option_off(subject, tmp_path):
    (number,) = (i for i, patch in enumerate(PATCHES) if patch.subject.startswith(subject))
    before, after = compose.commits(compose.compose())[number - 1 : number + 1]
    kernel = without(before, OPTIONAL[subject])
    for name in OPTIONAL[subject]:
        shutil.copy2(kernel.obj / name, tmp_path / name.replace("/", "-"))
    kernel = without(after, OPTIONAL[subject])
    for name in OPTIONAL[subject]:
        assert machine_code.differences(kernel.obj / name, tmp_path / name.replace("/", "-")) == []


@pytest.fixture(scope="module")
def off():
    return without(compose.compose(), ("vmlinux",))


def test_options_are_off(off):
    config = off.config.read_text()
    for option in ("HASHSTATS", "PAGE_HASH", "BUFFER_HASH"):
        assert f"# CONFIG_{option} is not set" in config
    assert not off.warnings


def test_code_differs_when_on(kernel, off):
    """The comparison sees a difference where there is one."""
    differ = machine_code.differences(kernel.obj / "fs/dcache.o", off.obj / "fs/dcache.o")
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
PARTS = {"fs/mbcache_kunit.o": "fs/mbcache.o"}


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
