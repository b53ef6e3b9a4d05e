# SPDX-License-Identifier: GPL-2.0
"""hashstats diff: what changed between two copies."""

from . import numbers, reading, sources, text_table, verdicts
from .errors import Complaint, quoted_path
from .selection import of
from .terminal import Terminal, columns

HELP = "what changed between two copies; for named tables, each changed line"
OWN_FILES = True
# They differ at each reading.
NOISE = ("walk-us", "walk-longest-us")
HEAD = ("TABLE", "BUCKETS", "OBJECTS", "LONGEST", "NODES", "VERDICT")
LEAST_WANTED = ("LONGEST", "BUCKETS")
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
        "words",
        nargs="*",
        default=[],
        metavar="[AFTER] [TABLE ...]",
        help="AFTER: later copy, - for standard input (default: this kernel); then tables",
    )
    parser.add_argument(
        "-f", "--file", action=sources.Once, metavar="FILE", help="the same as AFTER"
    )
    parser.add_argument("--all", action="store_true", help="print each changed line of all tables")


def run(options):
    old = verdicts.of_copy(sources.load(options.before))
    after, names = after_and_tables(options, old)
    if options.before == after == "-":
        raise Complaint("standard input is named twice; accepted: once")
    new = verdicts.of_copy(sources.load(after))
    terminal = Terminal()
    if names or options.all:
        have = {one.name: one for one in [*new, *old]}
        names = [one.name for one in of(list(have.values()), names)]
        old, new = ([one for one in judged if one.name in names] for judged in (old, new))
        print("\n".join(in_full(old, new, terminal)))
    else:
        print("\n".join(in_short(old, new, terminal)))
    return new


def after_and_tables(options, old):
    """The first word is AFTER, unless a table has this name."""
    words, named = options.words, options.file or options.core
    if not named and words and words[0] not in {one.name for one in old}:
        if options.source != "auto":
            raise Complaint(
                f"AFTER {quoted_path(words[0])} and --source {options.source}; "
                "accepted: one of them"
            )
        return sources.with_symbols(words[0], options.kallsyms), words[1:]
    return sources.with_symbols(options.file, options.kallsyms) or options.default, words


def in_short(before, after, terminal):
    """A line for each table that changed."""
    old, new = ({one.name: one for one in judged} for judged in (before, after))
    changed = [one for one in after if one.name not in old or changes(old[one.name], one)]
    rows = [cells(old.get(one.name), one) for one in changed]
    gone = [one for one in before if one.name not in new]
    rows += [(one.name, *[""] * (len(HEAD) - 2), "gone") for one in gone]
    result = []
    if rows:
        result = text_table.lines(HEAD, rows, [*changed, *gone], terminal, LEAST_WANTED)
    return result + unchanged(len(after) - len(changed)) or ["no tables"]


def cells(old, new):
    """Old and new value of what matters most; one value if they are equal."""

    def pair(value):
        texts = ["-" if old is None else value(old), value(new)]
        return texts[1] if texts[0] == texts[1] else " -> ".join(texts)

    def whole(label):
        return lambda one: str(one.table.fields.get(label, "-"))

    return (
        new.name,
        *(pair(whole(label)) for label in ("buckets", "objects", "longest")),
        pair(lambda one: numbers.plain(one.nodes, 3)),
        pair(lambda one: one.word),
    )


def in_full(before, after, terminal):
    """Each line that changed, table by table."""
    old, new = ({one.name: one for one in judged} for judged in (before, after))
    result = [terminal.colour(f"{name}: gone", "yellow") for name in old if name not in new]
    same = 0
    for name, one in new.items():
        if name not in old:
            result.append(terminal.colour(f"{name}: new, {one.reason}", "yellow"))
            continue
        rows = changes(old[name], one)
        if not rows:
            same += 1
            continue
        result.append(terminal.colour(name, "bold"))
        result += ["  " + "  ".join(row).rstrip() for row in columns(rows)]
    return result + unchanged(same) or ["no tables"]


def unchanged(count):
    return [f"{count} table{'s' if count > 1 else ''} unchanged"] if count else []


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
