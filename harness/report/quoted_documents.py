# SPDX-License-Identifier: GPL-2.0
"""The passages of Documentation/admin-guide that quote figures."""

from bench.cases import atomics as bench_atomics
from bench.cases import index as bench_index
from report import measured
from report.passages import constant, passage
from report.quoted_values import (
    CROWD,
    DOCUMENTS,
    buffer_misses,
    pages,
    pages_again,
    samples,
    table_bytes,
    worst_herd,
    xarray,
)


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
            "{:.2f} with the queues of a 4 GiB machine",
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
        "second runs of mainline took {:.2f} to {:.2f} of the first runs' time, and {:.2f} to "
        "{:.2f} of it with the entries out of the cache",
        *(edge(one) for one in again for edge in (min, max)),
    )
    yield passage("512 tasks that waited for buffers: {:.2f}, and {:.3f}", *worst_herd(of))
    yield constant("is above 0.1, use ten times")


CROWDS = (
    ("uid ``setresuid()`` to a live user", "users", "live", "uid"),
    ("to a new user", "users", "new", "uid"),
    ("live ones 65536 apart", "subordinate", "live", "uid"),
    ("ucounts ``setresuid()`` to a live user", "users", "live", "ucounts"),
    ("one more user namespace", "namespaces", "new", "ucounts"),
    ("``Q_GETQUOTA``", "quotas", "get", "dquot"),
    ("a new file", "quotas", "create", "dquot"),
    ("``timer_gettime()``", "timers", "gettime", "posix_timers"),
    ("create and delete a timer", "timers", "create", "posix_timers"),
    ("move a task, no controllers", "cgroups", "move", "css_set"),
    ("with pids", "controlled", "move", "css_set"),
    ("``F_SETLKW`` that gets EDEADLK", "locks", "deadlock", "blocked_locks"),
    ("ksm_mm one exits, one starts", "ksm", "replace", "ksm_mm"),
    ("khugepaged_mm one exits, one starts", "huge", "replace", "khugepaged_mm"),
)
LARGEST = {"users", "quotas", "timers"}
# Tables that stay: text, crowd, operation, what is counted, and to how many places before
# the point it is rounded.
KEPT = (
    ("start of a function searches them, in {}, {} and {}", "probes", "hit", "lookup", 0),
    ("trace buffer, takes {}, {} and {}", "probes", "hit", "all", 0),
    ("packet of a session takes {}, {} and {}", "pppoe", "receive", "lookup", 0),
    ("that searches, and {}, {} and {} in the whole", "pppoe", "receive", "all", 0),
    ("To find a directory takes {}, {} and {}", "audit_trees", "open", "lookup", 0),
    ("in such a directory takes {}, {} and {}", "audit_trees", "open", "all", 3),
    ("An ``open()`` takes {}, {} and {}", "audit_files", "open", "all", 0),
    (
        "Of these, {}, {} and {} are in the functions that compare",
        "audit_files",
        "open",
        "lookup",
        0,
    ),
    ("A search takes {}, {} and {} instructions; to create", "ima", "measure", "lookup", 0),
    ("A search takes {}, {} and {} instructions, once", "fscrypt", "status", "lookup", 0),
    ("searches the sessions, in {}, {} and {}", "nfsd", "sequence", "lookup", 0),
    ("{}, {} and {} are in the functions that search the clients", "nfsd", "create", "lookup", 0),
)


def crowds(of):
    for text, crowd, operation, table in CROWDS:
        sizes = (100, 10_000, 100_000) if crowd in LARGEST else (100, 10_000)
        cells = [one for size in sizes for one in measured.crowd(crowd, operation, size, table)(of)]
        # Three digits are as many as the table has room for.
        form = " ".join("{:.1f}" if one < 100 else "{:.0f}" for one in cells)
        yield passage(f"{text} {form}", *cells)
    yield passage(
        "lookup takes {:.2f} times mainline's instructions",
        of.figure("crowd", "worst_ratio_at_100"),
    )
    yield passage(
        "Two runs of mainline differ by a factor of {:.3f} at most in these lookups",
        of.figure("crowd", "worst_aa_ratio_at_100"),
    )
    yield passage(
        "Creating and deleting a timer takes {:.3f} of mainline's instructions",
        of.figure("crowd", "posix_timers_create_ratio_at_100"),
    )
    yield passage(
        "takes {:.2f} times the instructions of one among 100, with ``hash_entries=uid:128`` "
        "{:.1f} times, in mainline {:.1f} times",
        *(of.figure("crowd", f"uid_100k_vs_100{end}") for end in ("", "_at_128_buckets", "_base")),
    )
    yield passage(
        "took {:.1f} instead of {:.1f}. ``timer_gettime()`` with 100,000 timers took {:.1f} instead "
        "of {:.1f}. Moving a task among 10,000 cgroups without controllers took {:.1f} instead of "
        "{:.1f}",
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
        "mount and unmount: {:.2f} of mainline's instructions",
        of.figure("crowd", "css_set_mount_ratio"),
    )
    totals = {
        memory: sum(tables[name] for name in CROWD) for memory, tables in table_bytes().items()
    }
    yield passage(
        "All eight take {:.0f} KiB of 1 GiB, {:.2f} %, and {:.1f} MiB at most",
        totals[1 << 30] / 1024,
        100 * totals[1 << 30] / (1 << 30),
        max(totals.values()) / (1 << 20),
    )
    seven = {
        memory: totals[memory] - tables["posix_timers"] for memory, tables in table_bytes().items()
    }
    yield passage(
        "series sizes on Linux 7.3 take {:.0f} KiB of 1 GiB, and {:.1f} MiB at most",
        seven[1 << 30] / 1024,
        max(seven.values()) / (1 << 20),
    )
    yield from kept_tables(of)


