# SPDX-License-Identifier: GPL-2.0
"""The command line: which command, its options, the exit status.

0	done
1	with --check: a table is crowded or skewed
2	the command line or the input is unusable, or the output cannot be written; with
        --check: no table was read; a bug
130	interrupted by Ctrl-C; watch on a terminal also by SIGTERM or SIGHUP

A command is a module with HELP, options(parser) and run(options), which returns
the judged tables. It is imported only when asked for, since the tool must start
in less time than reading the file takes.
"""

import argparse
import importlib
import io
import os
import sys

from . import errors, sources
from .errors import Complaint, alike, did_you_mean, quoted, quoted_path, say

VERSION = "1.0"
DEFAULT = "show"
MODULES = {
    "show": "show",
    "hist": "hist",
    "chain": "chain",
    "watch": "watch",
    "diff": "diff",
    "copy": "copy",
    "json": "jsonout",
    "openmetrics": "openmetrics",
    "advise": "advise",
    "record": "record",
    "report": "report",
    "on": "counting",
    "off": "counting",
    "reset": "counting",
    "demo": "demo",
}
SUMMARY = {
    "show": "one line per table (default)",
    "hist": "buckets by chain length, compared with a random function",
    "chain": "the objects of the longest chains, by their keys",
    "watch": "the tables and their changes, live",
    "diff": "what changed between two copies",
    "copy": "print the tables as text, to read later with -f",
    "json": "all figures as JSON",
    "openmetrics": "metrics for Prometheus",
    "advise": "sizes for the next boot, as a hash_entries= line",
    "record": "sample the tables into a file",
    "report": "worst moments and heat maps of a recording",
    "on, off, reset": "start or stop counting lookups, or reset the counts to 0",
    "demo": "the commands on samples, without root",
    "help [COMMAND]": "this text, or a command's options; help man: the manual",
}
# Options that may stand before the command, and whether they take a value.
EARLY = {
    **dict.fromkeys(("-f", "--file", "--source", "--core", "--kallsyms"), True),
    **dict.fromkeys(("--check", "-q", "--quiet"), False),
}
RECORDINGS = ("advise", "report")  # -f may name one
REPEATED = ("watch", "record")  # they read the file again and again
GOOD, BAD_STATE, UNUSABLE, STOPPED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """One line for a bad command line, in the form of all our complaints."""

    words: list[str] = []

    def _get_value(self, action, text):
        # Else '' would count as an option that is not given.
        if not text:
            raise argparse.ArgumentError(action, "expected one argument, not ''")
        return super()._get_value(action, text)

    def print_help(self, file=None):
        # argparse ignores errors of the output.
        print(self.format_help(), end="", file=file, flush=True)

    def error(self, message):
        if not message.isprintable():
            message = ascii(message)
        known = [name for action in self._actions for name in action.option_strings]
        word = message.rpartition(" ")[2]
        meant = did_you_mean(word, known) if word.startswith("-") else ""
        # argparse takes the name of a file for an option.
        for word in self.words:
            if word.startswith("-") and word not in (*known, "-") and os.path.lexists(word):
                meant = f"; write ./{quoted_path(word)} for the file of this name"
        raise Complaint(f"{message[:200]}{meant}; accepted: see {self.prog} --help")


def command_of(words):
    """The command, the other words, and whether the command was named."""
    at = 0
    while at < len(words) and words[at] in EARLY:
        at += 2 if EARLY[words[at]] else 1
    if words[at : at + 1] == ["help"]:
        of = words[at + 1 : at + 2]
        if words[at + 2 :]:
            raise Complaint(f"help {quoted(' '.join(words[at + 1 :]))}; accepted: one command")
        if of == ["man"]:
            return "man", [], True
        return ("help", [], True) if of in ([], ["help"]) else (of[0], ["--help"], True)
    if at < len(words) and words[at] in MODULES:
        return words[at], words[:at] + words[at + 1 :], True
    return DEFAULT, words, False


def misspelt(words):
    """What to say of a show that cannot be done, if another command was meant."""
    for at, word in enumerate(words):
        if at and EARLY.get(words[at - 1]):
            continue
        if word in MODULES or word == "help":
            return (
                f"expected the command {quoted(word)} before options and tables; "
                f"accepted: hashstats {word} [OPTION]..."
            )
        meant = None if word.startswith("-") else alike(word, [*MODULES, "help"])
        if meant:
            return (
                f"no command or table {quoted(word)} (did you mean {meant}?); "
                f"accepted: {', '.join(MODULES)}, help, or a table"
            )
    return None


def overview():
    lines = [
        "usage: hashstats [COMMAND] [OPTION]... [TABLE]...",
        "",
        "Show, compare and size hash tables of the kernel.",
        "",
    ]
    lines += [f"  {name:15} {text}" for name, text in SUMMARY.items()]
    lines += [
        "",
        "  -f, --file FILE  read a saved copy (- is standard input), a crash dump or a",
        "                   recording (advise, report) instead of the running kernel",
        "  --check          exit with status 1 if a table is crowded or skewed",
        "  -q, --quiet      print nothing except errors",
        "  -V, --version    print the version",
        "",
        "`hashstats help show` prints the options of a command.",
        "",
        "Exit status: 0 done; 1 a table is crowded or skewed (--check only);",
        "2 bad command line, input or output; 130 interrupted.",
    ]
    return "\n".join(lines)


