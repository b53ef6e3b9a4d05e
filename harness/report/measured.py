# SPDX-License-Identifier: GPL-2.0
"""The page of what was measured: each part, its figures and the command.

ROWS are figures in three columns, mainline, series and ratio; README has
those that are marked.  What needs more columns is a section of its own.
"""

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.cases import contention as bench_contention
from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import herd as bench_herd
from bench.cases import index as bench_index
from bench.cases import mbcache as bench_mbcache
from bench.cases import wake as bench_wake
from report import lines, wakeups
from report.page import KEPT_PICTURE, Picture, heading, simple_table, wrapped

PAGE = Path("results/measured.rst")


class Row(NamedTuple):
    benchmark: str
    text: str
    unit: str
    values: Callable  # of the results: mainline's and ours
    form: str = ".1f"
    readme: bool = False

    def cells(self, of):
        """Mainline, series, ratio."""
        base, ours = self.values(of)
        return f"{base:{self.form}}", f"{ours:{self.form}}", ratio(base, ours)


def ratio(base, ours):
    """A third digit near 0 and 1, where two would not show a difference."""
    value = ours / base
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:.3f}" if 0 < value < 0.1 or 0.9 < value < 1.1 else f"{value:.2f}"


def both(benchmark, base, ours):
    """Two figures."""
    return lambda of: (of.figure(benchmark, base), of.figure(benchmark, ours))


def wake(compiler, foreign, queues="256", cache="hot"):
    def values(of):
        case = {"key": "bit", "layout": "stacks", "cache": cache}
        return tuple(
            of.median(
                "wake",
                "wake",
                "min_ns",
                kernel=kernel,
                queues=many,
                compiler=compiler,
                foreign=foreign,
                **case,
            )
            for kernel, many in (("base", "256"), ("patched", queues))
        )

    return values


def unmatched(others):
    """A wakeup that finds no waiter, in the base and with the queues of 4 GiB."""

    def values(of):
        return tuple(
            statistics.median(
                bench_wake.empty_times(of.get("wake"), side, bench_wake.SETS[0], others)
            )
            for side in (bench_wake.BASE, bench_wake.SERIES[1])
        )

    return values


def pattern(name):
    """Nodes divided by those of a random function, the worst of 100 addresses."""

    def values(of):
        return tuple(
            of.median("spread", "spread", "worst", pattern=name, function=function)
            for function in ("mainline", "pair")
        )

    return values


def inode_insns(phase, what="insns"):
    """Instructions of an operation on ext4, one CPU."""

    def values(of):
        return tuple(per_operation(of, kernel, phase, what) for kernel in ("base", "ours"))

    return values


def tmpfs_insns(of):
    """Instructions of creating and unlinking a file on tmpfs, the whole kernel's."""
    return tuple(
        sum(
            per_operation(of, kernel, phase, "all_insns", "tmpfs") for phase in ("create", "unlink")
        )
        for kernel in ("base", "ours")
    )


def per_operation(of, kernel, phase, what, system="ext4"):
    wanted = {"kernel": kernel, "phase": phase, "system": system}
    insns, operations = (
        of.values("inode", "instructions", name, **wanted) for name in (what, "operations")
    )
    return sum(sum(one.values()) if what == "insns" else one for one in insns) / sum(operations)


def beyond(what, system="ext4"):
    """120,000 files with 40,000 values."""

    def values(of):
        return tuple(
            of.median("xattr", "beyond", what, kernel=kernel, system=system)
            for kernel in ("base", "ours")
        )

    return values


def per_set(what, system="ext4"):
    def values(of):
        sets = of.median("xattr", "beyond", "sets", system=system)
        return tuple(one / sets for one in beyond(what, system)(of))

    return values


def crowd(crowd_, operation, size, table):
    def values(of):
        return tuple(
            lookup_insns(of, kernel, crowd_, operation, size, table) for kernel in ("base", "ours")
        )

    return values


def lookup_insns(of, kernel, crowd_, operation, size, table):
    wanted = {"kernel": kernel, "crowd": crowd_, "operation": operation, "size": size}
    (insns,) = of.values("crowd", "count", "lookup_insns", **wanted)
    return insns[table]


