# SPDX-License-Identifier: GPL-2.0
"""The passages of commit messages that quote figures."""

from report import measured
from report.passages import constant, passage
from report.quoted_values import (
    buffer_misses,
    hash_times,
    loop,
    pages,
    pages_again,
    worst_herd,
    xarray,
)
from report.stored import UNKNOWN


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
    yield passage(
        "it takes {:.2f} of mainline's time with 4 GiB of memory, and {:.2f} with 16 GiB",
        *(of.figure("wake", f"wake_among_512_{size}") for size in ("4g", "16g")),
    )


def bit_waiters(of):
    yield passage(
        "such a wait takes {:.0f} ns instead of {:.0f}",
        *measured.contended("wait_bit", 1)(of)[::-1],
    )
    yield passage(
        "On two CPUs at once, it takes {:.0f} ns instead of {:.0f}",
        *measured.contended("wait_bit", 2)(of)[::-1],
    )


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
        "the median of hash() over the addresses is below 1 for {} of the {} patterns of numbers, "
        "down to {:.2f}",
        sum(one < 1 for one in medians),
        len(medians),
        min(medians),
    )
    yield passage(
        "If each hash depends on the one before, a hash takes {:.1f} ns instead of {:.1f}.",
        *hash_times(of),
    )
    yield constant("loads of 0.5 to 2")


def moved(of, operation, *fields):
    """Lines that move because of objects with these fields: mainline and the series, 16 CPUs."""
    for kernel in ("base", "ours"):
        (objects,) = of.values(
            "lines", "lines", "objects", kernel=kernel, cpus=16, operation=operation
        )
        if objects is UNKNOWN:
            yield UNKNOWN
        else:
            yield sum(
                lines for name, lines in objects.items() if any(one in name for one in fields)
            )


def contended_ratios(of, op):
    """Of the times on one CPU and on two."""
    return [of.figure("contention", f"{op}_ratio_{cpus}") for cpus in (1, 2)]


def list_of_inodes(of):
    fields = ("i_sb_list", "s_inode_list_lock", "sb_inode_list")
    create, unlink = (list(moved(of, f"tmpfs {one}", *fields)) for one in ("create", "unlink"))
    yield passage(
        "creating a file moves {:.1f} lines between CPUs for the list and unlinking it {:.1f}. "
        "With this patch, these are {:.1f} and {:.1f}.",
        *(one for pair in zip(create, unlink) for one in pair),
    )


def removed_inodes(of):
    yield passage(
        "unlink() on tmpfs moves the line of s_remove_count {:.2f} times between CPUs. With this "
        "patch, it moves {:.2f} times.",
        *moved(of, "tmpfs unlink", "s_remove_count"),
    )


def tmpfs_space(of):
    create, unlink = (
        list(moved(of, f"tmpfs {one}", "free_ispace", "used_ispace", "stat_lock"))
        for one in ("create", "unlink")
    )
    yield passage(
        "creating and unlinking a file moves these two lines {:.1f} times between CPUs. With this "
        "patch and the next one, it moves them {:.1f} times.",
        *map(sum, zip(create, unlink)),
    )
    yield passage(
        "creating and unlinking a file takes {:.2f} of mainline's time on one CPU and {:.2f} on two",
        *contended_ratios(of, "tmpfs_file"),
    )
    yield passage(
        "On x86-64, with 6.12, it takes {:.0f} instructions, in mainline {:.0f}",
        *measured.tmpfs_insns(of)[::-1],
    )


def tmpfs_numbers(of):
    yield passage(
        "creating a file moves the line of stat_lock {:.2f} times between CPUs. With this patch, "
        "it moves {:.2f} times.",
        *moved(of, "tmpfs create", "stat_lock"),
    )