def kept_tables(of):
    counts = {
        (one["crowd"], one["operation"], one["size"]): one for one in of.rows("crowd", "kept")
    }

    def shown(crowd, operation, size, what="all", places=0):
        count = round(counts[crowd, operation, size][f"{what}_insns"], -places)
        return f"{count:,.0f}" if count >= 10_000 else f"{count:.0f}"

    for text, crowd, operation, what, places in KEPT:
        sizes = (100, 1000, 10_000)
        yield passage(text, *(shown(crowd, operation, size, what, places) for size in sizes))
    yield passage(
        "remove it takes {} instructions with 100 probes and {} with 10,000. Of the latter, {} are",
        *(shown("probes", "register", size, "all", 3) for size in (100, 10_000)),
        shown("probes", "register", 10_000, "lookup"),
    )
    yield passage("a small file takes at least {}", shown("ima", "measure", 100, "all", 3))
    few, many = (counts["probes", "hit", size]["all_insns"] for size in (100, 1000))
    yield passage("a hit takes {:.0f} % more instructions", 100 * (many / few - 1))


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
        "a second run of mainline took {:.2f} to {:.2f} of the first run's time)",
        min(again),
        max(again),
    )
    yield passage(
        "take {:.2f} to {:.2f} of mainline's time at 2^20 entries, and {:.2f} to {:.2f} at 2^12",
        *(edge(one) for one in changes for edge in (min, max)),
    )
    yield passage(
        "The slowest of the {} benchmark cases took {:.2f} of mainline's time. In a second run of "
        "mainline, the slowest case took {:.2f} of the first run's time.",
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
    again = pages_again(of)
    yield passage(
        "the second of two runs of mainline took {:.2f} to {:.2f} of the first run's time. From",
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
        "In {} reads, half of them in mainline, they took the lock of an index {:.0f} times",
        f"{sum(one['reads'] for one in runs):,}",
        sum(one["index_acquisitions"] for one in runs),
    )
    yield passage("In all, they took {:.2f} to {:.2f} locks per read", min(taken), max(taken))
    yield passage("waited for them {:.1f} to {:.1f} % of the time", min(shares), max(shares))
    taken = [one["acquisitions"] / one["reads"] for one in mapped]
    yield passage(
        "read through a mapping took {:.2f} to {:.2f} locks per read", min(taken), max(taken)
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
        "truncation takes it {:.0f} times for 256",
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
    yield passage("mainline's numbers differ by at most {:.1f} %", 100 * max(apart))
    writes = [
        bench_atomics.of(result, "hash", case) / bench_atomics.of(result, "base", case)
        for case in bench_atomics.measured(result)
        if (case.operation, case.folios) == ("write", "small")
    ]
    yield passage(
        "Writes of small folios take {:.2f} to {:.2f} times as many", min(writes), max(writes)
    )


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
        "a lookup takes {:.3f} locks of a page or a device in mainline, and {:.3f} with the series",
        *(
            max(
                of.figure("buffer", f"{lock}_lock_acquisitions_per_lookup{end}")
                for lock in ("private", "folio")
            )
            for end in ("_base", "")
        ),
    )
    yield passage(
        "{:.3f} of mainline's lookups find the lock of the device held, and {:.3f} of",
        *(
            of.figure("buffer", f"private_lock_contentions_per_follow{end}")
            for end in ("_base", "")
        ),
    )
    yield passage(
        "the 16 buffers answered {:.1f} % of the lookups while the files were created, {:.1f} % "
        "in a cold ``ls -lR`` and {:.1f} % of random setxattr. Of the other lookups, the table "
        "answered {:.1f}, {:.1f} and {:.1f} %",
        *(
            100 * of.figure("buffer", f"{what}_hit_rate_{phase}_1k")
            for what in ("lru", "table")
            for phase in ("create", "cold_ls", "setxattr")
        ),
    )


STRUCTURES = {
    "16 children": "xarray_4",
    "128 children": "xarray_7",
    "256 children": "xarray_8",
    "extendible hash": "extendible",
    "chained golden-ratio hash": "chained",
    "rhashtable": "rhashtable",
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
    totals = {memory: sum(tables.values()) for memory, tables in table_bytes().items()}
    yield passage("sum, KiB" + " {:.0f}" * len(totals), *(one / 1024 for one in totals.values()))
    yield passage(
        "% of memory" + " {:.3f}" * (len(totals) - 1) + " {:.4f}",
        *(100 * total / memory for memory, total in totals.items()),
    )
    # 56 bytes an entry, an entry for 16 KiB.
    yield constant("a full cache takes 0.34 % of memory")


def hashstats_tool(of):
    yield passage(
        "in small steps: {:.1f} s for 2 million buckets",
        of.figure("hashstats", "read_ms_2_21") / 1000,
    )
