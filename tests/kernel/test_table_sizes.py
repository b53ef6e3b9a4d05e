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


# Command lines that are taken: what they give.
GOOD = [
    ("hash_entries=dentry:4K", {"dentry": 4 * K}),
    (
        "hash_entries=dentry:4096,inode:2k,mount:64,mountpoint:32",
        {"dentry": 4 * K, "inode": 2 * K, "mount": 64, "mountpoint": 32},
    ),
    (
        "hash_entries=folio_wait:256,bit_wait:256,dentry_lookup:1024",
        {"folio_wait": 256, "bit_wait": 256, "dentry_lookup": 1 * K},
    ),
    (
        "hash_entries=folio_wait:2,bit_wait:2,dentry_lookup:2,futex:2",
        {"folio_wait": 2, "bit_wait": 2, "dentry_lookup": 2, "futex": 2},
    ),
    ("hash_entries=dentry:2,inode:2", {"dentry": 2, "inode": 2}),
    ("hash_entries=dentry:12k", {"dentry": 16 * K}),
    ("hash_entries=inode:0x100", {"inode": 256}),
    ("hash_entries=dentry:8K hash_entries=dentry:4K", {"dentry": 4 * K}),
    ("dhash_entries=12k", {"dentry": 16 * K}),
    (
        "dhash_entries=4K ihash_entries=2K mhash_entries=128 mphash_entries=256",
        {"dentry": 4 * K, "inode": 2 * K, "mount": 128, "mountpoint": 256},
    ),
    ("dhash_entries=8K hash_entries=dentry:4K", {"dentry": 4 * K}),
    ("hash_entries=dentry:4K dhash_entries=8K", {"dentry": 8 * K}),
    (
        "hash_entries=uid:128,dquot:512,posix_timers:512,css_set:128,ucounts:1K",
        {"uid": 128, "dquot": 512, "posix_timers": 512, "css_set": 128, "ucounts": 1 * K},
    ),
    (
        "hash_entries=blocked_locks:128,ksm_mm:1K,khugepaged_mm:1K",
        {"blocked_locks": 128, "ksm_mm": 1 * K, "khugepaged_mm": 1 * K},
    ),
    ("hash_entries=buffer:512,page:4K", {"buffer": 512, "page": 4 * K}),
    # Optional: a slot for each page, or none.
    ("hash_entries=page:auto", {"page": 128 * K}),
    ("hash_entries=page:4K,page:auto", {"page": 128 * K}),
    ("hash_entries=page:auto,page:0", {"page": 0}),
    # From vmalloc: larger than one block of pages.
    (
        "hash_entries=bit_wait:512K,folio_wait:512K,css_set:1M,ucounts:1M",
        {"bit_wait": 512 * K, "folio_wait": 512 * K, "css_set": 1 * M, "ucounts": 1 * M},
    ),
]

OTHER_ORIGIN = {
    "hash_entries=page:auto": "memory",
    "hash_entries=page:4K,page:auto": "memory",
    "hash_entries=page:auto,page:0": "off",
}

