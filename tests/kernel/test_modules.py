# SPDX-License-Identifier: GPL-2.0
"""A kernel with SELinux and with FAT as modules.

While one process reads /proc/hashstats, the modules are loaded, a volume is
mounted and unmounted, and the modules are removed.
"""

import re

import pytest

import sections
from guest import hashstats_file, vm
from kernel import build, variants
from series import source

# In `make test`, building this kernel would take a sixth of the time.
pytestmark = pytest.mark.long

SLOTS = 4096
TIMES = 20
MODULES = {"fat": "fs/fat/fat", "vfat": "fs/fat/vfat"}


@pytest.fixture(scope="module")
def modular(kernel, visibly):
    """Built after the usual kernel, whose tree it shares."""
    with visibly():
        return variants.patched(
            "modules",
            build.CONFIGS / "test/objects.config",
            build.CONFIGS / "test/fat-module.config",
            targets=("vmlinux", "modules"),
        )


AVC = """
mount -t selinuxfs none /sys/fs/selinux
cat /sys/fs/selinux/avc/hash_stats
echo "=== tables"
cat /proc/hashstats
"""


@pytest.mark.skipif(
    source.base_name() != "6.12", reason="Linux 7.3 has an option for the size of the AVC"
)
@pytest.mark.parametrize(
    "append, buckets, sized_by",
    [("", 512, "memory"), (f"hash_entries=avc:{SLOTS}", SLOTS, "command line")],
)
def test_the_command_line_sizes_the_avc(modular, append, buckets, sized_by):
    output = vm.run(modular, AVC, append=f"lsm=selinux {append}").output
    table = hashstats_file.parse(sections.named(output)["tables"])["avc"]
    assert (table["buckets"], table["sized-by"]) == (buckets, sized_by)
    said = re.search(r"^entries: (\d+)\nbuckets used: (\d+)/(\d+)$", output, re.M)
    assert said and int(said[3]) == buckets
    # No policy is loaded, so that few decisions differ.
    assert 0 < int(said[2]) <= int(said[1])
    assert table["objects"] > 0


RELOAD = f"""
mkdosfs /dev/ram0
mkdir /a
(until [ -e /tmp/over ]; do
    echo "=== read$((turns = turns + 1))"
    cat /proc/hashstats
done) > /tmp/read &
reader=$!
times=0
while [ $times -lt {TIMES} ]; do
    insmod /ko/fat.ko
    insmod /ko/vfat.ko
    mount -t vfat /dev/ram0 /a
    touch /a/1 /a/2
    echo "=== mounted$times"
    cat /proc/hashstats
    umount /a
    rmmod vfat
    rmmod fat
    times=$((times + 1))
done
touch /tmp/over
wait $reader
echo "=== gone"
cat /proc/hashstats
cat /tmp/read
"""


def test_modules_go_while_a_reader_walks(modular):
    files = {f"/ko/{name}.ko": modular.obj / f"{path}.ko" for name, path in MODULES.items()}
    result = vm.run(modular, RELOAD, files=files, cpus=4, timeout=60)
    at = {name: hashstats_file.parse(text) for name, text in sections.named(result.output).items()}
    for times in range(TIMES):
        tables = at.pop(f"mounted{times}")
        assert tables["fat-ram0"]["objects"] == 2
    gone = at.pop("gone")
    assert not any("fat-" in name for name in gone)
    seen = {name for tables in at.values() for name in tables if "fat-" in name}
    print(f"{len(at)} readings, with {' '.join(sorted(seen))}")
    assert len(at) >= TIMES
