# SPDX-License-Identifier: GPL-2.0
"""The page cache and its buffers under tools/testing/selftests/boothash/page_stress.c.

The program knows each byte that it reads; a guest whose kernel complains fails,
e2fsck looks at what was written, and when nothing is open any more the table of
buffers must be empty.
"""

import re

import pytest

import brokenprogram
import emulation
import sections
from guest import hashstats_file, vm

# Two mounted ext4, one to mount now and then, and swap, in MiB.
DISKS = {"vda": 96, "vdb": 96, "vdc": 64, "vdd": 256}
SCRIPT = """
# Says nothing of each time that caches are dropped.
echo 4 > /proc/sys/vm/drop_caches
mkdir /small /large /huge /within /mount
mkfs.ext4 -q -b 1024 /dev/vda
mkfs.ext4 -q -b 4096 /dev/vdb
mkfs.ext4 -q -b 1024 /dev/vdc 16M
mkswap /dev/vdd > /dev/null
swapon /dev/vdd
mount /dev/vda /small
mount /dev/vdb /large
mount -t tmpfs -o size=64M,huge=always huge /huge
mount -t tmpfs -o size=64M,huge=within_size within /within
# At its end this loop has read the whole file at least once.
(until [ -e /tmp/end ]; do cat /proc/hashstats > /tmp/stats; sleep 0.5; done) &
reader=$!
echo on > /proc/hashstats
page_stress /small /large /huge /within -t {seconds} -p {processes} -a {anonymous} \
    -b /dev/vda -b /dev/vdb -d /dev/vdc:/mount
touch /tmp/end
wait $reader
umount /small /large /huge /within
swapoff /dev/vdd
for disk in /dev/vda /dev/vdb /dev/vdc; do
    e2fsck -fn $disk > /tmp/fsck 2>&1 || {{ cat /tmp/fsck; exit 1; }}
done
# Buffers whose page is in use for a moment go a little later.
no_buffers() {{
    echo 3 > /proc/sys/vm/drop_caches
    cat /proc/hashstats > /tmp/after
    [ "$(objects buffer /tmp/after)" = "buffer 0" ]
}}
retry no_buffers
for name in stats after; do
    echo "=== $name"
    cat /tmp/$name
done
echo "=== reclaim"
cat /proc/vmstat
"""
# Memory and what of it is filled, in MiB: there is always something to reclaim.
PLAIN = {"mem": "160M", "anonymous": 104}
KASAN = {"mem": "256M", "anonymous": 112}
KCSAN = {"mem": "224M", "anonymous": 104}
PROGRAMS = ("mkfs.ext4", "e2fsck")
PAGE_HASH = "hash_entries=page:auto"
TINY = "hash_entries=page:2,buffer:2"
TABLES = {"": ["buffer"], PAGE_HASH: ["buffer", "page"], TINY: ["buffer", "page"]}
IDS = {"": "default", PAGE_HASH: "page-hash", TINY: "tiny"}
KINDS = (
    *("reads", "mapped reads", "writes", "mapped writes", "punches", "zeroings", "truncations"),
    *("unlinks", "replacements", "syncs", "madvises", "collapses", "bus errors", "raced blocks"),
    *("drops", "compactions", "namings", "refills", "device reads", "block sizes", "mounts"),
)
LINE = re.compile(
    "^# " + ", ".join(rf"(\d+) {kind}" for kind in KINDS) + r"\nok 1 page_stress$", re.MULTILINE
)
# Two processors must be at one place for the one, free huge pages for the other,
# and slow kernels fill memory once at most.
RARE = ("raced blocks", "collapses", "refills")
# Who takes part in a lookup, or changes what it finds.
OURS = re.compile(
    r"boot_hash|hashstats|page_hash|buffer_hash|find_get_block|xas_load|xas_descend|"
    r"filemap_get_(entry|read_batch)"
)
# It reads the lists of recent buffers of other processors without a lock, in mainline too.
MAINLINE = "has_bh_in_lru"


def run_stress(
    kernel, seconds, append="", mem="160M", processes=8, anonymous=72, timeout=120, **options
):
    script = SCRIPT.format(seconds=seconds, processes=processes, anonymous=anonymous)
    machine = vm.Guest(
        kernel,
        sections.SHELL + script,
        mem=mem,
        cpus=4,
        append=append,
        qemu=emulation.drives(DISKS),
        programs=PROGRAMS,
        timeout=timeout,
        **options,
    )
    emulation.disks(machine, DISKS)
    with machine:
        return machine.finish()


