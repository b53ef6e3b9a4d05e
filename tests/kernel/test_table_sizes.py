# SPDX-License-Identifier: GPL-2.0
"""Sizes of memory and command lines, each a real boot."""

import os
import re
import struct

import pytest

from guest import hashstats_file, limits, vm
from series import source

K, M = 1 << 10, 1 << 20

# What the policy gives for a machine of so much memory and two CPUs.
MEMORIES = ("64M", "128M", "512M", "4G", "16G")
BUCKETS = {
    "dentry": (8 * K, 16 * K, 64 * K, 512 * K, 2 * M),
    "inode": (4 * K, 8 * K, 32 * K, 256 * K, 1 * M),
    "mount": (512, 512, 1 * K, 8 * K, 32 * K),
    "mountpoint": (512, 512, 1 * K, 8 * K, 32 * K),
    "dentry_lookup": (1 * K, 1 * K, 1 * K, 1 * K, 1 * K),
    "folio_wait": (256, 512, 2 * K, 16 * K, 64 * K),
    "bit_wait": (256, 512, 2 * K, 16 * K, 64 * K),
    "uid": (512, 1 * K, 4 * K, 32 * K, 128 * K),
    "dquot": (1 * K, 2 * K, 8 * K, 64 * K, 256 * K),
    "css_set": (512, 512, 2 * K, 16 * K, 64 * K),
    "ucounts": (1 * K, 1 * K, 4 * K, 32 * K, 128 * K),
    "blocked_locks": (512, 1 * K, 4 * K, 32 * K, 128 * K),
    "ksm_mm": (1 * K, 1 * K, 4 * K, 32 * K, 128 * K),
    "khugepaged_mm": (1 * K, 1 * K, 4 * K, 32 * K, 128 * K),
    "buffer": (1 * K, 2 * K, 8 * K, 64 * K, 256 * K),
    "mbcache": (1 * K, 2 * K, 8 * K, 64 * K, 128 * K),
    "unix": (256, 256, 1 * K, 8 * K, 32 * K),
    "netdev_name": (512, 512, 512, 4 * K, 16 * K),
    "netdev_index": (512, 512, 512, 4 * K, 16 * K),
    "page": (0,) * 5,
}
# Its size follows the CPUs, in mainline as well.
BY_CPUS = "futex" if source.base_name() == "6.12" else "posixtimers"
if source.base_name() == "6.12":
    BUCKETS |= {
        "futex": (512,) * 5,
        "posix_timers": (512, 1 * K, 4 * K, 32 * K, 128 * K),
        "inet_addr": (512, 512, 2 * K, 16 * K, 64 * K),
    }
else:
    BUCKETS["posixtimers"] = (1 * K,) * 5
SIZES = {
    memory: {name: buckets[place] for name, buckets in BUCKETS.items()}
    for place, memory in enumerate(MEMORIES)
}
BYTES = dict.fromkeys(BUCKETS, 8) | {
    "folio_wait": 24,
    "bit_wait": 24,
    "futex": 64,
    "posix_timers": 16,
    "posixtimers": 16,
    "unix": 16,
}
# As mainline has them, or by the CPUs.
NOT_OURS = ("dentry", "inode", "mount", "mountpoint", BY_CPUS)
HOST = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def boot(kernel, append="", mem="512M", **options):
    """(tables, warnings of boot_hash) of one boot."""
    result = vm.run(kernel, "cat /proc/hashstats", mem=mem, append=append, **options)
    warnings = re.findall(r"\] (?:boot_hash|hashstats): (.*)", result.console)
    return hashstats_file.parse(result.output), warnings


@pytest.mark.parametrize("mem", SIZES)
def test_memory(kernel, mem):
    if limits.memory(mem, "mem") > 0.8 * HOST:
        pytest.skip(f"this machine has no {mem} for a guest")
    tables, warnings = boot(kernel, mem=mem)
    assert warnings == []
    # Every caller of alloc_large_system_hash(), without a change to its code.
    assert {"tcp-established", "tcp-bind", "udp", "ip-idents", "table-perturb"} <= tables.keys()
    assert {name: tables[name]["buckets"] for name in BUCKETS} == SIZES[mem]
    for name in BUCKETS:
        table = tables[name]
        assert table["bytes"] == table["buckets"] * BYTES[name]
        sources = ("off",) if name == "page" else ("memory", "minimum", "maximum", "fixed")
        assert table["sized-by"] in sources
    assert tables[BY_CPUS]["sized-by"] == "fixed"
    assert tables["dentry"]["sized-by"] == "memory"
    # The tables that mainline does not size from memory: 1/900 at most.
    ours = sum(tables[name]["bytes"] for name in BUCKETS if name not in NOT_OURS)
    print(f"{mem}: {ours} bytes in tables that mainline does not size")
    if limits.memory(mem, "mem") >= 1 << 30:
        assert ours * 900 <= limits.memory(mem, "mem")