def index(part, side, cell):
    def values(of):
        result = of.get("index")
        return tuple(bench_index.nanoseconds(result, part, one, cell) for one in ("base", side))

    return values


def mbcache(op, cache="hot"):
    def values(of):
        return tuple(
            of.median(
                "mbcache",
                "mbcache",
                "ns",
                side=side,
                op=op,
                cache=cache,
                entries=bench_mbcache.FULL,
            )
            for side in ("base", "ours")
        )

    return values


def contended(op, threads):
    def values(of):
        result = of.get("contention")
        return tuple(
            statistics.median(bench_contention.times(result, side, op, threads))
            for side in ("base", "ours")
        )

    return values


def halfmd4(length, series=""):
    def values(of):
        rows = bench_halfmd4.chosen(of.get("halfmd4"), *bench_halfmd4.SERIES[series])
        return tuple(bench_halfmd4.nanoseconds(rows[length], side) for side in ("base", "ours"))

    return values


def script(users, kernel="ours"):
    """Millions of the kernel's instructions for a script."""

    def values(of):
        return tuple(
            of.median("multiuser", "count", "kernel_insns", kernel=one, users=users) / users / 1e6
            for one in ("base", kernel)
        )

    return values


def buffer_miss(size):
    """Of a lookup that the CPU's LRU does not answer, by a caller that may sleep."""
    return lambda of: (1.0, of.figure("buffer", f"insn_ratio_lru_miss_sleeping_{size}"))


