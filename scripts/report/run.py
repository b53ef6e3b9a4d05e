# SPDX-License-Identifier: GPL-2.0
"""make report: each table of the five documents, theirs beside ours.

Reads the newest results of one machine, each benchmark's by itself, and writes
a page and its pictures to build/report.  With KEEP=1 the results become those
of the repository (results/), and every figure that the repository quotes is
written from these: two pages of Documentation, and the numbers in README, the
cover letter, commit messages and other documents (quoted.py).
"""

import json
from pathlib import Path

from bench import record
from bench.cases import crowd as bench_crowd
from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import index as bench_index
from bench.record import machine, machine_name
from bench.run import BENCHMARKS
from common import BUILD, ROOT, die, flag, setting, write_if_changed
from report import citi as report_citi
from report import htree as report_htree
from report import mbcache as report_mbcache
from report import measured, quoted
from report import pagecache as report_pagecache
from report import wakeups as report_wakeups
from report.page import NEVER, Section, heading, simple_table, wrapped
from report.stored import Results, machines
from series import source

FOLDER = BUILD / "report"
PAGE = Path("Documentation/admin-guide/hashstats-results.rst")
KEPT_PICTURE = "hashstats-results-{}.svg"
# In the order of the documents.
DOCUMENTS = (report_citi, report_wakeups, report_mbcache, report_pagecache, report_htree)
# Benchmark -> its picture: the program that draws, and what gives it rows.
PICTURES = {
    "functions": ("functions", bench_functions.rows_of_picture),
    "dentry": ("dentry", bench_dentry.rows_of_picture),
    "index": ("index", bench_index.rows_of_picture),
    "halfmd4": ("halfmd4", bench_halfmd4.rows_of_picture),
}


def report():
    folder = chosen_folder()
    # What was not measured again is taken from what is stored.
    results = Results(folder, *(machines() if flag("KEEP") else ()))
    target = FOLDER / "results.rst"
    write_if_changed(target, page(results, "{}.png"))
    draw(results, [FOLDER / "{}.png"])
    print(f"  report: {target.relative_to(ROOT)}")
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
    """Store what was measured, and write all that quotes it.

    Pictures are drawings, which a mail can carry.
    """
    target = keep_results(folder, root / "results")
    results = Results(*machines(target.parent))
    write_if_changed(root / PAGE, page(results, KEPT_PICTURE))
    write_if_changed(root / measured.PAGE, measured.page(results))
    quoted.write(results, root)
    draw(results, [root / PAGE.parent / KEPT_PICTURE])
    if results.has("crowd"):
        curves = bench_crowd.curves(results.get("crowd"))
        record.draw("crowd", [root / PAGE.parent / "crowds.svg"], curves)
    print(f"  kept: {target.relative_to(root)}, {PAGE}, {measured.PAGE}, and the figures quoted")


def keep_results(folder, stored):
    """The newest result of each benchmark replaces a stored one that is older.

    So there is one for each, of whatever machine, and of the default base unless
    only another one can run it.
    """
    target = stored / folder.name
    target.mkdir(exist_ok=True)
    for name, benchmark in BENCHMARKS.items():
        if source.base_name() != (benchmark.base or source.DEFAULT):
            continue
        old = [*stored.glob(f"*/{name}-*.json")]
        new = sorted(folder.glob(f"{name}-*.json"))[-1:]
        if not new or new[0].name <= max((one.name for one in old), default=""):
            continue
        (target / new[0].name).write_text(record.as_text(json.loads(new[0].read_text())))
        for one in old:
            one.unlink()
    return target


def draw(results, paths):
    for name, (program, rows) in PICTURES.items():
        record.draw(
            program,
            [path.with_name(path.name.format(name)) for path in paths],
            rows(results.get(name)),
        )


def page(results, picture):
    """The text; `picture` makes the file of a picture of its name."""
    documents = [(document.TITLE, list(document.sections(results))) for document in DOCUMENTS]
    return "\n".join(
        [
            ".. SPDX-License-Identifier: GPL-2.0\n",
            heading("Hash tables: the documents' tables, run again", "="),
            introduction(results),
            heading("In short", "="),
            *summary(documents),
            *chapters(documents, picture),
            heading("What did not hold up", "="),
            *lost(documents),
            heading("What was run", "="),
            runs(results),
        ]
    )


def introduction(results):
    return (
        wrapped(
            "Five documents, of 2000 to 2015, are the reason for hash tables that "
            "are sized at boot. Here each of their tables, histograms and figures "
            "is run again on 6.12 and on 6.12 with these changes (ours), or is "
            "answered by what measures the same today. The page is written by "
            "``make report`` from files with every single run; the last table "
            "has the machine of each."
        )
        + "\n"
        + wrapped(
            "Instructions and counts under emulation are exact. Seconds and "
            "rates of an emulated machine are noise but for large effects. "
            "Nanoseconds come from user-mode Linux or a program, run "
            "natively on one processor. Ratios are ours divided by 6.12."
        )
    )


def summary(documents):
    for title, sections in documents:
        yield heading(title, "-")
        for section in sections:
            yield wrapped(
                f"* **{section.name}** ({section.kind}): {section.answer}", rest="  "
            ).rstrip()
        yield ""


def chapters(documents, picture):
    for title, sections in documents:
        yield heading(title, "=")
        for section in sections:
            yield chapter(section, picture)


def chapter(section: Section, picture):
    parts = [
        heading(section.name, "-"),
        wrapped(section.question),
        wrapped(("Why not: " if section.kind == NEVER else "Run: ") + section.run),
    ]
    parts += [block.text(picture) for block in section.blocks]
    return "\n".join([*parts, wrapped(f"**{section.answer}**")])


def lost(documents):
    for title, sections in documents:
        for section in sections:
            for sentence in section.lost:
                yield wrapped(
                    f"* {title.partition(' (')[0]}, {section.name}: {sentence}", rest="  "
                ).rstrip()
    yield ""


def runs(results):
    rows = []
    for name, result in sorted(results.used.items()):
        data = result.data
        rows.append(
            (
                f"bench-{name}",
                data["date"],
                data["size"],
                f"{data['seconds']:.0f}",
                len(data["runs"]),
                results.machine(name).partition(",")[0],
            )
        )
    return simple_table(("benchmark", "begun", "size", "seconds", "runs", "machine"), rows)
