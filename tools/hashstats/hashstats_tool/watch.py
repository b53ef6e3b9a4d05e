# SPDX-License-Identifier: GPL-2.0
"""hashstats watch: a view that is refreshed, with what changed since the last.

On a terminal it takes the whole screen and restores it at the end. In a pipe, or
where TERM is dumb, it writes one view after the other.
"""

import contextlib
import os
import re
import select
import signal
import sys
import termios
import time
import tty

from . import diff, listing, numbers, sources, text_table, verdicts
from .errors import Complaint, quoted, quoted_path
from .selection import of
from .terminal import Terminal, shortened

HELP = "a live view of the tables and their changes; q quits"
HEAD = (
    "TABLE",
    "BUCKETS",
    "OBJECTS",
    "CHANGE",
    "LOAD",
    "LONG",
    "NODES",
    "IDEAL",
    "PER-S",
    "HIT%",
    "VERDICT",
)
LEAST_WANTED = ("BUCKETS", "LONG", "IDEAL", "LOAD", "HIT%", "OBJECTS", "CHANGE", "PER-S", "NODES")
LEAVE = (b"q", b"Q", b"\x04")
# The other screen, without a cursor; and back.
ENTER, EXIT = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, TO_END_OF_LINE, TO_END = "\x1b[H", "\x1b[K", "\x1b[J"


def options(parser):
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")
    listing.add_all(parser)
    add_interval(parser, "2")
    parser.add_argument("--count", metavar="N", help="quit after N views")


def add_interval(parser, default):
    parser.add_argument(
        "-n",
        "--interval",
        default=default,
        metavar="S",
        help=f"seconds between two readings (default: {default})",
    )


def seconds(text, option):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0.1 <= value <= 86400:  # neither is a NaN
        raise Complaint(f"{option} {ascii(text[:60])}; accepted: seconds from 0.1 to 86400")
    return value


def views(text):
    """How many, or None for no end."""
    if text is None:
        return None
    if not re.fullmatch("[1-9][0-9]{0,8}", text, re.ASCII):
        raise Complaint(f"--count {quoted(text)}; accepted: 1 to 999999999 views")
    return int(text)


def run(options):
    pause = seconds(options.interval, "-n")
    if options.file == "-":
        raise Complaint("watch reads again and again; accepted: a file for -f")
    count = views(options.count)
    # A complaint about the first reading goes to the user's screen.
    view = View(options)
    screen = Screen() if view.terminal.is_screen else Pipe()
    with screen:
        while True:
            screen.show(view)
            if view.number == count or screen.left(pause, view):
                return view.judged
            view.read()


class View:
    """The last reading and the one before it."""

    def __init__(self, options):
        self.options = options
        self.terminal = Terminal()
        self.judged: list = []
        self.last: list = []
        self.time = 0.0
        self.number = 0
        self.off = False  # the kernel could count, and does not
        self.read()

    def read(self):
        copy = sources.load(self.options.file, self.options.tables)
        judged = listing.ordered(of(verdicts.of_copy(copy), self.options.tables))
        now = time.monotonic()
        self.off = not (copy.counting or copy.kernel)
        self.last, self.judged = self.judged, judged
        self.passed, self.time = now - self.time, now
        self.number += 1

    def lines(self):
        before = {one.name: one for one in self.last}
        shown, idle = listing.without_idle(self.judged, self.options)
        rows = [self.cells(one, before.get(one.name)) for one in shown]
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        title = f"{quoted_path(self.options.file)}  {now}"
        # In the first line, since a small screen cuts off the last ones.
        if self.off:
            title += "  counting is off"
        if self.terminal.is_screen:
            title += f"  every {self.options.interval} s, q quits"
        return [
            shortened(title, self.terminal.width),
            *text_table.lines(HEAD, rows, shown, self.terminal, LEAST_WANTED),
            *listing.below(idle, copy=None, live=False, terminal=self.terminal),
        ]

    def cells(self, one, before):
        table = one.table
        objects, change = table.objects, "-"
        if before and None not in (objects, before.table.objects):
            change = f"{objects - before.table.objects:+}"
        step = diff.since(before.table, table) if before else {}
        counted = step.get("lookups", step.get("wakes"))
        rate = verdicts.share(step.get("hits"), step.get("lookups"))
        verdict = one.word
        if before and before.word != verdict:
            verdict = f"{verdict}, was {before.word}"
        longest = table.number("longest")
        return (
            one.name,
            str(table.buckets) if table.buckets else "off",
            "-" if objects is None else str(objects),
            change,
            numbers.plain(one.load, 2),
            "-" if longest is None else str(longest),
            numbers.plain(one.nodes, 3),
            numbers.plain(one.ideal, 3),
            "-" if counted is None else f"{counted / self.passed:.0f}",
            numbers.percent(rate),
            verdict,
        )


