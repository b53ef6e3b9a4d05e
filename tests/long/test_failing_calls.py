# SPDX-License-Identifier: GPL-2.0
"""Each allocation of an operation fails once: those of the series, and of tables' objects.

The kernel has KASAN, kmemleak and two patches that only this test applies.
What the kernel complains of is a fault, but for one warning: see run().
"""

import re
from collections import Counter
from pathlib import Path

import pytest

import exfat_image
import sections
from guest import vm
from guest.verdict import GuestError
from kernel import build
from series import compose, extra_patch, source

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent.parent / "helpers/patches"
PATCHES = [FOLDER / f"failing-allocations{of}.patch" for of in ("", f"-{source.base_name()}")]
MACHINE = {"mem": "2G", "cpus": 2, "parallel": True, "timeout": 600}
DISKS = {
    "disk": f"{len(exfat_image.image()) >> 20}M",
    "files": {"/exfat": exfat_image.image()},
    "programs": ("mkfs.ext4", "e2fsck", "tune2fs"),
}

# {operation of tests/programs/failing.c: errors besides ENOMEM}, which are mainline's.
OPERATIONS = {
    "tmpfs": ("ENOSPC",),
    "ext4": ("EDQUOT", "EINVAL"),
    "vfat": (),
    "exfat": (),
    "read": (),
    "count": (),
    "waits": (),
    "user": ("EAGAIN",),
    # A failed allocation counts as a limit that is reached.
    "user-namespace": ("ENOSPC", "EMFILE", "EAGAIN"),
    "network": ("ENOSPC", "EAFNOSUPPORT", "EEXIST", "EINVAL", "ENFILE", "ENOBUFS", "ENODEV"),
    "cgroup": (),
    "timer": ("EAGAIN",),
    "lock": ("ENOLCK", "ENOSPC"),
    "memory": ("EAGAIN",),
}
DEVICES = {"ext4": "/dev/ram0", "vfat": "/dev/ram1", "exfat": "/dev/vda"}
# Frames of the stack of a failure, the innermost first, and how many places in
# the last frame's function must have failed.
ALLOCATIONS = {
    # Allocations of the series.
    ("pcpu_alloc_noprof", "alloc_super|sget_fc"): 1,  # lists of inodes
    ("pcpu_alloc_noprof", "shmem_fill_super"): 1,  # batches of inode numbers
    ("__percpu_counter_init_many", "shmem_fill_super"): 2,  # used_blocks, used_ispace
    ("__kvmalloc_node_noprof", "fat_hash_init|fat_fill_super"): 1,
    ("__kvmalloc_node_noprof", "exfat_hash_init|exfat_fill_super|__exfat_fill_super"): 1,
    ("__seq_open_private", "seq_open_private"): 1,  # a reader of hashstats
    ("mb_cache_create",): 2,  # the cache and its shrinker
    ("folio_alloc_noprof|__folio_alloc_noprof", "stress_write"): 1,  # folios to wait for
    ("kthread_create_on_node", "stress_write"): 3,  # tasks that wait and wake
    # Objects of the tables.
    ("mb_cache_entry_create",): 1,
    ("alloc_uid",): 1,
    ("alloc_ucounts",): 1,
    ("dqget",): 1,
    ("find_css_set",): 1,
    ("do_timer_create",): 1,
    ("kmem_cache_alloc_noprof", "fcntl_setlk"): 1,
    ("__ksm_enter",): 1,
    ("__khugepaged_enter",): 1,
    ("unix_bind_bsd|unix_bind",): 1,
    ("copy_net_ns",): 1,
}
TABLES = (
    *("blocked_locks", "css_set", "dquot", "khugepaged_mm", "ksm_mm", "mbcache", "mount"),
    *("mountpoint", "posix_?timers", "ucounts", "uid", "unix"),
)
PREPARE = f"""
objects() {{
    awk '$1 == "name:" {{ name = $2; print name }}
         $1 == "objects:" && name ~ /^({"|".join(TABLES)})$/ {{ print name, $2 }}' /proc/hashstats
    cat /proc/mounts
}}
leaks() {{
    echo scan > /sys/kernel/debug/kmemleak
    sleep 6
    echo scan > /sys/kernel/debug/kmemleak
}}
# What RCU and work queues still hold goes a little later.
settle() {{
    turns=0
    until echo 3 > /proc/sys/vm/drop_caches && objects > /tmp/after &&
        cmp -s /tmp/before /tmp/after; do
        turns=$((turns + 1))
        [ $turns -lt 40 ] || break
        sleep 0.5
    done
    leaks
    for name in before after; do
        echo "=== $name"
        cat /tmp/$name
    done
    echo "=== leaks"
    cat /sys/kernel/debug/kmemleak
}}
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkfs.ext4 -q -O quota /dev/ram0 32M
mkdosfs /dev/ram1
cat /exfat > /dev/vda
leaks
echo clear > /sys/kernel/debug/kmemleak
objects > /tmp/before
"""
EACH = PREPARE + "".join(
    f'echo "=== {name}"\nfailing {name} {DEVICES.get(name, "")}\n' for name in OPERATIONS
)
EACH += """
settle
# A change that fails halfway is not taken out of the quota, in mainline either.
tune2fs -O ^quota /dev/ram0 > /dev/null
echo "=== fsck"
e2fsck -fn /dev/ram0
"""
STRESS = (
    PREPARE
    + """
mkdir /tmp/1 /tmp/2 /tmp/3 /tmp/4
for which in failslab fail_page_alloc; do
    cd /sys/kernel/debug/$which
    echo Y > task-filter
    echo -1 > times
    # One of 500, so that most mounts succeed and some program of each load fails.
    echo 1 > probability
    echo 5 > interval
    echo 0 > verbose
done
cd /
# A program whose allocations fail; those of this shell would end it.
with_failures() {
    sh -c 'echo 1 > /proc/self/make-it-fail && exec busybox "$@"' sh "$@" || {
        echo failed >> /tmp/results-$number
        return 1
    }
}
load() {
    case $1 in
    1) what="-t tmpfs none" ;;
    2) what="/dev/ram0 -o usrquota" ;;
    3) what="/dev/ram1" ;;
    4) what="/dev/vda" ;;
    esac
    with_failures mount $what /tmp/$1 || return
    for file in 1 2 3 4 5; do
        with_failures sh -c "echo $file > /tmp/$1/$file"
        [ $1 != 2 ] || with_failures chown $((file + 100000)) /tmp/$1/$file  # quotas
    done
    with_failures cat /proc/hashstats > /dev/null
    with_failures sh -c "echo on > /proc/hashstats"
    with_failures sh -c "echo 100 > /sys/kernel/debug/wait_filter_stress"
    with_failures rm -f /tmp/$1/?
    umount /tmp/$1
    echo done >> /tmp/results-$1
}
for number in 1 2 3 4; do
    (until [ -e /tmp/end ]; do
        (set +e; load $number) > /dev/null 2>&1 || true
        umount /tmp/$number 2> /dev/null || true
    done) &
done
sleep 120
touch /tmp/end
wait
rm -f /tmp/end
echo off > /proc/hashstats
for number in 1 2 3 4; do
    echo "=== results $number"
    cat /tmp/results-$number
done
rm /tmp/results-?
rmdir /tmp/1 /tmp/2 /tmp/3 /tmp/4
settle
"""
)


