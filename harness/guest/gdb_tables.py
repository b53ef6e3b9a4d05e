# SPDX-License-Identifier: GPL-2.0
"""Runs inside gdb: the chain lengths of two hash tables of a stopped guest.

Only addresses from System.map and the layout of two list heads are used, no
debug information and no code of the kernel: a bucket is a pointer to the first
node of its chain, and a node begins with the pointer to the next one.  That
holds for hlist and for hlist_bl, where bit 0 of the bucket is its lock.

HASHSTATS_MAP names the System.map; chain lengths go to HASHSTATS_LENGTHS as
JSON, table -> {length: buckets}.
"""

import collections
import json
import os

import gdb

POINTER = 8
ENDLESS = 10_000_000  # nodes; a chain in memory that changes may be a ring


def symbols(wanted):
    found = {}
    with open(os.environ["HASHSTATS_MAP"]) as lines:
        for line in lines:
            address, _, name = line.split()
            if name in wanted:
                found[name] = int(address, 16)
    missing = wanted - found.keys()
    if missing:
        raise gdb.GdbError(f"System.map has no {', '.join(sorted(missing))}")
    return found


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def number(address, size):
    return int.from_bytes(read(address, size), "little")


def chain_length(node):
    length = 0
    node &= ~1
    while node:
        length += 1
        if length > ENDLESS:
            raise gdb.GdbError("a chain has no end")
        node = number(node, POINTER)
    return length


def lengths(table, buckets):
    """How many buckets have a chain of each length."""
    raw = read(table, buckets * POINTER)
    heads = (int.from_bytes(raw[i : i + POINTER], "little") for i in range(0, len(raw), POINTER))
    return collections.Counter(map(chain_length, heads))


def main():
    at = symbols({"dentry_hashtable", "d_hash_shift", "inode_hashtable", "i_hash_shift"})
    # The upper bits of a 32-bit hash choose the bucket.
    dentries = 1 << (32 - number(at["d_hash_shift"], 4))
    inodes = 1 << (32 - number(at["i_hash_shift"], 4))
    result = {
        "dentry": lengths(number(at["dentry_hashtable"], POINTER), dentries),
        "inode": lengths(number(at["inode_hashtable"], POINTER), inodes),
    }
    with open(os.environ["HASHSTATS_LENGTHS"], "w") as out:
        json.dump(result, out)


main()
