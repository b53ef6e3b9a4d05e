# SPDX-License-Identifier: GPL-2.0
"""hashstats diff: what changed between two copies, table by table."""

from . import reading, sources, verdicts
from .errors import Complaint
from .terminal import Terminal, columns

HELP = "what changed between two copies, table by table"
OWN_FILES = True
# Another number at each reading, and no news.
NOISE = ("walk-us", "walk-longest-us")
COUNTERS = (
    "lookups",
    "hits",
    "stale",
    "cache-hits",
    "wakes",
    "entries-examined",
    "entries-matched",
    "functions-called",
)


def options(parser):
    parser.add_argument("before", metavar="BEFORE", help="a saved copy")
    parser.add_argument(
        "after",
        nargs="?",
        metavar="AFTER",
        help=f"a later one, - for standard input (default: {sources.KERNEL})",
    )
    parser.add_argument("-f", "--file", metavar="FILE", help="the same as AFTER")


def run(options):
    if options.after and options.file:
        raise Complaint("AFTER is given twice; accepted: AFTER or -f FILE")
    after = options.after or options.file or sources.KERNEL
    if options.before == after == "-":
        raise Complaint("standard input is named twice; accepted: once")
    old, new = (verdicts.of_copy(sources.load(path)) for path in (options.before, after))
    print("\n".join(report(old, new, Terminal())))
    return new


def report(before, after, terminal):
    old, new = ({one.title: one for one in judged} for judged in (before, after))
    result = [terminal.colour(f"{title}: gone", "yellow") for title in old if title not in new]
    same = 0
    for title, one in new.items():
        if title not in old:
            result.append(terminal.colour(f"{title}: new, {one.reason}", "yellow"))
            continue
        rows = changes(old[title], one)
        if not rows:
            same += 1
            continue
        result.append(terminal.colour(title, "bold"))
        result += ["  " + "  ".join(row).rstrip() for row in columns(rows)]
    if same:
        result.append(f"{same} table{'s' if same > 1 else ''} without a change")
    return result or ["no tables"]


def changes(old, new):
    """Cells of what changed in one table: label, before, after, difference."""
    rows = []
    if old.verdict != new.verdict:
        rows.append(("verdict", old.verdict, "->", new.verdict, ""))
    for label in dict.fromkeys((*old.table.fields, *new.table.fields)):
        texts = [one.table.fields.get(label, "-") for one in (old, new)]
        if texts[0] != texts[1] and label not in NOISE:
            rows.append((label, texts[0], "->", texts[1], by(label, *texts)))
    return rows + between(old.table, new.table)


def by(label, before, after):
    """The difference, where there is one."""
    if "-" in (before, after):
        return ""
    if label in reading.NUMBERS:
        change = int(after) - int(before)
        share = f" ({100 * change / int(before):+.1f} %)" if int(before) else ""
        return f"{change:+}{share}"
    if label in reading.FRACTIONS:
        return f"{float(after) - float(before):+.3f}"
    return ""


def between(old, new):
    """What was counted between the copies, unless a reset came between them."""
    step = since(old, new)
    rows = []
    rate = verdicts.share(step.get("hits"), step.get("lookups"))
    if rate is not None:
        rows.append(("hit-rate between", "", "", f"{rate:.3f}", ""))
    if {"entries-examined", "entries-matched"} <= step.keys() and step.get("wakes"):
        foreign = max(step["entries-examined"] - step["entries-matched"], 0)
        rows.append(("foreign-per-wake between", "", "", f"{foreign / step['wakes']:.3f}", ""))
    return rows


def since(old, new):
    """Growth of the counters; nothing where one went back."""
    step = {
        label: new.number(label) - (old.number(label) or 0)
        for label in COUNTERS
        if label in new.fields
    }
    return step if all(change >= 0 for change in step.values()) else {}
