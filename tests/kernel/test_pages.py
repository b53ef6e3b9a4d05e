# SPDX-License-Identifier: GPL-2.0
"""The page cache and its buffers under tools/testing/selftests/boothash/page_stress.c.

The program knows each byte that it reads; a guest whose kernel complains fails,
e2fsck looks at what was written, and when nothing is open any more the table of
buffers must be empty.
"""

import re

import pytest

import brokenprogram
import sections
from guest import hashstats_file, vm
from kernel import build
from series import compose

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
echo 3 > /proc/sys/vm/drop_caches
# Buffers whose page is in use for a moment go a little later.
turns=0
until cat /proc/hashstats > /tmp/after &&
    awk '$1 == "name:" {{ name = $2 }} $1 == "objects:" && name == "buffer" && $2
        {{ exit 1 }}' /tmp/after; do
    turns=$((turns + 1))
    [ $turns -lt 20 ] || break
    sleep 0.5
    echo 3 > /proc/sys/vm/drop_caches
done
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
    "reads",
    "mapped reads",
    "writes",
    "mapped writes",
    "punches",
    "zeroings",
    "truncations",
    "unlinks",
    "replacements",
    "syncs",
    "madvises",
    "collapses",
    "bus errors",
    "raced blocks",
    "drops",
    "compactions",
    "namings",
    "refills",
    "device reads",
    "block sizes",
    "mounts",
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
    qemu = [
        word
        for disk in DISKS
        for word in ("-drive", f"file={disk},format=raw,if=virtio,cache=unsafe")
    ]
    script = SCRIPT.format(seconds=seconds, processes=processes, anonymous=anonymous)
    machine = vm.Guest(
        kernel,
        script,
        mem=mem,
        cpus=4,
        append=append,
        qemu=qemu,
        programs=PROGRAMS,
        timeout=timeout,
        **options,
    )
    for disk, size in DISKS.items():
        with open(machine.folder / disk, "wb") as image:
            image.truncate(size << 20)
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


def on_tmpfs(damage):
    """Somebody else does something to the files meanwhile."""
    return f"""
        page_stress /tmp -t 60 -p 4 &
        load=$!
        sleep 1
        while kill -0 $load 2> /dev/null; do
            ({damage}) 2> /dev/null || true
            sleep 0.05
        done
        wait $load
        """


@pytest.mark.parametrize(
    "damage, said",
    [
        (
            "dd if=/dev/zero of=/tmp/page-stress-0 bs=1k count=64 conv=notrunc",
            r"(direct read|read|mapping) of .*-0: block \d+ has a wrong byte .*: it is zero",
        ),
        (
            "printf a | dd of=/tmp/page-stress-0 bs=1 seek=9000 conv=notrunc",
            "(direct read|read|mapping) of .*-0: block 8 has a wrong byte 808, must be ",
        ),
        (
            "cp /tmp/page-stress-1 /tmp/page-stress-0",
            r"(.* of .*-0: block \d+ has a wrong byte .*: it is (zero|block \d+ of file 1)|"
            # Whose mapping ends before its end, as the locks forbid.
            "a process ended by signal 7)",
        ),
        (
            ": > /tmp/page-stress-0",
            r"(.* of .*-0: block \d+ has a wrong byte|a process ended by signal 7)",
        ),
        ("rm /tmp/page-stress-0", "(open|truncate|unlink) /tmp/page-stress-0: No such"),
        (
            "[ -e /tmp/killed ] || kill -KILL $(pidof page_stress | cut -d ' ' -f 1); "
            "touch /tmp/killed",
            "a process ended by signal 9",
        ),
    ],
    ids=["zeros", "byte", "other", "truncate", "remove", "kill"],
)
def test_damage_is_seen(kernel, damage, said):
    result = vm.run(kernel, on_tmpfs(damage), cpus=2, check=False, timeout=90)
    assert result.status == 1
    assert re.search(rf"^# (process \d+: )?{said}", result.output, re.M)
    assert re.search("^not ok 1 page_stress$", result.output, re.M)


def test_damage_of_a_device_is_seen(kernel):
    """Beside it the same device is mounted, unmounted, and its blocks change."""
    result = vm.run(
        kernel,
        """
        mkdir /mount
        mkfs.ext4 -q -b 1024 /dev/ram0 16M
        page_stress /tmp -t 60 -p 4 -b /dev/ram0 -d /dev/ram0:/mount &
        load=$!
        sleep 3
        while kill -0 $load 2> /dev/null; do
            dd if=/dev/zero of=/dev/ram0 bs=1k seek=512k count=256 2> /dev/null
            sleep 0.05
        done
        wait $load
        """,
        cpus=2,
        check=False,
        programs=("mkfs.ext4",),
        timeout=90,
    )
    assert result.status == 1
    assert re.search(
        r"^# process \d: .* of /dev/ram0: block \d+ has a wrong "
        "byte .*: it is zero",
        result.output,
        re.M,
    )
    counts = re.search(
        r"(\d+) block sizes, (\d+) mounts\nnot ok 1 page_stress$", result.output, re.M
    )
    assert min(map(int, counts.groups())) > 0


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


@pytest.mark.long
@pytest.mark.parametrize(
    "append, seconds", [("", 600), (PAGE_HASH, 600), (TINY, 300)], ids=IDS.values()
)
def test_lockdep_and_kasan_find_nothing(debug_kernel, append, seconds):
    result = stress(debug_kernel, seconds, append, parallel=True, timeout=seconds + 300, **KASAN)
    assert "KernelAddressSanitizer initialized" in result.console


@pytest.mark.long
@pytest.mark.parametrize(
    "append, seconds", [("", 600), (PAGE_HASH, 600), (TINY, 300)], ids=IDS.values()
)
def test_look_ups_do_not_race(append, seconds):
    kernel = build.build(
        "kcsan",
        (*build.GUEST, build.CONFIGS / "test/kcsan.config"),
        compose.compose(),
        targets=("vmlinux",),
    )
    result = stress(
        kernel, seconds, append, parallel=True, timeout=seconds + 300, complaints=True, **KCSAN
    )
    assert "kcsan: enabled" in result.console
    races = [line for line in result.complaints if "KCSAN:" in line]
    assert result.complaints == races
    assert [line for line in races if OURS.search(line) and MAINLINE not in line] == []
