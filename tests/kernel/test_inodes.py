# SPDX-License-Identifier: GPL-2.0
"""The inode table under what races in it: tools/testing/selftests/boothash/inode_stress.c.

The program checks by itself what must hold; a guest whose kernel complains
fails, and e2fsck looks at what was written.
"""

import re

import pytest

import sections
from emulation import check_races
from guest import hashstats_file, vm

# Four file systems to work on, three to mount and unmount meanwhile, and the
# file that walks the tables.
SCRIPT = """
mkdir /ext4 /ext2 /tmpfs /overlay /mount-1 /mount-2 /mount-3
dd if=/dev/zero of=/tmp/loop bs=1M count=32 2> /dev/null
loop=$(losetup -f)
losetup $loop /tmp/loop
mkfs.ext4 -q /dev/ram0 128M
mkfs.ext2 -q /dev/ram1 128M
mkfs.ext4 -q /dev/vda
mkfs.ext2 -q $loop
mount /dev/ram0 /ext4
mount -t ext2 /dev/ram1 /ext2
mount -t tmpfs tmpfs /tmpfs
mkdir /ext4/upper /ext4/lower /ext4/work
mount -t overlay -o lowerdir=/ext4/lower,upperdir=/ext4/upper,workdir=/ext4/work \
    overlay /overlay
# At its end this loop has read the whole file at least once.
(until [ -e /tmp/end ]; do cat /proc/hashstats > /tmp/stats; sleep 0.2; done) &
reader=$!
echo on > /proc/hashstats
inode_stress /ext4 /ext2 /tmpfs /overlay -t {seconds} -p {processes} \
    -m /dev/vda:ext4:/mount-1 -m $loop:ext2:/mount-2 -m none:tmpfs:/mount-3
touch /tmp/end
wait $reader
echo "=== stats"
cat /tmp/stats
umount /overlay /ext4 /ext2
for disk in /dev/ram0 /dev/ram1 /dev/vda $loop; do
    e2fsck -fn $disk > /tmp/fsck 2>&1 || {{ cat /tmp/fsck; exit 1; }}
done
"""
PROGRAMS = ("mkfs.ext4", "mkfs.ext2", "e2fsck")
MACHINE = {"mem": "2G", "cpus": 4, "disk": "64M", "programs": PROGRAMS}
LINE = re.compile(
    r"^# (\d+) operations, (\d+) evictions, (\d+) remounts, "
    r"(\d+) mounts, (\d+) foreign handles, (\d+) stale, "
    r"(\d+) unlinked and open\nok 1 inode_stress$",
    re.MULTILINE,
)
# All inodes in two buckets, so that all chains are long and contended.
TWO_BUCKETS = "hash_entries=inode:2"
# Who takes the locks of the table or walks it.
OURS = re.compile(
    r"boot_hash|hashstats|inode_hash|inode_bucket|bucket_lock|hash_lock|"
    r"inode_count|find_inode_hashed|sb_inode_list|inode_sb_list|_inode_list|"
    r"ispace|shmem_reserve_inode|percpu_counter_limited_add"
)


def stress(kernel, seconds, processes=12, **options):
    result = vm.run(
        kernel, SCRIPT.format(seconds=seconds, processes=processes), **MACHINE | options
    )
    line = LINE.search(result.output)
    print(line[0])
    counts = [int(number) for number in line.groups()]
    # Each kind of race was tried; that an inode is unlinked and open is rare.
    assert min(counts[:-1]) > 0, counts
    assert counts[0] > 100 * processes
    inode = hashstats_file.parse(sections.named(result.output)["stats"])["inode"]
    assert inode["lookups"] > 1000
    assert inode["hits"] > 0
    return result


@pytest.mark.parametrize("append", ["", TWO_BUCKETS], ids=["default", "two-buckets"])
def test_races(kernel, append):
    stress(kernel, 20 if not append else 10, append=append, timeout=90)


@pytest.mark.parametrize("damage", ["rm $one", "echo other > $one", "ln -f $one /tmp/more"])
def test_damage_is_seen(kernel, damage):
    """Other changes of the files than its own must make the program fail."""
    result = vm.run(
        kernel,
        f"""
        inode_stress /tmp -t 60 -p 2 &
        load=$!
        sleep 1
        while kill -0 $load 2> /dev/null; do
            for one in /tmp/stress-0/*/file-*; do
                ({damage}) 2> /dev/null || true
            done
        done
        wait $load
        """,
        cpus=2,
        check=False,
        timeout=90,
    )
    assert result.status == 1
    assert re.search("^not ok 1 inode_stress$", result.output, re.M)


def test_miss_of_iget5_locked_is_counted_once(kernel):
    """overlayfs looks up its inodes by iget5_locked()."""
    result = vm.run(
        kernel,
        sections.SHELL
        + """
        mkdir /tmp/one /tmp/two /overlay
        cd /tmp/one
        touch $(seq 1000)
        mount -t overlay -o lowerdir=/tmp/one:/tmp/two overlay /overlay
        echo on > /proc/hashstats
        show before
        ls -l /overlay > /tmp/listed
        show after
        """,
    )
    tables = [one["inode"] for one in sections.tables(result.output).values()]
    misses = [one["lookups"] - one["hits"] for one in tables]
    # Other directories and files of the guest are few.
    assert 1000 <= misses[1] - misses[0] < 1100


each_size = pytest.mark.parametrize(
    "append, seconds", [("", 300), (TWO_BUCKETS, 120)], ids=["default", "two-buckets"]
)


def stress_long(kernel, append, seconds, **options):
    return stress(kernel, seconds, parallel=True, append=append, timeout=seconds + 120, **options)


@pytest.mark.long
@each_size
def test_lockdep_and_kasan_find_nothing(debug_kernel, append, seconds):
    stress_long(debug_kernel, append, seconds)


@pytest.mark.long
@each_size
def test_table_does_not_race(kcsan_kernel, append, seconds):
    check_races(stress_long(kcsan_kernel, append, seconds, complaints=True), OURS)
