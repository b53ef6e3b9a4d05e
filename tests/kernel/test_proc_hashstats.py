# SPDX-License-Identifier: GPL-2.0
"""/proc/hashstats as an interface: who may, what may be written, what counts."""

import re

import pytest

import sections
from guest import hashstats_file, vm

# Each write prints what the kernel answered; perl, because a shell cannot
# write nothing at all, nor change its user and keep a file.
WRITE = r"""
sub answer {
    my ($name, $bytes) = @_;
    open(my $file, "+<", "/proc/hashstats") or die "open: $!";
    my $wrote = syswrite($file, $bytes);
    print "=== write $name\n", defined($wrote) ? "$wrote" : "$!", "\n";
    open(my $again, "<", "/proc/hashstats");
    print scalar(<$again>), scalar(<$again>);
}
answer("on", "on");
answer("garbage", "garbage");
answer("long", "on" . " " x 100);
answer("longer", "on" x 100000);
answer("nothing", "");
answer("newline", "\n");
answer("zero", "\0");
answer("case", "ON");
answer("space", "on ");
answer("two", "on\noff\n");
answer("number", "1");
answer("off", "off\n");
answer("reset", "reset\n");
answer("on-newline", "on\n");
answer("off-again", "off");
answer("only", "only");
answer("no-names", "only \n");
answer("long-names", "only " . "x" x 507);
answer("longest-names", "only " . "x" x 506);
"""

# Root of a container without a user namespace: DAC_OVERRIDE and no SYS_ADMIN. Its
# host left it an open file as standard input.
CONTAINED = r"""
for my $mode ("<", ">", "+<") {
    print "=== contained $mode\n",
        open(my $file, $mode, "/proc/hashstats") ? "opened" : "$!", "\n";
}
open(my $own, "+<&=", 0) or die "inherited: $!";
print "=== contained inherited\n", defined(syswrite($own, "on")) ? "wrote" : "$!", "\n";
"""

STRANGER = r"""
open(my $own, "<", "/proc/hashstats") or die "root: $!";
$) = "1000 1000";
$> = 1000;
for my $mode ("<", ">", "+<") {
    print "=== stranger $mode\n",
        open(my $file, $mode, "/proc/hashstats") ? "opened" : "$!", "\n";
}
"""

# The first read makes seq_file walk the first table as well.
REWIND = r"""
open(my $file, "<", "/proc/hashstats") or die "open: $!";
sysread($file, my $bytes, 10);
for (1 .. 1000) { open(my $new, ">", "/tmp/new-$_") or die "$_: $!" }
sysseek($file, 0, 0);
print $bytes while sysread($file, $bytes, 4096);
"""

# Names with a prefix and a suffix, one twice, one of no table.
ONLY = r"""
open(my $file, "+<", "/proc/hashstats") or die "open: $!";
for my $names ("uid  inode inod dentr dentry_ uid", "gone", "mount") {
    syswrite($file, "only $names\n") or die "write: $!";
    sysseek($file, 0, 0);
    print "=== only $names\n";
    print $bytes while sysread($file, $bytes, 7);
}
open(my $other, "<", "/proc/hashstats");
print "=== other file\n", <$other>;
"""

SCRIPT = """
echo "=== mode"
stat -c '%a %u %g' /proc/hashstats
perl /write
perl /stranger
perl /only
/usr/bin/setpriv --bounding-set -sys_admin --inh-caps -sys_admin perl /contained \
    0<>/proc/hashstats
echo "=== default"
cat /proc/hashstats
echo "=== bytes"
dd if=/proc/hashstats bs=1 2>/dev/null
echo "=== small"
dd if=/proc/hashstats bs=100 2>/dev/null
echo "=== large"
dd if=/proc/hashstats bs=1M 2>/dev/null
echo "=== middle"
dd if=/proc/hashstats bs=1 skip=3 count=6 2>/dev/null
echo
echo "=== first"
cat /proc/hashstats
echo "=== rewound"
perl /rewind
echo "=== any"
badwrites -n 300
"""


PERL = {"/write": WRITE, "/stranger": STRANGER, "/contained": CONTAINED, "/rewind": REWIND}


@pytest.fixture(scope="module")
def said(kernel):
    files = PERL | {"/only": ONLY}
    result = vm.run(kernel, SCRIPT, programs=["perl", "setpriv"], files=files)
    return sections.named(result.output)


