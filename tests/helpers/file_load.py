# SPDX-License-Identifier: GPL-2.0
"""A short load on files and wakeups, and what /proc/hashstats must say of it."""

import re

import sections
from common import run
from guest import hashstats_file

WAITS = 5000
# Each process makes and removes files, in rounds.
PROCESSES, FILES, ROUNDS = 4, 100, 5
SCRIPT = f"""
mount -t ext4 /dev/vda /mnt
echo on > /proc/hashstats
load() {{
    mkdir $1
    for round in $(seq {ROUNDS}); do
        for file in $(seq {FILES}); do echo $file > $1/$file; done
        [ $(cat $1/* | wc -l) = {FILES} ]
        [ $round = {ROUNDS} ] || rm $1/*
    done
}}
jobs=
for number in $(seq {PROCESSES}); do
    folder=/tmp
    [ $((number % 2)) = 0 ] || folder=/mnt
    load $folder/$number &
    jobs="$jobs $!"
done
for job in $jobs; do wait $job; done
echo {WAITS} > /sys/kernel/debug/wait_filter_stress
echo "=== full"
cat /proc/hashstats
echo "=== dentry-state"
cat /proc/sys/fs/dentry-state
rm -r /tmp/* /mnt/[0-9]*
umount /mnt
echo 2 > /proc/sys/vm/drop_caches
echo "=== empty"
cat /proc/hashstats
"""


def disk(folder):
    """Words for QEMU: the disk that the load uses, made in a folder."""
    path = folder / "disk"
    run(["mkfs.ext4", "-q", path, "32M"])
    return ("-drive", f"file={path},format=raw,if=virtio")


def check(result):
    """Check that the load waited, and that it filled and emptied the tables."""
    waits = re.search(r"wait_filter_stress: (\d+) waits, (\d+) sleeps", result.console)
    assert waits, "no line of wait_filter_stress"
    assert int(waits[1]) >= WAITS and int(waits[2])
    parts = dict(sections.parts(result.output))
    full, empty = (hashstats_file.parse(parts[name]) for name in ("full", "empty"))
    files = PROCESSES * FILES
    for name in ("dentry", "inode"):
        on_disk = files // 2 if name == "inode" else files
        assert full[name]["objects"] > on_disk
        assert empty[name]["objects"] < full[name]["objects"] - on_disk // 2
    assert full["dentry"]["objects"] <= int(parts["dentry-state"].split()[0])
    assert full["dentry"]["lookups"] > files
