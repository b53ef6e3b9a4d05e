# SPDX-License-Identifier: GPL-2.0
"""Where the series takes more than mainline, by more than mainline differs from itself.

Each stored run of the series is compared with the runs of mainline that did the
same.  Mainline is the control: its spread is its largest value divided by its
least.  A cell is lost if the ratio of the medians is above 1 by more than that.
"""

import functools
import statistics
from collections.abc import Callable
from typing import NamedTuple

from bench.cases import functions as bench_functions
from bench.cases import index as bench_index
from report.page import wrapped


class Cell(NamedTuple):
    name: str
    base: list[float]
    ours: list[float]

    @property
    def ratio(self):
        """Above 1: the series takes more."""
        return statistics.median(self.ours) / statistics.median(self.base)

    @property
    def spread(self):
        """Of the control; nothing if it ran once."""
        return max(self.base) / min(self.base) if len(self.base) > 1 else None

    @property
    def lost(self):
        return self.ratio > (self.spread or 1)


class Kind(NamedTuple):
    """One sort of figure of a benchmark."""

    benchmark: str
    title: str
    runs: str
    value: str | Callable
    keys: tuple[str, ...]
    side: str = "kernel"
    ours: str = "ours"
    base: tuple[str, ...] = ("base", "again")
    more: bool = False  # more is better, as with rates
    only: dict[str, str] = {}
    # A field with a number for each table, or with one for each side.
    parts: str = ""
    columns: dict[str, str] = {}


class Group(NamedTuple):
    kind: Kind
    cells: list[Cell]

    @property
    def title(self):
        return f"{self.kind.benchmark}, {self.kind.title}"

    @property
    def lost(self):
        return [cell for cell in self.cells if cell.lost]

    @property
    def above(self):
        return [cell for cell in self.cells if cell.ratio > 1]

    @property
    def ratio(self):
        return statistics.median(cell.ratio for cell in self.cells)

    @property
    def spread(self):
        """The largest of any cell; nothing without a control."""
        return max((cell.spread for cell in self.cells if cell.spread), default=None)

    @property
    def worst(self):
        return max(self.lost or self.cells, key=lambda cell: cell.ratio)


def processor_seconds(one):
    """Of user and system, for the whole phase; the clock sees no less."""
    percent = one["user_percent"] + one["system_percent"]
    return max(one["seconds"] * percent / 100, 0.001)


def functions(field):
    """The sum of all functions that a field names."""
    return lambda one: sum(one[field].values())


def paced(one):
    """Without the processor's clock, where all data fits its cache."""
    return one["steps" if one["bits"] <= bench_index.PACED_BITS[one["kind"]] else "min_ns"]


CELL = ("system", "processes", "files", "values")
INDEX = ("index", "op", "how", "order", "bits")
PAGES = ("place", "folios", "operation", "how", "pages")
READ = ("place", "mode")
PHASE = ("system", "phase")
BLOCK = ("blocks", "phase")
HTREE = ("pattern", "hash", "phase")
CROWD = ("crowd", "operation", "size")
WAKE = ("compiler", "key", "layout", "cache", "foreign")
HASH = ("hash", "how", "compiler", "length")
NS = {"base_ns": "base", "again_ns": "again", "ours_ns": "ours"}
# A key -> its function today, which mainline uses where it has such a table.
HASHES = {
    key: function
    for key, function in bench_functions.BASE.items()
    if function != bench_functions.OURS[key]
}

