# SPDX-License-Identifier: GPL-2.0
"""The caches of extended attributes of ext2 and ext4, in one table for all mounts."""

import re

import pytest

import sections
from guest import hashstats_file, vm
from kernel import build
from series import compose

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
LOOP = """
mkfs.ext4 -q /dev/vda
mkfs.ext4 -q -t ext2 /dev/ram0 32M
mkdir /mnt/four /mnt/two
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
while [ ! -e /tmp/over ]; do
    echo "=== file"
    cat /proc/hashstats
done > /tmp/files &
for i in $(seq 30); do
    turn
done
touch /tmp/over
wait
cat /tmp/files
echo "=== file"
cat /proc/hashstats
"""


def run(kernel, script, **options):
    """The parts of what a guest with both file systems printed."""
    machine = {"mem": "512M", "cpus": 2, "disk": "64M", "timeout": 120, "programs": ["mkfs.ext4"]}
    result = vm.run(kernel, script, **machine | options)
    return sections.parts(result.output), result


def mbcache(text):
    return hashstats_file.parse(text)["mbcache"]


def filled(kernel, append=""):
    """The table with both mounted, with one, with none; {fs: blocks}; the console."""
    parts, result = run(kernel, MOUNTED + FILL, append=append)
    parts = dict(parts)
    wanted = {
        fs: int(re.search(r"^distinct: (\d+)$", parts[f"sets on {fs}"], re.M)[1])
        for fs in ("four", "two")
    }
    states = [mbcache(parts[name]) for name in ("mounted", "one left", "unmounted")]
    return states, wanted, result.console


def test_file_systems_share_the_table(kernel):
    (both, one, none), wanted, _ = filled(kernel)
    for table in (both, one, none):
        assert (table["buckets"], table["bytes"]) == (BUCKETS, 8 * BUCKETS)
        assert table["sized-by"] == "memory"
    # An entry for each block, which the files with one value share.  Those of one
    # file system go with it; the others stay.
    assert both["objects"] == wanted["four"] + wanted["two"]
    assert one["objects"] == wanted["two"]
    assert none["objects"] == 0
    # A set asks for its value, unless the file has it; most are there.
    assert both["lookups"] > 1800
    assert both["hits"] > 1600
    assert 1 <= both["nodes-per-counted-hit"] < 1.2


def test_size_on_the_command_line(kernel):
    (both, _, _), wanted, console = filled(
        kernel, "hash_entries=mbcache:2,mbcache:4 mbcache.max_entries=lots"
    )
    assert (both["buckets"], both["sized-by"]) == (4, "command line")
    assert both["objects"] == wanted["four"] + wanted["two"]
    assert both["nodes-per-counted-hit"] > 2
    assert "mbcache: `lots' invalid for parameter `max_entries'" in console


def test_mounts_come_and_go_under_a_reader(kernel):
    parts, _ = run(kernel, LOOP, append="hash_entries=mbcache:64K")
    found = [mbcache(text)["objects"] for name, text in parts if name == "file"]
    assert len(found) > 20
    assert any(found) and not found[-1]


# Blocks with equal attributes that no file shares, as an image has them that was
# filled without the cache: all of their entries have one key.
EQUAL = 20000
ONE_KEY = f"""
mkfs.ext4 -q -O ^has_journal,^metadata_csum -I 128 -b 1024 -N {EQUAL + 2000} /dev/vda
mkdir /mnt/one
mount -t ext4 -o nombcache /dev/vda /mnt/one
perl -e 'for $dir (1 .. {EQUAL // 1000}) {{ mkdir "/mnt/one/$dir";
    for (1 .. 1000) {{ open(my $file, ">", "/mnt/one/$dir/$_") or die "$!";
        syscall(188, "/mnt/one/$dir/$_", "user.x", "v" x 200, 200, 0) and die "$!" }} }}'
umount /mnt/one
mount -t ext4 /dev/vda /mnt/one
echo on > /proc/hashstats
perl -e 'for $dir (1 .. {EQUAL // 1000}) {{ for (1 .. 1000) {{ my $value = "\0" x 256;
    syscall(191, "/mnt/one/$dir/$_", "user.x", $value, 256) == 200 or die "$!" }} }}'
perl -e 'open(my $file, ">", "/mnt/one/more") or die "$!";
    syscall(188, "/mnt/one/more", "user.x", "v" x 200, 200, 0) and die "$!"'
echo "=== read"
cat /proc/hashstats
"""
BOUND = 64  # entries of one key, MB_CACHE_KEY_ENTRIES of fs/mbcache.c


def test_entries_of_one_key_are_bounded(kernel):
    """Without a bound, the chain has all of them, behind one bit lock."""
    parts, _ = run(kernel, ONE_KEY, programs=["mkfs.ext4", "perl"], disk="128M", timeout=300)
    table = mbcache(dict(parts)["read"])
    assert table["objects"] == table["longest"] == BOUND
    assert table["hits"] >= 1
    # A lookup, under the lock of the bucket, examines no more than these.
    assert table["nodes-per-counted-hit"] <= BOUND


MOUNTS = 200
MANY = f"""
truncate -s 2M /tmp/image
mkfs.ext4 -q -O ^has_journal,ea_inode /tmp/image
echo "=== before"
cat /proc/hashstats
for i in $(seq {MOUNTS}); do
    mkdir /mnt/$i
    cp /tmp/image /tmp/image-$i
    mount -t ext4 -o loop /tmp/image-$i /mnt/$i
done
echo "=== mounted"
grep -c ' ext4 ' /proc/mounts
echo "=== after"
cat /proc/hashstats
"""


def test_mounts_add_no_table_memory(kernel):
    parts, _ = run(kernel, MANY, append="loop.max_loop=256", mem="1G", timeout=300)
    parts = dict(parts)
    assert int(parts["mounted"]) == MOUNTS
    before, after = (
        {name: table["bytes"] for name, table in hashstats_file.parse(parts[mark]).items()}
        for mark in ("before", "after")
    )
    assert before == after


@pytest.mark.long
def test_lockdep_and_kasan_find_nothing():
    kernel = build.build(
        "debug",
        (*build.GUEST, build.CONFIGS / "debug.config"),
        compose.compose(),
        targets=("vmlinux",),
    )
    parts, result = run(kernel, LOOP, mem="2G", cpus=4, parallel=True, timeout=600)
    assert any(mbcache(text)["objects"] for name, text in parts if name == "file")
    assert "KernelAddressSanitizer initialized" in result.console
