# SPDX-License-Identifier: GPL-2.0
"""hashstats on, off, reset: count lookups and wakeups, or set the counts to 0."""

import os

from . import sources
from .errors import Complaint

HELP = "start (on) or stop (off) counting lookups and wakeups, or reset the counts to 0"
READS = False  # they write to the kernel only
DONE = {
    "on": "Counting is on, at a few instructions per lookup or wakeup. hashstats off stops it.",
    "off": "Counting is off. The counts stay until hashstats reset.",
    "reset": "All counts are 0.",
}


def options(parser):
    """None of their own."""


def run(options):
    try:
        file = os.open(sources.KERNEL, os.O_WRONLY)
        try:
            os.write(file, f"{options.command}\n".encode())
        finally:
            os.close(file)
    except FileNotFoundError:
        raise Complaint(
            f"{sources.KERNEL}: no such file, expected a kernel with CONFIG_HASHSTATS"
        ) from None
    except PermissionError:
        raise Complaint(
            f"{sources.KERNEL}: permission denied, expected CAP_SYS_ADMIN; "
            "accepted: run as root, outside a container"
        ) from None
    except OSError as error:
        raise Complaint(
            f"{sources.KERNEL}: {error.strerror}, expected a kernel that accepts {options.command}"
        ) from None
    print(DONE[options.command])