@pytest.fixture(scope="module")
def kernel():
    """The series, and what lets allocations of a test's choice fail."""
    return build.build(
        "failing",
        (*build.GUEST, build.CONFIGS / "test/failing.config"),
        extra_patch.commit(compose.compose(), "the series", *PATCHES),
        targets=("vmlinux",),
    )


def run(kernel, script):
    result = vm.run(kernel, script, complaints=True, **MACHINE, **DISKS)
    # Mainline's ext4 removes an entry of /proc that it could not create.
    assert [line for line in result.complaints if "remove_proc_entry" not in line] == []
    return result


@pytest.fixture(scope="module")
def each(kernel):
    """What the guest printed in which each operation ran until nothing failed."""
    return run(kernel, EACH)


def stacks(console):
    """The stack of each failure, a line: function+offset, the innermost first."""
    result = []
    for text in console.split("FAULT_INJECTION: forcing a failure")[1:]:
        trace = text.partition("<TASK>")[2].partition("</TASK>")[0]
        frames = re.findall(r"\]  ([\w.]+\+0x\w+)/", trace)
        result.append(" ".join(re.sub(r"\.\w+(\.\d+)?\+", "+", frame) for frame in frames))
    return result


def places(found, frames):
    """The different places where one of the stacks has these frames."""
    pattern = re.compile(" ".join(rf"\b(?:{names})\+\w+" for names in frames))
    return {match[0].split()[-1] for stack in found for match in pattern.finditer(stack)}


def check_nothing_is_lost(output):
    parts = sections.named(output)
    assert parts["before"].splitlines() == parts["after"].splitlines()
    assert parts["leaks"] == ""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_succeeds_or_fails_cleanly(each, operation):
    lines = [line.split() for line in sections.named(each.output)[operation].splitlines()]
    results = {result for _, _, fault, result in lines if fault == "fault"}
    print(len(lines) - 1, "faults:", results)
    assert lines[-1][2:] == ["none", "success"]
    assert results <= {"success", "ENOMEM", *OPERATIONS[operation]}
    assert len(lines) > 1


@pytest.mark.parametrize("frames", ALLOCATIONS, ids=" in ".join)
def test_allocation_has_failed(each, frames):
    found = places(stacks(each.console), frames)
    print(found)
    assert len(found) >= ALLOCATIONS[frames]


def test_nothing_is_lost(each):
    check_nothing_is_lost(each.output)


def test_failures_under_load(kernel):
    result = run(kernel, STRESS)
    parts = sections.named(result.output)
    ended = [Counter(parts[f"results {number}"].split()) for number in range(1, 5)]
    print(ended)
    # Each file system is used, and failures reach it.
    assert all(one["done"] for one in ended) and all(one["failed"] for one in ended)
    check_nothing_is_lost(result.output)


def test_panic_names_the_cache_of_mbcache(kernel):
    with pytest.raises(GuestError) as caught:
        vm.run(kernel, "true", append="slab_nomerge fail_initcall=mbcache_init:1", **MACHINE)
    assert caught.value.kind == "panic"
    assert "Failed to create slab 'mb_cache_entry'" in caught.value.reason


def boot_without(kernel, initcall, script, append=""):
    result = vm.run(kernel, script, append=f"fail_initcall={initcall}:1 {append}", **MACHINE)
    assert places(stacks(result.console), (initcall,))


def test_machine_does_without_hashstats(kernel):
    boot_without(kernel, "hashstats_init", "[ ! -e /proc/hashstats ]; failing user")


def test_machine_does_without_khugepaged(kernel):
    """A task that asked for huge pages ends, although there is no table of such tasks."""
    # With "always", a huge page makes mainline 7.3 take a lock that was not allocated.
    boot_without(kernel, "hugepage_init", "failing memory", "transparent_hugepage=madvise")
