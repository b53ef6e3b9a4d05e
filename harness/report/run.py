# SPDX-License-Identifier: GPL-2.0
"""make report: the findings, the losses, and each table of the five documents.

Reads the newest results of one machine, each benchmark's by itself, and writes
a page and its pictures to build/report.  With KEEP=1 the results become those
of the repository (results/), with the pages there, and every figure in README,
Documentation, cover letters and commit messages is written from these (quoted.py).
"""

import json
from pathlib import Path

from bench import record
from bench.cases import crowd as bench_crowd
from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import index as bench_index
from bench.cases import lines as bench_lines
from bench.record import machine, machine_name
from bench.run import BENCHMARKS
from common import BUILD, ROOT, die, flag, setting, write_if_changed
from report import bases, losses, measured, quoted
from report import citi as report_citi
from report import htree as report_htree
from report import mbcache as report_mbcache
from report import pagecache as report_pagecache
from report import wakeups as report_wakeups
from report.page import (
    KEPT_PICTURE,
    LICENSE,
    OPEN,
    Section,
    Table,
    heading,
    list_table,
    simple_table,
    wrapped,
)
from report.stored import RESULTS, Results, machines, of_base
from series import source, topics

FOLDER = BUILD / "report"
PAGE = Path("results/documents.rst")
# In the order of the documents.
DOCUMENTS = (report_citi, report_wakeups, report_mbcache, report_pagecache, report_htree)
# Benchmark -> its picture: the program that draws, and what gives it rows.
PICTURES = {
    "functions": ("functions", bench_functions.rows_of_picture),
    "dentry": ("dentry", bench_dentry.rows_of_picture),
    "index": ("index", bench_index.rows_of_picture),
    "halfmd4": ("halfmd4", bench_halfmd4.rows_of_picture),
    "lines": ("lines", bench_lines.rows_of_picture),
    "crowd": ("crowd", bench_crowd.curves),
}


def report():
    folder = chosen_folder()
    base = source.base_name()
    if base == source.DEFAULT:
        # What was not measured again is taken from what is stored.
        results = Results(folder, *(machines() if flag("KEEP") else ()))
        write(FOLDER / "results.rst", pages(results, "results", "{}.png", {}))
        draw(results, [FOLDER / "{}.png"])
        print(f"  report: {(FOLDER / 'results.rst').relative_to(ROOT)}")
    elif not flag("KEEP"):
        die(f"BASE={base}: the report is of {source.DEFAULT}; accepted: KEEP=1 with BASE={base}")
    if flag("KEEP"):
        keep(folder)


def chosen_folder():
    wanted = setting("RESULTS")
    folder = Path(wanted) if wanted else record.FOLDER / machine_name(machine())
    if not folder.is_dir():
        die(
            f"{folder}: no folder of results; run `make bench QUICK=1` first, "
            "or name one with RESULTS="
        )
    return folder


def keep(folder, root=ROOT):
    """Store what was measured, and write all that quotes it."""
    keep_results(folder, root / "results")
    results = Results(*machines(root / "results"))
    write(root / PAGE, pages(results, PAGE.stem, KEPT_PICTURE, other_bases(root / "results")))
    write_if_changed(root / measured.PAGE, measured.page(results))
    quoted.write(results, root)
    draw(results, [root / PAGE.parent / KEPT_PICTURE])
    print(f"  kept: the results of {folder.name}, {PAGE}, {measured.PAGE}, and the figures quoted")


def keep_results(folder, stored):
    """The newest result of each benchmark replaces a stored one that is older.

    So there is one for each base, of whatever machine.  What only one base can run
    is among the results of the default.
    """
    base = source.base_name()
    for name, benchmark in BENCHMARKS.items():
        if benchmark.base not in ("", base):
            continue
        place = stored if benchmark.base else of_base(base, stored)
        old = [*place.glob(f"*/{name}-*.json")]
        new = sorted(folder.glob(f"{name}-*.json"))[-1:]
        if not new or new[0].name <= max((one.name for one in old), default=""):
            continue
        target = place / folder.name / new[0].name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(record.as_text(json.loads(new[0].read_text())))
        for one in old:
            one.unlink()