NODES = "nodes, random = 1"
ROWS = (
    Row(
        "hashstats",
        "lookup of a name, counting off",
        "instructions",
        both("hashstats", "dentry_insn_base", "dentry_insn_off"),
        readme=True,
    ),
    Row(
        "hashstats",
        "lookup of a name, counting on",
        "instructions",
        both("hashstats", "dentry_insn_base", "dentry_insn_on"),
    ),
    Row(
        "herd",
        "other waiters' wake functions, slow disk",
        "calls per wakeup",
        both("herd", "foreign_calls_per_wake_base", "foreign_calls_per_wake"),
        ".2f",
        readme=True,
    ),
    Row(
        "herd",
        "other waiters examined, the same load",
        "waiters per wakeup",
        both("herd", "foreign_examined_per_wake_base", "foreign_examined_per_wake"),
        ".3f",
    ),
    Row(
        "herd",
        "the same, in the worst phase",
        "waiters per wakeup",
        both("herd", "foreign_examined_per_wake_worst_base", "foreign_examined_per_wake_worst"),
        ".3f",
    ),
    Row("wake", "wakeup, no other waiter in the queue", "ns", wake("plain", 0)),
    Row("wake", "wakeup, 8 other waiters in the queue", "ns", wake("plain", 8)),
    Row("wake", "the same, with retpolines", "ns", wake("retpoline", 8)),
    Row("wake", "wakeup that finds no waiter, nobody waits", "ns", unmatched(0), ".2f"),
    Row("wake", "the same, 512 tasks wait for something else", "ns", unmatched(512), ".2f"),
    Row(
        "spread",
        "inode lookup, consecutive numbers",
        NODES,
        pattern("consecutive"),
        ".2f",
    ),
    Row("spread", "the same, every 16th number", NODES, pattern("stride 16"), ".2f"),
    Row("spread", "the same, ext4, 64 of 8192 used", NODES, pattern("ext4 64 of 8192"), ".2f"),
    Row("spread", "the same, xfs, 4 groups of 2^28", NODES, pattern("xfs 4 groups of 2^28"), ".2f"),
    Row("spread", "the same, fuse, 1024 volumes", NODES, pattern("fuse, 1024 volumes"), ".2f"),
    Row("spread", "the same, numbers 2^32 apart", NODES, pattern("stride 2^32"), ".2f"),
    Row(
        "spread",
        "inode lookup, worst of 38 number patterns",
        NODES,
        both("spread", "inode_worst_vs_ideal_base", "inode_worst_vs_ideal"),
        ".2f",
        readme=True,
    ),
    Row(
        "inode",
        "file creation on ext4, part in fs/inode.c",
        "instructions",
        inode_insns("create"),
        readme=True,
    ),
    Row(
        "inode",
        "lookup of an inode not in memory, the same",
        "instructions",
        inode_insns("stat"),
    ),
    Row("inode", "unlink, the same", "instructions", inode_insns("unlink")),
    Row(
        "inode",
        "create, whole operation",
        "instructions",
        inode_insns("create", "all_insns"),
        ".0f",
    ),
    Row(
        "contention",
        "ilookup5() on two CPUs at once, Linux 7.3",
        "ns",
        contended("find_inode", 2),
        readme=True,
    ),
    *(
        Row(
            "lines",
            f"{text}, 16 CPUs",
            "lines moved",
            both("lines", f"lines_{figure}_16_base", f"lines_{figure}_16"),
            ".2f",
            readme=figure == "tmpfs_create_unlink",
        )
        for figure, text in (
            ("tmpfs_create_unlink", "create and unlink a file, tmpfs"),
            ("ext4_create_unlink", "the same, ext4"),
            ("orphan_create_unlink", "the same, ext4 with orphan_file"),
            ("setresuid", "setresuid() to a user that exists"),
            ("timer", "create and delete a timer"),
        )
    ),
    Row(
        "xattr",
        "120,000 files with 40,000 attributes, ext4",
        "blocks",
        beyond("blocks"),
        ".0f",
        readme=True,
    ),
    Row("xattr", "the same", "instructions per set", per_set("insns"), ".0f"),
    Row("xattr", "the same, ext2", "instructions per set", per_set("insns", "ext2"), ".0f"),
    Row(
        "xattr",
        "the same, ext4, in mbcache alone",
        "instructions per set",
        per_set("mbcache_insns"),
        ".0f",
    ),
    Row("mbcache", "hit among 16384 entries, in the CPU's cache", "ns", mbcache("hit")),
    Row("mbcache", "the same, out of the CPU's cache", "ns", mbcache("hit", "cold"), ".0f"),
    Row("mbcache", "miss, in the CPU's cache", "ns", mbcache("miss")),
    Row("mbcache", "the same, out of the CPU's cache", "ns", mbcache("miss", "cold"), ".0f"),
    Row("mbcache", "create and delete, in the CPU's cache", "ns", mbcache("create_delete")),
    Row(
        "mbcache", "the same, out of the CPU's cache", "ns", mbcache("create_delete", "cold"), ".0f"
    ),
    Row(
        "crowd",
        "setresuid() among 100 users, lookup",
        "instructions",
        crowd("users", "live", 100, "uid"),
    ),
    Row(
        "crowd",
        "setresuid() among 100,000 users, lookup",
        "instructions",
        crowd("users", "live", 100_000, "uid"),
        readme=True,
    ),
    Row(
        "index",
        "XArray, dependent lookups, 2^17 entries",
        "ns",
        index("xarray", "ours", "xarray lookup dependent random 17"),
        readme=True,
    ),
    Row(
        "index",
        "random lookup among 2^20 pages of a file",
        "ns",
        index("pages", "ours", "file lookup independent random 20"),
    ),
    Row(
        "index",
        "the same, with the page hash",
        "ns",
        index("pages", "page_hash", "file lookup independent random 20"),
    ),
    Row(
        "buffer",
        "buffer not in the CPU's LRU, 1 KiB blocks",
        "instr., mainline = 1",
        buffer_miss("1k"),
        ".3f",
        readme=True,
    ),
    Row("halfmd4", "half-MD4 of a 32-byte name", "ns", halfmd4(32)),
    Row("halfmd4", "the same, each waits for the last", "ns", halfmd4(32, "chain_")),
    Row("halfmd4", "the same, with retpolines", "ns", halfmd4(32, "retpoline_")),
    Row("halfmd4", "half-MD4 of a 255-byte name", "ns", halfmd4(255)),
    Row("halfmd4", "TEA of a 32-byte name", "ns", halfmd4(32, "tea_")),
    Row(
        "multiuser",
        "script of cc, ed, nroff, spell; 4 users",
        "million instructions",
        script(4),
    ),
)