def test_sizes_follow_cpus(kernel):
    tables, _ = boot(kernel, cpus=4)
    assert tables[BY_CPUS]["buckets"] == 2 * SIZES["512M"][BY_CPUS]


def entries(sizes):
    """hash_entries= of the tables that this base has."""
    words = [word for word in sizes.split(",") if word.partition(":")[0] in BUCKETS]
    return f"hash_entries={','.join(words)}"


def sizes_of(words):
    """{table: buckets} of words NAME:BUCKETS, for the tables that this base has."""
    pairs = (word.split(":") for word in words.split(","))
    return {
        name: int(size.rstrip("kK")) * (K if size[-1] in "kK" else 1)
        for name, size in pairs
        if name in BUCKETS
    }


EVERY = (
    "dentry:4096,inode:2k,mount:64,mountpoint:32,futex:2,folio_wait:256,bit_wait:256,"
    "dentry_lookup:1024,uid:128,dquot:512,posix_timers:512,css_set:128,ucounts:1K,"
    "blocked_locks:128,ksm_mm:1K,khugepaged_mm:1K,buffer:512,page:4K,"
    "inet_addr:2,unix:2,netdev_name:2,netdev_index:2"
)
TWO = "folio_wait:2,bit_wait:2,dentry_lookup:2,futex:2"
# Command lines that are taken, many sizes in each, and what they give.  How a
# number is read, and every bad one, is tested by mm/boot_hash_kunit.c, too.
GOOD = {
    "every-table": (entries(EVERY), sizes_of(EVERY)),
    "two-buckets": (
        f"{entries(TWO)} hash_entries=dentry:2,inode:2",
        sizes_of(f"{TWO},dentry:2,inode:2"),
    ),
    # The last one counts; page: a slot for each page, or none.
    "rounded-and-repeated": (
        "hash_entries=mount:12k,inode:0x100,page:auto"
        " hash_entries=dentry:8K hash_entries=dentry:4K hash_entries=page:0",
        {"mount": 16 * K, "inode": 256, "dentry": 4 * K, "page": 0},
    ),
    "pages": ("hash_entries=page:auto", {"page": 128 * K}),
    "pages-repeated": ("hash_entries=page:4K,page:auto", {"page": 128 * K}),
    "older-parameters": (
        "dhash_entries=12k ihash_entries=2K mhash_entries=128 mphash_entries=256",
        {"dentry": 16 * K, "inode": 2 * K, "mount": 128, "mountpoint": 256},
    ),
    "older-before-and-after": (
        "dhash_entries=8K hash_entries=dentry:4K hash_entries=inode:4K ihash_entries=8K",
        {"dentry": 4 * K, "inode": 8 * K},
    ),
    "zero-is-the-default": (
        "hash_entries=bit_wait:0,mount:128,mount:0 dhash_entries=4K dhash_entries=0",
        {"bit_wait": 2 * K, "mount": 1 * K, "dentry": 64 * K},
    ),
    # From vmalloc: larger than one block of pages.
    "large": (
        "hash_entries=bit_wait:512K,folio_wait:512K,css_set:1M,ucounts:1M",
        {"bit_wait": 512 * K, "folio_wait": 512 * K, "css_set": 1 * M, "ucounts": 1 * M},
    ),
}
OTHER_ORIGIN = {
    "rounded-and-repeated": {"page": "off"},
    "pages": {"page": "memory"},
    "zero-is-the-default": {"bit_wait": "memory", "mount": "memory", "dentry": "memory"},
    "pages-repeated": {"page": "memory"},
}

AUTO = ", or auto"


def no_number(text, more="", origin="memory"):
    """(origin of the size, the one warning) of a table whose size is not a number."""
    said = rf": expected a number of buckets \(N, NK, NM or NG{more}\), ignoring '{text}'"
    return origin, said


def bounds(text, used, limits=r"2 to \d+", origin="minimum"):
    return origin, rf": expected {limits} buckets, using {used} instead of '{text}'"