class Pipe:
    """One view after the other, until the reader leaves or a signal comes."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def show(self, view):
        if view.number > 1:
            print()
        print("\n".join(view.lines()), flush=True)

    def left(self, pause, _):
        time.sleep(pause)
        return False


class Screen:
    """The whole terminal, which is restored however we end."""

    def __enter__(self):
        self.keys = sys.stdin.fileno() if sys.stdin and sys.stdin.isatty() else None
        # A signal makes this pipe readable, which ends select().
        self.wake, self.waker = os.pipe()
        os.set_blocking(self.waker, False)
        os.set_blocking(self.wake, False)
        self.old_waker = signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        self.suspended = False
        self.old = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGWINCH, lambda *_: None),
                (signal.SIGTSTP, self.suspend),
                (signal.SIGTERM, stop),
                (signal.SIGHUP, stop),
            )
        }
        self.take()
        return self

    def take(self):
        """The other screen, and each key as soon as it is pressed."""
        if self.keys is not None:
            self.settings = termios.tcgetattr(self.keys)
            tty.setcbreak(self.keys)
        sys.stdout.write(ENTER)

    def give_back(self):
        if self.keys is not None:
            termios.tcsetattr(self.keys, termios.TCSADRAIN, self.settings)
        sys.stdout.write(EXIT)
        sys.stdout.flush()

    def suspend(self, *_):
        """Ctrl-Z. left() does the rest, since show() may be writing."""
        self.suspended = True

    def __exit__(self, *_):
        # A terminal that hung up takes nothing any more.
        with contextlib.suppress(OSError, termios.error):
            self.give_back()
        for number, handler in self.old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self.old_waker)
        os.close(self.wake)
        os.close(self.waker)
        return False

    def show(self, view):
        lines, height = view.lines(), view.terminal.height
        if len(lines) > height:
            more = len(lines) - height + 1
            lines = [*lines[: height - 1], f".. {more} more; name tables to choose"]
        # Clearing first would flicker on a slow line.
        sys.stdout.write(HOME + f"{TO_END_OF_LINE}\r\n".join(lines) + TO_END_OF_LINE + TO_END)
        sys.stdout.flush()

    def left(self, pause, view):
        """Wait for the next reading; True when the user leaves."""
        end = time.monotonic() + pause
        news = [self.wake] + ([] if self.keys is None else [self.keys])
        while (rest := end - time.monotonic()) > 0:
            ready = select.select(news, [], [], rest)[0]
            if self.wake in ready:
                os.read(self.wake, 512)
                if self.suspended:
                    self.suspended = False
                    self.give_back()
                    # Where no shell can continue us, the kernel drops this signal.
                    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
                    os.kill(os.getpid(), signal.SIGTSTP)
                    signal.signal(signal.SIGTSTP, self.suspend)
                    self.take()
                self.show(view)
            if self.keys is not None and self.keys in ready:
                key = os.read(self.keys, 1)
                if not key or key in LEAVE:
                    return True
        return False


def stop(*_):
    """As Ctrl-C, so that the terminal is restored."""
    raise KeyboardInterrupt
