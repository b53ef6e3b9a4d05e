# SPDX-License-Identifier: GPL-2.0
"""The command line: which subcommand, its options, the exit status.

0	done
1	with --check: a table is crowded or skewed
2	the command line or the input cannot be used; one line tells why

A subcommand is a module with HELP, options(parser) and run(options), which
returns the judged tables. It is imported only when asked for, since the tool
must start in less time than reading the file takes.
"""

import argparse
import importlib
import io
import os
import sys

from .errors import Complaint
from .sources import KERNEL

VERSION = "1.0"
DEFAULT = "show"
MODULES = {
    "show": "show",
    "hist": "hist",
    "watch": "watch",
    "diff": "diff",
    "json": "jsonout",
    "openmetrics": "openmetrics",
    "advise": "advise",
    "record": "record",
    "report": "report",
}
SUMMARY = {
    "show": "one line a table (default)",
    "hist": "bars of chain lengths beside what chance would give",
    "watch": "a view that is refreshed, with changes",
    "diff": "what changed between two copies",
    "json": "everything for programs",
    "openmetrics": "metrics for the node exporter's textfile collector",
    "advise": "sizes for the next boot, as a hash_entries= line",
    "record": "sample for a while",
    "report": "peaks and heat maps of a recording",
}
BAD_STATE, UNUSABLE = 1, 2


class Parser(argparse.ArgumentParser):
    """One line for a bad command line, in the form of all our complaints."""

    def error(self, message):
        if not message.isprintable():
            message = ascii(message)
        raise Complaint(f"{message}; accepted: see hashstats --help")


def command_of(words):
    """The subcommand among the words; show needs not be said."""
    if words and words[0] in MODULES:
        return words[0], words[1:]
    if words and not words[0].startswith("-"):
        raise Complaint(f"no subcommand {ascii(words[0][:60])}; accepted: " + ", ".join(MODULES))
    return DEFAULT, words


def overview():
    lines = [
        "usage: hashstats [SUBCOMMAND] [-f FILE] [--check] ...",
        "",
        "See the kernel's boot-sized hash tables, compare them, size them.",
        "",
    ]
    lines += [f"  {name:12} {text}" for name, text in SUMMARY.items()]
    lines += [
        "",
        "hashstats SUBCOMMAND --help tells its options.",
        "Exit status: 0; 1 a table is crowded or skewed, with --check;",
        "2 the command line or the input cannot be used.",
    ]
    return "\n".join(lines)


def parsed(words):
    """The module of a subcommand and its options."""
    command, rest = command_of(words)
    module = importlib.import_module(f".{MODULES[command]}", __package__)
    parser = Parser(prog=f"hashstats {command}", description=module.HELP, allow_abbrev=False)
    # diff and hist take several files, and say themselves how.
    if not getattr(module, "OWN_FILES", False):
        parser.add_argument(
            "-f",
            "--file",
            default=KERNEL,
            metavar="FILE",
            help=f"a saved copy, - for standard input (default: {KERNEL})",
        )
    parser.add_argument(
        "--check", action="store_true", help="exit status 1 if a table is crowded or skewed"
    )
    module.options(parser)
    return module, parser.parse_intermixed_args(rest)


def main(words):
    if sys.stderr is None:
        # Else our complaints would go to standard output.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        if sys.stdout is None:
            raise Complaint("standard output is closed, expected a place to write to")
        # A terminal that lacks a letter shows its number instead.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        if words[:1] in (["-h"], ["--help"]):
            print(overview())
            return 0
        if words[:1] == ["--version"]:
            print(f"hashstats {VERSION}")
            return 0
        module, options = parsed(words)
        judged = module.run(options)
        sys.stdout.flush()
        bad = options.check and any(one.bad for one in judged or ())
        return BAD_STATE if bad else 0
    except Complaint as complaint:
        print(f"hashstats: {complaint}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Who reads us has seen enough.
        forget_output()
        return 0
    except OSError as error:
        forget_output()
        print(f"hashstats: output: {error.strerror}; expected a place to write to", file=sys.stderr)
        return UNUSABLE


def forget_output():
    """What could not be written; Python would try, and complain, at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
