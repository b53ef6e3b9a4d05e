# SPDX-License-Identifier: GPL-2.0
"""hashstats chain: the objects of the longest chains of a table, by their keys.

/proc/hashstats has no keys, so they are read from the memory of the kernel.
"""

import json

from . import sources
from .errors import Complaint, quoted, quoted_path
from .terminal import Terminal, shortened

HELP = "the objects of the longest chains of a table, from kernel memory or a crash dump"
VERSION = 1
SHOWN = 20  # objects of a chain
MOST = 1000


def options(parser):
    parser.add_argument("table", metavar="TABLE", help="a name that hashstats show prints")
    parser.add_argument(
        "--longest",
        nargs="?",
        const="1",
        default="1",
        metavar="N",
        help="show the N longest chains (default: 1)",
    )
    parser.add_argument("--all", action="store_true", help=f"more than {SHOWN} objects of a chain")
    parser.add_argument(
        "--no-names", action="store_true", help="print no paths, which may be private"
    )
    parser.add_argument("-j", "--json", action="store_true", help="print JSON")


def run(options):
    count = options.longest
    if not (count.isascii() and count.isdigit() and 0 < int(count[:9]) <= MOST):
        raise Complaint(
            f"--longest {quoted(count)}; accepted: 1 to {MOST}, behind the name of the table"
        )
    path = sources.MEMORY if options.file == sources.KERNEL else options.file
    if path != sources.MEMORY and not sources.is_core(path):
        raise Complaint(
            f"{quoted_path(sources.name_of(path))}: a copy has no keys; accepted: a crash dump, or "
            "--source kcore"
        )
    from .stock import keys, reader

    if not keys.known(options.table):
        raise Complaint(
            f"chain {quoted(options.table)}: hashstats knows no keys of its objects; "
            f"accepted: {', '.join(reader.catalog.KEYS)}"
        )
    symbols = options.kallsyms or getattr(path, "symbols", None)
    found = reader.longest(str(path), quoted_path(path), symbols, options.table, int(count))
    if found is None:
        raise Complaint(
            f"{options.table} could not be read; accepted: a table that hashstats show prints"
        )
    if options.no_names:
        found = [(number, [without_names(one) for one in chain]) for number, chain in found]
    if options.json:
        print(json.dumps(document(options.table, found), indent=2))
        return None
    terminal = Terminal()
    parts = ["\n".join(lines(bucket, chain, options, terminal)) for bucket, chain in found]
    print("\n\n".join(parts) or f"{options.table} is empty")
    return None


def without_names(one):
    return {name: "-" if name in ("path", "at") else text for name, text in one.items()}


def lines(number, chain, options, terminal):
    """A chain: its bucket, and a line for each object."""
    yield terminal.colour(f"{options.table}: {len(chain)} objects in bucket {number}", "bold")
    shown = chain if options.all else chain[:SHOWN]
    if shown:
        rows = [list(shown[0]), *(list(one.values()) for one in shown)]
        # Flush left, since most of these are text.
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths))
            yield shortened(f"  {text}".rstrip(), terminal.width)
    if len(shown) < len(chain):
        yield f"  {len(chain) - len(shown)} more, shown with --all"


def document(table, found):
    return {
        "schema": "hashstats-chain",
        "version": VERSION,
        "table": table,
        "chains": [{"bucket": number, "objects": chain} for number, chain in found],
    }