KINDS = (
    Kind("herd", "processor time", "throughput", processor_seconds, ("phase",)),
    Kind("herd", "context switches", "throughput", "context_switches", ("phase",)),
    Kind("herd", "MB/s", "throughput", "mb_per_second", ("phase",), more=True),
    Kind("herd", "instructions", "instructions", "kernel_insns", ("phase",)),
    Kind("herd", "instructions of waits", "instructions", "code_insns", ("phase",)),
    Kind("wake", "ns", "wake", "min_ns", WAKE, ours="patched", only={"queues": "256"}),
    Kind("xattr", "instructions", "count", "insns", CELL),
    Kind("xattr", "instructions of mbcache", "count", "mbcache_insns", CELL),
    Kind("xattr", "blocks", "count", "blocks", CELL),
    Kind("xattr", "seconds", "seconds", "seconds", CELL),
    Kind("xattr", "instructions beyond the cap", "beyond", "insns", ("system",)),
    Kind("xattr", "blocks beyond the cap", "beyond", "blocks", ("system",)),
    Kind("contention", "ns on Linux 7.3", "contention", "ns", ("op", "threads"), side="side"),
    Kind("lines", "transfers", "lines", "transfers", ("operation", "cpus")),
    Kind("lines", "instructions", "lines", "insns", ("operation", "cpus")),
    Kind("mbcache", "ns", "mbcache", "ns", ("op", "cache", "entries"), side="side"),
    Kind("index", "XArray, ns", "xarray", paced, INDEX, side="side"),
    Kind("index", "pages, ns", "pages", paced, INDEX, side="side"),
    Kind("index", "page hash, ns", "pages", paced, INDEX, side="side", ours="page_hash"),
    Kind(
        "index",
        "XArray among structures, ns",
        "structures",
        "min_ns",
        INDEX,
        side="side",
        only={"index": bench_index.KERNELS},
    ),
    Kind("readers", "instructions", "instructions", "insns", READ),
    Kind("readers", "page hash, instructions", "instructions", "insns", READ, ours="hash"),
    Kind("readers", "reads a second", "throughput", "rate", (*READ, "threads"), more=True),
    Kind(
        "readers",
        "page hash, reads a second",
        "throughput",
        "rate",
        (*READ, "threads"),
        ours="hash",
        more=True,
    ),
    Kind("atomics", "atomics", "atomics", "atomics", PAGES),
    Kind("atomics", "page hash, atomics", "atomics", "atomics", PAGES, ours="hash"),
    Kind("atomics", "index locks", "atomics", "index_locks", PAGES),
    Kind("atomics", "instructions", "atomics", "insns", PAGES),
    Kind("atomics", "page hash, instructions", "atomics", "insns", PAGES, ours="hash"),
    Kind("multiuser", "instructions", "count", "kernel_insns", ("users",)),
    Kind("multiuser", "instructions of tables", "count", "table_insns", ("users",)),
    Kind("multiuser", "of each table", "count", "part", ("users", "of"), parts="tables"),
    Kind("multiuser", "scripts an hour", "rate", "rate", ("users",), more=True),
    Kind("htree", "instructions", "phase", "insns", HTREE),
    Kind("htree", "instructions of the hash", "phase", "hash_insns", HTREE),
    Kind("htree", "instructions of namei.c", "phase", "names_insns", HTREE),
    Kind("htree", "seconds", "phase", "seconds", HTREE),
    Kind("halfmd4", "ns", "names", "part", HASH, columns=NS),
    Kind(
        "hashstats",
        "instructions of lookups, counting off",
        "count",
        functions("insns"),
        ("names",),
        ours="patched",
        only={"counting": "off"},
    ),
    Kind("inode", "instructions", "instructions", "all_insns", PHASE),
    Kind("inode", "locks of inodes", "locks", "acquisitions", PHASE),
    Kind("inode", "the hottest lock", "locks", "hottest", PHASE),
    Kind("inode", "instructions of inode.c", "instructions", functions("insns"), PHASE),
    Kind(
        "inode",
        "operations a second",
        "throughput",
        "rate",
        (*PHASE, "processes"),
        more=True,
    ),
    *(
        Kind(
            "functions",
            f"ns of a hash, {key}",
            "time",
            "waits_ns",
            ("key",),
            side="function",
            ours=bench_functions.OURS[key],
            base=(function,),
            only={"key": key},
        )
        for key, function in HASHES.items()
    ),
    *(
        Kind(
            "functions",
            f"nodes on {key} keys, {title}",
            "spread",
            value,
            ("set", "bits"),
            side="function",
            ours=bench_functions.OURS[key],
            base=(function,),
            only={"key": key},
        )
        for key, function in HASHES.items()
        for title, value in (("found", "hit"), ("failed", "miss"))
    ),
    *(
        Kind(
            "spread",
            title,
            kind,
            value,
            keys,
            side="function",
            ours="pair",
            base=("mainline",),
        )
        for title, kind, value, keys in (
            ("median nodes", "spread", "median", ("pattern",)),
            ("95th percentile of nodes", "spread", "p95", ("pattern",)),
            ("worst nodes", "spread", "worst", ("pattern",)),
            ("ns of a hash", "time", "ns", ()),
        )
    ),
    Kind("buffer", "instructions", "instructions", "kernel_insns", BLOCK),
    Kind("buffer", "instructions of lookups", "instructions", functions("lookup_insns"), BLOCK),
    Kind("buffer", "locks", "locks", "acquisitions", BLOCK),
    Kind("buffer", "microseconds", "seconds", "microseconds", BLOCK),
    Kind("crowd", "instructions", "count", "all_insns", CROWD),
    Kind("crowd", "instructions of lookups", "count", "part", (*CROWD, "of"), parts="lookup_insns"),
    Kind("crowd", "nanoseconds", "seconds", "nanoseconds", CROWD),
)