# Command lines that are not: the table and its size, and the one warning.
BAD = [
    (
        "hash_entries=page:big",
        "page",
        "off",
        r"hash_entries: page buckets: 'big' is no number of buckets"
        r" \(N, NK, NM, NG or auto\), used: 0 \(off\)",
    ),
    (
        "hash_entries=page:1",
        "page",
        "minimum",
        r"hash_entries: page buckets: '1' is too few \(2 or more\), used: 2"
        r" \(minimum\)",
    ),
    (
        "hash_entries=buffer:auto",
        "buffer",
        "memory",
        r"hash_entries: buffer buckets: 'auto' is no number of buckets"
        r" \(N, NK, NM or NG\), used: 8192 \(memory\)",
    ),
    (
        "hash_entries=dentry:garbage",
        "dentry",
        "memory",
        r"hash_entries: dentry buckets: 'garbage' is no number of buckets"
        r" \(N, NK, NM or NG\), used: 65536 \(memory\)",
    ),
    ("hash_entries=dentry:-1", "dentry", "memory", r".*'-1' is no number"),
    ("hash_entries=dentry:", "dentry", "memory", r".*'' is no number"),
    ("hash_entries=dentry:4KB", "dentry", "memory", r".*'4KB' is no number"),
    ("hash_entries=dentry:4096x", "dentry", "memory", r".*'4096x' is no"),
    (
        "hash_entries=dentry:18446744073709551616",
        "dentry",
        "memory",
        r".*'18446744073709551616' is no number",
    ),
    (
        "hash_entries=dentry:0",
        "dentry",
        "memory",
        r".*'0' is no size \(2 or more\), used: 65536 \(memory\)",
    ),
    (
        "hash_entries=inode:1",
        "inode",
        "minimum",
        r".*'1' is too few \(2 or more\), used: 2 \(minimum\)",
    ),
    (
        "hash_entries=dentry:1G",
        "dentry",
        "maximum",
        r".*'1G' is more than 1/16 of memory holds, used: 2097152 \(maximum\)",
    ),
    (
        "hash_entries=folio_wait:4G",
        "folio_wait",
        "maximum",
        r".*'4G' is more than 1/16 of memory holds, used: 1048576 \(maximum\)",
    ),
    ("hash_entries=bit_wait:0", "bit_wait", "memory", r".*'0' is no size"),
    (
        "hash_entries=futex:none",
        "futex",
        "cpus",
        r".*'none' is no number of buckets .* used: 512 \(cpus\)",
    ),
    (
        "dhash_entries=garbage",
        "dentry",
        "memory",
        r"dhash_entries: dentry buckets: 'garbage' is no number",
    ),
    ("dhash_entries=-1", "dentry", "memory", r"dhash_entries: .*'-1' is no"),
    ("dhash_entries=", "dentry", "memory", r"dhash_entries: .*'' is no"),
    ("ihash_entries=1", "inode", "minimum", r"ihash_entries: inode buckets: '1' is too few"),
    (
        "ihash_entries=99999999999999999999",
        "inode",
        "memory",
        r"ihash_entries: .*'99999999999999999999' is no",
    ),
    ("mhash_entries=0", "mount", "memory", r"mhash_entries: .*'0' is no size"),
    ("mphash_entries=x", "mountpoint", "memory", r"mphash_entries: .*'x' is"),
    # Words that name no table.
    (
        "hash_entries=dentries:4K",
        "dentry",
        "memory",
        r"hash_entries=dentries:4K: no such table, ignored; there are:"
        r"( \w+)* dentry( \w+)*$",
    ),
    ("hash_entries=DENTRY:4K", "dentry", "memory", r".*: no such table"),
    (
        "hash_entries=dentry",
        "dentry",
        "memory",
        r"hash_entries=dentry: NAME:BUCKETS is accepted, ignored",
    ),
    ("hash_entries=4096", "dentry", "memory", r".*NAME:BUCKETS is accepted"),
    ("hash_entries=:4096", "dentry", "memory", r".*NAME:BUCKETS is accepted"),
    ("hash_entries=", "dentry", "memory", r".*NAME:BUCKETS is accepted"),
]


@pytest.mark.parametrize("append,expected", GOOD, ids=[g[0] for g in GOOD])
def test_good_command_line(kernel, append, expected):
    tables, warnings, _ = boot(kernel, append)
    assert warnings == []
    for name, table in tables.items():
        if name in expected:
            assert table["buckets"] == expected[name]
            assert table["sized-by"] == OTHER_ORIGIN.get(append, "command line")
        else:
            assert table["buckets"] == SIZES["512M"][name]
            assert table["sized-by"] != "command line"


@pytest.mark.parametrize("append,name,origin,warning", BAD, ids=[b[0] for b in BAD])
def test_bad_command_line(kernel, append, name, origin, warning):
    tables, warnings, _ = boot(kernel, append)
    assert len(warnings) == 1 and re.match(warning, warnings[0]), warnings
    assert tables[name]["sized-by"] == origin
    if origin not in ("minimum", "maximum"):
        assert tables[name]["buckets"] == SIZES["512M"][name]


def test_many_bad_values_and_one_good(kernel):
    tables, warnings, _ = boot(kernel, "hash_entries=inode:x,foo:1,dentry:4K,,mount:0,bar")
    assert len(warnings) == 5
    assert tables["dentry"]["buckets"] == 4 * K


def test_too_many_sizes(kernel):
    words = ",".join(["dentry:4K"] * 63 + ["inode:2K", "mount:8", "futex:8"])
    tables, warnings, _ = boot(kernel, f"hash_entries={words}")
    assert warnings == [
        "hash_entries: more than 64 sizes, mount ignored",
        "hash_entries: more than 64 sizes, futex ignored",
    ]
    assert tables["inode"]["buckets"] == 2 * K
    assert tables["mount"]["sized-by"] == "memory"
