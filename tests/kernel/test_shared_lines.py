# SPDX-License-Identifier: GPL-2.0
"""What CPUs count and list for themselves: a walk or a sum finds all of it."""

import pytest

import sections
from guest import vm

CPUS = 4
# Processes create files until the limit is reached, all at once.
LIMIT = """
mkdir /limited
mount -t tmpfs -o nr_inodes={limit} limited /limited
stat -c 'root %i' /limited
: > /limited/first
for process in 1 2 3 4; do
    (
        number=0
        while : > /limited/$process-$number; do number=$((number + 1)); done
    ) 2> /dev/null &
done
wait
echo "files $(ls /limited | wc -l)"
stat -f -c 'of %c, free %d' /limited
echo "numbers $(stat -c %i /limited/* | sort -u | wc -l)"
(ln /limited/first /limited/link) 2> /dev/null && echo "a link has no room"
mount -o remount,nr_inodes={less} /limited 2> /dev/null && echo "fewer than are used"
mount -o remount,nr_inodes={more} /limited
ln /limited/first /limited/link
rm /limited/*
stat -f -c 'empty: %c, free %d' /limited
mount -o remount,nr_inodes=0 /limited
: > /limited/unlimited
stat -f -c 'unlimited: %c, free %d' /limited
rm /limited/unlimited
umount /limited
"""


# With fewer than 128 inodes per CPU, all additions take the lock. With more, CPUs
# that compared at the same time may each add one inode too many.
@pytest.mark.parametrize(
    "limit, beyond", [(50, 0), (CPUS * 128 - 1, 0), (CPUS * 128, CPUS - 1), (1000, CPUS - 1)]
)
def test_limit_of_inodes(kernel, limit, beyond):
    more = limit + beyond + 1
    script = LIMIT.format(limit=limit, less=limit - 1, more=more)
    root, files, left, numbers, *rest = vm.run(
        kernel, script, mem="512M", cpus=CPUS
    ).output.splitlines()
    assert root == "root 1"
    found = int(files.removeprefix("files "))
    # The root directory is an inode, too.
    assert limit - 1 <= found <= limit - 1 + beyond
    assert left == f"of {limit}, free 0"
    assert numbers == f"numbers {found}"
    assert rest == [f"empty: {more}, free {more - 1}", "unlimited: 0, free 0"]


def test_inode32_is_accepted_while_numbers_are_small(kernel):
    script = """
mkdir /numbers
mount -t tmpfs -o inode64 numbers /numbers
seq 3000 | sed 's|^|/numbers/|' | xargs touch
mount -o remount,inode32 /numbers
: > /numbers/last
stat -c %i /numbers/* | sort -n | tail -1
"""
    assert 3000 < int(vm.run(kernel, script, cpus=CPUS).output) < 2**32


FILES, KIB = 40, 64
# Each CPU makes files, each in its list; one CPU walks all lists.
LISTS = f"""
report() {{
    echo "=== $1"
    awk '{{ print $1 }}' /proc/sys/fs/inode-nr
    awk '$1 == "Cached:" {{ print $2 }}' /proc/meminfo
}}
mkfs.ext4 -q /dev/vda
mkdir /files
mount -t ext4 -o noinit_itable /dev/vda /files
sync
echo 3 > /proc/sys/vm/drop_caches
report mounted
for cpu in $(seq 0 {CPUS - 1}); do
    taskset $((1 << cpu)) sh -e -c "
        mkdir /files/$cpu
        for file in \\$(seq {FILES}); do
            dd if=/dev/zero of=/files/$cpu/\\$file bs={KIB}k count=1 2> /dev/null
        done"
done
sync
report made
taskset 1 sh -c 'echo 1 > /proc/sys/vm/drop_caches'
report dropped
taskset 2 umount /files
report unmounted
"""


def test_walkers_see_the_inodes_of_all_cpus(kernel):
    """drop_pagecache_sb() finds the pages of each file, evict_inodes() each inode."""
    result = vm.run(kernel, LISTS, disk="64M", cpus=CPUS, programs=["mkfs.ext4"])
    at = {
        name: tuple(map(int, text.split())) for name, text in sections.named(result.output).items()
    }
    inodes, cached = ({name: pair[i] for name, pair in at.items()} for i in range(2))
    # As many as the files of all CPUs but one, if one list were left out.
    part = FILES * (CPUS - 1)
    print(at)
    assert inodes["made"] - inodes["mounted"] >= FILES * CPUS
    assert inodes["made"] - inodes["unmounted"] > part + FILES // 2
    assert cached["made"] - cached["mounted"] > (part + FILES // 2) * KIB
    assert cached["made"] - cached["dropped"] > (part + FILES // 2) * KIB
    assert "Busy inodes" not in result.console
