# SPDX-License-Identifier: GPL-2.0
"""hashstats copy: the text that the other commands read, to keep it in a file."""

import sys

from . import reading, sources, verdicts
from .errors import quoted_path

HELP = "print /proc/hashstats, or the same text from kernel memory, for use with -f"


def options(parser):
    """None of its own."""


def run(options):
    data = sources.read(options.file)
    copy = sources.tell(reading.parse(data, quoted_path(sources.name_of(options.file))))
    live = options.file in sources.LIVE
    sys.stdout.buffer.write(sources.stamped(data) if live else data)
    return verdicts.of_copy(copy)
