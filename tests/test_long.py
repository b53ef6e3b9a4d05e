# SPDX-License-Identifier: GPL-2.0
"""The series under lockdep, PROVE_RCU and KASAN, preemptible, on four CPUs.

A guest whose kernel complains fails by itself; see guest.COMPLAINT.
"""

import pytest

import build
import guest
import hashstats_file
import marked
import series

pytestmark = pytest.mark.long

# Without JUMP_LABEL the processors may run in parallel under emulation, and
# nothing but memory is written when a static key is switched.
DEBUG = (*build.GUEST, build.CONFIGS / "debug.config")
# Two nodes, each a package of two CPUs: a node within one would be warned of.
NUMA = ("-smp", "4,sockets=2,cores=2,threads=1",
        "-object", "memory-backend-ram,id=m0,size=1G",
        "-object", "memory-backend-ram,id=m1,size=1G",
        "-numa", "node,nodeid=0,cpus=0-1,memdev=m0",
        "-numa", "node,nodeid=1,cpus=2-3,memdev=m1")

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


@pytest.fixture(scope="module")
def debug():
    return build.build("debug", DEBUG, series.compose(), targets=("vmlinux",))


def test_lockdep_and_kasan_watch(debug):
    result = guest.run(debug, "cat /proc/lockdep_stats", mem="2G", cpus=4, parallel=True)
    assert "KernelAddressSanitizer initialized" in result.console
    assert "debug_locks:                             1" in result.output


def test_kunit(debug):
    result = guest.run(debug, "true", mem="2G", cpus=4, parallel=True,
                       append="kunit.enable=1")
    assert "ok 1 boot_hash" in result.console
    assert "not ok" not in result.console


@pytest.mark.parametrize("append", [
    "", "hash_entries=dentry:2,inode:2,folio_wait:2,bit_wait:2,futex:2,"
        "dentry_lookup:2,mount:2,mountpoint:2",
    "hash_entries=bit_wait:1M,folio_wait:1M,dentry:1M"])
def test_churn(debug, append):
    result = guest.run(debug, CHURN.format(seconds=60), mem="2G", cpus=4, parallel=True,
                       append=append, disk="512M", timeout=120,
                       programs=("mkfs.ext4",))
    files = [text for name, text in marked.parts(result.output)]
    assert len(files) >= 3
    for text in files:
        hashstats_file.parse(text)


def test_two_nodes(debug):
    """With hashdist the tables of the VFS come late and from vmalloc."""
    result = guest.run(debug, "cat /proc/hashstats; ls -lR /proc/sys >/dev/null",
                       mem="2G", cpus=4, parallel=True, qemu=NUMA)
    tables = hashstats_file.parse(result.output)
    assert tables["dentry"]["buckets"] == 1 << 18
    assert "Dentry cache hash table entries: 262144 (order: 9, 2097152 bytes, " \
        "vmalloc" in result.console
    assert tables["dentry_lookup"]["objects"] == 0
