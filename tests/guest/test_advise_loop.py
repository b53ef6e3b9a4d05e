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
from guest import vm

# Not folio_wait: what a wakeup meets depends on how busy the machine is.
TOO_SMALL = "hash_entries=dentry:256,inode:128,mbcache:16"
TABLES = ("dentry", "inode", "mbcache")
WITHIN = 0.15  # of the nodes that are observed
DISK = "64M"

SCRIPT = """
mkfs.ext4 -q /dev/vda
mkdir /mnt/vda
mount -t ext4 /dev/vda /mnt/vda
echo on > /proc/hashstats
mkdir /mnt/vda/tree
fstree /mnt/vda/tree -p 2 -d 40 -f 40
xattr_bench -p 1 -f 400 -v 300 -n 1000 /mnt/vda
echo "=== file"
cat /proc/hashstats
"""


class Loop(NamedTuple):
    before: str  # /proc/hashstats of the guest with small tables
    advice: dict  # what advise --json makes of it
    after: str  # /proc/hashstats of the guest with that line


def load(kernel, line):
    """/proc/hashstats of a guest with this command line, after the load."""
    guest = vm.run(kernel, SCRIPT, append=line, disk=DISK, programs=["mkfs.ext4"])
    return sections.named(guest.output)["file"]


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
    assert after["nodes"] == pytest.approx(advice["nodes_predicted"], rel=WITHIN)


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
    assert {name: of(again["tables"], name)["action"] for name in TABLES} == dict.fromkeys(
        TABLES, "keep"
    )
