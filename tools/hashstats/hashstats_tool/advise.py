# SPDX-License-Identifier: GPL-2.0
"""hashstats advise: sizes that meet a target, as a line for the next boot."""

import json
import re

from . import (
    grub,
    listing,
    numbers,
    peaks,
    recording,
    sizing,
    sources,
    stock_advice,
    text_table,
    verdicts,
)
from .errors import Complaint
from .selection import of
from .terminal import Terminal

HELP = "sizes that meet a target, and the hash_entries= line for the next boot"
VERSION = 2  # of the document
TARGET = "1.5"
# A table shrinks after a day. The one on which clocks go forward has 23 hours, and
# its last sample is taken some minutes before the end.
DAY = 22 * 3600
LEAST_MEMORY = 1 << 20  # bytes; no Linux runs in less
HEAD = ("TABLE", "OBJECTS", "BUCKETS", "BYTES", "NODES", "NEW", "NEW-BYTES", "PREDICTED", "ADVICE")
# Never PREDICTED, which is what the advice is for.
LEAST_WANTED = ("BYTES", "NEW-BYTES", "OBJECTS", "NODES", "BUCKETS", "NEW")


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")
    parser.add_argument(
        "--target",
        default=TARGET,
        metavar="NODES",
        help=f"nodes per lookup, above 1 (default: {TARGET}, one object per bucket)",
    )
    parser.add_argument(
        "--budget",
        metavar="BYTES|PERCENT",
        help="limit on the memory of all tables, such as 64M or 0.5%%",
    )
    parser.add_argument(
        "--memory", metavar="BYTES", help="memory of the machine that the copy is from, such as 64G"
    )
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="shrink tables too (default: only with a recording of a day)",
    )
    listing.add_all(parser)
    parser.add_argument("-j", "--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--apply-grub", action="store_true", help="print a GRUB configuration file with these sizes"
    )
    parser.add_argument("--yes", action="store_true", help="with --apply-grub: write it")
    parser.add_argument(
        "--grub-file",
        metavar="FILE",
        help=f"GRUB file to write (default: {grub.DROP_IN})",
    )


def run(options):
    target = number_of(options.target)
    if options.json and options.apply_grub:
        raise Complaint("--json and --apply-grub; accepted: one of them")
    for name, given in (("--yes", options.yes), ("--grub-file", options.grub_file)):
        if given and not options.apply_grub:
            raise Complaint(f"{name}: expected --apply-grub with it")
    seen = peaks.of(recording.load(options.file))
    memory = sources.memory(options.file) or seen.memory
    if options.memory:
        memory = memory_of(options.memory)
    budget = budget_of(options.budget, memory)
    chosen = of(seen.judged, options.tables)
    names = {one.name for one in chosen}
    shrink = options.shrink or seen.duration >= DAY
    sizable = names & stock_advice.PARAMETERS.keys() if seen.stock else names
    limits = stock_advice.LIMITS if seen.stock else sizing.LIMITS
    plans = sizing.plans(
        [peak.to_size for peak in seen], sizable, target, memory, budget, shrink, limits
    )
    if seen.stock:
        stock_advice.follow(plans, target)
    line = (stock_advice if seen.stock else sizing).line_of(plans)
    rows = []
    for plan in plans:
        if plan.name in names:
            worst = seen.of_name[plan.name].judged
            said = seen.stock and stock_advice.advice(plan, worst, target)
            rows.append((plan, worst, said or advice(plan, worst, seen.samples)))
    if options.json:
        print(json.dumps(document(plans, rows, line, target), indent=2))
    else:
        print("\n".join(report(plans, rows, line, seen, options, memory, Terminal())))
    if options.apply_grub:
        apply(options, plans, line)
    return chosen


def number_of(text):
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text, re.ASCII) and float(text) > 1:
        return float(text)
    raise Complaint(
        f"--target {ascii(text[:60])}; accepted: nodes per lookup, a number above 1 with up to "
        "six digits before and six after the point, as 1.5"
    )


def memory_of(text):
    """Bytes. 64 instead of 64G would let no table grow."""
    memory = numbers.bytes_of(text, "--memory")
    if memory < LEAST_MEMORY:
        raise Complaint(f"--memory {text}; accepted: {numbers.size(LEAST_MEMORY)} or more, as 64G")
    return memory