def other_bases(stored=RESULTS):
    """{base: its results}, where something is stored."""
    found = {
        base: machines(of_base(base, stored)) for base in topics.bases() if base != source.DEFAULT
    }
    return {base: Results(*folders) for base, folders in found.items() if folders}


def draw(results, paths):
    for name, (program, rows) in PICTURES.items():
        if results.has(name):
            record.draw(
                program,
                [path.with_name(path.name.format(name)) for path in paths],
                rows(results.get(name)),
            )


def write(path, texts):
    for name, text in texts.items():
        write_if_changed(path.with_name(f"{name}.rst"), text)


def pages(results, stem, picture, others):
    """{name: text}: the first page, one for each document, and the cells that lost.

    `picture` makes the file of a picture of its name; `others` are the results of
    other bases.
    """
    documents = [
        (
            f"{stem}-{module.__name__.rpartition('.')[2]}",
            module.TITLE,
            list(module.sections(results)),
        )
        for module in DOCUMENTS
    ]
    found = [one for one in losses.groups(results) if one.lost]
    compared = {base: bases.compare(results, other) for base, other in others.items()}
    lost = {source.DEFAULT: found} | {
        base: [one.group for one in rows if one.group.lost] for base, rows in compared.items()
    }
    texts = {name: document(title, sections, picture) for name, title, sections in documents}
    texts[f"{stem}-losses"] = lost_cells(lost)
    every = {source.DEFAULT: results} | others
    return {stem: first_page(every, documents, found, compared, list(texts))} | texts


def first_page(every, documents, found, compared, names):
    results = every[source.DEFAULT]
    return "\n".join(
        [
            LICENSE,
            heading("Hash tables: five documents, answered", "="),
            introduction(
                results, {base: of for base, of in every.items() if of is not results}, compared
            ),
            heading("Findings", "="),
            *findings(results),
            heading("Losses", "="),
            *lost(documents),
            *losses.of_no_document(found),
            loss_table(found),
            *(bases.section(base, rows, every[base]) for base, rows in compared.items()),
            heading("Questions and answers", "="),
            *matrix(documents),
            heading("What was run", "="),
            runs(every),
            heading("The tables", "="),
            *(f"* {name}.rst" for name in names),
            "",
        ]
    )


def document(title, sections, picture):
    parts = [LICENSE, heading(title, "=")]
    return "\n".join(parts + [chapter(section, picture) for section in sections])


def introduction(results, others, compared):
    return (
        wrapped(
            "Five documents of 2000 to 2015 are the reason for hash tables that are sized at "
            "boot. This page repeats each of their measurements on mainline 6.12 and on 6.12 with "
            "this series. Where that is not possible, it has the measurement that answers the "
            f"same question today. {on_other_bases(compared)} ``make report`` writes the page from files with every "
            "single run."
        )
        + "\n"
        + wrapped(
            "A ratio is the series divided by mainline. Mainline is also the control. Counted "
            "instructions and atomics come from an emulated processor. In the cell that differs "
            f"most, two runs of mainline differ by {losses.repeats(results)} of the kernel's "
            "instructions. "
            + "".join(
                f"On Linux {base}, they differ by {losses.repeats(other)}. "
                for base, other in others.items()
            )
            + "In bench-atomics, counts of one page differ more. Emulated seconds and rates show "
            "only large effects. Nanoseconds are of user-mode Linux or a program, on one processor."
        )
    )


def on_other_bases(compared):
    """Which benchmarks ran there."""
    sentences = []
    for base in topics.bases():
        if base != source.DEFAULT:
            names = [f"bench-{name}" for name, one in BENCHMARKS.items() if one.base == base]
            only = f"{' and '.join(names)} can run on Linux {base} only." if names else ""
            more = f"A table below shows what else was measured on Linux {base}."
            sentences += [only, more if base in compared else f"Nothing else ran on Linux {base}."]
    return " ".join(filter(None, sentences))


