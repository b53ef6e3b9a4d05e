# SPDX-License-Identifier: GPL-2.0
"""Tables of the network, of FAT and of exFAT: each object is counted, and goes again.

Network namespaces and FAT volumes come and go while others read /proc/hashstats.
The table of a volume is there while it is mounted.
"""

import pytest

import exfat_image
import sections
from guest import vm
from series import source

one_table_of_addresses = pytest.mark.skipif(
    source.base_name() != "6.12",
    reason="in Linux 7.3, each network namespace has a table of addresses, which is not shown",
)
DEVICES, ADDRESSES, SOCKETS, FILES, DIRECTORIES = 300, 600, 400, 1000, 50
SECONDS, LONG_SECONDS = 6, 120

READ = (
    sections.SHELL
    + """
read_until_over() {
    turns=0
    end=$(($(date +%s) + seconds))
    while [ $(date +%s) -lt $end ]; do
        turns=$((turns + 1))
        show read$turns
    done
    touch /tmp/over
    wait
}
# A worker takes a network namespace down.
no_addresses() {
    [ "$(objects inet_addr)" = "inet_addr 0" ] || [ "$(objects inet_addr)" = "inet_addr 1" ]
}
"""
)

COUNTS = (
    READ
    + f"""
ip link set lo up
show before
for n in $(seq {DEVICES}); do ip link add d$n type dummy; done
show devices
for n in $(seq {DEVICES}); do ip link del d$n; done
flood addresses /ids sh -c 'echo "=== addresses"; cat /proc/hashstats'
flood sockets /tmp/sockets {SOCKETS} sh -c 'echo "=== sockets"; cat /proc/hashstats'
retry no_addresses
show after
"""
)


def objects(tables, name):
    return tables[name]["objects"]


@one_table_of_addresses
def test_what_is_made_is_counted(kernel):
    ids = "".join(f"{0x0A000001 + 7 * number}\n" for number in range(ADDRESSES))
    at = sections.tables(vm.run(kernel, COUNTS, files={"/ids": ids}, timeout=90).output)
    for name in ("netdev_name", "netdev_index"):
        # The first namespace only: the devices of flood are in another one.
        assert objects(at["devices"], name) - objects(at["before"], name) == DEVICES
        assert objects(at["addresses"], name) == objects(at["before"], name)
        assert objects(at["after"], name) == objects(at["before"], name)
    assert objects(at["addresses"], "inet_addr") - objects(at["before"], "inet_addr") == ADDRESSES
    assert objects(at["sockets"], "unix") - objects(at["before"], "unix") == SOCKETS
    for name in ("inet_addr", "unix"):
        assert objects(at["after"], name) == objects(at["before"], name)


NAMESPACES = (
    READ
    + """
ip link set lo up
show before
come_and_go() {
    until [ -e /tmp/over ]; do
        flood addresses /ids sh -c :
        echo gone >> /tmp/gone
    done
}
for child in 1 2 3 4; do
    come_and_go &
done
read_until_over
retry no_addresses
show after
echo "=== gone"
wc -l < /tmp/gone
"""
)


def namespaces(kernel, seconds=SECONDS, **options):
    ids = "".join(f"{0x0A000001 + number}\n" for number in range(100))
    result = vm.run(
        kernel, f"seconds={seconds}\n{NAMESPACES}", files={"/ids": ids}, cpus=4, **options
    )
    output, _, gone = result.output.partition("=== gone\n")
    at = sections.tables(output)
    print(f"{int(gone)} namespaces, {len(at) - 2} readings")
    assert int(gone) >= 4
    most = max(objects(tables, "inet_addr") for tables in at.values())
    assert most > objects(at["before"], "inet_addr")
    assert objects(at["after"], "inet_addr") == objects(at["before"], "inet_addr")


@one_table_of_addresses
def test_namespaces_come_and_go(kernel):
    namespaces(kernel, timeout=60)