HEAD = ("what", "unit", "mainline", "series", "ratio")


def page(of):
    """The text of the page; benchmarks without a stored result are left out."""
    parts = [
        ".. SPDX-License-Identifier: GPL-2.0\n",
        heading("Boot-sized hash tables: what was measured", "="),
        INTRODUCTION,
    ]
    for title, names, more in SECTIONS:
        benchmarks = [name for name in names if of.has(name)]
        if not benchmarks:
            continue
        parts += [heading(title, "="), *map(of.origin, benchmarks)]
        rows = [row for row in ROWS if row.benchmark in benchmarks]
        if rows:
            cells = [(row.text, row.unit, *row.cells(of)) for row in rows]
            parts.append(simple_table(HEAD, cells))
        if more:
            parts += more(of)
    return "\n".join(parts)


INTRODUCTION = (
    wrapped(
        "The figures of each part, with the command that measures them again. ``make report "
        "KEEP=1`` writes this page from the files in results/ of the series' repository, which "
        "have every single run. Instructions and counts come from an emulated processor; "
        "documents.rst says how much they differ between two runs of mainline. Nanoseconds are of "
        "user-mode Linux or of a program, on one processor where nothing else is said. A ratio is the "
        "series divided by mainline, which is 6.12 where nothing else is said."
    )
    + "\n"
    + wrapped(
        "Documentation/admin-guide/filtered-wakeups.rst has more about wakeups, "
        "Documentation/admin-guide/crowds.rst about the tables that many users fill, and "
        "Documentation/admin-guide/page-index.rst about pages and buffers. "
        "documents.rst compares all of it with the five documents that the tables come from."
    )
)


def reading(of):
    def figure(name):
        return of.figure("hashstats", name)

    yield wrapped(
        f"One read of /proc/hashstats with 2^21 buckets for dentries takes "
        f"{figure('read_ms_2_21'):.0f} ms under emulation, the median of "
        f"{len(of.values('hashstats', 'read', 'read_ms'))} reads. The longest stretch of a read "
        f"without a chance to reschedule is {figure('longest_stretch_us') / 1000:.1f} ms in the "
        f"best read and {figure('longest_stretch_us_median') / 1000:.1f} ms in the median one. "
        "The emulator itself is sometimes held up, which only adds."
    )


def herds(of):
    result = of.get("herd")
    rows = []
    for phase, title in bench_herd.PHASES.items():
        name = phase.replace("-", "_")
        base, ours = wakeups.medians(result, phase, wakeups.moved)
        rows.append(
            (
                title,
                *(
                    f"{of.figure('herd', f'throughput_ratio_{name}{end}'):.3f}"
                    for end in ("_256", "")
                ),
                f"{base:.1f}",
                f"{ours:.1f}",
                f"{ours / base:.2f}",
            )
        )
    yield wrapped(
        "Throughput of the four phases, the series divided by mainline, and MB for each second "
        "of processor time:"
    )
    yield simple_table(
        ("phase", "256 queues", "from memory", "MB/s of CPU, mainline", "series", "ratio"), rows
    )
    yield wrapped(
        "The disk sets the throughput. In MB for each second of processor time the series has "
        f"{min(float(row[-1]) for row in rows):.2f} to {max(float(row[-1]) for row in rows):.2f} "
        "of mainline's, "
        + wakeups.by_itself(result, bench_herd.PHASES, wakeups.moved)
        + f" {wakeups.processor_answer(of)}"
    )


def inodes(of):
    medians = [
        one["median"] for one in of.rows("spread", "spread") if one.get("function") == "mainline"
    ]
    ns = {
        function: of.median("spread", "time", "ns", function=function)
        for function in ("mainline", "pair")
    }
    yield wrapped(
        "Inodes are hashed by number and address of the super block. The table has the worst of "
        "100 addresses, tables of 2^10 to 2^19 buckets and loads of 0.5 to 2. Mainline does not "
        "see keys that differ in the upper half alone. On "
        f"{sum(one < 1 for one in medians)} of {len(medians)} patterns mainline's median is below "
        f"1, down to {min(medians):.2f}: hash_pair() gains nothing where mainline draws a good "
        "address, and prevents the bad ones. A hash that waits for the one before takes "
        f"{ns['pair']:.1f} ns instead of {ns['mainline']:.1f}."
    )