def without_dashes(words):
    """The words with -- replaced by ./ in front of what would look like an option."""
    if "--" not in words:
        return words
    at = words.index("--")
    return words[:at] + [
        f"./{word}" if word.startswith("-") and word != "-" else word for word in words[at + 1 :]
    ]


def parsed(command, words):
    """The module of a command and its options."""
    module = importlib.import_module(f".{MODULES[command]}", __package__)
    parser = Parser(prog=f"hashstats {command}", description=module.HELP, allow_abbrev=False)
    reads = getattr(module, "READS", True)
    # Some take several files.
    takes_file = reads and not getattr(module, "OWN_FILES", False)
    if takes_file:
        parser.add_argument(
            "-f",
            "--file",
            action=sources.Once,
            metavar="FILE",
            help="a saved copy"
            + (", a recording or a crash dump" if command in RECORDINGS else " or a crash dump")
            + ("" if command in REPEATED else "; - for standard input"),
        )
    if reads:
        sources.add_options(parser)
        parser.add_argument(
            "--check",
            action="store_true",
            help="exit with status 1 if a table is crowded or skewed",
        )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing except errors")
    module.options(parser)
    parser.set_defaults(command=command)
    parser.words = without_dashes(words)
    options = parser.parse_intermixed_args(parser.words)
    if reads and getattr(options, "tables", None) and not options.file and not options.core:
        named = [word for word in options.tables if is_file(word)]
        options.tables = [word for word in options.tables if word not in named]
        if len(named) == 1 or named and not takes_file:
            options.file = named[0] if takes_file else named
        elif named:
            raise Complaint(
                f"{quoted_path(named[0])} and {quoted_path(named[1])}; accepted: one file"
            )
    if reads:
        # What a command reads if the user names no file.
        options.default = sources.chosen(options)
    if takes_file:
        options.file = sources.with_symbols(options.file, options.kallsyms) or options.default
    return module, options


def print_manual():
    """By man(1) on a terminal; else its source, for `man -l -`."""
    import shutil
    import subprocess

    from . import shipped

    text = shipped.manual()
    if sys.stdout.isatty() and shutil.which("man"):
        subprocess.run(["man", "-l", "-"], input=text)
    else:
        print(text.decode(), end="")


def is_file(word):
    """Whether a word is a file and no table: these have no such names."""
    return ("/" in word or "." in word) and os.path.isfile(word)


def main(words):
    if sys.stderr is None:
        # Else our complaints would go to standard output.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    hint, check = None, "--check" in words
    try:
        if sys.stdout is None:
            raise Complaint("standard output is closed, expected an open one")
        # Signs that the terminal's encoding lacks become escape sequences.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        command, rest, named = command_of(words)
        if words[:1] in (["-V"], ["--version"]) and words[1:]:
            raise Complaint(f"{words[0]} and {quoted(words[1])}; accepted: {words[0]} alone")
        if command == "help" or words[:1] in (["-h"], ["--help"]):
            print(overview(), flush=True)
            return GOOD
        if words[:1] in (["-V"], ["--version"]):
            print(f"hashstats {VERSION}", flush=True)
            return GOOD
        if command == "man":
            print_manual()
            return GOOD
        if command not in MODULES:
            raise Complaint(
                f"no command {quoted(command)}{did_you_mean(command, MODULES)}; "
                f"accepted: {', '.join(MODULES)}"
            )
        hint = None if named else misspelt(rest)
        module, options = parsed(command, rest)
        judged = run(module, options)
        if check and judged is not None and not judged:
            raise Complaint("--check: no table was read, so none is healthy; expected one or more")
        bad = check and any(one.bad for one in judged or ())
        return BAD_STATE if bad else GOOD
    except Complaint as complaint:
        say(hint or complaint)
        return UNUSABLE
    except KeyboardInterrupt:
        try:
            sys.stdout.flush()
        except OSError:  # its terminal is gone
            forget_output()
        return STOPPED
    except BrokenPipeError:
        # The reader has seen enough, but we have not judged all tables.
        forget_output()
        return UNUSABLE if check else GOOD
    except OSError as error:
        forget_output()
        say(f"cannot write the output: {error.strerror}")
        return UNUSABLE
    except Exception:
        # A bug, or too little memory. Python's own status, 1, means a crowded table.
        sys.excepthook(*sys.exc_info())
        return UNUSABLE


def run(module, options):
    """The judged tables of a command."""
    errors.quiet = options.quiet
    if not options.quiet:
        judged = module.run(options)
        sys.stdout.flush()
        return judged
    output = sys.stdout
    with open(os.devnull, "w") as sys.stdout:
        try:
            return module.run(options)
        finally:
            sys.stdout = output


def command():
    """The entry point of an installation by pip."""
    return main(sys.argv[1:])


def forget_output():
    """Drop what could not be written; Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