FAT = (
    READ
    + f"""
mkdosfs /dev/vda
mount -t vfat /dev/vda /mnt
stat -f -c %b /mnt > /tmp/clusters
show before
for n in $(seq 0 {FILES - 1}); do
    [ $((n % 100)) -ne 0 ] || mkdir /mnt/$((n / 100))
    : > /mnt/$((n / 100))/$n
done
show files
exec 3<> /proc/hashstats
echo "only fat-vda mount" >&3
echo "=== named"
cat <&3
umount /mnt
show after
mount -t vfat /dev/vda /mnt
echo "=== about"
find /mnt | wc -l
cat /tmp/clusters
awk '$1 == "MemTotal:" {{ print $2 }}' /proc/meminfo
"""
)


def test_inodes_of_fat(kernel):
    result = vm.run(kernel, FAT, disk="256M", timeout=60)
    output, _, about = result.output.partition("=== about\n")
    found, clusters, memory = map(int, about.split())
    assert found == 1 + FILES + FILES // 100
    at = sections.tables(output)
    table = at["files"]["fat-vda"]
    most = min(max(memory // 128, 256), 16384)
    wanted = min(max((clusters + 2) // 8, 256), most)
    assert table["buckets"] == 1 << (wanted.bit_length() - 1)
    assert table["bytes"] == 8 * table["buckets"]
    assert table["sized-by"] == "fixed"
    assert objects(at["before"], "fat-vda") == 0
    assert table["objects"] == FILES + FILES // 100
    assert list(at["named"]) == ["mount", "fat-vda"]
    assert objects(at["named"], "fat-vda") == table["objects"]
    assert "fat-vda" not in at["after"]


EXFAT = (
    READ
    + f"""
cat /exfat > /dev/vda
mount -t exfat /dev/vda /mnt
for directory in $(seq {DIRECTORIES}); do
    mkdir /mnt/$directory
    for file in $(seq {FILES // DIRECTORIES}); do : > /mnt/$directory/$file; done
done
show files
umount /mnt
show after
"""
)


def test_inodes_of_exfat(kernel):
    """Files with the same place in different directories do not share a chain."""
    image = exfat_image.image()
    size = f"{len(image) >> 20}M"
    result = vm.run(kernel, EXFAT, disk=size, files={"/exfat": image}, timeout=60)
    at = sections.tables(result.output)
    table = at["files"]["exfat-vda"]
    print(table)
    assert table["objects"] == FILES + DIRECTORIES + 1  # the root
    assert table["longest"] < DIRECTORIES // 2
    assert "exfat-vda" not in at["after"]


MOUNTS = (
    READ
    + """
mkdosfs /dev/vda
mkdosfs /dev/ram0
mkdir /a /b
come_and_go() {
    until [ -e /tmp/over ]; do
        mount -t vfat /dev/$1 $2
        touch $2/1 $2/2 $2/3 $2/4 $2/5 $2/6 $2/7 $2/8
        rm $2/*
        sleep $mounted
        umount $2
        echo gone >> /tmp/gone
    done
}
come_and_go vda /a &
come_and_go ram0 /b &
read_until_over
show after
echo "=== gone"
wc -l < /tmp/gone
"""
)


def volumes(kernel, seconds=SECONDS, **options):
    # A mount and an unmount wait while a reader walks large tables, which takes seconds in
    # a slow kernel.  A reading misses a volume that is mounted for a shorter time.
    script = f"seconds={seconds}\nmounted={seconds / 30}\n{MOUNTS}"
    result = vm.run(kernel, script, disk="64M", cpus=4, **options)
    output, _, gone = result.output.partition("=== gone\n")
    # Fails if a reading has a table twice.
    at = sections.tables(output)
    seen = [name for tables in at.values() for name in tables if name.startswith("fat-")]
    print(f"{int(gone)} mounts, {len(at) - 1} readings, {len(seen)} tables")
    assert int(gone) >= 2
    assert {"fat-vda", "fat-ram0"} == set(seen)
    assert not any(name.startswith("fat-") for name in at["after"])


def test_a_reader_walks_while_volumes_go(kernel):
    volumes(kernel, timeout=60)


@pytest.mark.long
@pytest.mark.parametrize("load", [pytest.param(namespaces, marks=one_table_of_addresses), volumes])
def test_lockdep_and_kasan_find_nothing(debug_kernel, load):
    load(debug_kernel, LONG_SECONDS, mem="2G", parallel=True, timeout=300)
