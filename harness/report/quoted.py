# SPDX-License-Identifier: GPL-2.0
"""Which figures README, the cover letter, patches and documents quote.

A number with a decimal point that stands in no passage is a fault, but for
files that are full of a command's output (SAMPLES).  constant() has the
numbers that no benchmark gives.
"""

import functools

from bench.cases import dentry as bench_dentry
from common import ROOT, write_if_changed
from report import measured
from report import quoted_documents as documents
from report.passages import constant, faults, passage, written
from report.quoted_covers import COVERS
from report.quoted_patches import PATCHES
from report.quoted_values import (
    DOCUMENTS,
    TOOL,
    hash_times,
    of_1_gib,
)
from report.stored import UNKNOWN


def readme(of):
    for row in measured.ROWS:
        if row.readme:
            yield row_passage(row, of)
    yield passage(
        "no other waiter in its queue takes {:.1f} ns, in mainline {:.1f} ns",
        *measured.wake("plain", 0)(of)[::-1],
    )
    yield passage(
        "with retpolines, it takes {:.1f} ns, in mainline {:.1f} ns",
        *measured.wake("retpoline", 0)(of)[::-1],
    )
    yield passage("Hashing an inode takes {:.1f} ns, in mainline {:.1f} ns", *hash_times(of))
    yield passage(
        "a lookup takes up to {:.2f} times mainline's instructions (an address: {:.0f} instead "
        "of {:.0f})",
        of.figure("crowd", "worst_ratio_at_100"),
        *measured.crowd("addresses", "connect", 100, "inet_addr")(of)[::-1],
    )
    yield passage(
        "10,000 names takes {:.0f} ns with the default size and {:.0f} ns with 1/16 of the buckets. "
        "While 250,000 names are cached, a lookup among the same 10,000 takes {:.0f} ns with the "
        "default size and {:.0f} ns with 1/16",
        *(
            bench_dentry.nanoseconds(of.get("dentry"), size, names, "hit", "hot")
            for names in ("small", "among")
            for size in ("1", "1_16")
        ),
    )
    yield of_1_gib()
    yield passage(
        "with 100,000, the lookup in setresuid() takes {:.0f} instructions in mainline, "
        "{:.0f} with the series",
        *measured.crowd("users", "live", 100_000, "uid")(of),
    )
    yield passage(
        "a lookup in mainline examines {:.0f} times as many objects as with a random hash function, "
        "and a lookup with the series {:.2f} times as many",
        of.figure("spread", "inode_worst_vs_ideal_base"),
        of.figure("spread", "inode_worst_vs_ideal"),
    )
    yield passage(
        "ilookup5() on two CPUs at once takes {:.0f} ns in mainline 7.3, and {:.0f} ns with",
        *measured.contended("find_inode", 2)(of),
    )
    base, ours = measured.tmpfs_insns(of)
    yield passage(
        "creating and unlinking a file on tmpfs takes {:.2f} of mainline's time; on x86-64 with "
        "6.12, {:.3f} of the instructions",
        of.figure("contention", "tmpfs_file_ratio_1"),
        ours / base,
    )
    # The sample that README draws.
    for line in (
        "12047 1686.0",
        "1037 3833.9",
        "721 0.0",
    ):
        yield constant(line)


def row_passage(row, of):
    cells = row.cells(of) if of.has(row.benchmark) else [UNKNOWN] * 3
    return passage(f"{row.text} {row.unit} {{}} {{}} {{}}", *cells)


FILES = {
    "README": readme,
    **{f"patches/{topic}/cover-letter": passages for topic, passages in COVERS.items()},
    f"{DOCUMENTS}/crowds.rst": documents.crowds,
    f"{DOCUMENTS}/filtered-wakeups.rst": documents.filtered_wakeups,
    f"{DOCUMENTS}/hashstats.rst": documents.hashstats,
    TOOL: documents.hashstats_tool,
    f"{DOCUMENTS}/page-index.rst": documents.page_index,
}
SAMPLES = {TOOL}
MESSAGES = "patches/**/*.patch"


def all_files(root=ROOT):
    """(path, what yields its passages) of each file that quotes figures."""
    yield from ((root / name, passages) for name, passages in FILES.items())
    for path in sorted(root.glob(MESSAGES)):
        found = [passages for part, passages in PATCHES.items() if part in path.name]
        yield path, found[0] if found else nothing


def nothing(_):
    return ()


@functools.cache
def known(passages, results):
    return list(passages(results))


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
            known(passages, results),
            strict=str(path.relative_to(root)) not in SAMPLES,
        )
    ]


def write(results, root=ROOT):
    for path, passages in all_files(root):
        text, rest = split(path)
        write_if_changed(path, written(text, known(passages, results)) + rest)