# Command lines that are not: {table: what is wrong with its size}.
BAD = {
    "no-numbers": (
        "hash_entries=dentry:garbage,inode:-1,mount:,mountpoint:4KB,folio_wait:4096x,"
        f"bit_wait:18446744073709551616,{BY_CPUS}:none,buffer:auto,page:big",
        {
            "dentry": no_number("garbage"),
            "inode": no_number("-1"),
            "mount": no_number(""),
            "mountpoint": no_number("4KB"),
            "folio_wait": no_number("4096x"),
            "bit_wait": no_number("18446744073709551616"),
            BY_CPUS: no_number("none", origin="fixed"),
            "buffer": no_number("auto"),
            "page": no_number("big", AUTO, "off"),
        },
    ),
    "out-of-range": (
        "hash_entries=page:1,inode:1,dentry:1G,folio_wait:4G,udp:2,table-perturb:2",
        {
            "page": bounds("1", 2),
            "inode": bounds("1", 2),
            "dentry": bounds("1G", 2097152, origin="maximum"),
            "folio_wait": bounds("4G", 1048576, origin="maximum"),
            # The code of the network needs these limits.
            "udp": bounds("2", 256, "256 to 65536"),
            "table-perturb": bounds("2", 65536, "65536 to 65536"),
        },
    ),
    "older-parameters": (
        "dhash_entries=garbage ihash_entries=1 mhash_entries=-1 mphash_entries=x",
        {
            "dentry": no_number("garbage"),
            "inode": bounds("1", 2),
            "mount": no_number("-1"),
            "mountpoint": no_number("x"),
        },
    ),
    "older-parameters-without-a-number": (
        "dhash_entries= ihash_entries=99999999999999999999",
        {"dentry": no_number(""), "inode": no_number("99999999999999999999")},
    ),
}
PARAMETER = {"dentry": "dhash", "inode": "ihash", "mount": "mhash", "mountpoint": "mphash"}

