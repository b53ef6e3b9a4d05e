# SPDX-License-Identifier: GPL-2.0
"""Which figures README, the cover letter, patches and documents quote.

A number with a decimal point that stands in no passage is a fault, but for
files that are full of a command's output (SAMPLES).  constant() has the
numbers that no benchmark gives.
"""

import re

from bench.cases import atomics as bench_atomics
from bench.cases import dentry as bench_dentry
from bench.cases import index as bench_index
from common import ROOT, write_if_changed
from report import measured
from report.passages import constant, faults, passage, written
from report.stored import UNKNOWN

DOCUMENTS = "Documentation/admin-guide"
TOOL = f"{DOCUMENTS}/hashstats-tool.rst"


# README and the cover letter.


def readme(of):
    for row in measured.ROWS:
        if row.readme:
            yield row_passage(row, of)
    yield passage(
        "a wakeup that meets no other waiter takes {:.1f} ns instead of {:.1f}",
        *measured.wake("plain", 0)(of)[::-1],
    )
    yield passage("the hash of an inode takes {:.1f} ns instead of {:.1f}", *hash_times(of))
    yield passage(
        "making and deleting a timer takes {:.3f} of mainline's instructions",
        of.figure("crowd", "posix_timers_create_ratio_at_100"),
    )
    yield passage(
        "10,000 names alone are found in {:.0f} ns with the default table of 4 GiB and in {:.0f} "
        "with 1/16 of it, and among 250,000 names in {:.0f} and {:.0f} ns",
        *(
            bench_dentry.nanoseconds(of.get("dentry"), size, names, "hit", "hot")
            for names in ("small", "among")
            for size in ("1", "1_16")
        ),
    )
    # Held to the policy by mm/boot_hash_kunit.c.
    yield constant("% 0.116 0.089 0.084 0.083 0.083 0.083 0.006 0.0004")
    yield constant(
        "To find one takes 1.064 nodes on average, as a random function would have it (1.067)"
    )
    for sample in samples("README"):
        yield constant(sample)
    # An output of the tool, which its page has as well.
    yield constant("dentry 256 2K 6915 27.01 100.0 100.0 44 14.599 14.504 85.5 crowded")
    yield constant("inode 128 1K 1899 14.84 100.0 100.0 25 8.379 8.414 0.0 crowded")
    ((_, predicted, observed),) = loop("dentry")
    yield passage("examined {} nodes; {} was predicted", observed, predicted)


def row_passage(row, of):
    cells = row.cells(of) if of.has(row.benchmark) else [UNKNOWN] * 3
    return passage(f"{row.text} {row.unit} {{}} {{}} {{}}", *cells)


def cover_letter(of):
    yield passage(
        "take {:.2f} of mainline's blocks and {:.2f} of its instructions",
        of.figure("xattr", "disk_ratio_beyond_cap_ext4"),
        of.figure("xattr", "insn_ratio_beyond_cap_ext4"),
    )
    yield passage(
        "an inode examines {:.0f} times the nodes if the super block of an ext4 has a bad address",
        measured.pattern("ext4 64 of 8192")(of)[0],
    )
    yield passage(
        "a wakeup met {:.2f} waiters for something else and called their functions; now it meets "
        "{:.2f} and calls none",
        of.figure("herd", "foreign_calls_per_wake_base"),
        of.figure("herd", "foreign_examined_per_wake"),
    )
    base, ours = measured.crowd("users", "live", 100_000, "uid")(of)
    yield passage("takes {:.0f} instructions of lookup instead of {:.0f},", ours, base)
    yield passage("2^15 entries take {:.2f} of mainline's time", xarray(of, "dependent", 15))
    yield passage(
        "a name of 32 bytes takes {:.2f} of mainline's time", of.figure("halfmd4", "ratio_32")
    )
    # Held to the policy by mm/boot_hash_kunit.c.
    yield constant("872 KiB of 1 GiB, 0.083 percent")


# Commit messages, by a part of the file's name.


def nothing(_):
    return ()


def golden_ratio(_):
    # The KUnit test of this patch measures these itself.
    yield constant("consecutive keys 0.81; strides at most 1.7; struct pages seven apart 2.6.")
    yield constant("with 2^17 buckets, hash_64() gave 7.3 for a stride of 65536")


