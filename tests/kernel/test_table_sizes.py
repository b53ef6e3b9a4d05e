# SPDX-License-Identifier: GPL-2.0
"""Sizes of memory and command lines, each a real boot."""

import os
import re

import pytest

from guest import hashstats_file, vm

K, M = 1 << 10, 1 << 20

# What the policy gives for a machine of so much memory and two CPUs.
MEMORIES = ("64M", "128M", "512M", "4G", "16G")
BUCKETS = {
    "dentry": (8 * K, 16 * K, 64 * K, 512 * K, 2 * M),
    "inode": (4 * K, 8 * K, 32 * K, 256 * K, 1 * M),
    "mount": (512, 512, 1 * K, 8 * K, 32 * K),
    "mountpoint": (512, 512, 1 * K, 8 * K, 32 * K),
    "futex": (512, 512, 512, 512, 512),
    "dentry_lookup": (1 * K, 1 * K, 1 * K, 4 * K, 16 * K),
    "folio_wait": (256, 512, 2 * K, 16 * K, 64 * K),
    "bit_wait": (256, 512, 2 * K, 16 * K, 64 * K),
    "uid": (512, 1 * K, 4 * K, 32 * K, 128 * K),
    "dquot": (1 * K, 2 * K, 8 * K, 64 * K, 256 * K),
    "posix_timers": (512, 1 * K, 4 * K, 32 * K, 128 * K),
    "css_set": (512, 512, 2 * K, 16 * K, 64 * K),
    "ucounts": (1 * K, 1 * K, 4 * K, 32 * K, 128 * K),
    "blocked_locks": (512, 1 * K, 4 * K, 32 * K, 128 * K),
    "ksm_mm": (1 * K, 1 * K, 4 * K, 32 * K, 128 * K),
    "khugepaged_mm": (1 * K, 1 * K, 4 * K, 32 * K, 128 * K),
    "buffer": (1 * K, 2 * K, 8 * K, 64 * K, 256 * K),
    "page": (0,) * 5,
}
SIZES = {
    memory: {name: buckets[place] for name, buckets in BUCKETS.items()}
    for place, memory in enumerate(MEMORIES)
}
BYTES = dict.fromkeys(BUCKETS, 8) | {"folio_wait": 24, "bit_wait": 24, "futex": 64}
# As mainline has them, or by the CPUs.
NOT_OURS = ("dentry", "inode", "mount", "mountpoint", "futex")
HOST = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def boot(kernel, append="", mem="512M", **options):
    """(tables, warnings of boot_hash, console) of one boot."""
    result = vm.run(kernel, "cat /proc/hashstats", mem=mem, append=append, **options)
    warnings = re.findall(r"\] (?:boot_hash|hashstats): (.*)", result.console)
    return hashstats_file.parse(result.output), warnings, result.console


@pytest.mark.parametrize("mem", SIZES)
def test_memory(kernel, mem):
    if vm.limits.memory(mem, "mem") > 0.8 * HOST:
        pytest.skip(f"this machine has no {mem} for a guest")
    tables, warnings, _ = boot(kernel, mem=mem)
    assert warnings == []
    assert {name: table["buckets"] for name, table in tables.items()} == SIZES[mem]
    for name, table in tables.items():
        assert table["bytes"] == table["buckets"] * BYTES[name]
        assert table["sized-by"] in (("off",) if name == "page" else ("memory", "minimum", "cpus"))
    assert tables["futex"]["sized-by"] == "cpus"
    assert tables["dentry"]["sized-by"] == "memory"
    # The tables that mainline does not size from memory: 1/1000 at most.
    ours = sum(table["bytes"] for name, table in tables.items() if name not in NOT_OURS)
    print(f"{mem}: {ours} bytes in tables that mainline does not size")
    if vm.limits.memory(mem, "mem") >= 1 << 30:
        assert ours * 1000 <= vm.limits.memory(mem, "mem")


def test_sizes_follow_cpus(kernel):
    tables, _, _ = boot(kernel, cpus=4)
    assert tables["futex"]["buckets"] == 1024


