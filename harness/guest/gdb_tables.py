# SPDX-License-Identifier: GPL-2.0
"""Runs inside gdb: the chain lengths of hash tables of a stopped guest.

Only addresses from System.map and the layout of two list heads are used, no
debug information and no code of the kernel: a bucket is a pointer to the first
node of its chain, and a node begins with the pointer to the next one.  That
holds for hlist and for hlist_bl, where bit 0 of the bucket is its lock.

CHAINS is a JSON object: the System.map, the file for the result, and for each
table its symbol with the number of buckets or the symbol of its shift.
"""

import collections
import json
import os

import gdb

POINTER = 8
ENDLESS = 10_000_000  # nodes; a chain in memory that changes may be a ring


def addresses(path):
    with open(path) as lines:
        return {name: int(address, 16) for address, _, name in map(str.split, lines)}


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
    asked = json.loads(os.environ["CHAINS"])
    at = addresses(asked["map"])
    result = {}
    for symbol, buckets in asked["tables"].items():
        for name in (symbol, buckets):
            if isinstance(name, str) and name not in at:
                raise gdb.GdbError(f"System.map has no {name}")
        if isinstance(buckets, str):
            # The upper bits of a 32-bit hash choose the bucket.
            buckets = 1 << (32 - number(at[buckets], 4))
        result[symbol] = lengths(number(at[symbol], POINTER), buckets)
    with open(asked["result"], "w") as out:
        json.dump(result, out)


main()