def folio_queues(of):
    (base,) = counters(of, "base", "page-locks", "folio_wait")
    (ours,) = counters(of, "ours", "page-locks", "folio_wait")
    yield passage(
        "{} wakeups of 6.12.117 called {} wake functions of tasks that waited for another page, "
        "and {} wakeups with 16384 queues met {} such tasks",
        base["wakes"],
        base["called"] - base["matched"],
        ours["wakes"],
        ours["examined"] - ours["matched"],
    )


def counters(of, kernel, phase, table):
    wanted = {"kernel": kernel, "phase": phase, "table": table}
    return [one for one in of.rows("herd", "counters") if wanted.items() <= one.items()]


def bit_queues(of):
    yield passage(
        "a wakeup met {:.2f} waiters for something else in 256 queues, and {:.3f} in the 16384",
        *worst_herd(of),
    )


def worst_herd(of):
    return [of.figure("herd", f"foreign_examined_per_wake_worst{end}") for end in ("_base", "")]


def hash_pair(of):
    for text, name, form in (
        ("consecutive", "consecutive", "{:.1f} {:.2f}"),
        ("every 16th", "stride 16", "{:.0f} {:.2f}"),
        ("ext4, 64 of 8192 used", "ext4 64 of 8192", "{:.1f} {:.2f}"),
        ("xfs, 4 groups of 2^28", "xfs 4 groups of 2^28", "{:.0f} {:.2f}"),
        ("2^32 apart", "stride 2^32", "{:.0f} {:.2f}"),
    ):
        yield passage(f"{text} {form}", *measured.pattern(name)(of))
    yield passage(
        "the worst of 38 {:.0f} {:.2f}",
        *(of.figure("spread", f"inode_worst_vs_ideal{end}") for end in ("_base", "")),
    )
    medians = of.values("spread", "spread", "median", function="mainline")
    yield passage(
        "its median is below 1 for {} of the {} patterns of numbers, down to {:.2f}",
        sum(one < 1 for one in medians),
        len(medians),
        min(medians),
    )
    yield passage(
        "A hash that waits for the one before takes {:.1f} ns instead of {:.1f}.",
        *hash_times(of),
    )
    yield constant("loads of 0.5 to 2")


def hash_times(of):
    """Nanoseconds of hash_pair() and of mainline's hash of an inode."""
    return [of.median("spread", "time", "ns", function=one) for one in ("pair", "mainline")]


def inode_locks(of):
    def cells(phase):
        base, ours = measured.inode_insns(phase)(of)
        return base, ours

    yield passage("create {:.0f} to {:.0f}, lookup of an inode", *cells("create"))
    yield passage("not in memory {:.0f} to {:.0f}, unlink", *cells("stat"))
    yield passage("unlink {:.0f} to {:.0f}, with this", *cells("unlink"))


def mounts(_):
    # Computed from the addresses that the message describes.
    yield constant("2.2 times the nodes of a random function on average and 4.3 at worst")
    yield constant("5.3 for 100 dentries")
    yield constant("hash_pair() stays within 1.1")


def mbcache_buckets(of):
    cells = [measured.mbcache(op)(of)[::-1] for op in ("hit", "miss", "create_delete")]
    yield passage(
        "a hit takes {:.1f} ns instead of {:.1f}, a miss {:.1f} instead of {:.1f}, create and "
        "delete {:.1f} instead of {:.1f}",
        *(one for pair in cells for one in pair),
    )
    cells = [measured.mbcache(op, "cold")(of)[::-1] for op in ("hit", "miss", "create_delete")]
    yield passage(
        "these are {:.0f} instead of {:.0f}, {:.0f} instead of {:.0f}, and {:.0f} instead of "
        "{:.0f}",
        *(one for pair in cells for one in pair),
    )
    yield passage(
        "a hit takes {:.2f} of mainline's time, and out of the cache {:.2f}, where mainline's "
        "second run took {:.2f} of its first",
        *(
            of.figure("mbcache", name)
            for name in ("hit_ratio_small", "hit_ratio_small_cold", "aa_hit_cold")
        ),
    )


