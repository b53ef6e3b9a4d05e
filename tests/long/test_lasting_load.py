# SPDX-License-Identifier: GPL-2.0
"""Two hours of everything at once: nothing is left behind.

Users, timers, locks, cgroups, files, pages, mounts and attributes come and go
under memory pressure, while processors leave and return, the machine is stopped
for a while, and gets more memory.  The same load has run for a minute before,
so one-time allocations have been made.  In the end each table must have as few
objects as then, and the kernel no more memory that cannot be reclaimed.
"""

import json
import os
import socket
import time

import pytest

import emulation
import sections
from guest import hashstats_file, vm

pytestmark = pytest.mark.long

SECONDS = 7200
FIRST_SECONDS = 60
PAUSE_SECONDS = 10
MORE_MIB = 256
QEMU = (
    *("-m", "512M,slots=1,maxmem=2G"),
    *("-object", f"memory-backend-ram,id=more,size={MORE_MIB}M"),
    *("-qmp", "unix:qmp.sock,server=on,wait=off"),
)
DISKS = {"vda": 96, "vdb": 64, "vdc": 256}
SCRIPT = """
echo 4 > /proc/sys/vm/drop_caches
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /pages /again /crowd /inodes /names /mounts /mounts/four /mounts/two
mkfs.ext4 -q -b 1024 /dev/vda
mkfs.ext4 -q /dev/vdb
mkfs.ext4 -q /dev/ram0 32M
mkfs.ext4 -q -t ext2 /dev/ram1 32M
mkswap /dev/vdc > /dev/null
swapon /dev/vdc
mount /dev/vda /pages
for folder in crowd inodes names; do mount -t tmpfs -o size=64M tmpfs /$folder; done
echo on > /proc/hashstats

# File systems whose attributes and inodes are in the tables come and go.
mounts() {{
    until [ -e /tmp/end ]; do
        mount -t ext4 /dev/ram0 /mounts/four
        mount -t ext2 /dev/ram1 /mounts/two
        for folder in four two; do
            xattr_bench -p 1 -f 50 -v 20 -n 200 /mounts/$folder > /dev/null
            rm -r /mounts/$folder/proc-0
        done
        umount /mounts/four /mounts/two
        echo mounts >> /tmp/done
    done
}}
processors() {{
    until [ -e /tmp/end ]; do
        for cpu in 1 2 3; do
            echo 0 > /sys/devices/system/cpu/cpu$cpu/online
            sleep 1
            echo 1 > /sys/devices/system/cpu/cpu$cpu/online
            echo processors >> /tmp/done
        done
    done
}}
readers() {{
    until [ -e /tmp/end ]; do
        cat /proc/hashstats > /dev/null
        echo reset > /proc/hashstats
        echo 200 > /sys/kernel/debug/wait_filter_stress
        echo readers >> /tmp/done
        sleep 1
    done
}}
# Seconds, and a command to run meanwhile.
load() {{
    echo "=== load $1"
    rm -f /tmp/end /tmp/done
    pids=
    crowd_stress /crowd -g /sys/fs/cgroup -t $1 -p 4 > /tmp/crowd &
    pids="$pids $!"
    inode_stress /inodes -m /dev/vdb:ext4:/again -t $1 -p 3 > /tmp/inodes &
    pids="$pids $!"
    page_stress /pages -a 160 -t $1 -p 3 > /tmp/pages &
    pids="$pids $!"
    fstree /names -c $1 -p 2 > /tmp/names &
    pids="$pids $!"
    loops=
    for loop in mounts processors readers; do
        $loop &
        loops="$loops $!"
    done
    $2
    for pid in $pids; do wait $pid; done
    touch /tmp/end
    for pid in $loops; do wait $pid; done
    rm -rf /crowd/* /inodes/* /names/*
}}
# RCU and work queues free objects later.
state() {{
    for turn in 1 2 3 4 5 6; do
        sync
        echo 3 > /proc/sys/vm/drop_caches
        sleep 2
    done
    echo "=== tables $1"
    cat /proc/hashstats
    echo "=== memory $1"
    cat /proc/meminfo
}}
load {first} true
state before
load {seconds} wait-for-host
state after
echo "=== done"
sort /tmp/done | uniq -c
cat /tmp/crowd /tmp/inodes /tmp/pages
umount /pages
swapoff /dev/vdc
for disk in vda vdb ram0 ram1; do
    e2fsck -fn /dev/$disk > /tmp/fsck 2>&1 || {{ cat /tmp/fsck; exit 1; }}
done
"""


class Monitor:
    """QEMU's own control of the machine."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX)
        # A socket's path may have 107 characters; this one always fits.
        descriptor = os.open(folder, os.O_PATH)
        self.socket.connect(f"/proc/self/fd/{descriptor}/qmp.sock")
        os.close(descriptor)
        self.lines = self.socket.makefile()
        self.lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        words = {"execute": command, "arguments": arguments}
        self.socket.sendall(json.dumps(words).encode())
        while "return" not in (answer := json.loads(self.lines.readline())):
            assert "error" not in answer, answer


def run_load(kernel, seconds):
    machine = vm.Guest(
        kernel,
        SCRIPT.format(first=FIRST_SECONDS, seconds=seconds),
        cpus=4,
        append="memhp_default_state=online",
        qemu=[*QEMU, *emulation.drives(DISKS)],
        programs=("mkfs.ext4", "e2fsck"),
        timeout=2 * seconds + 600,
        complaints=True,
    )
    emulation.disks(machine, DISKS)
    with machine:
        machine.ready()
        machine.go()
        monitor = Monitor(machine.folder)
        time.sleep(seconds / 3)
        monitor.ask("device_add", driver="pc-dimm", id="dimm", memdev="more")
        time.sleep(seconds / 3)
        monitor.ask("stop")
        time.sleep(PAUSE_SECONDS)
        monitor.ask("cont")
        return machine.finish()


def in_kib(meminfo):
    return {line.split(":")[0]: int(line.split()[1]) for line in meminfo.splitlines()}


def test_nothing_is_left_behind(kernel):
    result = run_load(kernel, SECONDS)
    parts = sections.named(result.output)
    print(parts["done"])
    for loop in ("mounts", "processors", "readers"):
        assert f" {loop}\n" in parts["done"]
    before, after = (hashstats_file.parse(parts[f"tables {when}"]) for when in ("before", "after"))
    grown = {
        name: (before[name]["objects"], table["objects"])
        for name, table in after.items()
        if "objects" in table
        # A few names more or less are those that the shell has looked up.
        and table["objects"] > before[name]["objects"] + 16
    }
    assert grown == {}
    before, after = (in_kib(parts[f"memory {when}"]) for when in ("before", "after"))
    assert after["MemTotal"] - before["MemTotal"] > MORE_MIB * 1000
    # The struct pages of the added memory also count.
    for what in ("SUnreclaim", "PageTables", "KernelStack", "Percpu", "VmallocUsed"):
        print(f"{what}: {before[what]} kB before, {after[what]} kB after")
        assert after[what] < 1.1 * before[what] + 4096
    # Mainline's accounting of deadline bandwidth can go wrong when a CPU goes offline.
    assert [line for line in result.complaints if "kernel/sched/deadline.c" not in line] == []
