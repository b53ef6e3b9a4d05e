# SPDX-License-Identifier: GPL-2.0
"""Damaged file systems: blocks of attributes, and indices of directories.

A user who may mount a disk controls its content.  The hashes of these blocks are
keys of mbcache, and the index is searched by the hash of a name.
"""

import re

import pytest

import sections
from guest import hashstats_file, vm

FILES, VALUES, NAMES = 60, 15, 300
# Without checksums, which would refuse each damaged block.  Small inodes have no
# room for an attribute.
UUID = "6d1b54a8-2f0e-4c4e-9a57-b007b007b007"
OPTIONS = (
    f"-b 1024 -I 128 -N 1024 -O dir_index,^metadata_csum,^has_journal -U {UUID} -E hash_seed={UUID}"
)
SCRIPT = """
mkfs.ext4 -q -t {kind} {options} /dev/ram0 2M
mount -t {kind} /dev/ram0 /mnt
xattr_bench -p 1 -f {files} -v {values} -n 200 /mnt > /dev/null
mkdir /mnt/names
for i in $(seq {names}); do : > /mnt/names/a-name-of-some-length-$i; done
umount /mnt
dd if=/dev/ram0 of=/tmp/image bs=1M count=2 2> /dev/null
echo "=== hostile"
hostile /tmp/image /dev/ram0 {kind} -n {copies} -r {seed}
echo "=== after"
cat /proc/hashstats
"""


def check_hostile(kernel, kind, copies, seed=1, **options):
    script = SCRIPT.format(
        kind=kind,
        options=OPTIONS,
        files=FILES,
        values=VALUES,
        names=NAMES,
        copies=copies,
        seed=seed,
    )
    result = vm.run(kernel, script, programs=["mkfs.ext4"], **options)
    parts = dict(sections.parts(result.output))
    found = {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", parts["hostile"])}
    print(found, f"{result.seconds:.0f} s")
    # A block for each value that is left; ext2 has no index.
    assert found["attributes"] >= 10
    assert found["indices"] == (kind == "ext4")
    assert found["copies"] == copies
    # The damage is met, and does not keep the rest from being used.
    assert found["refused"] < copies / 2
    assert 0 < found["damaged"] <= found["failed"] < found["calls"] / 2
    assert hashstats_file.parse(parts["after"])["mbcache"]["objects"] == 0


@pytest.mark.parametrize("kind", ["ext4", "ext2"])
def test_damaged_copies_are_survived(kernel, kind):
    check_hostile(kernel, kind, 50, timeout=120)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ext4", "ext2"])
def test_lockdep_and_kasan_find_nothing(debug_kernel, kind):
    check_hostile(debug_kernel, kind, 1000, seed=2, mem="1G", parallel=True, timeout=600)