def stress(kernel, seconds, append="", factors=(1,), **options):
    for factor in factors:
        result = run_stress(kernel, factor * seconds, append, **options)
        missing = not_done(result.output)
        if not missing:
            break
    assert missing == []
    check_tables(sections.named(result.output), append)
    return result


def not_done(output):
    """What a stress should have done and did not."""
    line = LINE.search(output)
    print(line[0])
    counts = dict(zip(KINDS, map(int, line.groups())))
    reclaim = sections.named(output)["reclaim"]
    refaults = dict(re.findall(r"^workingset_refault_(\w+) (\d+)$", reclaim, re.M))
    print("pages that were reclaimed and read again:", refaults)
    missing = [kind for kind in KINDS if not counts[kind] and kind not in RARE]
    return missing + ["refaults"] * (not sum(map(int, refaults.values())))


def check_tables(parts, append):
    under_load, after = (hashstats_file.parse(parts[name]) for name in ("stats", "after"))
    for name in TABLES[append]:
        assert under_load[name]["lookups"] > under_load[name]["hits"] > 0, name
    assert int(under_load["buffer"]["cache-hits"]) > 0
    assert after["buffer"]["objects"] == 0
    if "page" not in TABLES[append]:
        assert under_load["page"]["sized-by"] == "off"
    if append == TINY:
        # Nearly each lookup meets the page of another.
        assert int(under_load["page"]["stale"]) > under_load["page"]["hits"]
        assert under_load["buffer"]["buckets"] == under_load["page"]["buckets"] == 2


@pytest.mark.parametrize("append", TABLES, ids=IDS.values())
def test_bytes(kernel, append):
    # A guest of a busy host does less in its time: once more then, for longer.
    stress(kernel, 18 if not append else 12, append, factors=(1, 4), **PLAIN)


# A kernel that does not do what it says: (what, by what, what is said then).
BROKEN = {
    "write": (
        (
            "\twrite_all(fd, words, (size_t)run->blocks * BLOCK,\n",
            "\twrite_all(fd, words, (size_t)(run->blocks - 1) * BLOCK,\n",
        ),
        r"\S.* of .* has a wrong byte",
    ),
    "mapping": (
        (
            "\t\tmemcpy(map.data, words, (size_t)run.blocks * BLOCK);\n",
            "\t\tmemcpy(map.start, words, (size_t)run.blocks * BLOCK);\n",
        ),
        r"\S.* of .* has a wrong byte .*: it is (zero|block)",
    ),
    "punch": (
        (
            "\tbusy = fallocate(fd, mode | FALLOC_FL_KEEP_SIZE,",
            "\tbusy = 0 && fallocate(fd, mode | FALLOC_FL_KEEP_SIZE,",
        ),
        r"\S.* of .* has a wrong byte .*: it is block",
    ),
    "truncate": (
        ("\tif (truncate(file->path, (off_t)blocks * BLOCK))", "\tif (0)"),
        r"\S.* of .* has a wrong byte .*: it is block",
    ),
    "bus": (
        (
            "\t\tmemcpy(words, from, BLOCK);\n",
            "\t\tmemcpy(words, from, BLOCK);\n\t\tif (!random_below(1000))\n\t\t\traise(SIGBUS);\n",
        ),
        r"mapping of .* has a wrong byte .*: it is zero",
    ),
    "memory": (
        (
            "(unsigned long long)i << 32 | (turn + 1);",
            "i == 512 ? 0 : (unsigned long long)i << 32 | (turn + 1);",
        ),
        "memory: word 512 is 0000000000000000, must be",
    ),
}


def test_broken_calls_are_seen(kernel, tmp_path):
    brokenprogram.check_seen(
        kernel,
        tmp_path,
        "page_stress",
        BROKEN,
        """
        ! broken-{name} /tmp -t 30 -p 4 -a 4
        rm -r /tmp/page-stress*
        """,
        timeout=120,
    )


each_size = pytest.mark.parametrize(
    "append, seconds", [("", 600), (PAGE_HASH, 600), (TINY, 300)], ids=IDS.values()
)


@pytest.mark.long
@each_size
def test_lockdep_and_kasan_find_nothing(debug_kernel, append, seconds):
    stress(debug_kernel, seconds, append, parallel=True, timeout=seconds + 300, **KASAN)


@pytest.mark.long
@each_size
def test_look_ups_do_not_race(kcsan_kernel, append, seconds):
    options = {"parallel": True, "timeout": seconds + 300, "complaints": True}
    result = stress(kcsan_kernel, seconds, append, **options, **KCSAN)
    emulation.check_races(result, OURS, MAINLINE)