def mbcache_bound(of):
    base, ours = measured.beyond("blocks")(of)
    yield passage("take {:.0f} blocks of ext4 instead of {:.0f}", ours, base)
    yield passage(
        "takes {:.2f} of the instructions on ext4 and {:.2f} on ext2",
        of.figure("xattr", "insn_ratio_beyond_cap_ext4"),
        of.figure("xattr", "insn_ratio_beyond_cap_ext2"),
    )
    # 56 bytes an entry, an entry for 16 KiB.
    yield constant("a full cache has 0.34 % of memory")


def css_sets(of):
    base, ours = measured.crowd("cgroups", "move", 10_000, "css_set")(of)
    yield passage("{:.0f} instructions with 10,000 cgroups, {:.0f} with this patch", base, ours)


def user_counts(_):
    # Computed from addresses of namespaces.
    yield constant("1 to 1.4 times the nodes of chance")


def xarray_shift(of):
    yield passage(
        "dependent lookups at random take {:.2f} of mainline's time in an array of 2^12 entries, "
        "{:.2f} with 2^15 and {:.2f} with 2^17, independent ones {:.2f}, {:.2f} and {:.2f}",
        *(xarray(of, how, bits) for how in ("dependent", "independent") for bits in (12, 15, 17)),
    )


def xarray(of, how, bits, side="ours", operation="lookup"):
    return bench_index.ratio(
        of.get("index"), "xarray", side, f"xarray {operation} {how} random {bits}"
    )


def page_hash(of):
    yield passage(
        "lookups of pages at random in one file take {:.2f} of mainline's time with 2^12 pages, "
        "{:.2f} with 2^15, {:.2f} with 2^17 and {:.2f} with 2^20, and without the page hash "
        "{:.2f}, {:.2f}, {:.2f} and {:.2f}",
        *pages(of, "page_hash_rand"),
        *pages(of, "page_off_rand"),
    )
    yield passage(
        "takes {:.3f} of mainline's instructions beside those of the copy",
        of.figure("readers", "insn_ratio_random_read_on"),
    )


def pages(of, name):
    return [of.figure("index", f"{name}_2_{bits}") for bits in (12, 15, 17, 20)]


def buffers(of):
    yield passage(
        "A lookup that the LRU misses takes {:.3f} of mainline's instructions with blocks of 1 "
        "KiB, {:.3f} with 4 KiB",
        *buffer_misses(of),
    )
    yield passage(
        "takes {:.3f} and {:.3f} of them, creating the files {:.3f} and {:.3f}.",
        *(
            of.figure("buffer", f"insn_ratio_{phase}_{size}")
            for phase in ("cold_ls", "create")
            for size in ("1k", "4k")
        ),
    )


def buffer_misses(of):
    """The worse of callers that may sleep and of those that may not."""
    return [
        max(
            of.figure("buffer", f"insn_ratio_lru_miss_{caller}_{size}")
            for caller in ("atomic", "sleeping")
        )
        for size in ("1k", "4k")
    ]


def words(of):
    yield passage(
        "TEA takes {:.2f} of mainline's time for 16 bytes and {:.2f} for 32",
        of.figure("halfmd4", "tea_ratio_16"),
        of.figure("halfmd4", "tea_ratio_32"),
    )
    base, retpolines = (measured.halfmd4(32, series)(of)[0] for series in ("", "retpoline_"))
    yield passage("mainline takes {:.2f} times as long for 32 bytes as without", retpolines / base)


def majority(of):
    for text, series, side in (
        ("before", "", 0),
        ("after", "", 1),
        ("before, waiting", "chain_", 0),
        ("after, waiting", "chain_", 1),
    ):
        yield passage(
            f"{text} {{:.1f}} {{:.1f}} {{:.1f}} {{:.1f}} {{:.1f}}",
            *(measured.halfmd4(length, series)(of)[side] for length in (4, 8, 16, 32, 255)),
        )
    yield passage(
        "the worst with any hash takes {:.2f} of mainline's time, where mainline differs from "
        "itself by up to {:.2f}",
        of.figure("halfmd4", "ratio_worst_to_16"),
        of.figure("halfmd4", "aa_ratio_worst"),
    )