def budget_of(text, memory):
    if text is None:
        return None
    if not text.endswith("%"):
        return numbers.bytes_of(text, "--budget")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?%", text, re.ASCII) or not (
        0 < float(text[:-1]) <= 100
    ):
        raise Complaint(
            f"--budget {ascii(text[:60])}; accepted: a percentage of "
            "memory above 0 and up to 100, as 0.5%"
        )
    if not memory:
        raise Complaint(
            f"--budget {text}: this copy does not contain the size of memory; accepted: "
            "with --memory BYTES"
        )
    return int(float(text[:-1]) * memory / 100)


def apply(options, plans, line):
    if not changed(plans):
        print("Nothing to apply.")
        return
    print("\n" + "\n".join(grub.apply(line, options.grub_file or grub.DROP_IN, options.yes)))


def changed(plans):
    return any(plan.action != sizing.KEEP for plan in plans)


def advice(plan, worst, samples):
    """What to do with a table, and why, in a few words."""
    one = plan.one
    if worst.verdict == "skewed":
        return "skewed: size will not help, keys collide"
    if one.kind == verdicts.OFF:
        return "off"
    if plan.action != sizing.KEEP:
        return plan.action + (", as far as the kernel allows" if plan.capped else "")
    if plan.capped:
        return "keep: the kernel allows no more"
    if plan.smaller:
        return f"keep ({plan.smaller} with --shrink)"
    if one.verdict == "idle":
        return "keep: idle"
    if one.kind == verdicts.WAITS and not one.enough:
        return "keep: too few wakeups were counted"
    if samples == 1 and one.momentary and one.kind == verdicts.CHAINS and not one.bad:
        return "keep: short-lived objects; use hashstats record"
    return "keep"


def report(plans, rows, line, seen, options, memory, terminal):
    """Tables that change, bad ones, then the others; the line."""
    shown, idle = listing.without_idle([worst for _, worst, _ in rows], options)
    rows = [row for row in rows if row[1] in shown]
    rows.sort(key=lambda row: (row[0].action == sizing.KEEP, -row[1].severity))
    result = text_table.lines(
        HEAD,
        [cells(plan, said) for plan, _, said in rows],
        [worst for _, worst, _ in rows],
        terminal,
        LEAST_WANTED,
    )
    result += listing.below(idle, seen, listing.is_live(options), terminal)
    now, new = sum(plan.one.table.bytes for plan in plans), sum(plan.bytes for plan in plans)
    summary = f"All tables: {numbers.size(now)} now, {numbers.size(new)} next boot. {basis(seen)}"
    if any(plan.smaller for plan in plans):
        summary += " Use a recording of a day, or --shrink, to shrink tables."
    if not memory and any(plan.action == sizing.GROW for plan in plans):
        summary += " How much memory the machine has is not known: --memory limits the sizes by it."
    result += ["", *text_table.wrapped(summary, terminal.width)]
    if not changed(plans):
        return [*result, "", "Nothing to change."]
    if seen.stock and (more := " ".join(stock_advice.side_effects(plans))):
        result += text_table.wrapped(more, terminal.width)
    return [
        *result,
        "",
        "Add to the kernel command line:",
        terminal.colour(line, "bold"),
    ]


def basis(seen):
    if seen.samples == 1:
        return "From one reading; use hashstats record."
    return f"Based on the peaks of {seen.samples} readings in {seen.duration:.0f} s."


def cells(plan, said):
    one = plan.one
    table = one.table
    off = not table.buckets
    predicted = numbers.plain(None if off else plan.predicted, 3)
    return (
        one.name,
        "-" if table.objects is None else str(table.objects),
        "off" if off else str(table.buckets),
        numbers.size(table.bytes),
        numbers.plain(one.nodes, 3),
        "off" if off else str(plan.buckets),
        numbers.size(plan.bytes),
        "~" * sizing.rough(plan) + predicted,
        said,
    )


def document(plans, rows, line, target):
    """The same for programs; `advice` in schema.json."""
    return {
        "schema": "hashstats-advice",
        "version": VERSION,
        "target": target,
        "bytes": sum(plan.one.table.bytes for plan in plans),
        "bytes_new": sum(plan.bytes for plan in plans),
        "line": line,
        "tables": [
            {
                "name": plan.name,
                "objects": plan.one.table.objects,
                "buckets": plan.now,
                "buckets_new": plan.buckets,
                "nodes": plan.one.nodes,
                "nodes_predicted": plan.predicted,
                "rough": sizing.rough(plan),
                "action": plan.action,
                "advice": said,
                "verdict": worst.verdict,
            }
            for plan, worst, said in rows
        ],
    }
