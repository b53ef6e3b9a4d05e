# SPDX-License-Identifier: GPL-2.0
"""The series under lockdep, PROVE_RCU and KASAN, and wakeups under KCSAN,
preemptible, on four CPUs.

A guest whose kernel complains fails by itself; see vm.COMPLAINT.
"""

import re

import pytest

import emulation
import kunit_suites
import sections
from guest import hashstats_file, kunit, vm

pytestmark = pytest.mark.long

MACHINE = {"mem": "2G", "cpus": 4, "parallel": True}

CHURN = """
mkfs.ext4 -q /dev/vda
mkdir -p /mnt
mount /dev/vda /mnt
fstree /mnt -c {seconds} -p 8 > /dev/null &
load=$!
(while sleep 1; do echo on; echo reset; echo off; done) |
	while read -r word; do echo $word > /proc/hashstats; sleep 0.3; done &
switch=$!
while kill -0 $load 2>/dev/null; do
	echo "=== file"
	cat /proc/hashstats
	echo 2 > /proc/sys/vm/drop_caches
done
kill $switch
wait $load
umount /mnt
"""

STRESS = """
echo on > /proc/hashstats
echo {waits} > /sys/kernel/debug/wait_filter_stress
cat /proc/hashstats
"""
# Where all keys share two queues a wakeup passes many others.
TWO_QUEUES = "hash_entries=folio_wait:2,bit_wait:2"
# A race is ours when one of these takes part; the base has some of its own.
OURS = re.compile(
    r"filtered|wake_up_(hashed|counted)|hashed_(queue|waiters)|waitqueue_(get|put)|"
    r"wake_page_entry|inode_finish_wait|boot_hash|hashstats|stress_|gate_|folio_wake_bit|"
    r"wake_page_function|wake_bit_function|var_wake_function"
)


def test_lockdep_and_kasan_watch(debug_kernel):
    result = vm.run(debug_kernel, "cat /proc/lockdep_stats", **MACHINE)
    assert "KernelAddressSanitizer initialized" in result.console
    assert "debug_locks:                             1" in result.output


def test_kunit(debug_kernel):
    result = vm.run(debug_kernel, "true", append=kunit.ENABLE, timeout=120, **MACHINE)
    assert kunit_suites.problems(debug_kernel.src, result.console) == {}


@pytest.mark.parametrize(
    "append",
    [
        "",
        "hash_entries=dentry:2,inode:2,folio_wait:2,bit_wait:2,futex:2,"
        "dentry_lookup:2,mount:2,mountpoint:2",
        "hash_entries=bit_wait:1M,folio_wait:1M,dentry:1M",
    ],
)
def test_churn(debug_kernel, append):
    disk = {"disk": "512M", "programs": ("mkfs.ext4",)}
    result = vm.run(
        debug_kernel, CHURN.format(seconds=60), append=append, timeout=120, **disk, **MACHINE
    )
    files = [text for _, text in sections.parts(result.output)]
    assert files
    for text in files:
        hashstats_file.parse(text)


def test_fewer_buckets_for_stacks_than_kasan_wants(debug_kernel):
    """The caller does not initialise more buckets than it got."""
    append = "hash_entries=stackdepot:4K"
    result = vm.run(debug_kernel, "cat /proc/hashstats", append=append, **MACHINE)
    assert hashstats_file.parse(result.output)["stackdepot"]["buckets"] == 4096


def test_two_nodes(debug_kernel):
    """With hashdist the tables of the VFS come late and from vmalloc."""
    script = "cat /proc/hashstats; ls -lR /proc/sys >/dev/null"
    # A node within a package would be warned of.
    result = vm.run(debug_kernel, script, qemu=emulation.nodes(4), **MACHINE)
    tables = hashstats_file.parse(result.output)
    assert tables["dentry"]["buckets"] == 1 << 18
    line = "Dentry cache hash table entries: 262144 (order: 9, 2097152 bytes, vmalloc"
    assert line in result.console
    assert tables["dentry_lookup"]["objects"] == 0


def stress(kernel, append, waits, **options):
    """Wakeups while counted; a lost one makes the job fail."""
    script = STRESS.format(waits=waits)
    result = vm.run(kernel, script, append=append, timeout=600, **MACHINE, **options)
    done = re.search(r"wait_filter_stress: (\d+) waits, (\d+) sleeps", result.console)
    assert int(done[1]) >= waits and int(done[2]) > waits // 10
    # In some waits of a task alone the gate opens before it sleeps.
    alone = re.search(
        r"wait_filter_stress: (\d+) waits of one waiter, (\d+) sleeps", result.console
    )
    assert 0 < int(alone[2]) < int(alone[1]) == waits
    for name in ("folio_wait", "bit_wait"):
        table = hashstats_file.parse(result.output)[name]
        assert table["entries-matched"] > waits // 100
    return result


# Without KVM, a million waits take minutes on two idle CPUs, and more than an hour
# where the guest's four threads share one.
each_load = pytest.mark.parametrize("append, waits", [("", 1_000_000), (TWO_QUEUES, 200_000)])


@each_load
def test_no_wakeup_is_lost(debug_kernel, append, waits):
    stress(debug_kernel, append, waits)


@each_load
def test_wakeups_do_not_race(kcsan_kernel, append, waits):
    emulation.check_races(stress(kcsan_kernel, append, waits, complaints=True), OURS)
