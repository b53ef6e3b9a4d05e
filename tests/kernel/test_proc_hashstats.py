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


@pytest.fixture(scope="module")
def said(kernel):
    result = vm.run(
        kernel,
        SCRIPT,
        programs=["perl", "setpriv"],
        files={
            "/write": WRITE,
            "/stranger": STRANGER,
            "/contained": CONTAINED,
            "/rewind": REWIND,
            "/only": ONLY,
        },
    )
    return sections.named(result.output)


def test_mode(said):
    assert said["mode"] == "600 0 0\n"


@pytest.mark.parametrize("how", ["<", ">", "+<", "inherited"])
def test_root_of_a_container_may_not(said, how):
    assert said[f"contained {how}"] == "Operation not permitted\n"


@pytest.mark.parametrize("mode", ["<", ">", "+<"])
def test_only_root_may(said, mode):
    assert said[f"stranger {mode}"] == "Permission denied\n"


@pytest.mark.parametrize(
    "name, wrote, counting",
    [
        ("on", 2, "on"),
        ("off", 4, "off"),
        ("reset", 6, "off"),
        ("on-newline", 3, "on"),
        ("off-again", 3, "off"),
        ("longest-names", 511, "off"),
    ],
)
def test_words(said, name, wrote, counting):
    assert said[f"write {name}"] == f"{wrote}\nversion: 1\ncounting: {counting}\n"


@pytest.mark.parametrize(
    "name",
    ["garbage", "long", "longer", "nothing", "newline", "zero", "case", "space", "two", "number"],
)
def test_anything_else_is_refused_and_changes_nothing(said, name):
    assert said[f"write {name}"] == "Invalid argument\nversion: 1\ncounting: on\n"


@pytest.mark.parametrize("name", ["only", "no-names", "long-names"])
def test_only_needs_names(said, name):
    assert said[f"write {name}"] == "Invalid argument\nversion: 1\ncounting: off\n"


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
    assert list(hashstats_file.parse(said["other file"])) == list(
        hashstats_file.parse(said["default"])
    )


@pytest.mark.parametrize("name", ["default", "bytes", "small", "large"])
def test_any_size_of_read_gives_the_whole_file(said, name):
    tables = hashstats_file.parse(said[name])
    assert list(tables) == list(hashstats_file.parse(said["default"]))
    assert {
        "dentry",
        "inode",
        "dentry_lookup",
        "folio_wait",
        "bit_wait",
        "mount",
        "mountpoint",
    } <= tables.keys()
    # Those that cannot be counted show their size alone.
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


def test_columns(said):
    heads = [line.split() for line in said["default"].splitlines() if line.startswith("size ")]
    assert heads and all(head == ["size", "buckets", "objects", "sum-pct"] for head in heads)


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
    result = vm.run(
        kernel, COUNTING, disk="64M", files={"/stat": STAT}, programs=["mkfs.ext4", "perl"]
    )
    cut = sections.named(result.output)
    del cut["end"]
    return {name: hashstats_file.parse(text) for name, text in cut.items()}


def hits(counted, mark, table="dentry"):
    return counted[mark][table]["hits"]


def misses(counted, mark, table="dentry"):
    return counted[mark][table]["lookups"] - hits(counted, mark, table)


def test_nothing_is_counted_unless_asked_for(counted):
    for table in counted["never"].values():
        assert not set(FIELDS) & table.keys()


def test_only_some_tables_count(counted):
    for table in counted["on"].values():
        there = [field in table for field in FIELDS]
        counts = table["name"] in ("dentry", "inode", "mbcache", "buffer")
        assert all(there) if counts else not any(there)


def test_hits_are_counted(counted):
    """What perl itself looks up is the same the second time, and comes off."""
    assert hits(counted, "hits") - hits(counted, "on-idle") >= 100


def test_misses_are_counted(counted):
    added = misses(counted, "misses") - misses(counted, "hits-idle")
    idle = misses(counted, "hits") - misses(counted, "on-idle")
    assert added - idle >= 100
    # A name that is not there is not looked for more than a few times.
    assert added - idle < 1000


def test_inode_misses_are_counted(counted):
    """After its inode was dropped, a name leads to a lookup that finds none."""
    assert (misses(counted, "inode-misses", "inode") - misses(counted, "dropped", "inode")) >= 100


def test_inode_hits_are_counted(counted):
    """The other names of inodes that are back in memory."""
    assert (hits(counted, "inode-hits", "inode") - hits(counted, "inode-misses", "inode")) >= 100


def test_counters_never_go_back(counted):
    marks = [*counted][1 : [*counted].index("reset")]
    for table in ("dentry", "inode"):
        for before, after in zip(marks, marks[1:]):
            assert hits(counted, before, table) <= hits(counted, after, table)
            assert misses(counted, before, table) <= misses(counted, after, table)


def test_counters_stay_after_off(counted):
    assert counted["off"].header["counting"] == "off"
    for table in ("dentry", "inode"):
        assert [counted["off"][table][field] for field in FIELDS] == [
            counted["off-later"][table][field] for field in FIELDS
        ]


def test_reset_begins_at_zero(counted):
    for table in ("dentry", "inode"):
        # What cat itself looks up comes after the reset.
        assert counted["reset"][table]["lookups"] < 50
        assert counted["off-reset"][table].get("lookups", 0) == 0


def test_costs_make_sense(counted):
    table = counted["off"]["dentry"]
    assert table["hit-rate"] == pytest.approx(table["hits"] / table["lookups"], abs=0.001)
    assert table["nodes-per-counted-hit"] >= 1
    assert table["nodes-per-counted-hit"] <= table["longest"]


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