def functions(of):
    def cells(kind, side):
        for end in ("vs_ideal", "worst_vs_ideal"):
            figures = of.get("functions").data["figures"]
            name = f"{kind}_{side}_{end}"
            yield f"{figures[name]:.2f}" if name in figures else "-"

    sides = {"paper": "2.2", "paper_mult": "multiplied", "base": "mainline", "ours": "series"}
    yield wrapped(
        "Keys of a running kernel: nodes of a successful lookup divided by those of a random "
        "function, in the table whose load is nearest to 1, and the worst of tables of 2^8 to "
        "2^20 buckets. *2.2* is the function of Linux 2.2, *multiplied* that of CITI TR 00-1. "
        "Mainline has no hash table of pages and buffers; hash_64() of the sum of both words "
        "stands there."
    )
    yield simple_table(
        ("keys", "number", *(word for side in sides.values() for word in (side, "worst"))),
        [
            (
                kind,
                f"{of.figure('functions', f'{kind}_keys'):.0f}",
                *(cell for side in sides for cell in cells(kind, side)),
            )
            for kind in bench_functions.KINDS
        ],
    )
    yield wrapped(
        "Addresses differ from run to run. A hash that waits for the one before takes "
        f"{of.figure('functions', 'inode_base_ns'):.1f} ns with mainline's function for inodes, "
        f"{of.figure('functions', 'inode_ours_ns'):.1f} ns with hash_pair(), and "
        f"{of.figure('functions', 'page_ours_ns'):.1f} ns with that of the page hash. bench-spread, "
        "above, may have run on another machine."
    )
    yield wrapped(
        "With the paper's constant of 32 bits, the upper bits of the product of 64 bits depend "
        "too little on small numbers: a lookup examines up to "
        f"{of.figure('functions', 'constant_32_vs_64_worst'):,.0f} times the nodes of hash_64() "
        "on these keys. The same constant on the lower half of the key examines up to "
        f"{of.figure('functions', 'constant_32_low_vs_64_worst'):.2f} times as many, and "
        f"{of.figure('functions', 'constant_32_low_vs_64_worst_far'):.0f} times where keys "
        "differ in their upper half alone."
    )


def locks(of):
    yield wrapped(
        "The inode table has 64 locks on up to four CPUs, mainline has one. In parallel creates "
        f"the most used lock is taken {of.figure('inode', 'hottest_lock_share'):.3f} times as "
        "often as mainline's."
    )


DENTRY_CASES = {
    "10,000 names, alone": ("small", "hit", "hot"),
    "the same, other memory read in between": ("small", "hit", "shared"),
    "the same, out of all caches": ("small", "hit", "cold"),
    "the same, by the walk of a path": ("small", "path", "hot"),
    "these among 250,000": ("among", "hit", "hot"),
    "250,000 names, out of all caches": ("large", "hit", "cold"),
}
DENTRY_SIZES = {"1_64": 64, "1_16": 256, "1_4": 1024, "1": 4096, "4": 16384}


