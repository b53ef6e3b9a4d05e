# SPDX-License-Identifier: GPL-2.0
"""hashstats advise: sizes that meet a target, as a line for the next boot."""

import json
import re

from . import grub, numbers, peaks, recording, sizing, sources, text_table, verdicts
from .errors import Complaint
from .selection import of
from .terminal import Terminal

HELP = "sizes that meet a target, and the hash_entries= line for the next boot"
TARGET = "1.5"
HEAD = ("TABLE", "OBJECTS", "BUCKETS", "BYTES", "NODES", "NEW", "NEW-BYTES", "PREDICTED", "ADVICE")
LEAST_WANTED = ("BYTES", "NEW-BYTES", "OBJECTS")


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")
    parser.add_argument(
        "--target",
        default=TARGET,
        metavar="NODES",
        help=f"nodes that a lookup may examine, above 1 (default: {TARGET}, one object a bucket)",
    )
    parser.add_argument(
        "--budget", metavar="BYTES|PERCENT", help="for all tables together, as 64M or 0.5%%"
    )
    parser.add_argument(
        "--memory", metavar="BYTES", help="memory of the machine of a saved copy, as 64G"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--apply-grub", action="store_true", help="show a file for /etc/default/grub.d"
    )
    parser.add_argument("--yes", action="store_true", help="with --apply-grub: write it")
    parser.add_argument(
        "--grub-file",
        default=grub.DROP_IN,
        metavar="FILE",
        help=f"another place for it (default: {grub.DROP_IN})",
    )


def run(options):
    target = number_of(options.target)
    memory = (
        numbers.bytes_of(options.memory, "--memory")
        if options.memory
        else sources.memory(options.file)
    )
    budget = budget_of(options.budget, memory)
    if options.json and options.apply_grub:
        raise Complaint("--json and --apply-grub; accepted: one of them")
    if options.yes and not options.apply_grub:
        raise Complaint("--yes without --apply-grub; accepted: both")
    seen = peaks.of(recording.load(options.file))
    judged = seen.judged
    chosen = of(judged, options.tables)
    plans = sizing.plans(judged, {one.table.name for one in chosen}, target, memory, budget)
    pairs = [(plan, one) for plan in plans for one in plan.members if one in chosen]
    if options.json:
        print(json.dumps(document(plans, pairs, target), indent=2))
    else:
        print("\n".join(report(plans, pairs, seen, Terminal())))
    if options.apply_grub:
        apply(options, plans)
    return chosen


def number_of(text):
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text, re.ASCII) and float(text) > 1:
        return float(text)
    raise Complaint(
        f"--target {ascii(text[:60])}; accepted: nodes a lookup, a number above 1, as 1.5"
    )


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
            f"--budget {text} of a saved copy; accepted: with --memory BYTES of its machine"
        )
    return int(float(text[:-1]) * memory / 100)


def apply(options, plans):
    if not changed(plans):
        print("Nothing to apply.")
        return
    print("\n" + "\n".join(grub.apply(sizing.line_of(plans), options.grub_file, options.yes)))


def changed(plans):
    return any(plan.action != sizing.KEEP for plan in plans)


def advice(plan, one):
    """What to do with a table, and why, in a few words."""
    if one.verdict == "skewed":
        return "skewed: size will not help, keys collide"
    if one.kind == verdicts.OFF:
        return "off"
    if plan.action != sizing.KEEP and one not in plan.sized:
        return f"{plan.action}, with the others of its name"
    if plan.action != sizing.KEEP:
        return plan.action + (", as far as memory allows" if plan.capped else "")
    if one.verdict == "idle":
        return "keep: idle, nothing to go by"
    if one.kind == verdicts.WAITS and not one.enough:
        return "keep: too few wakeups are counted"
    if one.momentary and one.kind == verdicts.CHAINS and not one.bad:
        return "keep: what is in it stays for moments"
    return "keep"


def report(plans, pairs, seen, terminal):
    judged = [one for _, one in pairs]
    result = text_table.lines(
        HEAD, [cells(*pair) for pair in pairs], judged, terminal, LEAST_WANTED
    )
    before, after = (sum(getattr(plan, name) for plan in plans) for name in ("bytes_now", "bytes"))
    result += [
        "",
        f"All tables: {numbers.size(before)} now, {numbers.size(after)} then. {basis(seen)}",
    ]
    if not changed(plans):
        return [*result, "", "Nothing to change."]
    return [
        *result,
        "",
        "Add to the kernel command line:",
        terminal.colour(sizing.line_of(plans), "bold"),
    ]


def basis(seen):
    if seen.samples == 1:
        return "By one reading: hashstats record sees peaks."
    return f"By the peaks of {seen.samples} readings in {seen.duration:.0f} s."


def cells(plan, one):
    table = one.table
    off = not table.buckets
    predicted = numbers.plain(None if off else plan.predicted(one), 3)
    new = plan.buckets * plan.bucket if plan.action != sizing.KEEP else table.bytes
    return (
        one.title,
        "-" if table.objects is None else str(table.objects),
        "off" if off else str(table.buckets),
        numbers.size(table.bytes),
        numbers.plain(one.nodes, 3),
        "off" if off else numbers.short(plan.buckets),
        numbers.size(0 if off else new),
        "~" * sizing.rough(one, plan.buckets) + predicted,
        advice(plan, one),
    )


def document(plans, pairs, target):
    """The same for programs; `advice` in schema.json."""
    return {
        "schema": "hashstats-advice",
        "version": 1,
        "target": target,
        "bytes": sum(plan.bytes_now for plan in plans),
        "bytes_new": sum(plan.bytes for plan in plans),
        "line": sizing.line_of(plans),
        "tables": [
            {
                "name": one.table.name,
                "instance": one.table.instance,
                "objects": one.table.objects,
                "buckets": one.table.buckets,
                "buckets_new": plan.buckets,
                "nodes": one.nodes,
                "nodes_predicted": plan.predicted(one),
                "rough": sizing.rough(one, plan.buckets),
                "action": plan.action,
                "advice": advice(plan, one),
                "verdict": one.verdict,
            }
            for plan, one in pairs
        ],
    }