def groups(results):
    """Each kind of which something is stored."""
    for kind in KINDS:
        if results.has(kind.benchmark):
            found = group(results, kind.benchmark, kind.title)
            if found.cells:
                yield found


@functools.cache
def group(results, benchmark, title):
    (kind,) = (one for one in KINDS if (one.benchmark, one.title) == (benchmark, title))
    return Group(kind, paired(results, kind))


def paired(results, kind):
    """The cells that both have."""
    found: dict[tuple, tuple[list, list]] = {}
    for one in spread_out(results.rows(kind.benchmark, kind.runs), kind):
        base = one[kind.side] in kind.base
        if not base and one[kind.side] != kind.ours:
            continue
        value = one[kind.value] if isinstance(kind.value, str) else kind.value(one)
        cell = found.setdefault(tuple(one[key] for key in kind.keys), ([], []))
        cell[not base].append(1 / value if kind.more else value)
    return [
        Cell(", ".join(map(word, kind.keys, key)) or "all", base, ours)
        for key, (base, ours) in found.items()
        if base and ours and min(base) > 0
    ]


def word(key, value):
    return f"{key} {value}" if isinstance(value, int) else value


def spread_out(rows, kind):
    """A row for each side, or for each table, where a run has several."""
    for one in rows:
        if not kind.only.items() <= one.items():
            continue
        if kind.columns:
            for column, side in kind.columns.items():
                yield one | {kind.side: side, "part": one[column]}
        elif kind.parts:
            for name, value in one[kind.parts].items():
                yield one | {"of": name, "part": value}
        else:
            yield one


# Groups of which no sentence of a document speaks: what the figure is.
SENTENCES = {
    "xattr, seconds": "Seconds of setting attributes on an emulated machine",
    "lines, transfers": "Transfers of cache lines, in whole lines",
    "lines, instructions": "Instructions of single system calls",
    "crowd, instructions": "Instructions of operations with many users, namespaces or mounts",
    "crowd, instructions of lookups": "Instructions of their lookups alone",
    "crowd, nanoseconds": "Time of these operations on an emulated machine",
    "inode, instructions of inode.c": "Instructions of fs/inode.c, of a file's create or unlink",
    "inode, operations a second": "Rates of creates, lookups and unlinks on an emulated machine",
    "buffer, instructions": "Instructions of the kernel for a buffer",
    "buffer, microseconds": "Time of a buffer on an emulated machine",
    "hashstats, instructions of lookups, counting off": "Instructions of a lookup of a name",
    "htree, instructions of namei.c": "Instructions of fs/ext4/namei.c",
    "htree, seconds": "Seconds of ext4 directories on an emulated machine",
    "readers, instructions": "Instructions of a read of a cached file",
    "readers, reads a second": "Rates of reads of a cached file on an emulated machine",
    "readers, page hash, instructions": "Instructions of a read with the page hash, off by default",
    "readers, page hash, reads a second": "Rates of reads with the page hash",
    "atomics, instructions": "Instructions of system calls on cached pages",
    "atomics, page hash, instructions": "Instructions of these with the page hash",
    "halfmd4, ns": "Time of a hash of a name",
}


def of_no_document(found):
    """A sentence for each group that lost and that no document asks for."""
    yield wrapped("What no document asks for, where a cell lost:")
    for one in found:
        if one.title in SENTENCES:
            worst = one.worst
            itself = f"differs by {percent(worst.spread)}" if worst.spread else "ran once"
            yield wrapped(
                f"* {SENTENCES[one.title]} (bench-{one.kind.benchmark}): {len(one.lost)} of "
                f"{len(one.cells)} cells. Worst: {worst.ratio:.3f} ({worst.name}; mainline "
                f"{itself}).",
                rest="  ",
            ).rstrip()
    yield ""


def repeats(results):
    """How much two runs of mainline differ, for each benchmark that counts twice."""
    found = {
        one.kind.benchmark: one.spread
        for one in groups(results)
        if one.kind.title == "instructions" and one.kind.benchmark != "atomics" and one.spread
    }
    *most, last = [f"{percent(spread)} (bench-{name})" for name, spread in found.items()]
    return f"{', '.join(most)} and {last}" if most else last


def percent(ratio):
    """A spread as readers have it; `ratio` is 1 or more."""
    if ratio is None:
        return "one run"
    return f"{ratio - 1:.2%}" if ratio < 1.001 else f"{ratio - 1:.1%}"


def noise(results, benchmark, title):
    """How much mainline differs from itself in the cell that differs most."""
    return percent(group(results, benchmark, title).spread)
