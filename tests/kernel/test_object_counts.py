# SPDX-License-Identifier: GPL-2.0
"""Objects of /proc/hashstats and /proc/sys/fs/{dentry,inode}-state: where they
count the same thing, and where they do not.

In an otherwise idle guest each line of STEPS changes one kind of thing, a
hundred times; the changes of all four numbers are then known exactly.
"""

import pytest

import sections
from guest import hashstats_file, vm

# name, perl, then the change of: dentries in the table, nr_dentry, inodes in
# the table, nr_inodes.
STEPS = [
    ("tmpfs-files", 'make("/tmp/d/file")', (100, 100, 0, 100)),
    ("ext4-files", 'make("/mnt/file")', (100, 100, 100, 100)),
    ("ext4-links", 'link("/mnt/file$_", "/mnt/link$_") for 1 .. 100', (100, 100, 0, 0)),
    # The name stays in memory as one that is known not to be there.
    ("ext4-unlinked", 'unlink("/mnt/link$_") for 1 .. 100', (0, 0, 0, 0)),
    ("ext4-missing", 'lstat("/mnt/none$_") for 1 .. 100', (100, 100, 0, 0)),
    ("tmpfs-missing", 'lstat("/tmp/d/none$_") for 1 .. 100', (0, 0, 0, 0)),
    # In no table: they have no name that anybody could look up.
    ("pipes", "pipe($in[$_], $out[$_]) for 1 .. 100", (0, 100, 0, 100)),
    ("open-deleted", "make_deleted()", (0, 100, 0, 100)),
]

PERL = r"""
sub make { for my $i (1 .. 100) { open(my $file, ">", "$_[0]$i") or die } }
sub make_deleted {
    for my $i (1 .. 100) {
        open($kept[$i], ">", "/tmp/d/deleted") or die;
        unlink("/tmp/d/deleted");
    }
}
$| = 1;
sub show {
    for my $file ("hashstats", "sys/fs/dentry-state", "sys/fs/inode-state") {
        open(my $in, "<", "/proc/$file") or die;
        print "=== $file of $_[0]\n", <$in>;
    }
}
# Once in vain: the files in /proc get their names in memory.
show("nothing");
show("begin");
"""


def script():
    lines = "".join(f"{code};\nshow('{name}');\n" for name, code, _ in STEPS)
    return PERL + lines + 'print "=== end\n";\n'


@pytest.fixture(scope="module")
def numbers(kernel):
    """The four numbers after each step, in order."""
    result = vm.run(
        kernel,
        "mkfs.ext4 -q /dev/vda; mount /dev/vda /mnt; mkdir /tmp/d\nperl /steps",
        disk="64M",
        files={"/steps": script()},
        programs=["mkfs.ext4", "perl"],
    )
    cut = sections.named(result.output)
    return {name: four(cut, name) for name in ("begin", *(step[0] for step in STEPS))}


def four(cut, name):
    tables = hashstats_file.parse(cut[f"hashstats of {name}"])
    dentries, inodes = (
        int(cut[f"sys/fs/{kind}-state of {name}"].split()[0]) for kind in ("dentry", "inode")
    )
    return (tables["dentry"]["objects"], dentries, tables["inode"]["objects"], inodes)


@pytest.mark.parametrize("index", range(len(STEPS)), ids=[step[0] for step in STEPS])
def test_step(numbers, index):
    names = list(numbers)
    before, after = numbers[names[index]], numbers[names[index + 1]]
    assert tuple(b - a for a, b in zip(before, after)) == STEPS[index][2]


def test_table_never_has_more_than_there_is(numbers):
    for dentries, nr_dentry, inodes, nr_inodes in numbers.values():
        assert 0 < dentries <= nr_dentry
        assert 0 < inodes <= nr_inodes