def setresuid(text, name):
    def passages(of):
        yield passage(
            f"setresuid() to a user that exists moves the line of {text} {{:.2f}} times between "
            "CPUs. With this patch, it moves {:.2f} times.",
            *moved(of, "user setresuid", name),
        )

    return passages


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
        "a hit takes {:.0f} ns (mainline {:.0f}), a miss {:.0f} ns ({:.0f}), create and delete "
        "{:.0f} ns ({:.0f})",
        *(one for pair in cells for one in pair),
    )
    yield passage(
        "a hit takes {:.2f} of mainline's time, and out of the cache {:.2f}, where a second run of "
        "mainline took {:.2f} of the first one's.",
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


def timers(_):
    yield constant("since 6.15")


def timer_locks(of):
    yield from timers(of)
    yield passage(
        "creating and deleting a timer moves {:.2f} cache lines between CPUs in mainline, and "
        "{:.2f} with the whole series",
        *(of.figure("lines", f"lines_timer_16{end}") for end in ("_base", "")),
    )


def inode_locks(of):
    yield passage(
        "creating a file on ext4 moves the line of inode_hash_lock {:.2f} times between CPUs. "
        "With this patch, the lines of the locks move {:.2f} times.",
        *moved(of, "ext4 create", "inode_hash_lock"),
    )
    yield passage(
        "making, hashing and evicting an inode takes {:.2f} of mainline's time on one CPU and "
        "{:.2f} on two, with the whole series. Two runs of mainline differ by a factor of {:.2f}",
        *contended_ratios(of, "create_evict"),
        of.figure("contention", "aa_create_evict_1"),
    )


def lockless_lookups(of):
    yield passage(
        "On Linux 7.3, ilookup5() on two CPUs at once takes {:.0f} ns instead of {:.0f}, and on "
        "one CPU {:.0f} instead of {:.0f}",
        *measured.contended("find_inode", 2)(of)[::-1],
        *measured.contended("find_inode", 1)(of)[::-1],
    )


def css_sets(of):
    base, ours = measured.crowd("cgroups", "move", 10_000, "css_set")(of)
    yield passage(
        "With 10,000 cgroups on 6.12.117, the lookup in a move takes {:.0f} instructions, and "
        "{:.0f} with the whole series",
        base,
        ours,
    )


def xarray_shift(of):
    yield passage(
        "dependent lookups at random take {:.2f} of mainline's time in an array of 2^12 entries, "
        "{:.2f} with 2^15 and {:.2f} with 2^17, independent ones {:.2f}, {:.2f} and {:.2f}",
        *(xarray(of, how, bits) for how in ("dependent", "independent") for bits in (12, 15, 17)),
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
        "alone with 2^17 pages: {:.2f} with it, {:.2f} without. Such times vary: a second run of "
        "mainline took {:.2f} to {:.2f} of the first one's time",
        pages(of, "page_hash_dep")[2],
        pages(of, "page_off_dep")[2],
        *(edge(pages_again(of)) for edge in (min, max)),
    )
    yield passage(
        "takes {:.3f} of mainline's instructions beside those of the copy",
        of.figure("readers", "insn_ratio_random_read_on"),
    )


def buffers(of):
    yield passage(
        "lookup that the LRU misses takes {:.3f} of mainline's instructions with blocks of 1 "
        "KiB, {:.3f} with 4 KiB",
        *buffer_misses(of),
    )
    yield passage(
        "such a lookup takes {:.2f} of mainline's time on one CPU and {:.2f} on two. Two runs of "
        "mainline differ by a factor of {:.2f}",
        *contended_ratios(of, "find_buffer"),
        of.figure("contention", "aa_find_buffer_2"),
    )
    yield passage(
        "takes {:.3f} and {:.3f} of mainline's instructions, creating the files {:.3f} and {:.3f}.",
        *(
            of.figure("buffer", f"insn_ratio_{phase}_{size}")
            for phase in ("cold_ls", "create")
            for size in ("1k", "4k")
        ),
    )


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
        "with any hash, none takes more than {:.2f} of the time on 6.12.117",
        of.figure("halfmd4", "ratio_worst_to_16"),
    )
    yield passage(
        "Of two runs of 6.12.117, the second one takes {:.2f} of the first one's time where they "
        "differ most",
        of.figure("halfmd4", "aa_ratio_worst"),
    )


