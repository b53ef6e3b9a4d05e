# SPDX-License-Identifier: GPL-2.0
"""Runs inside gdb: the chain lengths of a stopped guest's inode table.

As gdb_tables.py, but for any kernel, the base too: the number of buckets is
given and not read.  A bucket is a pointer to the first node of its chain, and
a node begins with the pointer to the next one.

INODES_MAP names the System.map, INODES_BUCKETS is the number of buckets; chain
lengths go to INODES_LENGTHS as JSON, {length: buckets}.
"""

import collections
import json
import os

import gdb

POINTER = 8
ENDLESS = 10_000_000  # nodes; a chain in memory that changes may be a ring


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def pointer(address):
    return int.from_bytes(read(address, POINTER), "little")


def symbol(wanted):
    with open(os.environ["INODES_MAP"]) as lines:
        for line in lines:
            address, _, name = line.split()
            if name == wanted:
                return int(address, 16)
    raise gdb.GdbError(f"System.map has no {wanted}")


def chain_length(node):
    length = 0
    while node:
        length += 1
        if length > ENDLESS:
            raise gdb.GdbError("a chain has no end")
        node = pointer(node)
    return length


def main():
    table = pointer(symbol("inode_hashtable"))
    raw = read(table, int(os.environ["INODES_BUCKETS"]) * POINTER)
    lengths = collections.Counter(
        chain_length(int.from_bytes(raw[i : i + POINTER], "little"))
        for i in range(0, len(raw), POINTER)
    )
    with open(os.environ["INODES_LENGTHS"], "w") as out:
        json.dump(lengths, out)


main()
