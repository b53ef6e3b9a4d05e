# SPDX-License-Identifier: GPL-2.0
"""hashstats record: sample for a while into a file, then report."""

import contextlib
import math
import os
import shlex
import sys
import time

from . import errors, listing, outputs, peaks, reading, recording, report, sources, verdicts
from .errors import Complaint, quoted_path
from .selection import of
from .watch import add_interval, seconds

HELP = "sample into a file until -t ends or Ctrl-C, then report"
DURATION = "60"


def options(parser):
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="heat maps of these (default: the worst 2)"
    )
    add_interval(parser, "1")
    parser.add_argument(
        "-t",
        "--time",
        default=DURATION,
        metavar="S",
        help=f"seconds to sample (default: {DURATION})",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file for the samples (default: ./hashstats-DATE-TIME.rec)",
    )
    listing.add_all(parser)
    report.add_png(parser)


def run(options):
    pause, duration = seconds(options.interval, "-n"), seconds(options.time, "-t")
    if options.file == "-":
        raise Complaint("record reads again and again; accepted: a file for -f")
    if options.png:
        from . import pictures

        pictures.needed(options.png)
    path = options.output
    if path and same_file(path, options.file):
        raise Complaint(f"-o {quoted_path(path)} is the file that is read; accepted: another file")
    seen = peaks.Peaks(sources.this_host() if listing.is_live(options) else None)
    output = full = None
    try:
        try:
            for now, data, copy in samples(options.file, pause, duration):
                if not output:
                    of(verdicts.of_copy(copy), options.tables)
                    # Only now, so that no file is left if nothing can be read.
                    output = outputs.create(path) if path else default_file()
                    path = output.name
                    output.write(recording.head(seen.host))
                output.write(recording.sample(now, data))
                output.flush()
                seen.add(now, copy)
        # In both cases, the samples until then count.
        except KeyboardInterrupt:
            if not seen.samples:
                raise
        except OSError as error:
            full = outputs.refused(path, error)
            if not seen.samples:
                raise full from None
        finally:
            progress_over()
            if output:
                # After a failed write, closing tries it again.
                with contextlib.suppress(*[OSError] if full else []):
                    output.close()
        judged = report.tell(seen, options)
        if full:
            raise full
        return judged
    finally:
        # Also if reading, writing or reporting failed.
        if seen.samples:
            shown, word = quoted_path(path), pasted(path)
            print(f"\nKept in {shown}. To see it again:\nhashstats report -f {word}")


def default_file():
    # Another one may begin in the same second.
    return outputs.create_new(time.strftime("hashstats-%Y%m%d-%H%M%S"), ".rec")


def pasted(path):
    """A path as a word to paste into bash or zsh."""
    if path.startswith("-"):
        path = f"./{path}"
    if path.isprintable():
        return shlex.quote(path)
    return "$'" + "".join(f"\\{byte:03o}" for byte in os.fsencode(path)) + "'"


def same_file(one, other):
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def samples(path, pause, duration):
    """The second, bytes and copy of each reading, at equal distances.

    A reading that takes longer than the distance costs the samples that it delays.
    """
    begin, clock = time.monotonic(), time.time()
    live = path in sources.LIVE
    # 0.3 / 0.1 is less than 3.
    wanted = 1 + int(duration / pause + 1e-6)
    number = 0
    while number < wanted:
        time.sleep(max(begin + number * pause - time.monotonic(), 0))
        # time.time() may go back when the clock is set.
        now = clock + time.monotonic() - begin
        data = sources.read(path)
        if live:
            data = sources.stamped(data)
        copy = reading.parse(data, quoted_path(path))
        if not number:
            sources.tell(copy)
        progress(number + 1, wanted)
        yield now, data, copy
        number = max(number + 1, math.ceil((time.monotonic() - begin) / pause))


def progress(number, of):
    on_terminal(f"\rsample {number} of {of} ")


def progress_over():
    on_terminal("\r\x1b[K")


def on_terminal(text):
    if sys.stderr.isatty() and not errors.quiet:
        with contextlib.suppress(OSError):
            print(text, end="", file=sys.stderr, flush=True)
