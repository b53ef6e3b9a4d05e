# SPDX-License-Identifier: GPL-2.0
"""VMCOREINFO: lines NAME=VALUE that the kernel keeps for crash dumps.

/proc/kcore and kdump's files have it as a note. A dump by QEMU has no such note
unless the guest has a driver for it; there the lines themselves are searched for
in memory.
"""

import os

NOTE = b"VMCOREINFO"
FIRST = b"OSRELEASE="
# Lines that the true one has, and that a copy in a log or a pipe hardly has whole.
NEEDED = ("OSRELEASE", "PAGESIZE", "SYMBOL(_stext)", "SYMBOL(swapper_pg_dir)")
LONGEST = 4096
STEP = 16 << 20


def of(core):
    """{name: value}, empty where there is none."""
    if NOTE in core.notes:
        return lines_of(core.notes[NOTE])
    return searched(core) if b"CORE" in core.notes else {}


def lines_of(data):
    text = data.partition(b"\0")[0].decode(errors="replace")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def is_whole(data):
    found = lines_of(data)
    return all(name in found for name in NEEDED)


def searched(core):
    """From the memory itself, page by page: the lines begin their page."""
    for segment in core.segments:
        for start in range(0, segment.size, STEP):
            size = min(STEP + LONGEST, segment.size - start)
            data = os.pread(core.fd, size, segment.offset + start)
            at = data.find(FIRST)
            while at >= 0:
                if is_whole(data[at : at + LONGEST]):
                    return lines_of(data[at : at + LONGEST])
                at = data.find(FIRST, at + 1)
    return {}


def address(info, name):
    """The address of a symbol, None if VMCOREINFO has not got it."""
    try:
        return int(info[f"SYMBOL({name})"], 16)
    except (KeyError, ValueError):
        return None


def number(info, name, default=0):
    try:
        return int(info[f"NUMBER({name})"])
    except (KeyError, ValueError):
        return default