# Command lines that are taken, many sizes in each, and what they give.  How a
# number is read, and every bad one, is tested by mm/boot_hash_kunit.c, too.
GOOD = {
    "every-table": (
        "hash_entries=dentry:4096,inode:2k,mount:64,mountpoint:32,futex:2,"
        "folio_wait:256,bit_wait:256,dentry_lookup:1024,"
        "uid:128,dquot:512,posix_timers:512,css_set:128,ucounts:1K,"
        "blocked_locks:128,ksm_mm:1K,khugepaged_mm:1K,buffer:512,page:4K",
        {
            "dentry": 4 * K,
            "inode": 2 * K,
            "mount": 64,
            "mountpoint": 32,
            "futex": 2,
            "folio_wait": 256,
            "bit_wait": 256,
            "dentry_lookup": 1 * K,
            "uid": 128,
            "dquot": 512,
            "posix_timers": 512,
            "css_set": 128,
            "ucounts": 1 * K,
            "blocked_locks": 128,
            "ksm_mm": 1 * K,
            "khugepaged_mm": 1 * K,
            "buffer": 512,
            "page": 4 * K,
        },
    ),
    "one-table": ("hash_entries=dentry:4K", {"dentry": 4 * K}),
    "two-buckets": (
        "hash_entries=folio_wait:2,bit_wait:2,dentry_lookup:2,futex:2 hash_entries=dentry:2,inode:2",
        {"folio_wait": 2, "bit_wait": 2, "dentry_lookup": 2, "futex": 2, "dentry": 2, "inode": 2},
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
    # From vmalloc: larger than one block of pages.
    "large": (
        "hash_entries=bit_wait:512K,folio_wait:512K,css_set:1M,ucounts:1M",
        {"bit_wait": 512 * K, "folio_wait": 512 * K, "css_set": 1 * M, "ucounts": 1 * M},
    ),
}
OTHER_ORIGIN = {
    "rounded-and-repeated": {"page": "off"},
    "pages": {"page": "memory"},
    "pages-repeated": {"page": "memory"},
}

NO_NUMBER = r" is no number of buckets \(N, NK, NM or NG\), used: {} \({}\)"
# Command lines that are not: {table: (origin of its size, its one warning)}.
BAD = {
    "no-numbers": (
        "hash_entries=dentry:garbage,inode:-1,mount:,mountpoint:4KB,folio_wait:4096x,"
        "bit_wait:18446744073709551616,futex:none,buffer:auto,page:big",
        {
            "dentry": ("memory", "dentry buckets: 'garbage'" + NO_NUMBER),
            "inode": ("memory", "inode buckets: '-1'" + NO_NUMBER),
            "mount": ("memory", "mount buckets: ''" + NO_NUMBER),
            "mountpoint": ("memory", "mountpoint buckets: '4KB'" + NO_NUMBER),
            "folio_wait": ("memory", "folio_wait buckets: '4096x'" + NO_NUMBER),
            "bit_wait": ("memory", "bit_wait buckets: '18446744073709551616'" + NO_NUMBER),
            "futex": ("cpus", "futex buckets: 'none'" + NO_NUMBER),
            "buffer": ("memory", "buffer buckets: 'auto'" + NO_NUMBER),
            "page": ("off", "page buckets: 'big'" + NO_NUMBER.replace(" or NG", ", NG or auto")),
        },
    ),
    "out-of-range": (
        "hash_entries=page:1,inode:1,bit_wait:0,mount:0,dentry:1G,folio_wait:4G",
        {
            "page": ("minimum", r"page buckets: '1' is too few \(2 or more\), used: 2 \({1}\)"),
            "inode": ("minimum", r"inode buckets: '1' is too few \(2 or more\), used: 2 \({1}\)"),
            "bit_wait": (
                "memory",
                r"bit_wait buckets: '0' is no size \(2 or more\), used: {} \({}\)",
            ),
            "mount": ("memory", r"mount buckets: '0' is no size \(2 or more\), used: {} \({}\)"),
            "dentry": (
                "maximum",
                r"dentry buckets: '1G' is more than 1/16 of memory holds, used: 2097152 \({1}\)",
            ),
            "folio_wait": (
                "maximum",
                r"folio_wait buckets: '4G' is more than 1/16 of memory holds,"
                r" used: 1048576 \({1}\)",
            ),
        },
    ),
    "older-parameters": (
        "dhash_entries=garbage ihash_entries=1 mhash_entries=0 mphash_entries=x",
        {
            "dentry": ("memory", "dentry buckets: 'garbage'" + NO_NUMBER),
            "inode": ("minimum", r"inode buckets: '1' is too few \(2 or more\), used: 2 \({1}\)"),
            "mount": ("memory", r"mount buckets: '0' is no size \(2 or more\), used: {} \({}\)"),
            "mountpoint": ("memory", "mountpoint buckets: 'x'" + NO_NUMBER),
        },
    ),
    "older-parameters-without-a-number": (
        "dhash_entries= ihash_entries=99999999999999999999 mhash_entries=-1",
        {
            "dentry": ("memory", "dentry buckets: ''" + NO_NUMBER),
            "inode": ("memory", "inode buckets: '99999999999999999999'" + NO_NUMBER),
            "mount": ("memory", "mount buckets: '-1'" + NO_NUMBER),
        },
    ),
}
PARAMETER = {"dentry": "dhash", "inode": "ihash", "mount": "mhash", "mountpoint": "mphash"}

# Words that name no table, each with its one warning.
NO_TABLE = {
    "dentries:4K": r": no such table, ignored; there are:( \w+)* dentry( \w+)*$",
    "DENTRY:4K": ": no such table",
    "dentry": ": NAME:BUCKETS is accepted, ignored",
    "4096": ": NAME:BUCKETS is accepted, ignored",
    ":4096": ": NAME:BUCKETS is accepted, ignored",
    "": ": NAME:BUCKETS is accepted, ignored",
}


@pytest.mark.parametrize("name", GOOD)
def test_good_command_line(kernel, name):
    append, expected = GOOD[name]
    tables, warnings, _ = boot(kernel, append)
    assert warnings == []
    origins = dict.fromkeys(expected, "command line") | OTHER_ORIGIN.get(name, {})
    for name, table in tables.items():
        if name in expected:
            assert (table["buckets"], table["sized-by"]) == (expected[name], origins[name]), name
        else:
            assert table["buckets"] == SIZES["512M"][name]
            assert table["sized-by"] != "command line"


@pytest.mark.parametrize("name", BAD)
def test_bad_command_line(kernel, name):
    append, expected = BAD[name]
    tables, warnings, _ = boot(kernel, append)
    assert len(warnings) == len(expected), warnings
    for table, (origin, warning) in expected.items():
        parameter = PARAMETER[table] if name.startswith("older") else "hash"
        wanted = f"{parameter}_entries: " + warning.format(SIZES["512M"][table], origin)
        assert len([line for line in warnings if re.fullmatch(wanted, line)]) == 1, warnings
        assert tables[table]["sized-by"] == origin
        if origin not in ("minimum", "maximum"):
            assert tables[table]["buckets"] == SIZES["512M"][table]


def test_words_that_name_no_table(kernel):
    """Each is warned of and ignored, and a good one beside them is taken."""
    append = f"hash_entries={','.join(NO_TABLE)} hash_entries=inode:4K"
    tables, warnings, _ = boot(kernel, append)
    assert len(warnings) == len(NO_TABLE), warnings
    for word, warning in NO_TABLE.items():
        wanted = f"hash_entries={re.escape(word)}{warning}"
        assert len([line for line in warnings if re.match(wanted, line)]) == 1, warnings
    assert tables["inode"]["buckets"] == 4 * K
    assert tables["dentry"]["buckets"] == SIZES["512M"]["dentry"]
    assert tables["dentry"]["sized-by"] == "memory"


def test_nothing_is_no_size(kernel):
    tables, warnings, _ = boot(kernel, "hash_entries=")
    assert len(warnings) == 1 and "NAME:BUCKETS is accepted" in warnings[0]
    assert tables["dentry"]["sized-by"] == "memory"


def test_too_many_sizes(kernel):
    words = ",".join(["dentry:4K"] * 63 + ["inode:2K", "mount:8", "futex:8"])
    tables, warnings, _ = boot(kernel, f"hash_entries={words}")
    assert warnings == [
        "hash_entries: more than 64 sizes, mount ignored",
        "hash_entries: more than 64 sizes, futex ignored",
    ]
    assert tables["inode"]["buckets"] == 2 * K
    assert tables["mount"]["sized-by"] == "memory"