def dentry(of):
    result = of.get("dentry")
    rows = [
        (text, *(f"{bench_dentry.nanoseconds(result, size, *case):.0f}" for size in DENTRY_SIZES))
        for text, case in DENTRY_CASES.items()
    ]
    again = [
        bench_dentry.nanoseconds(result, "again", *case)
        / bench_dentry.nanoseconds(result, "1", *case)
        for case in DENTRY_CASES.values()
    ]
    yield wrapped(
        "The dentry table has a bucket for 8 KiB of memory, 4 MiB on a machine of 4 GiB. "
        "Nanoseconds to find a name, by the KiB of the table:"
    )
    yield simple_table(("KiB of the table", *DENTRY_SIZES.values()), rows)
    yield wrapped(
        "A second run of the default size took "
        f"{min(again):.2f} to {max(again):.2f} of the first one's time. The default is too large "
        "where few names are in the cache, and a smaller table costs more where many are. "
        "The default stays."
    )
    yield wrapped(
        "vfs_cache_pressure on 256 MiB: 10,000 names are used, others are looked up once, and a "
        "file is read. Medians of the rounds:"
    )
    sides = [(size, pressure) for size in ("1_64", "1") for pressure in bench_dentry.PRESSURES]
    yield simple_table(
        (
            "buckets, vfs_cache_pressure",
            *(f"{512 if size == '1_64' else 32768}, {pressure}" for size, pressure in sides),
        ),
        [
            (text, *(f"{form(bench_dentry.pressed(result, p, size, what))}" for size, p in sides))
            for text, what, form in (
                ("used names found, %", "hit_rate", lambda rate: f"{100 * rate:.2f}"),
                ("nodes per lookup", "nodes", "{:.1f}".format),
                ("ns per lookup", "lookup_ns", "{:.0f}".format),
            )
        ],
    )


def xattrs(of):
    figure = of.figure
    yield wrapped(
        "Below the old bound, with up to 1000 files, 100,000 values and 1 to 4 processes, the "
        f"instructions are {figure('xattr', 'insn_ratio_seed_range_min'):.3f} to "
        f"{figure('xattr', 'insn_ratio_seed_range_max'):.3f} of mainline's, and the blocks "
        f"{figure('xattr', 'disk_ratio_seed_range'):.2f}. With 1000 entries a hit takes "
        f"{figure('mbcache', 'hit_ratio_small'):.2f} of mainline's time, where a second run of "
        f"mainline with 16384 entries took {figure('mbcache', 'aa_hit'):.2f} of the first one's "
        f"and, out of the cache, {figure('mbcache', 'aa_hit_cold'):.2f}."
    )


LENGTHS = (4, 8, 16, 32, 128, 255)


def names(of):
    yield wrapped("Nanoseconds of half-MD4 by the bytes of the name:")
    yield simple_table(
        ("bytes", *LENGTHS, "1-32 mixed"),
        [
            (text, *(f"{halfmd4(length, series)(of)[side]:.1f}" for length in (*LENGTHS, 0)))
            for text, series, side in (
                ("mainline", "", 0),
                ("series", "", 1),
                ("mainline, each waits", "chain_", 0),
                ("series, each waits", "chain_", 1),
                ("mainline, retpolines", "retpoline_", 0),
                ("series, retpolines", "retpoline_", 1),
            )
        ],
    )
    yield wrapped(
        "The hashes are the same. Of the names up to 16 bytes, with any of the hashes, the worst "
        f"took {of.figure('halfmd4', 'ratio_worst_to_16'):.2f} of mainline's time; the second "
        f"run of mainline that differed most took {of.figure('halfmd4', 'aa_ratio_worst'):.2f} of "
        "the first one's."
    )
    if not of.has("htree"):
        return
    yield wrapped(
        "One directory of 200,000 files: bytes filled of a leaf's 4096, and after as many "
        "removals and creates at random; instructions of a create, of them in the hash, and in "
        "mainline's hash:"
    )
    titles = {"legacy": "legacy", "half_md4": "half-MD4", "tea": "TEA"}
    figures = ("fill", "fill_churned", "insn_create", "insn_hash", "insn_hash_base")
    yield simple_table(
        ("names, hash", "filled", "then", "create", "hash", "mainline's hash"),
        [
            (
                f"{text}, {title}",
                *(f"{of.figure('htree', f'{one}_{hash_}_{kind}'):,.0f}" for one in figures),
            )
            for kind, text in (("number", "f000123"), ("mail", "33 bytes"))
            for hash_, title in titles.items()
        ],
    )


