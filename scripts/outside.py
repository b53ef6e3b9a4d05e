# SPDX-License-Identifier: GPL-2.0
"""Walk the hash tables of a stopped guest from outside, with gdb.

Shares no code with the kernel's own walk: symbols come from vmlinux, memory
is read through QEMU's gdb server.  A chain needs no type information, since
the first word of a node is the next node.
"""

import json
import tempfile
from collections import Counter
from pathlib import Path

from common import run

# Symbol of the table, and the gdb expression that gives its buckets.
TABLES = {
    "dentry": ("dentry_hashtable",
               "1UL << (32 - *(unsigned int *)&d_hash_shift)"),
    "inode": ("inode_hashtable", "*(unsigned int *)&i_hash_mask + 1UL"),
}

# Runs inside gdb.  The lowest bit of a head may be the lock of its bucket.
WALK = """
import gdb, json, struct
def words(address, count):
    data = bytes(gdb.selected_inferior().read_memory(address, 8 * count))
    return struct.unpack(f"<{{count}}Q", data)
def value(expression):
    return int(gdb.parse_and_eval(expression))
def length(node):
    nodes = 0
    while node:
        nodes += 1
        node = words(node, 1)[0]
    return nodes
result = {{}}
for name, (symbol, buckets) in {tables!r}.items():
    table = value(f"*(unsigned long *)&{{symbol}}")
    heads = words(table, value(buckets))
    result[name] = [length(head & ~1) for head in heads]
with open({out!r}, "w") as out:
    json.dump(result, out)
"""


def chain_lengths(machine, tables=None):
    """Table -> Counter of chain length -> buckets, of a guest with gdb=True.

    The guest stands still meanwhile, and runs on afterwards.
    """
    with tempfile.TemporaryDirectory() as temp:
        out, script = Path(temp) / "out", Path(temp) / "walk.py"
        script.write_text(WALK.format(tables=tables or TABLES, out=str(out)))
        run(["gdb", "-nx", "-batch", "-ex", "set architecture i386:x86-64",
             "-ex", f"file {machine.kernel.resolve()}",
             "-ex", "target remote gdb.sock", "-x", script, "-ex", "detach"],
            cwd=machine.folder, what="gdb on the guest")
        if not out.exists():
            raise RuntimeError("gdb has not walked the tables")
        result = json.loads(out.read_text())
    return {name: Counter(chains) for name, chains in result.items()}
