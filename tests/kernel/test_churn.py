# SPDX-License-Identifier: GPL-2.0
"""/proc/hashstats read in a loop while eight processes change the tables.

A guest that oopses, warns or stalls fails by itself (vm.py reads the
console).  Here every read must parse and add up, and must not show more than
it can have seen.  What is that?

A walk visits each bucket once.  What it counts in a bucket was put there by one
insertion, either before the walk began and is still there, so it is one of the
dentries that existed then; or meanwhile.  So

    objects <= dentries at the start + insertions during the read

On tmpfs the insertions can be counted: a mounted tmpfs gives each CPU batches of
inode numbers in turn, so files made on each CPU before and after a read tell how
many were created between.  One round of fstree's churn creates one file, and
inserts three names: the new one (looked up, so negative at first), the target
of the rename, and the renamed one under it.  nr_dentry is a sum over CPUs, each
read at its own time: it may miss what is made and unmade during the sum, at
most the two dentries that a round allocates.  That is 5 for each round that was
begun or ended meanwhile, of which there are at most the files created and one
for each process; and some for the shell that asks.
"""

import pytest

import emulation
import sections
from guest import hashstats_file, vm

PROCESSES = 8
PER_ROUND = 5
SHELL = 64
READS_AT_LEAST = 4
SECONDS = 6
CPUS = 4
BATCH = 1024  # inode numbers

SCRIPT = """
%(mount)s
mkdir /mnt/churn /mnt/probe
# An inode number of each CPU.
numbers() {
    for cpu in $(seq 0 %(last)d); do
        taskset $((1 << cpu)) sh -c "
            : > /mnt/probe/$1
            stat -c '%%i' /mnt/probe/$1
            rm /mnt/probe/$1"
    done
}
read_once() {
    echo "=== probe"
    numbers a
    echo "=== dentry-state"
    cat /proc/sys/fs/dentry-state
    echo "=== inode-state"
    cat /proc/sys/fs/inode-state
    echo "=== hashstats"
    cat /proc/hashstats
    echo "=== probe-after"
    numbers b
}
switch_on_and_off() {
    while [ ! -e /tmp/over ]; do
        for word in on reset on off reset; do
            echo $word > /proc/hashstats
        done
    done
}
read_once
{
    fstree /mnt/churn -p %(processes)d -c %(seconds)d > /tmp/report
    echo $? > /tmp/over
} &
%(beside)s
while [ ! -e /tmp/over ]; do
    read_once
done
wait
read_once
echo "=== report"
cat /tmp/report
exit $(cat /tmp/over)
"""

TMPFS = "mount -t tmpfs churn /mnt"
TWO = "hash_entries=dentry:2,inode:2"
EXT4 = "mkfs.ext4 -q /dev/vda; mount /dev/vda /mnt"


def numbers(text):
    return [int(number) for number in text.split()]


def created(before, after):
    """At least as many files as were created in between, by a number of each CPU."""
    total = 0
    taken = max(after) // BATCH - max(before) // BATCH
    for first, last in zip(before, after, strict=True):
        if first // BATCH == last // BATCH:
            total += last - first
        else:
            total += BATCH - first % BATCH + last % BATCH
            taken -= 1
    return total + BATCH * max(taken, 0)


class Read:
    def __init__(self, parts):
        self.state = {name: int(parts[f"{name}-state"].split()[0]) for name in ("dentry", "inode")}
        self.tables = hashstats_file.parse(parts["hashstats"])
        self.created = created(*(numbers(parts[name]) for name in ("probe", "probe-after")))

    def objects(self, name):
        return self.tables[name]["objects"]


def churn(kernel, mount, append="", switching=False):
    """All reads, and what fstree says that it did."""
    run = vm.run if switching else emulation.run_parallel
    script = SCRIPT % {
        "seconds": SECONDS,
        "mount": mount,
        "processes": PROCESSES,
        "last": CPUS - 1,
        "beside": "switch_on_and_off &" if switching else ":",
    }
    result = run(
        kernel,
        script,
        mem="256M",
        cpus=CPUS,
        append=append,
        timeout=60,
        disk="64M",
        programs=["mkfs.ext4"],
    )
    parts = sections.parts(result.output)
    name, text = parts.pop()
    assert name == "report"
    report = dict(line.split(": ") for line in text.splitlines())
    reads = [Read(dict(parts[i : i + 5])) for i in range(0, len(parts), 5)]
    assert len(reads) >= READS_AT_LEAST
    return reads, {name: int(report[name]) for name in ("create", "rename", "unlink")}


def check_sizes(reads):
    """The tables stand still, whatever happens in them."""
    fixed = ("buckets", "bytes", "sized-by")
    sizes = [
        {name: [table[key] for key in fixed] for name, table in read.tables.items()}
        for read in reads
    ]
    assert all(size == sizes[0] for size in sizes)
    assert {"dentry", "inode"} <= sizes[0].keys()


def check_lookups(reads):
    """A counter below its reset would show as a number near 2^64."""
    for read in reads:
        for table in read.tables.values():
            assert table.get("hits", 0) <= table.get("lookups", 0) < 1 << 40


def most_dentries(read):
    return read.state["dentry"] + PER_ROUND * (read.created + PROCESSES) + SHELL


def check_tmpfs(reads):
    for read in reads:
        assert read.created > 0
        assert read.objects("dentry") <= most_dentries(read)
        # Nobody makes inodes for the inode table here.
        assert read.objects("inode") <= read.state["inode"]
    # The names of the files that stay are there, and at the end they are gone.
    usual = reads[0].objects("dentry")
    assert max(read.objects("dentry") for read in reads) > usual + 2 * SHELL
    assert reads[-1].objects("dentry") < usual + SHELL


def check_ext4(reads, report):
    """Here inodes come and go too; their numbers are used again, so that the
    bound is that of the whole run."""
    most = {"dentry": PER_ROUND * report["create"] + SHELL, "inode": report["create"] + SHELL}
    for name, more in most.items():
        assert all(read.objects(name) <= reads[0].state[name] + more for read in reads)
    # An unlinked file takes its inode out of the table, if not at once.
    usual = reads[0].objects("inode")
    assert max(read.objects("inode") for read in reads) > usual + 2 * SHELL
    assert reads[-1].objects("inode") < usual + SHELL


@pytest.mark.parametrize("append", ["", TWO], ids=["default", "two-buckets"])
@pytest.mark.parametrize("switching", [False, True], ids=["parallel", "switched"])
@pytest.mark.parametrize(
    "mount, table", [(TMPFS, "dentry"), (EXT4, "inode")], ids=["tmpfs", "ext4"]
)
def test_each_reading_adds_up(kernel, append, switching, mount, table):
    reads, report = churn(kernel, mount, append, switching)
    assert report["create"] == report["rename"] == report["unlink"] > 100
    check_sizes(reads)
    check_lookups(reads)
    if mount == TMPFS:
        check_tmpfs(reads)
    else:
        check_ext4(reads, report)
    if append:
        assert reads[0].tables[table]["buckets"] == 2
        assert max(read.tables[table]["longest"] for read in reads) > 100
