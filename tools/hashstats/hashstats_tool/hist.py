# SPDX-License-Identifier: GPL-2.0
"""hashstats hist: buckets by chain length, with a random function's."""

import math

from . import numbers, sources, spread, text_table, verdicts
from .errors import Complaint, quoted_path
from .selection import of
from .tables import SIZES
from .terminal import Terminal, columns

HELP = "buckets by chain length, compared with a random function"
OWN_FILES = True
SEEN = 0.5  # expected buckets that get a row
EIGHTHS = " ▏▎▍▌▋▊▉"
NARROWEST = 10  # columns of bars


def options(parser):
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="names of tables (without one: list them)"
    )
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        metavar="FILE",
        help="a saved copy or a crash dump, - for standard input; repeat to compare",
    )
    parser.add_argument(
        "--log", action="store_true", help="logarithmic bars, to show rare long chains"
    )
    parser.add_argument(
        "--png", metavar="FILE", help="write a picture to FILE (.png or .svg) and print nothing"
    )


def run(options):
    files = [sources.with_symbols(path, options.kallsyms) for path in options.file or ()]
    files = files or [options.default]
    if not options.tables:
        return listed(files[0])
    if files.count("-") > 1:
        raise Complaint("standard input is named twice; accepted: once")
    if options.png:
        from . import pictures

        pictures.needed(options.png)
    panels = [
        (path, one)
        for path in files
        for one in of(verdicts.of_copy(sources.load(path, options.tables)), options.tables)
    ]
    if options.png:
        draw(options, panels)
    else:
        terminal = Terminal()
        named = len(files) > 1
        print(
            "\n\n".join(
                "\n".join(lines(one, terminal, options.log, path if named else None))
                for path, one in panels
            )
        )
    return [one for _, one in panels]


def listed(path):
    """The tables that can be named."""
    judged = [one for one in verdicts.of_copy(sources.load(path)) if one.table.objects]
    print("Name one or more of these tables:" if judged else "No table has objects.")
    rows = [(one.name, str(one.table.objects), "objects") for one in judged]
    print("\n".join("  " + "  ".join(row) for row in columns(rows)))
    return judged


def draw(options, panels):
    from . import pictures

    shown = [(path, one) for path, one in panels if one.table.rows and one.kind != verdicts.OFF]
    if not shown:
        raise Complaint("these tables have no histogram; accepted: tables with chains")
    pictures.histograms(shown, options.png, options.log)


def title(judged, path=None):
    """What the bars will show."""
    table = judged.table
    place = f" in {quoted_path(path)}" if path else ""
    if judged.kind == verdicts.OFF or not table.rows:
        why = "is off" if not table.buckets else "has no chains to show"
        return f"{judged.name}{place} {why}"
    nodes = (
        f", {judged.nodes:.3f} nodes per lookup ({judged.ideal:.3f} with a random function)"
        if judged.kind == verdicts.CHAINS and judged.nodes
        else ""
    )
    return (
        f"{judged.name}{place}: {table.objects} objects in {table.buckets} "
        f"buckets{nodes}, longest {table.number('longest')}: {judged.verdict}"
    )


def lines(judged, terminal, log=False, path=None):
    table = judged.table
    result = [
        terminal.colour(line, "bold")
        for line in text_table.wrapped(title(judged, path), terminal.width)
    ]
    if judged.kind == verdicts.OFF or not table.rows:
        return result
    expected = spread.poisson(table.buckets, table.objects)
    rows = [(size, row.buckets, ideal) for size, row, ideal in zip(SIZES, table.rows, expected)]
    while rows[-1][1] == 0 and rows[-1][2] < SEEN:
        rows.pop()
    texts = [
        ("size", "buckets", "expected"),
        *((size, str(seen), numbers.plain(ideal, 1)) for size, seen, ideal in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*texts)]
    room = max(min(terminal.width, 100) - sum(widths) - 7, NARROWEST)
    largest = max(max(seen, ideal) for _, seen, ideal in rows)
    for text, row in zip(texts, [None, *rows]):
        start = "  ".join(cell.rjust(width) for cell, width in zip(text, widths))
        if row is None:
            sign = "┃" if terminal.blocks else "|"
            result.append(f"{start}  {sign} marks a random function")
            continue
        seen, ideal = (scaled(value, largest, room, log) for value in row[1:])
        result.append(f"{start}  {bar(seen, ideal, row[2], terminal)}".rstrip())
    return result


def scaled(value, largest, room, log):
    """Columns of a bar, as a fraction."""
    if log:
        return room * math.log1p(value) / math.log1p(largest)
    return room * value / largest


def bar(seen, ideal, expected, terminal):
    """A bar of the buckets, with a mark where that of a random function ends."""
    full = int(seen)
    if terminal.blocks:
        rest = EIGHTHS[int((seen - full) * 8)] if seen else " "
        # Even the shortest bar must be visible.
        text = "█" * full + ("▏" if seen and not full and rest == " " else rest)
        sign = "┃"
    else:
        text = "#" * full + ("." if seen and not full else "")
        sign = "|"
    text = text.rstrip()
    if expected < SEEN:
        return terminal.colour(text, "blue")
    at = int(ideal)
    text = text.ljust(at)
    return (
        terminal.colour(text[:at], "blue")
        + terminal.colour(sign, "yellow")
        + terminal.colour(text[at + 1 :], "blue")
    )
