# SPDX-License-Identifier: GPL-2.0
"""make report: each table of the five documents, theirs beside ours.

Reads the newest results of one machine, each benchmark's by itself, and writes
a page and its pictures to build/report.  With KEEP=1 the results become those
of the repository (results/), and the page that of Documentation.
"""

import shutil
from pathlib import Path

from bench import record
from bench.cases import dentry as bench_dentry
from bench.cases import functions as bench_functions
from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import index as bench_index
from bench.record import Kept, kept, machine, machine_name
from common import BUILD, ROOT, die, flag, setting, write_if_changed
from report import citi as report_citi
from report import htree as report_htree
from report import mbcache as report_mbcache
from report import pagecache as report_pagecache
from report import wakeups as report_wakeups
from report.page import NEVER, Section, heading, simple_table, wrapped

FOLDER = BUILD / "report"
RESULTS = ROOT / "results"
PAGE = ROOT / "Documentation/admin-guide/hashstats-results.rst"
SIZES = {"quick": " QUICK=1", "usual": "", "long": " LONG=1"}
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


class Results:
    """What one machine measured last, and what of it a page used."""

    def __init__(self, folder):
        self.folder = folder
        self.used = {}

    def get(self, name):
        if name not in self.used:
            found = kept(name, self.folder)
            if not found:
                die(
                    f"{self.folder}: no result of bench-{name}; run `make "
                    f"bench-{name}`, or `make bench` for all"
                )
            self.used[name] = Kept(found[-1])
        return self.used[name]

    def figure(self, name, figure):
        return self.get(name).data["figures"][figure]

    def command(self, name):
        word = SIZES[self.get(name).data["size"]]
        return f"``make bench-{name}{word}``"


def report():
    folder = chosen_folder()
    results = Results(folder)
    target = FOLDER / "results.rst"
    write_if_changed(target, page(results, "{}.png"))
    draw(results, [FOLDER / "{}.png"])
    print(f"  report: {target.relative_to(ROOT)}")
    if flag("KEEP"):
        keep(results)


def chosen_folder():
    wanted = setting("RESULTS")
    folder = Path(wanted) if wanted else record.FOLDER / machine_name(machine())
    if not folder.is_dir():
        die(
            f"{folder}: no folder of results; run `make bench QUICK=1` first, "
            "or name one with RESULTS="
        )
    return folder


def keep(results):
    """The results that the page was made of, and the page.

    Its pictures are drawings, which a mail can carry.
    """
    target = RESULTS / results.folder.name
    # Made again of what was kept, only the page is new.
    fresh = results.used if target.resolve() != results.folder.resolve() else {}
    for name, result in fresh.items():
        for path in results.folder.glob(f"{name}-*.json"):
            if path.name.endswith(stamp(result)):
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target / path.name)
    write_if_changed(PAGE, page(results, KEPT_PICTURE))
    draw(results, [PAGE.parent / KEPT_PICTURE])
    print(f"  kept: {target.relative_to(ROOT)}, {PAGE.relative_to(ROOT)}")


def stamp(result):
    return result.data["date"].translate({ord(c): None for c in "-:"}) + ".json"


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
    of = results.get("functions").data["machine"]
    family = f", family {of['cpu_family']}" if of.get("cpu_family") else ""
    return (
        wrapped(
            "Five documents, of 2000 to 2015, are the reason for hash tables that "
            "are sized at boot. Here each of their tables, histograms and figures "
            "is run again on 6.12 and on 6.12 with these changes (ours), or is "
            "answered by what measures the same today. The page is written by "
            "``make report`` from files with every single run; its machine: "
            f"{of['cpu']}{family}, {of['cores']} processors, "
            f"{of['memory_bytes'] / 2**30:.0f} GiB, Linux {of['linux']}."
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
            )
        )
    return simple_table(("benchmark", "begun", "size", "seconds", "runs"), rows)