def test_only_root_may(said):
    """Root of a container is not the root that may."""
    assert said["mode"] == "600 0 0\n"
    for how in ("<", ">", "+<", "inherited"):
        assert said[f"contained {how}"] == "Operation not permitted\n"
    for mode in ("<", ">", "+<"):
        assert said[f"stranger {mode}"] == "Permission denied\n"


# What is counted after each write, and the bytes that were taken; else the write is refused.
ANSWERS = {
    "on": {"on": 2, "on-newline": 3}
    | dict.fromkeys(["garbage", "long", "longer", "nothing", "newline", "zero"])
    | dict.fromkeys(["case", "space", "two", "number"]),
    "off": {"off": 4, "reset": 6, "off-again": 3, "longest-names": 511}
    | dict.fromkeys(["only", "no-names", "long-names"]),
}


@pytest.mark.parametrize("counting", ANSWERS)
def test_words(said, counting):
    for name, wrote in ANSWERS[counting].items():
        answer = wrote or "Invalid argument"
        assert said[f"write {name}"] == f"{answer}\nversion: 1\ncounting: {counting}\n", name


def test_a_file_shows_the_named_tables(said):
    shown = {
        names.removeprefix("only "): list(hashstats_file.parse(text))
        for names, text in said.items()
        if names.startswith("only ")
    }
    assert shown == {
        "uid  inode inod dentr dentry_ uid": ["inode", "uid"],
        "gone": [],
        "mount": ["mount"],
    }


SOME = {"dentry", "inode", "dentry_lookup", "folio_wait", "bit_wait", "mount", "mountpoint"}


@pytest.mark.parametrize("name", ["bytes", "small", "large", "other file"])
def test_any_size_of_read_gives_the_whole_file(said, name):
    assert list(hashstats_file.parse(said[name])) == list(hashstats_file.parse(said["default"]))


def test_tables(said):
    """Those that cannot be counted show their size alone."""
    tables = hashstats_file.parse(said["default"])
    assert tables.keys() >= SOME
    bare = {name for name, table in tables.items() if not table.rows}
    assert bare >= {"page", "ip-idents", "table-perturb"}
    assert not bare & {"dentry", "uid", "mbcache", "tcp-established", "tcp-bind", "udp"}


def test_read_from_the_middle(said):
    assert said["middle"] == "sion: \n"


def test_rewound_file_is_read_anew(said):
    first, rewound = (hashstats_file.parse(said[name]) for name in ("first", "rewound"))
    name = next(iter(first))
    assert name == "dentry"
    assert rewound[name]["objects"] >= first[name]["objects"] + 1000


def test_any_write_is_answered(said):
    """The program knows the answer to each; see tests/long/test_fuzz_file.py."""
    found = {name: int(number) for name, number in re.findall(r"(\w+): (\d+)", said["any"])}
    assert found["writes"] > 200 and found["accepted"] and found["EINVAL"] and found["checks"]


# --- counting ----------------------------------------------------------------

# stat() of names, none of which is needed for the stat() of another.
STAT = r"my $dir = shift; lstat(sprintf($dir, $_)) for 1 .. 100;"

COUNTING = """
mkfs.ext4 -q /dev/vda
mount /dev/vda /mnt
mkdir /tmp/d
for i in $(seq 100); do
    : > /tmp/d/name-$i
    : > /mnt/name-$i
    ln /mnt/name-$i /mnt/link-$i
done
count() {
    echo "=== $1"
    cat /proc/hashstats
}
names() {
    perl /stat "$1"
}
names /tmp/d/name-%d
names /tmp/d/none-%d
count never
echo on > /proc/hashstats
count on
count on-idle
names /tmp/d/name-%d
count hits
count hits-idle
names /tmp/d/none-%d
count misses
sync
echo 2 > /proc/sys/vm/drop_caches
count dropped
names /mnt/name-%d
count inode-misses
names /mnt/link-%d
count inode-hits
echo off > /proc/hashstats
count off
names /tmp/d/name-%d
count off-later
echo on > /proc/hashstats
echo reset > /proc/hashstats
count reset
echo off > /proc/hashstats
echo reset > /proc/hashstats
count off-reset
echo "=== end"
"""
FIELDS = ("lookups", "hits", "hit-rate", "nodes-per-counted-hit", "nodes-per-counted-miss")


@pytest.fixture(scope="module")
def counted(kernel):
    programs = ["mkfs.ext4", "perl"]
    result = vm.run(kernel, COUNTING, disk="64M", files={"/stat": STAT}, programs=programs)
    return sections.tables(result.output.partition("=== end\n")[0])


def hits(counted, mark, table="dentry"):
    return counted[mark][table]["hits"]