def tool(_):
    """What the tool's page shows of a guest; no benchmark."""
    for text, table in (
        ("dentry", "dentry"),
        ("inode", "inode"),
        ("folio_wait (entries that a wakeup examines)", "folio_wait"),
        ("mbcache", "mbcache"),
    ):
        ((before, predicted, observed),) = loop(table)
        form = "{:.2f}" if float(before) < 20 else "{:.1f}"
        yield passage(f"{text} {form}, {{}}, {{}}", float(before), predicted, observed)


def looked_up(crowd_, operation, size, table):
    def quoted(of):
        many, few = (measured.crowd(crowd_, operation, one, table)(of) for one in (size, 100))
        yield passage(
            "takes {:.0f} instructions in the lookup functions instead of {:.0f}. Among 100, it "
            "takes {:.0f} instead of {:.0f}",
            *many[::-1],
            *few[::-1],
        )

    return quoted


def addresses(of):
    """Of one base alone: Linux 7.3 has another table."""
    case = {"kernel": "base", "crowd": "addresses", "operation": "connect", "size": 100}
    base, ours = measured.crowd("addresses", "connect", 100, "inet_addr")(of)
    yield passage(
        "a lookup takes {:.0f} instructions instead of {:.0f}, of the {:,.0f} of socket(), bind() "
        "and connect()",
        ours,
        base,
        round(of.median("crowd", "count", "all_insns", **case), -2),
    )


# By a part of the file's name.
PATCHES = {
    "keep-a-list-of-a-super-block": list_of_inodes,
    "keep-s_remove_count-apart": removed_inodes,
    "tmpfs-count-the-space": tmpfs_space,
    "tmpfs-take-inode-numbers": tmpfs_numbers,
    "find-users-without-uidhash_lock": setresuid("uidhash_lock", "uidhash_lock"),
    "find-user-counts-without-ucounts_lock": setresuid("ucounts_lock", "ucounts_lock"),
    "references-to-the-groups-of-init": setresuid("init_groups", "init_groups"),
    "references-to-init_user_ns": setresuid("this count", "init_user_ns"),
    "spread-of-golden-ratio": golden_ratio,
    "size-the-folio-wait-queues": folio_queues,
    "count-the-waiters-of-bits": bit_waiters,
    "size-the-bit-wait-queues": bit_queues,
    "hash-inodes-with-hash_pair": hash_pair,
    "hash-mounts-and-mount-points": mounts,
    "find-inodes-by-test": lockless_lookups,
    "replace-inode_hash_lock": inode_locks,
    "tell-css_sets-apart": css_sets,
    "mbcache-share-one-hash-table": mbcache_buckets,
    "mbcache-bound-the-entries-by-memory": mbcache_bound,
    "posix-timers-size-the-table": timers,
    "posix-timers-take-a-lock": timer_locks,
    "xarray-read-the-shift": xarray_shift,
    "optional-page-hash": page_hash,
    "01-user-size-the-table": looked_up("users", "live", 100_000, "uid"),
    "ucounts-size-the-table": looked_up("users", "live", 100_000, "ucounts"),
    "quota-size-the-table": looked_up("quotas", "get", 100_000, "dquot"),
    "locks-size-the-table": looked_up("locks", "deadlock", 10_000, "blocked_locks"),
    "af_unix-size-the-table": looked_up("sockets", "connect", 100_000, "unix"),
    "net-size-the-device-tables": looked_up("devices", "find", 10_000, "netdev_name"),
    "01-fat-size-the-table": looked_up("files", "create", 100_000, "fat"),
    "ksm-size-the-table": looked_up("ksm", "replace", 10_000, "ksm_mm"),
    "khugepaged-size-the-table": looked_up("huge", "replace", 10_000, "khugepaged_mm"),
    "ipv4-size-the-table-of-addresses": addresses,
    "lockless-hash-table-of-buffers": buffers,
    "pack-names-for-half-md4": words,
    "half-md4-s-majority": majority,
    "hashstats-show-compare": tool,
}
