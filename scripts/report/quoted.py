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
    loop,
    of_1_gib,
    samples,
)
from report.stored import UNKNOWN


def readme(of):
    for row in measured.ROWS:
        if row.readme:
            yield row_passage(row, of)
    yield passage(
        "wakeup that meets no other waiter takes {:.1f} ns instead of {:.1f}",
        *measured.wake("plain", 0)(of)[::-1],
    )
    yield passage(
        "and with retpolines {:.1f} instead of {:.1f}",
        *measured.wake("retpoline", 0)(of)[::-1],
    )
    yield passage("hash of an inode takes {:.1f} ns instead of {:.1f}", *hash_times(of))
    yield passage(
        "deleting a timer takes {:.3f} of mainline's instructions",
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
    yield of_1_gib()
    # The sample that README shows.
    yield constant("A lookup examines 1.064 nodes on average; with a random function it is 1.067")
    for sample in samples("README"):
        yield constant(sample)
    # An output of the tool, which its page has as well.
    yield constant("dentry 256 2K 6905 26.97 100.0 100.0 41 14.448 14.484 85.5 crowded")
    yield constant("inode 128 1K 1899 14.84 100.0 100.0 24 8.409 8.414 0.0 crowded")
    ((_, predicted, observed),) = loop("dentry")
    yield passage("examined {} nodes; {} was predicted", observed, predicted)


def row_passage(row, of):
    cells = row.cells(of) if of.has(row.benchmark) else [UNKNOWN] * 3
    return passage(f"{row.text} {row.unit} {{}} {{}} {{}}", *cells)


FILES = {
    "README": readme,
    **{f"series/{topic}/cover-letter": passages for topic, passages in COVERS.items()},
    f"{DOCUMENTS}/crowds.rst": documents.crowds,
    f"{DOCUMENTS}/filtered-wakeups.rst": documents.filtered_wakeups,
    f"{DOCUMENTS}/hashstats.rst": documents.hashstats,
    TOOL: documents.hashstats_tool,
    f"{DOCUMENTS}/page-index.rst": documents.page_index,
}
SAMPLES = {TOOL}
MESSAGES = "series/**/*.patch"


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