def findings(results):
    for text in (
        f"**mbcache beyond mainline's cap.** {report_mbcache.beyond_answer(results)}",
        f"**Wakeups.** {report_wakeups.finding(results)}",
        f"**The sizes of 2000.** {report_citi.finding(results)}",
        f"**hash_pair().** {report_citi.hash_finding(results)}",
        f"**XArray.** {report_pagecache.xarray_answer(results)}",
    ):
        yield wrapped(f"* {text}", rest="  ").rstrip()
    yield ""


def lost(documents):
    for _, title, sections in documents:
        for section in sections:
            for sentence in section.lost:
                yield wrapped(
                    f"* {title.partition(' (')[0]}, {section.name}: {sentence}", rest="  "
                ).rstrip()
    yield ""


def loss_table(found):
    return Table(
        "What the stored results compare: the groups in which a cell lost. A cell is a figure. "
        "It lost if its ratio is above 1 by more than mainline differs from itself. The columns "
        "are the number of cells; cells with a ratio above 1; the median of all ratios; how much "
        "mainline differs from itself in the cell that differs most; cells that lost; the "
        "largest ratio of those. Where more is better, mainline is divided by the series. Where "
        "mainline ran once, each ratio above 1 counts as lost. documents-losses.rst lists the "
        "cells.",
        ("benchmark", "cells", "above 1", "median", "control", "lost", "worst"),
        [
            (
                one.title,
                len(one.cells),
                len(one.above),
                f"{one.ratio:.3f}",
                losses.percent(one.spread),
                len(one.lost),
                f"{one.worst.ratio:.3f}",
            )
            for one in found
        ],
    ).text("")


def lost_cells(found):
    """The page of them; `found` has the groups of each base."""
    parts = [LICENSE, heading("Every cell that lost", "=")]
    parts.append(
        wrapped(
            "The ratio is above 1 where the series is worse. The last column says how much two "
            "runs of mainline differ in this cell."
        )
    )
    for base, lost in found.items():
        parts.append(heading(f"Linux {base}", "-"))
        rows = [
            (f"{one.title}: {cell.name}", f"{cell.ratio:.4f}", losses.percent(cell.spread))
            for one in lost
            for cell in sorted(one.lost, key=lambda cell: -cell.ratio)
        ]
        parts.append(simple_table(("benchmark: cell", "ratio", "control"), rows))
    return "\n".join(parts)


def matrix(documents):
    for _, title, sections in documents:
        yield heading(title, "-")
        yield list_table(
            ("Question", "Answered", "Answer", "Noise of the control"),
            [
                (f"**{one.name}**: {one.question}", one.kind, one.answer, one.noise)
                for one in sections
            ],
            (30, 10, 48, 12),
        )


def chapter(section: Section, picture):
    parts = [
        heading(section.name, "-"),
        wrapped(("Why not: " if section.kind == OPEN else "Source: ") + section.run),
        wrapped(section.answer),
    ]
    return "\n".join([*parts, *(block.text(picture) for block in section.blocks)])


def runs(every):
    rows = [
        (
            f"bench-{name}",
            BENCHMARKS[name].base or base,
            result.data["date"],
            result.data["size"],
            f"{result.data['seconds']:.0f}",
            len(result.data["runs"]),
            results.machine(name).partition(",")[0],
            state(result.data),
        )
        for base, results in every.items()
        for name, result in sorted(results.used.items())
    ]
    head = ("benchmark", "Linux", "begun", "size", "seconds", "runs", "machine", "series")
    return (
        wrapped(
            "The last column is the commit of the composed tree with the series. The series "
            "changed between these runs, and some benchmarks add a module of their own."
        )
        + "\n"
        + simple_table(head, rows)
    )


def state(data):
    """The tree with the series that a benchmark built."""
    found = [
        kernel["commit"][:12]
        for name, kernel in data["kernels"].items()
        if kernel.get("commit") and ("patched" in name or "ours" in name)
    ]
    return found[0] if found else "-"