def tool(_):
    """What the tool's page shows of a guest; no benchmark."""
    for text, table in (
        ("dentry", "dentry"),
        ("inode", "inode"),
        ("folio_wait (waiters that a wake-up looks at)", "folio_wait"),
        ("mbcache", "mbcache"),
    ):
        ((before, predicted, observed),) = loop(table)
        form = "{:.2f}" if float(before) < 20 else "{:.1f}"
        yield passage(f"{text} {form}, {{}}, {{}}", float(before), predicted, observed)


def loop(table):
    """Nodes before, predicted and observed, as the tool's page has them."""
    return re.findall(
        rf"^   {table} +([\d.]+) +([\d.]+) +([\d.]+)$", (ROOT / TOOL).read_text(), re.M
    )


PATCHES = {
    "spread-of-golden-ratio": golden_ratio,
    "size-the-folio-wait-queues": folio_queues,
    "size-the-bit-wait-queues": bit_queues,
    "spread-inodes-over-their-table": hash_pair,
    "guard-the-inode-table": inode_locks,
    "spread-mounts-and-mount-points": mounts,
    "mbcache-get-the-buckets": mbcache_buckets,
    "mbcache-bound-the-entries": mbcache_bound,
    "size-the-table-of-user-counts": user_counts,
    "tell-css_sets-apart": css_sets,
    "xarray-read-the-shift": xarray_shift,
    "ask-a-page-hash": page_hash,
    "find-buffers-of-block-devices": buffers,
    "pack-names-for-half-md4": words,
    "half-md4-s-majority": majority,
    "hashstats-show-compare": tool,
}


# Documents.


def filtered_wakeups(of):
    for foreign in (0, 8, 64, 512):
        form = "{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}"
        cells = [
            measured.wake(compiler, foreign)(of)[side]
            for compiler in ("plain", "retpoline")
            for side in (0, 1)
        ]
        cells += [
            measured.wake(compiler, foreign, "boot")(of)[1] for compiler in ("plain", "retpoline")
        ]
        yield passage(f"{foreign} {form}", *cells)
    for compiler, text in (
        ("plain", "cache, a wakeup with 512 tasks"),
        ("retpoline", "retpolines it"),
    ):
        base, ours = measured.wake(compiler, 512, cache="cold")(of)
        boot = measured.wake(compiler, 512, "boot", cache="cold")(of)[1]
        yield passage(
            f"{text} takes {{:.1f}} microseconds in mainline, {{:.1f}} with the filter and "
            "{:.2f} in the table of 4 GiB",
            base / 1000,
            ours / 1000,
            boot / 1000,
        )
    again = [
        [
            of.figure("wake", f"aa_{compiler}_{foreign}{cache}")
            for compiler in ("plain", "retpoline")
            for foreign in (0, 8, 64, 512)
        ]
        for cache in ("", "_cold")
    ]
    yield passage(
        "Other runs of mainline took {:.2f} to {:.2f} of the first one's time, and {:.2f} to "
        "{:.2f} out of the cache",
        *(edge(one) for one in again for edge in (min, max)),
    )
    yield passage("512 tasks that waited for buffers were {:.2f}, and {:.3f}", *worst_herd(of))
    yield constant("is above 0.1, take four times")


CROWDS = (
    ("uid ``setresuid()`` to a live user", "users", "live", "uid"),
    ("to a new one", "users", "new", "uid"),
    ("live ones 65536 apart", "subordinate", "live", "uid"),
    ("ucounts ``setresuid()`` to a live user", "users", "live", "ucounts"),
    ("one more user namespace", "namespaces", "new", "ucounts"),
    ("``Q_GETQUOTA``", "quotas", "get", "dquot"),
    ("a new file", "quotas", "create", "dquot"),
    ("``timer_gettime()``", "timers", "gettime", "posix_timers"),
    ("one more, made and deleted", "timers", "create", "posix_timers"),
    ("move a task, no controllers", "cgroups", "move", "css_set"),
    ("with pids", "controlled", "move", "css_set"),
    ("``F_SETLKW`` that gets EDEADLK", "locks", "deadlock", "blocked_locks"),
    ("ksm_mm one ends, another begins", "ksm", "replace", "ksm_mm"),
    ("khugepaged_mm one ends, another begins", "huge", "replace", "khugepaged_mm"),
)
LARGEST = {"users", "quotas", "timers"}


