# SPDX-License-Identifier: GPL-2.0
"""The passages of cover letters that quote figures, by topic."""

from bench.cases import index as bench_index
from report import measured
from report.losses import group
from report.mbcache import cache_part
from report.passages import passage
from report.quoted_values import of_1_gib, xarray
from series import topics


def core(of):
    yield of_1_gib()
    yield from rhashtable(of)


def rhashtable(of):
    result = of.get("index")

    def lookups(index):
        return (
            bench_index.nanoseconds(
                result, "structures", "ours", f"{index} lookup alone random {bits}"
            )
            for bits in (12, 19)
        )

    yield passage(
        "a random lookup takes {:.1f} ns among 2^12 entries and {:.1f} among 2^19, "
        "where chains with one bucket per entry take {:.1f} and {:.1f}",
        *lookups("rhashtable"),
        *lookups("chained"),
    )
    yield passage(
        "The first 2^19 inserts, which include its growth, take {:.1f} times as long",
        of.figure("index", "first_fill_rhashtable") / of.figure("index", "first_fill_chained"),
    )


def xarray_walk(of):
    yield passage("2^15 entries take {:.2f} of mainline's time", xarray(of, "dependent", 15))


def ext4_dirhash(of):
    yield passage(
        "A name of 32 bytes takes {:.2f} of mainline's time", of.figure("halfmd4", "ratio_32")
    )


def shared_lines(of):
    yield passage(
        "Creating and unlinking a file on tmpfs moves {:.1f} cache lines between CPUs in mainline "
        "and {:.1f} with the whole series. On ext4 with orphan_file, it moves {:.1f} and {:.1f}. "
        "setresuid() to a user that exists moves {:.1f} and {:.1f}.",
        *(
            of.figure("lines", f"lines_{name}_16{end}")
            for name in ("tmpfs_create_unlink", "orphan_create_unlink", "setresuid")
            for end in ("_base", "")
        ),
    )


def vfs(of):
    yield passage(
        "of an inode on ext4 examines {:.0f} times the nodes",
        measured.pattern("ext4 64 of 8192")(of)[0],
    )
    yield passage(
        "ilookup5() on two CPUs at once takes {:.0f} ns instead of {:.0f}",
        *measured.contended("find_inode", 2)(of)[::-1],
    )


def wait(of):
    yield passage(
        "a wakeup met {:.2f} waiters for something else and called their functions",
        of.figure("herd", "foreign_calls_per_wake_base"),
    )
    yield passage(
        "a wakeup now meets {:.2f} other waiters and calls none",
        of.figure("herd", "foreign_examined_per_wake"),
    )


def mbcache(of):
    yield passage(
        "the set takes {:.2f} of mainline's blocks and {:.2f} of its instructions",
        of.figure("xattr", "disk_ratio_beyond_cap_ext4"),
        of.figure("xattr", "insn_ratio_beyond_cap_ext4"),
    )
    own = group(of, "xattr", "instructions of mbcache")
    yield passage(
        "mbcache's code takes {:.2f} times mainline's instructions, the median of {:d} loads, "
        "and {:.2f} times in the worst. It is at most {:.1f} % of a load",
        own.ratio,
        len(own.cells),
        own.worst.ratio,
        100 * cache_part(of.get("xattr")),
    )


def crowd(of):
    base, ours = measured.crowd("users", "live", 100_000, "uid")(of)
    yield passage("takes {:.0f} instructions of lookup with this set instead of {:.0f}", ours, base)


def mm_slots(of):
    many, few = (measured.crowd("ksm", "replace", size, "ksm_mm")(of) for size in (10_000, 100))
    yield passage(
        "the lookup functions take {:.0f} instructions on 6.12 instead of {:.0f}", *many[::-1]
    )
    yield passage("with 100 such processes, they take {:.0f} instead of {:.0f}", *few[::-1])


def nothing(_):
    return ()


OF_TOPIC = {
    "core": core,
    "xarray": xarray_walk,
    "ext4-dirhash": ext4_dirhash,
    "shared-lines": shared_lines,
    "vfs": vfs,
    "wait": wait,
    "mbcache": mbcache,
    "crowd": crowd,
    "mm-slots": mm_slots,
}
COVERS = {topic: OF_TOPIC.get(topic, nothing) for topic in topics.needs()}
