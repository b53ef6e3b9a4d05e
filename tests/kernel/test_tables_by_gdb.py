# SPDX-License-Identifier: GPL-2.0
"""/proc/hashstats against the tables themselves, read from outside.

An idle guest prints the file and stands still; gdb stops it through QEMU and
follows every chain in its memory.  No code is shared with what is tested: not
the kernel's walk, not its arithmetic, not our parser's sums.
"""

import pytest

import sections
from guest import chains, hashstats_file, vm

TABLES = ("dentry", "inode")
ROUNDS = 3

# Real use first: names and inodes of ext4, names of tmpfs.  Then the shell reads
# the file and waits all by itself: a process that busybox starts leaves its own
# /proc/PID/exe among the dentries for as long as it lives, and so each command
# would see another table than the next.  One turn with the host in advance, so
# that nothing is looked up for the first time later.
SCRIPT = f"""
mkfs.ext4 -q /dev/vda
mount /dev/vda /mnt
fstree /mnt -p 4 -d 100 -f 40
fstree /tmp -p 2 -d 20 -f 40
sync
counts() {{
    echo "=== $1"
    while IFS= read -r line; do echo "$line"; done < /proc/hashstats
}}
turn() {{
    echo READY
    read -r go <&3
}}
counts warm
wait-for-host
for round in {" ".join(map(str, range(ROUNDS)))}; do
    counts before
    turn
    counts after
done
"""


def walk_from_outside(machine, kernel):
    """{table: {length: buckets}}, by gdb."""
    found = chains.lengths(
        machine, kernel, {"dentry_hashtable": "d_hash_shift", "inode_hashtable": "i_hash_shift"}
    )
    return {symbol.partition("_")[0]: lengths for symbol, lengths in found.items()}


def summary(lengths):
    """The histogram of chain lengths as the file would have it."""
    rows = [
        [size, lengths.get(int(size), 0), int(size) * lengths.get(int(size), 0)]
        for size in map(str, range(16))
    ]
    long = {length: n for length, n in lengths.items() if length > 15}
    rows.append([">15", sum(long.values()), sum(length * n for length, n in long.items())])
    return {
        "buckets": sum(lengths.values()),
        "objects": sum(length * n for length, n in lengths.items()),
        "used": sum(n for length, n in lengths.items() if length),
        "longest": max(length for length, n in lengths.items() if n),
        "rows": rows,
    }


def printed(table):
    """The same of a table of the file."""
    return {name: table[name] for name in ("buckets", "objects", "used", "longest")} | {
        "rows": [list(row[:3]) for row in table.rows]
    }


def spread(text):
    tables = hashstats_file.parse(text)
    return {name: printed(tables[name]) for name in TABLES}


class Observation:
    """One moment of an idle guest, from inside and from outside."""

    def __init__(self, before, after, lengths):
        self.inside = spread(before)
        self.still = self.inside == spread(after)
        self.outside = {name: summary(lengths[name]) for name in TABLES}


def observe(kernel):
    lengths = []
    with vm.Guest(
        kernel, SCRIPT, mem="512M", cpus=2, gdb=True, disk="64M", timeout=60, programs=["mkfs.ext4"]
    ) as machine:
        machine.ready()
        machine.go()
        for _ in range(ROUNDS):
            machine.ready()
            lengths.append(walk_from_outside(machine, kernel))
            machine.go()
        parts = sections.parts(machine.finish().output.replace("READY\n", ""))
    # Warm, then before and after of each round.
    texts = [text for _, text in parts[1:]]
    return [Observation(*moment) for moment in zip(texts[::2], texts[1::2], lengths)]


@pytest.fixture(scope="module")
def idle(kernel):
    """The first observation during which nothing changed."""
    seen = [one for one in observe(kernel) if one.still]
    assert seen, f"the guest was not idle in any of {ROUNDS} rounds"
    return seen[0]


@pytest.mark.parametrize("name", TABLES)
def test_histogram_is_that_of_the_memory(idle, name):
    assert idle.inside[name]["objects"] > 3000
    assert idle.inside[name] == idle.outside[name]
