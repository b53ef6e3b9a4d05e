# SPDX-License-Identifier: GPL-2.0
"""The caches of extended attributes: a table for each mounted file system."""

import re

import pytest

import sections
from guest import hashstats_file, vm
from kernel import build
from series import compose

FOUR = "mbcache ext4 vda ea-block"
INODES = "mbcache ext4 vda ea-inode"
TWO = "mbcache ext2 ram0"
BUCKETS = 1 << 13  # one for 64 KiB of 512 MiB

MOUNTED = """
mkfs.ext4 -q -O ea_inode /dev/vda
mkfs.ext4 -q -t ext2 /dev/ram0 32M
mkdir /mnt/four /mnt/two
mount -t ext4 /dev/vda /mnt/four
mount -t ext2 /dev/ram0 /mnt/two
"""
FILL = """
echo on > /proc/hashstats
for fs in four two; do
    echo "=== sets on $fs"
    xattr_bench -p 1 -f 200 -v 40 -n 1000 /mnt/$fs
done
echo "=== mounted"
cat /proc/hashstats
umount /mnt/four
echo "=== one left"
cat /proc/hashstats
umount /mnt/two
echo "=== unmounted"
cat /proc/hashstats
"""
# A table of 64 K buckets takes 512 KiB: what 60 mounts lose would show.
LOOP = """
mkfs.ext4 -q /dev/vda
mkfs.ext4 -q -t ext2 /dev/ram0 32M
mkdir /mnt/four /mnt/two
free() {
    sync
    echo 3 > /proc/sys/vm/drop_caches
    grep MemFree /proc/meminfo
}
turn() {
    mount -t ext4 /dev/vda /mnt/four
    mount -t ext2 /dev/ram0 /mnt/two
    for fs in four two; do
        xattr_bench -p 1 -f 10 -v 10 -n 20 /mnt/$fs > /dev/null
        rm -r /mnt/$fs/proc-0
    done
    umount /mnt/four
    umount /mnt/two
}
turn
echo "=== free before"
free
while [ ! -e /tmp/over ]; do
    echo "=== file"
    cat /proc/hashstats
done > /tmp/files &
for i in $(seq 30); do
    turn
done
touch /tmp/over
wait
echo "=== free after"
free
cat /tmp/files
"""


def run(kernel, script, **options):
    """The parts of what a guest with both file systems printed."""
    machine = {"mem": "512M", "cpus": 2, "disk": "64M", "timeout": 120, "programs": ["mkfs.ext4"]}
    result = vm.run(kernel, script, **machine | options)
    return sections.parts(result.output), result


def of_mbcache(text):
    tables = hashstats_file.parse(text)
    return {name: table for name, table in tables.items() if table["name"] == "mbcache"}


def filled(kernel, append=""):
    parts, result = run(kernel, MOUNTED + FILL, append=append)
    parts = dict(parts)
    wanted = {
        fs: int(re.search(r"^distinct: (\d+)$", parts[f"sets on {fs}"], re.M)[1])
        for fs in ("four", "two")
    }
    assert not of_mbcache(parts["unmounted"])
    assert list(of_mbcache(parts["one left"])) == [TWO]
    return of_mbcache(parts["mounted"]), wanted, result.console


def test_tables_of_mounted_file_systems(kernel):
    tables, wanted, _ = filled(kernel)
    assert list(tables) == [FOUR, INODES, TWO]
    for name, table in tables.items():
        assert table["buckets"] == BUCKETS, name
        assert table["bytes"] == 8 * BUCKETS
        assert table["sized-by"] == "memory"
    # An entry for each block, which the files with one value share.
    assert tables[FOUR]["objects"] == wanted["four"]
    assert tables[TWO]["objects"] == wanted["two"]
    assert tables[INODES]["objects"] == 0
    for name in (FOUR, TWO):
        # A set asks for its value, unless the file has it; most are there.
        assert tables[name]["lookups"] > 900
        assert tables[name]["hits"] > 800
        assert 1 <= tables[name]["nodes-per-counted-hit"] < 1.2


def test_size_on_the_command_line(kernel):
    tables, wanted, console = filled(
        kernel, "hash_entries=mbcache:2,mbcache:4 mbcache.max_entries=lots"
    )
    for table in tables.values():
        assert table["buckets"] == 4
        assert table["sized-by"] == "command line"
    assert tables[FOUR]["objects"] == wanted["four"]
    assert tables[FOUR]["nodes-per-counted-hit"] > 2
    assert "mbcache: max_entries=lots: no number, ignored" in console
    assert "no such table" not in console


def test_bad_size_is_named_once(kernel):
    _, _, console = filled(kernel, "hash_entries=mbcache:many")
    assert console.count("mbcache buckets: 'many' is no number") == 1


def test_mounts_come_and_go_under_a_reader(kernel):
    parts, _ = run(kernel, LOOP, append="hash_entries=mbcache:64K")
    before, after = (
        int(re.search(r"MemFree: *(\d+) kB", dict(parts)[name])[1])
        for name in ("free before", "free after")
    )
    files = [text for name, text in parts if name == "file"]
    seen = [len(of_mbcache(text)) for text in files]
    assert len(files) > 20
    assert {0, 1, 2} >= set(seen) and 2 in seen
    # The tables of the mounts would be 30 MiB.
    assert before - after < 8 << 10


@pytest.mark.long
def test_lockdep_and_kasan_find_nothing():
    kernel = build.build(
        "debug",
        (*build.GUEST, build.CONFIGS / "debug.config"),
        compose.compose(),
        targets=("vmlinux",),
    )
    parts, result = run(kernel, LOOP, mem="2G", cpus=4, parallel=True, timeout=600)
    files = [text for name, text in parts if name == "file"]
    assert 2 in [len(of_mbcache(text)) for text in files]
    assert "KernelAddressSanitizer initialized" in result.console