# Words that name no table, each with its one warning.
PAIR = "expected NAME:BUCKETS, ignoring '{}'"
NO_TABLE = {
    "dentries:4K": r"expected one of( [\w-]+)* dentry( [\w-]+)*, ignoring 'dentries'",
    "DENTRY:4K": r"expected one of( [\w-]+)*, ignoring 'DENTRY'",
    "dentry": PAIR.format("dentry"),
    "4096": PAIR.format("4096"),
    ":4096": PAIR.format(":4096"),
    "": PAIR.format(""),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_command_line(kernel, name):
    append, expected = GOOD[name]
    tables, warnings = boot(kernel, append)
    assert warnings == []
    origins = dict.fromkeys(expected, "command line") | OTHER_ORIGIN.get(name, {})
    for name, table in tables.items():
        if name in expected:
            assert (table["buckets"], table["sized-by"]) == (expected[name], origins[name]), name
        else:
            assert table["buckets"] == SIZES["512M"].get(name, table["buckets"])
            assert table["sized-by"] != "command line"


@pytest.mark.parametrize("name", BAD)
def test_bad_command_line(kernel, name):
    append, expected = BAD[name]
    tables, warnings = boot(kernel, append)
    assert len(warnings) == len(expected), warnings
    for table, (origin, warning) in expected.items():
        parameter = PARAMETER[table] if name.startswith("older") else "hash"
        wanted = f"{parameter}_entries: {table}{warning}"
        assert len([line for line in warnings if re.fullmatch(wanted, line)]) == 1, warnings
        assert tables[table]["sized-by"] == origin
        if origin not in ("minimum", "maximum"):
            assert tables[table]["buckets"] == SIZES["512M"][table], table


def test_words_that_name_no_table(kernel):
    """Each is warned of and ignored, and a good one beside them is taken."""
    append = f"hash_entries={','.join(NO_TABLE)} hash_entries=inode:4K"
    tables, warnings = boot(kernel, append)
    assert len(warnings) == len(NO_TABLE), warnings
    for warning in NO_TABLE.values():
        wanted = f"hash_entries: {warning}"
        assert len([line for line in warnings if re.fullmatch(wanted, line)]) == 1, warnings
    assert tables["inode"]["buckets"] == 4 * K
    assert tables["dentry"]["buckets"] == SIZES["512M"]["dentry"]
    assert tables["dentry"]["sized-by"] == "memory"


def test_sizes_in_a_bootconfig(kernel):
    """They stand behind the initramfs, and the kernel reads them after its early parameters."""
    text = b"kernel.hash_entries = uid:2K\nkernel.dhash_entries = 4K\nkernel.hash_memory = 4G\0"
    sizes = struct.pack("<II", len(text), sum(text))
    guest = vm.Guest(kernel, "cat /proc/hashstats", append="bootconfig")
    with open(guest.folder / "initramfs", "ab") as file:
        file.write(text + sizes + b"#BOOTCONFIG\n")
    with guest:
        tables = hashstats_file.parse(guest.finish().output)
    assert tables["uid"]["buckets"] == 2 * K
    assert tables["dentry"]["buckets"] == 4 * K
    assert tables["bit_wait"]["buckets"] == SIZES["4G"]["bit_wait"]


def test_too_many_sizes(kernel):
    words = ",".join(["dentry:4K"] * 63 + ["inode:2K", "mount:8", "futex:8"])
    tables, warnings = boot(kernel, f"hash_entries={words}")
    assert warnings == [
        "hash_entries: more than 64 sizes, ignoring 'mount'",
        "hash_entries: more than 64 sizes, ignoring 'futex'",
    ]
    assert tables["inode"]["buckets"] == 2 * K
    assert tables["mount"]["sized-by"] == "memory"


def test_all_tables_together_are_bounded(kernel):
    """Each asks for less than 1/16 of memory, all of them for more than 1/4."""
    names = (
        *("dentry", "inode", "dentry_lookup", "mount", "mountpoint"),
        *("uid", "ucounts", "css_set", "blocked_locks"),
    )
    tables, warnings = boot(
        kernel, "hash_entries=" + ",".join(f"{name}:1M" for name in names), mem="256M"
    )
    cut = {line.split(":")[0] for line in warnings}
    assert cut & set(names)
    assert all(
        ": expected at most 1/4 of memory for all tables, using " in line for line in warnings
    )
    assert sum(table["bytes"] for table in tables.values()) <= 64 * M
    for name in names:
        whole = tables[name]["sized-by"] == "command line" and tables[name]["buckets"] == M
        assert whole != (name in cut), name
    assert {tables[name]["sized-by"] for name in cut} == {"maximum"}


@pytest.mark.parametrize(
    "value, said",
    [
        ("4G", []),
        ("0x100000k", []),
        ("lots hash_memory=0 hash_memory=-1 hash_memory=", ["lots", "0", "-1", ""]),
        (
            "1023K hash_memory=maximum hash_memory=99999999999999999999 hash_memory=20000000000G",
            ["1023K", "maximum", "99999999999999999999", "20000000000G"],
        ),
    ],
    ids=["4G", "hexadecimal", "no-sizes", "out-of-range"],
)
def test_memory_that_comes_later(kernel, value, said):
    tables, warnings = boot(kernel, f"hash_memory={value}", mem="512M")
    assert warnings == [
        f"hash_memory: expected a size of 1M or more (N, NK, NM or NG) or max, ignoring '{text}'"
        for text in said
    ]
    memory = "512M" if said else "4G" if value == "4G" else "1G"
    if memory in SIZES:
        found = {name: tables[name]["buckets"] for name in BUCKETS if name != BY_CPUS}
        assert found == {name: SIZES[memory][name] for name in found}
    else:
        assert tables["dentry"]["buckets"] == 128 * K


def test_hole_below_the_memory_at_boot_does_not_count(kernel):
    """QEMU puts 1 of 3 GiB above 4 GiB, and cannot plug in any."""
    tables, warnings = boot(kernel, "hash_memory=max", mem="3G")
    assert not warnings
    assert tables["dentry"]["buckets"] == 512 * K


FILES = 60000
FILL = f"""
mkdir /tmp/names
perl -e 'for (1 .. {FILES}) {{ open(my $f, ">", "/tmp/names/name-$_") or die "$!" }}'
grep MemTotal /proc/meminfo
echo "=== file"
cat /proc/hashstats
"""
# 256 MiB at boot, and as much as makes 4 GiB in a socket.  Firmware does not call
# this module memory; the kernel adds it by ACPI, when the tables are there.
GROWS = (
    *("-m", "256M,slots=1,maxmem=12G"),
    *("-object", "memory-backend-ram,id=more,size=3840M"),
    *("-device", "pc-dimm,memdev=more"),
)


ONLINE = "memhp_default_state=online"


def nodes_of_names(kernel, **options):
    """Nodes per hit of the dentry table, in a guest that has 4 GiB in the end."""
    output = vm.run(kernel, FILL, programs=["perl"], timeout=300, **options).output
    total, _, text = output.partition("=== file\n")
    assert int(total.split()[1]) > 3500 * K, total
    table = hashstats_file.parse(text)["dentry"]
    assert table["objects"] > FILES
    return table["nodes-per-hit"]


def test_guest_that_grows_has_the_tables_of_a_large_one(kernel):
    large = nodes_of_names(kernel, mem="4G")
    sized = nodes_of_names(kernel, mem="256M", qemu=GROWS, append=f"{ONLINE} hash_memory=12G")
    small = nodes_of_names(kernel, mem="256M", qemu=GROWS, append=ONLINE)
    print(f"nodes per hit: {large} with 4 GiB, {sized} and {small} with 256 MiB that grow")
    assert sized <= 1.1 * large < small
