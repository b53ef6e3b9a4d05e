# SPDX-License-Identifier: GPL-2.0
"""Limits and inode numbers of tmpfs, which counts both for each CPU."""

from guest import vm

# Processes create files until the limit is reached, all at once, from a start at which
# CPUs need the lock of the counter, or need none.
SCRIPT = """
mkdir /limited
mount -t tmpfs -o nr_inodes={limit} limited /limited
stat -c 'root %i' /limited
for process in 1 2 3 4; do
    (
        number=0
        while : > /limited/$process-$number; do number=$((number + 1)); done
    ) 2> /dev/null &
done
wait
echo "files $(ls /limited | wc -l) of $(stat -f -c '%c, free %d' /limited)"
echo "numbers $(stat -c %i /limited/* | sort -u | wc -l)"
(ln /limited/1-0 /limited/link) 2> /dev/null && echo "a link has no room"
mount -o remount,nr_inodes={less} /limited 2> /dev/null && echo "fewer than are used"
mount -o remount,nr_inodes={more} /limited
ln /limited/1-0 /limited/link
(: > /limited/last) 2> /dev/null && echo "more than nr_inodes"
rm /limited/*
echo "empty, $(stat -f -c '%c, free %d' /limited)"
mount -o remount,nr_inodes=0 /limited
: > /limited/unlimited
stat -f -c 'unlimited %c, free %d' /limited
rm /limited/unlimited
umount /limited
"""


def test_limit_of_inodes_is_exact(kernel):
    for limit in (50, 1000):
        script = SCRIPT.format(limit=limit, less=limit - 1, more=limit + 1)
        found = vm.run(kernel, script, mem="512M", cpus=4).output.splitlines()
        # The root directory is an inode, too.
        assert found == [
            "root 1",
            f"files {limit - 1} of {limit}, free 0",
            f"numbers {limit - 1}",
            f"empty, {limit + 1}, free {limit}",
            "unlimited 0, free 0",
        ]
