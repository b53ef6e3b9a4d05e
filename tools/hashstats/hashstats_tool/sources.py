# SPDX-License-Identifier: GPL-2.0
"""Where the text comes from: the kernel, a saved copy, standard input.

A kernel without /proc/hashstats has the same figures in its memory, and so has
a crash dump. Code that reads the text sees no difference.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
import time
import zlib

from . import errors, reading
from .errors import Complaint, quoted_path, say
from .terminal import shortened

KERNEL = "/proc/hashstats"
MEMORY = "/proc/kcore"
LIVE = (KERNEL, MEMORY)  # of this machine, now
LONGEST_NOTE = 400  # letters
LARGEST_COPY = 8 << 20  # bytes; more than any kernel has
SOURCES = ("auto", "proc", "kcore")
GZIP = b"\x1f\x8b"
MARK = "\ufeff".encode()
# As in "root@db7:~# hashstats copy".
PROMPT = re.compile(rb"[^:]*(?:[^:]*:)?[^:]*[#$>%] *(?:sudo )?(?:hashstats\b|cat /proc/hashstats)")
# An ELF file; makedumpfile's formats.
CORE_MAGICS = (b"\x7fELF", b"KDUMP   ", b"DISKDUMP", b"makedumpfile\0")


class Once(argparse.Action):
    """An option that the user may give once, since no second value is read."""

    def __call__(self, parser, options, value, name=None):
        if getattr(options, self.dest) is not None:
            raise argparse.ArgumentError(self, "given twice, expected it once")
        setattr(options, self.dest, value)


class Core(str):
    """The path of a core file, and of the symbols of its kernel."""

    symbols: str | None = None


def add_options(parser):
    parser.add_argument(
        "--source",
        choices=SOURCES,
        default="auto",
        help=f"proc: {KERNEL}; kcore: the memory of the running kernel; "
        "auto: the first that exists (default)",
    )
    parser.add_argument("--core", action=Once, metavar="FILE", help="read a crash dump")
    parser.add_argument(
        "--kallsyms",
        action=Once,
        metavar="FILE",
        help="read missing symbols from FILE: a copy of the kernel's /proc/kallsyms, "
        "or its System.map",
    )


def with_symbols(path, symbols):
    """A path; a core file if symbols are named for it."""
    if path is None or not symbols:
        return path
    if os.path.exists(path) and not is_core(path) or path == "-":
        raise Complaint(
            f"--kallsyms: {quoted_path(name_of(path))} is no crash dump; "
            "accepted: a crash dump for -f or --core"
        )
    path = Core(path)
    path.symbols = symbols
    return path


def chosen(options):
    """The path to read where the user names no file."""
    if options.core and options.file:
        raise Complaint("-f and --core; accepted: one of them")
    for name, given in (("-f", options.file), ("--core", options.core)):
        if given and options.source != "auto":
            raise Complaint(f"{name} and --source {options.source}; accepted: one of them")
    path = Core(options.core or (MEMORY if options.source == "kcore" else KERNEL))
    if options.source == "auto" and not options.core and not os.path.exists(KERNEL):
        path = Core(MEMORY)
    path.symbols = options.kallsyms
    return path


def name_of(path):
    return "standard input" if path == "-" else path


def read(path, names=()):
    """The bytes of one copy; the reason, if there are none, in one line.

    Of a running kernel or a dump, walk only the tables with these names.
    """
    text = lines(path, names)
    first = next(text, b"")
    if first.startswith(b"recording: "):
        raise Complaint(
            f"{quoted_path(name_of(path))}, line 1: a recording, "
            "expected one copy; accepted: hashstats report, advise"
        )
    return first + b"".join(text)


def lines(path, names=()):
    """The same line by line, for a file that memory need not hold."""
    if path == KERNEL and getattr(path, "symbols", None):
        raise Complaint(
            "--kallsyms: only for kernel memory and crash dumps; "
            "accepted: with a crash dump or --source kcore"
        )
    if path != "-" and is_core(path):
        from .stock import reader

        text = reader.read(str(path), quoted_path(path), getattr(path, "symbols", None), names)
        yield from text.splitlines(keepends=True)
        return
    try:
        if path == "-":
            if sys.stdin is None:
                raise Complaint("standard input is closed; accepted: -f FILE")
            yield from plain(bounded(unpacked(sys.stdin.buffer), path))
            return
        with open_for(path, names) as file:
            yield from plain(bounded(file, path))
    except PermissionError:
        hint = (
            ": run as root with CAP_SYS_ADMIN; accepted: -f FILE for a saved copy"
            if path == KERNEL
            else ", expected a file that you may read"
        )
        raise Complaint(f"{quoted_path(path)}: permission denied{hint}") from None
    except FileNotFoundError:
        hint = (
            "this kernel has no CONFIG_HASHSTATS; accepted: -f FILE for a saved copy"
            if path == KERNEL
            else f"expected a saved copy of {KERNEL}"
        )
        raise Complaint(f"{quoted_path(path)}: no such file, {hint}") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Complaint(
            f"{quoted_path(name_of(path))}: {reason}, expected a readable copy of {KERNEL}"
        ) from None


def open_for(path, names):
    """An open file. That of the kernel walks the named tables only, if it can."""
    if path == KERNEL and names:
        file = None
        try:
            file = os.open(path, os.O_RDWR)
            os.write(file, os.fsencode(f"only {' '.join(names)}\n"))
            return open(file, "rb")
        except OSError:
            # Too many names, or an older patch: read all tables.
            if file is not None:
                os.close(file)
    return unpacked(open(path, "rb"))


def unpacked(file):
    """The file itself, or what gzip has made smaller."""
    if not hasattr(file, "peek") or not file.peek(2).startswith(GZIP):
        return file
    import gzip

    return gzip.GzipFile(fileobj=file)


def plain(lines):
    """Without what a mail or a terminal has added: a byte order mark, carriage returns
    and, before the first line, the prompt and the command.
    """
    first = next(lines, b"").removeprefix(MARK)
    if PROMPT.match(first):
        first = next(lines, b"")
    if not first.endswith(b"\r\n"):
        yield first
        yield from lines
        return
    yield first.replace(b"\r\n", b"\n")
    for line in lines:
        yield line.replace(b"\r\n", b"\n")


def bounded(file, path):
    """The lines of an open file, unless a copy is larger than any real one."""
    number = size = 0
    many = False
    while line := file.readline(LARGEST_COPY + 1):
        number += 1
        many |= number == 1 and line.startswith(b"recording: ")
        # Such a line begins the next copy of a recording.
        size = 0 if many and line.startswith(b"=== ") else size + len(line)
        if size > LARGEST_COPY:
            raise Complaint(
                f"{quoted_path(name_of(path))}, line {number}: a copy of more than 8 MiB, "
                f"expected the text of {KERNEL}"
            )
        yield line


def is_core(path):
    """Whether a file is the memory of a kernel. Only regular files are tried:
    what is read from a pipe is gone.
    """
    if path == MEMORY or isinstance(path, Core) and path != KERNEL:
        return True
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) or path == KERNEL:
            return False
        with open(path, "rb") as file:
            return file.read(16).startswith(CORE_MAGICS)
    except (OSError, ValueError):
        return False


def note(text):
    """Notes go to standard error, so that output stays what it is."""
    if not errors.quiet:
        say(f"note: {shortened(text, LONGEST_NOTE)}")


told: set[str] = set()


def tell(copy):
    for text in copy.notes:
        note(text)
    # Of the same kernel it is no news each time.
    for text in about(copy):
        if text not in told:
            note(text)
        told.add(text)
    return copy


def about(copy):
    """What was read, if it was a kernel's memory, and what could not be."""
    if not copy.kernel:
        return
    yield f"{copy.header.get('source')} of Linux {copy.kernel}"
    if layouts := copy.header.get("layouts"):
        yield f"by the kernel's types, not by its version: {layouts}"
    yield from (f"not read: {text}" for text in copy.header.get("not-read", "").split("; ") if text)
    for table in copy.tables:
        if table.number("torn"):
            yield (
                f"{table.name}: {table.number('torn')} chains changed while they were read, "
                "not all of their objects are counted"
            )
        if table.number("bad-pointers"):
            yield f"{table.name}: {table.number('bad-pointers')} pointers lead out of memory"


def load(path, names=()):
    """The copy at a path, its notes told. It has the named tables, and may have others."""
    name = quoted_path(name_of(path))
    copy = reading.parse(read(path, names), name)
    walked = path != "-" and (path == KERNEL or is_core(path))
    if walked and not {table.name for table in copy.tables}.issuperset(names):
        # A message lists the names that there are.
        copy = reading.parse(read(path), name)
    return tell(copy)


def stamped(data):
    """A copy of this machine, now, with lines that say of which one it is, and when.

    Advice by a copy needs the size of memory, which limits the tables.
    """
    head, mark, rest = data.partition(b"\ncounting: ")
    if not mark:
        return data
    line, end, rest = rest.partition(b"\n")
    about = (
        f"host: {this_host()}\n"
        f"time: {time.strftime('%Y-%m-%dT%H:%M:%S%z')}\n"
        f"memory: {memory(KERNEL)}\n"
        f"cpus: {os.cpu_count()}\n"
    )
    return head + mark + line + end + about.encode() + rest


def this_host():
    """The name of this machine, as one word that is harmless to a terminal."""
    return re.sub("[^!-~]", "?", os.uname().nodename)


def memory(path):
    """Bytes of memory of this machine, if it is the one the figures are of."""
    if path not in LIVE:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