def misses(counted, mark, table="dentry"):
    return counted[mark][table]["lookups"] - hits(counted, mark, table)


def test_tables_that_count_do_so_when_asked(counted):
    for table in counted["never"].values():
        assert not set(FIELDS) & table.keys()
    for table in counted["on"].values():
        there = [field in table for field in FIELDS]
        counts = table["name"] in ("dentry", "inode", "mbcache", "buffer")
        assert all(there) if counts else not any(there)


def test_lookups_of_names_are_counted(counted):
    """What perl itself looks up is the same the second time, and comes off."""
    assert hits(counted, "hits") - hits(counted, "on-idle") >= 100
    added = misses(counted, "misses") - misses(counted, "hits-idle")
    idle = misses(counted, "hits") - misses(counted, "on-idle")
    # A name that is not there is not looked for more than a few times.
    assert 100 <= added - idle < 1000


def test_lookups_of_inodes_are_counted(counted):
    """A name whose inode was dropped leads to a miss; the inode's other name, to a hit."""
    assert misses(counted, "inode-misses", "inode") - misses(counted, "dropped", "inode") >= 100
    assert hits(counted, "inode-hits", "inode") - hits(counted, "inode-misses", "inode") >= 100


def test_counters_never_go_back(counted):
    marks = [*counted][1 : [*counted].index("reset")]
    for table in ("dentry", "inode"):
        for before, after in zip(marks, marks[1:]):
            assert hits(counted, before, table) <= hits(counted, after, table)
            assert misses(counted, before, table) <= misses(counted, after, table)


def test_off_and_reset(counted):
    assert counted["off"].header["counting"] == "off"
    for table in ("dentry", "inode"):
        off, later = (
            [counted[mark][table][field] for field in FIELDS] for mark in ("off", "off-later")
        )
        assert off == later
        # What cat itself looks up comes after the reset.
        assert counted["reset"][table]["lookups"] < 50
        assert counted["off-reset"][table].get("lookups", 0) == 0


def test_costs_make_sense(counted):
    table = counted["off"]["dentry"]
    assert table["hit-rate"] == pytest.approx(table["hits"] / table["lookups"], abs=0.001)
    assert 1 <= table["nodes-per-counted-hit"] <= table["longest"]


# --- the boot parameter --------------------------------------------------------


def booted(kernel, append):
    result = vm.run(kernel, "cat /proc/hashstats", append=append)
    warnings = [
        re.sub(r"^\[ *[0-9.]+\] ", "", line)
        for line in result.console.splitlines()
        if "hashstats: " in line
    ]
    return hashstats_file.parse(result.output), warnings


def test_counting_from_the_start(kernel):
    tables, warnings = booted(kernel, "hashstats=lookups")
    assert warnings == []
    assert tables.header["counting"] == "on"
    # Boot alone looks up more names and inodes than these.
    assert tables["dentry"]["lookups"] > 100
    assert tables["dentry"]["hits"] > 50
    assert "hits" in tables["inode"]


def test_wrong_parameters_are_one_warning_each(kernel):
    values = ["foo", "", "lookup", "lookups,x"]
    tables, warnings = booted(kernel, " ".join(f"hashstats={value}" for value in values))
    assert warnings == [f"hashstats: expected 'lookups', ignoring '{value}'" for value in values]
    assert tables.header["counting"] == "off"
    assert "lookups" not in tables["dentry"]


# --- chains that are longer than a walk follows -----------------------------------

CAP = 32768
# ext4 remembers names that are not there.  Each lookup goes over the chain three times, so
# this takes minutes: no more names than fill both buckets.
FILL = "lstat('/mnt/none-' . $_) for 1 .. 66000;"


@pytest.mark.long
def test_chains_are_cut(kernel):
    """Both buckets are full; the numbers say so and still add up."""
    script = "mkfs.ext4 -q /dev/vda; mount /dev/vda /mnt; perl /fill; cat /proc/hashstats"
    options = {"disk": "64M", "files": {"/fill": FILL}, "programs": ["mkfs.ext4", "perl"]}
    result = vm.run(kernel, script, append="hash_entries=dentry:2", timeout=120, **options)
    table = hashstats_file.parse(result.output)["dentry"]
    assert (table["capped"], table["longest"], table["objects"]) == (2, CAP, 2 * CAP)
    assert table.rows[-1][1:] == (2, 2 * CAP, 100)
    assert table["nodes-per-hit"] == pytest.approx((CAP + 1) / 2, abs=0.001)