def crowds(of):
    for text, *where in CROWDS:
        table = where.pop()
        sizes = (100, 10_000, 100_000) if where[0] in LARGEST else (100, 10_000)
        cells = [one for size in sizes for one in measured.crowd(*where, size, table)(of)]
        # Three digits are as many as the table has room for.
        form = " ".join("{:.1f}" if one < 100 else "{:.0f}" for one in cells)
        yield passage(f"{text} {form}", *cells)
    yield passage(
        "a lookup takes at most {:.3f} of mainline's instructions; a second run of mainline "
        "differed from the first by up to {:.3f}",
        of.figure("crowd", "worst_ratio_at_100"),
        of.figure("crowd", "worst_aa_ratio_at_100"),
    )
    yield passage(
        "To make and delete a timer takes {:.3f} of mainline's instructions",
        of.figure("crowd", "posix_timers_create_ratio_at_100"),
    )
    yield passage(
        "takes {:.1f} times the instructions of one among 100, as in mainline ({:.1f}), and "
        "{:.2f} times by default",
        *(of.figure("crowd", f"uid_100k_vs_100{end}") for end in ("_at_128_buckets", "_base", "")),
    )
    yield passage(
        "took {:.1f} microseconds instead of {:.1f}, with 100,000 timers ``timer_gettime()`` "
        "{:.1f} instead of {:.1f}, with 10,000 cgroups without controllers the move of a task "
        "{:.1f} instead of {:.1f}",
        *(
            of.median("crowd", "seconds", "nanoseconds", kernel=kernel, **case) / 1000
            for case in (
                {"crowd": "users", "operation": "live", "size": 100_000},
                {"crowd": "timers", "operation": "gettime", "size": 100_000},
                {"crowd": "cgroups", "operation": "move", "size": 10_000},
            )
            for kernel in ("ours", "base")
        ),
    )
    yield passage(
        "a mount and its end: {:.2f} of mainline's instructions",
        of.figure("crowd", "css_set_mount_ratio"),
    )
    # By the policy: 544 KiB of 1 GiB.
    yield constant("544 KiB of 1 GiB, 0.05 %, and 13.5 MiB at most")


def page_index(of):
    for text, how in (
        ("random, each depends on the last", "dependent"),
        ("random, independent", "independent"),
    ):
        yield passage(
            f"{text} {{:.2f}} {{:.2f}} {{:.2f}} {{:.2f}}",
            *(xarray(of, how, bits) for bits in (12, 15, 17, 20)),
        )
    again = [
        xarray(of, how, bits, "again")
        for how in ("dependent", "independent")
        for bits in (12, 15, 17, 20)
    ]
    changes = [
        [
            bench_index.ratio(of.get("index"), "xarray", "ours", f"xarray {change} random {bits}")
            for change in ("store empty", "store replace", "erase all", "set_mark all")
        ]
        for bits in (20, 12)
    ]
    yield passage(
        "a second run of mainline took {:.2f} to {:.2f} of the first one's time in these)",
        min(again),
        max(again),
    )
    yield passage(
        "take {:.2f} to {:.2f} of mainline's time at 2^20 entries, and {:.2f} to {:.2f} at 2^12",
        *(edge(one) for one in changes for edge in (min, max)),
    )
    yield passage(
        "The worst of {} cells took {:.2f} of mainline's time; the worst of a second run of "
        "mainline took {:.2f} of the first one's.",
        len(bench_index.cells_of(of.get("index"), "xarray")),
        of.figure("index", "xa_worst_cell"),
        of.figure("index", "aa_worst_cell"),
    )
    yield from page_tables(of)
    yield from page_readers(of)
    yield from page_atomics(of)
    yield from page_buffers(of)
    yield from page_structures(of)


def page_tables(of):
    for text, name in (
        ("independent, with the page hash", "page_hash_rand"),
        ("dependent, with the page hash", "page_hash_dep"),
        ("independent, without the page hash", "page_off_rand"),
        ("dependent, without the page hash", "page_off_dep"),
    ):
        yield passage(f"{text} {{:.2f}} {{:.2f}} {{:.2f}} {{:.2f}}", *pages(of, name))
    again = [
        bench_index.ratio(of.get("index"), "pages", "again", f"file lookup {how} random {bits}")
        for how in ("dependent", "independent")
        for bits in (12, 15, 17, 20)
    ]
    yield passage(
        "A second run of mainline took {:.2f} to {:.2f} of the first one's time in these: from",
        min(again),
        max(again),
    )
    # 8 bytes for a page of 4096.
    yield constant("1/512 of memory (0.2 %;")


