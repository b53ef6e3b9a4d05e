# SPDX-License-Identifier: GPL-2.0
"""The loop of hashstats advise, closed on real kernels.

A guest has tables that are too small on purpose.  What advise makes of its
/proc/hashstats is the command line of the next one, which gets the same load:
its lookups must cost what was predicted.
"""

import json
from typing import NamedTuple

import pytest
from toyhashstats import hashstats, said

import sections
from guest import limits, vm

TOO_SMALL = "hash_entries=dentry:256,inode:128,folio_wait:16,mbcache:16"
TABLES = ("dentry", "inode", "folio_wait", "mbcache")
WITHIN = 0.15  # of the nodes that are observed
# What a wakeup meets depends on which tasks wait at that time, so on how busy the
# machine is: between two guests it differs more than chance in the hash does.
DEPENDS_ON_TIME = "folio_wait"
STEADY = [name for name in TABLES if name != DEPENDS_ON_TIME]
DISK = "64M"

# Free pages lie in no order, as on a machine that has run for a while: neighbours,
# of which the memory of a fresh one is made, meet less often than by chance. The
# herd waits for pages of a slow disk, and drops all caches before.
SCRIPT = """
for disk in vda vdb; do
    mkfs.ext4 -q /dev/$disk
    mkdir /mnt/$disk
    mount -t ext4 /dev/$disk /mnt/$disk
done
cd /tmp
for page in $(seq 6000); do
    echo > $page
done
seq 6000 | shuf | head -n 3000 | xargs rm
echo on > /proc/hashstats
herd /mnt/vdb page-locks -t 512 -n 8
mkdir /mnt/vda/tree
fstree /mnt/vda/tree -p 2 -d 40 -f 40
xattr_bench -p 1 -f 400 -v 300 -n 1000 /mnt/vda
echo "=== file"
cat /proc/hashstats
"""
SLOW = ["-drive", "file=slow,format=raw,if=virtio,cache=unsafe,throttling.iops-total=1000"]


class Loop(NamedTuple):
    before: str  # /proc/hashstats of the guest with small tables
    advice: dict  # what advise --json makes of it
    after: str  # /proc/hashstats of the guest with that line


def load(kernel, line):
    """/proc/hashstats of a guest with this command line, after the load."""
    machine = vm.Guest(
        kernel, SCRIPT, append=line, disk=DISK, qemu=SLOW, programs=["mkfs.ext4"], timeout=60
    )
    with open(machine.folder / "slow", "wb") as disk:
        disk.truncate(limits.size(DISK))
    with machine:
        return sections.named(machine.finish().output)["file"]


def run_loop(kernel):
    before = load(kernel, TOO_SMALL)
    advice = json.loads(said("advise", "--json", "-f", "-", text=before))
    return Loop(before, advice, load(kernel, advice["line"]))


@pytest.fixture(scope="module")
def loop(kernel):
    return run_loop(kernel)


def of(tables, name):
    """The entry of a table in the output of json or advise --json."""
    [found] = [one for one in tables if one["name"] == name]
    return found


def judged(text, name):
    return of(json.loads(said("json", "-f", "-", text=text))["tables"], name)


@pytest.mark.parametrize("name", TABLES)
def test_lookups_cost_what_was_predicted(loop, name):
    advice, after = of(loop.advice["tables"], name), judged(loop.after, name)
    assert advice["action"] == "grow" and not advice["rough"]
    assert after["buckets"] == advice["buckets_new"]
    if name in STEADY:
        assert after["nodes"] == pytest.approx(advice["nodes_predicted"], rel=WITHIN)
    else:
        assert after["nodes"] < judged(loop.before, name)["nodes"] / 2


@pytest.mark.parametrize("name", TABLES)
def test_verdict_was_bad_and_is_good(loop, name):
    assert judged(loop.before, name)["verdict"] == "crowded"
    assert judged(loop.after, name)["verdict"] == "ok"


def test_status_for_scripts(loop):
    assert hashstats("show", "--check", "-f", "-", text=loop.before).returncode == 1
    assert hashstats("show", "--check", "-f", "-", text=loop.after).returncode == 0


def test_nothing_is_left_to_grow(loop):
    """Advised again, the tables that grew stay as they are."""
    again = json.loads(said("advise", "--json", "-f", "-", text=loop.after))
    assert {name: of(again["tables"], name)["action"] for name in STEADY} == dict.fromkeys(
        STEADY, "keep"
    )
