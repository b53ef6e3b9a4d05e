# SPDX-License-Identifier: GPL-2.0
"""hashstats record: sample for a while, then report."""

import os
import sys
import time

from . import outputs, peaks, reading, recording, report, sources
from .errors import Complaint
from .watch import add_interval, seconds

HELP = "sample for a while (Ctrl-C ends it early), then show peaks and heat maps"
DURATION = "60"


def options(parser):
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="heat maps of these (default: the worst)"
    )
    add_interval(parser, "1")
    parser.add_argument(
        "-t",
        "--time",
        default=DURATION,
        metavar="S",
        help=f"how long in seconds (default: {DURATION})",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="keep the samples for report and advise"
    )
    report.add_png(parser)


def run(options):
    pause, duration = seconds(options.interval, "-n"), seconds(options.time, "-t")
    if options.file == "-":
        raise Complaint("record reads again and again; accepted: a file for -f")
    if options.png:
        from . import pictures

        pictures.needed()
    if options.output and same_file(options.output, options.file):
        raise Complaint(
            f"-o {sources.quoted_path(options.output)} is what is read; accepted: another file"
        )
    output = outputs.create(options.output) if options.output else None
    seen = peaks.Peaks()
    try:
        for now, copy in samples(options.file, pause, duration, output):
            seen.add(now, copy)
    except KeyboardInterrupt:
        # What was read until we were stopped counts.
        if not seen.samples:
            raise
    finally:
        progress_over()
        if output:
            output.close()
    return report.tell(seen, options)


def same_file(one, other):
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def samples(path, pause, duration, output):
    """Pairs of seconds and copies at equal distances, kept in a file too."""
    begin, clock = time.monotonic(), time.time()
    # Ten tenths are a whole, whatever the binary fractions.
    wanted = 1 + int(duration / pause + 1e-6)
    if output:
        output.write(recording.FIRST)
    for number in range(wanted):
        time.sleep(max(begin + number * pause - time.monotonic(), 0))
        # The clock may be set meanwhile, and then would go back.
        now = clock + time.monotonic() - begin
        data = sources.read(path)
        copy = reading.parse(data, sources.quoted_path(path))
        if not number:
            sources.tell(copy)
        if output:
            output.write(recording.sample(now, data))
        progress(number + 1, wanted)
        yield now, copy


def progress(number, of):
    if sys.stderr.isatty():
        print(f"\rsample {number} of {of} ", end="", file=sys.stderr, flush=True)


def progress_over():
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
