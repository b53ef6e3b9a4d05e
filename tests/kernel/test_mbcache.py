# SPDX-License-Identifier: GPL-2.0
"""The caches of extended attributes of ext2 and ext4, in one table for all mounts."""

import re

import pytest

import attribute_image
import sections
from guest import hashstats_file, vm

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
    assert "`lots' invalid for parameter `mbcache.max_entries'" in console


def test_mounts_come_and_go_under_a_reader(kernel):
    parts, _ = run(kernel, LOOP, append="hash_entries=mbcache:64K")
    found = [mbcache(text)["objects"] for name, text in parts if name == "file"]
    assert len(found) > 20
    assert any(found) and not found[-1]


# Blocks with equal attributes that no file shares: all of their entries have one
# key.  Two processes read them, so that they compete for the lock of its bucket.
READ = rf"""
my $files = shift;
my $name = "{attribute_image.NAME}";
sub get {{
    my $value = "\0" x 256;
    my $file = sprintf("/mnt/one/%d/%d", $_[0] / {attribute_image.PER_FOLDER},
        $_[0] % {attribute_image.PER_FOLDER});
    syscall(191, $file, $name, $value, 256) == {len(attribute_image.VALUE)}
        or die "$file: $!";
}}
my $child = fork;
if (!$child) {{
    get($files - $_) for 1 .. $files;
    exit;
}}
get($_) for 0 .. $files - 1;
waitpid($child, 0);
exit($? != 0);
"""
SET = f"""
my ($path, $name) = ("/mnt/one/" . shift, "{attribute_image.NAME}");
my $value = "{attribute_image.VALUE.decode()}";
open(my $file, ">", $path) or die "$!";
syscall(188, $path, $name, $value, length($value), 0) and die "$!";
"""
ONE_KEY = """
mkdir /mnt/one
mount -t {fs} /dev/vda /mnt/one
echo on > /proc/hashstats
perl /read.pl {files}
echo "=== read"
cat /proc/hashstats
perl /set.pl more
echo "=== set"
cat /proc/hashstats
"""
FULL_BLOCKS = """
mkdir /mnt/one
mount -t {fs} /dev/vda /mnt/one
perl /set.pl first
perl /read.pl {files}
echo "=== free"
stat -f -c %f /mnt/one
perl /set.pl second
stat -f -c %f /mnt/one
"""
BOUND = 64  # entries of one key, MB_CACHE_KEY_ENTRIES of fs/mbcache.c


def run_on_image(kernel, script, fs, image, files):
    return run(
        kernel,
        script.format(fs=fs, files=files),
        disk=None,
        qemu=["-drive", f"file={image},format=raw,if=virtio,cache=unsafe"],
        files={"/read.pl": READ, "/set.pl": SET},
        programs=["perl"],
        timeout=max(60, files // 500),
    )


def mbcache_of_image(kernel, fs, image, files):
    """The table when all blocks were read, and when a new file has this attribute."""
    parts, result = run_on_image(kernel, ONE_KEY, fs, image, files)
    parts = dict(parts)
    read, new = (mbcache(parts[name]) for name in ("read", "set"))
    print(f"{files} files: {read['objects']} objects, {result.seconds:.0f} s")
    return read, new


@pytest.mark.parametrize("files", [5_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_entries_of_one_key_are_bounded(kernel, tmp_path, files):
    """Without a bound, the chain has all of them, behind one bit lock."""
    image = attribute_image.build(tmp_path, files)
    read, new = mbcache_of_image(kernel, "ext4", image, files)
    assert read["objects"] == read["longest"] == BOUND
    # A new file with this attribute finds a block.
    assert new["hits"]
    # A lookup, under the lock of the bucket, examines no more than these.
    assert new["nodes-per-counted-hit"] <= BOUND


@pytest.mark.parametrize("fs", ["ext2", "ext4"])
def test_blocks_without_a_hash_have_no_entries(kernel, tmp_path, fs):
    """No lookup would find them."""
    files = 5_000
    image = attribute_image.build(tmp_path, files, hashed=False)
    read, new = mbcache_of_image(kernel, fs, image, files)
    assert not read["objects"]
    # The kernel computes the hash of the new file's block.
    assert (new["objects"], new["hits"]) == (1, 0)


@pytest.mark.parametrize("fs", ["ext2", "ext4"])
def test_full_blocks_do_not_replace_one_with_room(kernel, tmp_path, fs):
    """The second file shares the block of the first, though many full ones were read since."""
    files = 2 * BOUND
    image = attribute_image.build(tmp_path, files, full=True)
    parts, _ = run_on_image(kernel, FULL_BLOCKS, fs, image, files)
    before, after = dict(parts)["free"].split()
    assert before == after


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
def test_lockdep_and_kasan_find_nothing(debug_kernel):
    parts, _ = run(debug_kernel, LOOP, mem="2G", cpus=4, parallel=True, timeout=600)
    assert any(mbcache(text)["objects"] for name, text in parts if name == "file")