def users(of):
    sizes = {
        "series": "",
        "all sizes of 1/4": "_quarter",
        "all sizes of 4 times": "_four",
        "folio_wait with 256 queues": "_folio_wait",
        "1024 names, 256 inodes, as in Linux 2.2.5": "_small",
    }

    def cells(what, ends):
        return [f"{of.figure('multiuser', f'{what}_{end}'):.3f}" for end in ends]

    rows = [
        (
            text,
            *cells("table_insn_ratio", (f"4{size}", f"16{size}")),
            *cells("total_insn_ratio", (f"4{size}", f"16{size}")),
        )
        for text, size in sizes.items()
    ]
    rows.append(
        (
            "mainline, a second run",
            *cells("table_insn_aa_ratio", (4, 16)),
            *cells("total_insn_aa_ratio", (4, 16)),
        )
    )
    yield wrapped(
        "Each user compiles, edits, formats and spells with Debian's gcc, ed, groff and spell, "
        "as in Tables 1 to 6 of the paper of 2000. Instructions of one script, divided by "
        "mainline's, in the functions of the tables and in the whole kernel, with 4 and 16 users:"
    )
    yield simple_table(("tables", "tables, 4", "16", "kernel, 4", "16"), rows)
    yield wrapped(
        "Scripts an hour of the series are "
        f"{min(rates(of)):.2f} to {max(rates(of)):.2f} of mainline's, which is noise: a load of "
        "many users gets no faster."
    )


def rates(of):
    return [of.figure("multiuser", f"throughput_ratio_{many}") for many in (2, 4, 8, 16)]


# Title, benchmarks, and what comes behind the table of their rows.
# What a CPU does again and again, with objects of its own.
CONTENDED = {
    "create_evict": "make an inode, hash it, evict it",
    "find_inode": "find an inode by ilookup5()",
    "lock_bit": "lock and unlock a bit that nobody waits for",
    "wait_bit": "wait for a bit, without the switch to another task and back",
    "find_buffer": "find a buffer beyond the CPU's 16 (BUFFER_HASH)",
    "recreate_entry": "delete an mbcache entry and create it",
    "list_inode": "make an inode and free it, without the table",
    "tmpfs_file": "create and unlink a file on tmpfs",
    "find_user": "find a user, as setresuid() does",
}


def contention(of):
    result = of.get("contention")
    rows = []
    for op, text in CONTENDED.items():
        for threads in (1, 2):
            base, again, ours = (
                statistics.median(bench_contention.times(result, side, op, threads))
                for side in ("base", "again", "ours")
            )
            rows.append(
                (text, threads, f"{base:.0f}", f"{ours:.0f}", ratio(base, ours), ratio(base, again))
            )
    yield wrapped(
        "On Linux 7.3, in user-mode Linux with two CPUs: each is a thread of the host, so "
        "locks and lines of cache are contended for. Every CPU has objects of its own, and an "
        "inode of each CPU is in a file system of its own. What they share are the tables and "
        "their locks. One CPU is the control, and mainline against itself is the noise. The "
        "median of all rounds, in nanoseconds of an operation:"
    )
    yield simple_table(("operation", "CPUs", "mainline", "series", "ratio", "noise"), rows)


def crowds(_of):
    title = "Instructions per lookup against objects in the table, logarithmic scales."
    yield Picture("crowd", title).text(KEPT_PICTURE)


SECTIONS: tuple[tuple[str, tuple[str, ...], Callable | None], ...] = (
    ("Lookups of names, and reading the file", ("hashstats",), reading),
    ("Wakeups", ("herd", "wake"), herds),
    ("The function of the inode table", ("spread",), inodes),
    ("Functions on the keys of a running kernel", ("functions",), functions),
    ("The inode table's locks", ("inode",), locks),
    ("Two processors at once", ("contention",), contention),
    ("Cache lines that move between CPUs", ("lines",), lines.section),
    ("The size of the dentry table", ("dentry",), dentry),
    ("Extended attributes", ("xattr", "mbcache"), xattrs),
    ("Users, quotas, timers and others", ("crowd",), crowds),
    ("Pages of a file", ("index",), None),
    ("Buffers", ("buffer",), None),
    ("The directory hash of ext4", ("halfmd4", "htree"), names),
    ("Several users at once", ("multiuser",), users),
)