def page_readers(of):
    def figure(name):
        return of.figure("readers", name)

    yield passage(
        "a second run of mainline took {:.3f} of the first one's)",
        figure("insn_aa_ratio_random_read"),
    )
    for text, name in (("page hash off", "off"), ("page hash on", "on")):
        yield passage(
            f"{text} {{:.3f}} {{:.3f}}",
            figure(f"insn_ratio_random_read_{name}"),
            figure(f"insn_ratio_random_read_{name}_tmpfs"),
        )
    runs = [one for one in of.rows("readers", "locks") if one["mode"] == "sequential"]
    mapped = [one for one in of.rows("readers", "locks") if one["mode"] == "mapped"]
    taken = [one["acquisitions"] / one["reads"] for one in runs]
    shares = [100 * one["waited_us"] / 1e6 / (one["threads"] * one["seconds"]) for one in runs]
    yield passage(
        "They took the lock of an index {} times", sum(one["index_acquisitions"] for one in runs)
    )
    yield passage("They took {:.2f} to {:.2f} locks a read in all", min(taken), max(taken))
    yield passage("waited for them {:.1f} to {:.1f} % of the time", min(shares), max(shares))
    taken = [one["acquisitions"] / one["reads"] for one in mapped]
    yield passage(
        "read through a mapping took {:.2f} to {:.2f} locks a read", min(taken), max(taken)
    )


ATOMICS = {
    "read": "read",
    "map into a process": "fault",
    "read in": "readahead",
    "drop, clean": "evict",
    "truncate": "truncate",
}


def page_atomics(of):
    result = of.get("atomics")

    def count(place, folios, operation, how, kind="ours"):
        return bench_atomics.of(
            result, kind, bench_atomics.Case(place, folios, operation, how, 256)
        )

    yield passage(
        "and truncation {:.0f} times for 256",
        256 * of.figure("atomics", "index_lock_per_page_truncate_batch_256"),
    )
    apart = []
    for text, operation in ATOMICS.items():
        counts = [count("ext4", "small", operation, how) for how in ("one", "together")]
        base = [count("ext4", "small", operation, how, "base") for how in ("one", "together")]
        apart += [abs(one / other - 1) for one, other in zip(counts, base)]
        # A large folio is not read in by the load.
        large = operation != "readahead"
        if large:
            counts.append(count("xfs", "large", operation, "together"))
        yield passage(f"{text} {{}} {{}} {'{}' if large else '-'}", *counts)
    yield passage("mainline's differ by at most {:.1f} % in these", 100 * max(apart))
    writes = [
        bench_atomics.of(result, "hash", case) / bench_atomics.of(result, "base", case)
        for case in bench_atomics.cases()
        if (case.operation, case.folios) == ("write", "small")
    ]
    yield passage("writes of small folios {:.2f} to {:.2f} times as many", min(writes), max(writes))


def page_buffers(of):
    def figures(name):
        return [of.figure("buffer", f"{name}_{size}") for size in ("1k", "4k")]

    yield passage("a lookup that the 16 buffers miss {:.3f} {:.3f}", *buffer_misses(of))
    phases = {
        "``ls -lR`` of cold directories": "cold_ls",
        "``ls -lR`` again, without dentries": "reread_ls",
        "setxattr at random": "setxattr",
        "create": "create",
        "remove": "remove",
        "the 16 buffers have it (readlink)": "readlink_one",
    }
    for text, name in phases.items():
        yield passage(text + " {:.3f} {:.3f}", *figures(f"insn_ratio_{name}"))
    again = [one for name in phases.values() for one in figures(f"insn_aa_ratio_{name}")]
    yield passage(
        "a second run of mainline took {:.4f} to {:.4f} of the first one's)",
        min(again),
        max(again),
    )
    yield passage(
        "takes {:.3f} locks of a page or a device for each lookup in mainline, and {:.3f} here",
        *(
            max(
                of.figure("buffer", f"{lock}_lock_acquisitions_per_lookup{end}")
                for lock in ("private", "folio")
            )
            for end in ("_base", "")
        ),
    )
    yield passage(
        "{:.3f} of mainline's lookups met another task at the lock of the device, and {:.3f} of",
        *(
            of.figure("buffer", f"private_lock_contentions_per_follow{end}")
            for end in ("_base", "")
        ),
    )
    phases = ("create", "cold_ls", "setxattr")
    yield passage(
        "the 16 buffers answered {:.1f} % of the lookups while the files were created, {:.1f} % "
        "in a cold ``ls -lR`` and {:.1f} % of random setxattr; of the others the table answered "
        "{:.1f}, {:.1f} and {:.1f} %",
        *(
            100 * of.figure("buffer", f"{what}_hit_rate_{phase}_1k")
            for what in ("lru", "table")
            for phase in phases
        ),
    )


