# SPDX-License-Identifier: GPL-2.0
"""Guests of a benchmark: what they run, and the form of what they print."""

import re
from typing import Any

from bench.lib import symbol_counts
from bench.lib.record import Result
from common import die
from guest import vm

# The page hash is off by default.
PAGE_HASH = "hash_entries=page:auto"
UUID = "b007a5b0-0000-4000-8000-00000000000{}"


def check_page_hash(output: str) -> None:
    """A guest that asked for the page hash must have one."""
    if not re.search(r"^buckets: [1-9]", output, re.M):
        die(
            "/proc/hashstats shows no buckets of the table `page`: this kernel "
            f"has no page hash, or does not take {PAGE_HASH}"
        )


def run_guest(result: Result, name: str, kernel: Any, script: str, **options: Any) -> str:
    """Run a guest and return its output; the result keeps its command."""
    with vm.Guest(kernel, script, **options) as guest:
        output = guest.finish().output
    result.command(name, guest.command())
    return output


def count_guest(
    result: Result, name: str, kernel: Any, script: str, **options: Any
) -> tuple[list[symbol_counts.Segment], str]:
    """Count a guest's instructions; the result keeps its command."""
    segments, output, command = symbol_counts.count(kernel, script, **options)
    result.command(name, command)
    return segments, output


def mkfs_ext4(disk: str, *options: str, number: int = 0) -> str:
    """A shell line that makes the same file system each time.

    A second file system in the same guest needs another number.
    """
    uuid = UUID.format(number)
    return (
        f"mkfs.ext4 -q {' '.join(options)} -U {uuid} "
        f"-E nodiscard,lazy_itable_init=1,hash_seed={uuid} {disk}"
    )


def fields(text: str) -> dict[str, str]:
    """The lines `name: value` that a program printed; empty lines are skipped."""
    return dict(line.split(": ", 1) for line in text.splitlines() if line)


def split_counters(text: str) -> tuple[str, str]:
    """What a program printed of a phase, and the counters behind it."""
    report, _, rest = text.partition("=== counters\n")
    return report, rest.partition("=== end\n")[0]