STRUCTURES = {
    "16 children": "xarray_4",
    "128 children": "xarray_7",
    "256 children": "xarray_8",
    "extendible hash": "extendible",
    "chained golden-ratio hash": "chained",
    "threaded red-black tree": "threaded_rbtree",
    "treap": "treap",
}


def page_structures(of):
    result = of.get("index")
    weighed = result.runs("structures")[0]["bytes"]
    rows = {
        "XArray of mainline": ("base", "xarray_kernel"),
        "XArray here": ("ours", "xarray_kernel"),
    }
    rows |= {text: ("ours", name) for text, name in STRUCTURES.items()}
    for text, (side, name) in rows.items():
        cells = [
            bench_index.nanoseconds(
                result, "structures", side, f"{name} lookup alone {order} {bits}"
            )
            for order, bits in (
                ("sequential", 12),
                ("sequential", 19),
                ("random", 12),
                ("random", 17),
                ("random", 19),
            )
        ]
        yield passage(
            text + " {:.1f}" * 7, *cells, *(weighed[f"{name} {bits}"] for bits in (12, 19))
        )


def hashstats(_):
    for sample in samples(f"{DOCUMENTS}/hashstats.rst"):
        yield constant(sample)
    # By the policy, which mm/boot_hash_kunit.c tests, and 56 bytes an entry.
    yield constant("of memory, % 0.116 0.089 0.084 0.083 0.083 0.083 0.006 0.0004")
    yield constant("a full cache has 0.34 % of memory")


def samples(name):
    """Lines of /proc/hashstats that a page shows."""
    return re.findall(r"\n\t([a-z-]+: \d+\.\d+)", (ROOT / name).read_text())


def hashstats_tool(of):
    yield passage(
        "in small steps: {:.1f} s for 2 million buckets",
        of.figure("hashstats", "read_ms_2_21") / 1000,
    )


FILES = {
    "README": readme,
    "series/6.12/cover-letter": cover_letter,
    f"{DOCUMENTS}/crowds.rst": crowds,
    f"{DOCUMENTS}/filtered-wakeups.rst": filtered_wakeups,
    f"{DOCUMENTS}/hashstats.rst": hashstats,
    TOOL: hashstats_tool,
    f"{DOCUMENTS}/page-index.rst": page_index,
}
SAMPLES = {TOOL}
MESSAGES = "series/6.12/*.patch"


def all_files(root=ROOT):
    """(path, what yields its passages) of each file that quotes figures."""
    yield from ((root / name, passages) for name, passages in FILES.items())
    for path in sorted(root.glob(MESSAGES)):
        found = [passages for part, passages in PATCHES.items() if part in path.name]
        yield path, found[0] if found else nothing


def split(path):
    """The part of a file that quotes figures, and the rest: of a patch its message."""
    message, mark, rest = path.read_text().partition("\n---\n" if path.suffix == ".patch" else "\0")
    return message, mark + rest


def all_faults(results, root=ROOT):
    """One line for each fault of a file: a passage that is gone, a number that differs."""
    return [
        f"{path.relative_to(root)}: {fault}"
        for path, passages in all_files(root)
        for fault in faults(
            split(path)[0],
            list(passages(results)),
            strict=str(path.relative_to(root)) not in SAMPLES,
        )
    ]


def write(results, root=ROOT):
    for path, passages in all_files(root):
        text, rest = split(path)
        write_if_changed(path, written(text, list(passages(results))) + rest)
