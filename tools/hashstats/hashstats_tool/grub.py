# SPDX-License-Identifier: GPL-2.0
"""A file for GRUB that puts hash_entries= on the command line of all boots."""

import os
import re

from . import outputs
from .errors import Complaint, quoted_path
from .stock_advice import PARAMETERS

DROP_IN = "/etc/default/grub.d/hashstats.cfg"

# The kernel takes the last of several requests.  GRUB puts this variable behind
# GRUB_CMDLINE_LINUX; an entry for recovery has only the latter.
TEXT = """\
# Written by hashstats advise --apply-grub; remove this file to undo it.
GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {line}"
"""
SIZES = re.compile(r"""(?<![^\s"'])([a-z]*hash_entries)=([\w.:,-]+)""", re.ASCII)
TABLES = {parameter: name for name, parameter in PARAMETERS.items()}


def apply(line, path, sure):
    """Show the file, and write it if the user is sure."""
    old, new = sizes(contents(path)), sizes(line)
    text = TEXT.format(line=line_of(old | new))
    yield f"{quoted_path(path)}:"
    yield from ("    " + row for row in text.splitlines())
    # Before a reboot, the advice does not know what this file sets.
    if kept := [size for name, size in old.items() if name not in new]:
        yield f"Kept from the existing file: {', '.join(kept)}."
    if not sure:
        yield "Not written; --yes writes it."
        return
    folder = os.path.dirname(path) or "."
    if path == DROP_IN and not os.path.isdir(folder):
        raise Complaint(
            f"{folder}: no such folder, expected a system that configures GRUB by it; accepted: "
            f"grubby --update-kernel=ALL --args='{line_of(old | new)}', or this line in "
            "/etc/kernel/cmdline for systemd-boot"
        )
    outputs.replace(path, text)
    yield "Written. Run update-grub, then reboot."


def contents(path):
    """The settings in the file; reading a FIFO or a terminal would wait."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(line for line in file if not line.lstrip().startswith("#"))
    except OSError as error:
        raise Complaint(
            f"{quoted_path(path)}: {error.strerror}, expected a file that you may read"
        ) from None


def sizes(text):
    """What sets the size of a table, by the table's name."""
    result = {}
    for parameter, value in SIZES.findall(text):
        if parameter in TABLES:
            result[TABLES[parameter]] = f"{parameter}={value}"
        elif parameter == "hash_entries":
            result |= {one.partition(":")[0]: one for one in value.split(",") if ":" in one}
    return result


def line_of(sizes):
    """The reverse."""
    tables = ",".join(one for one in sizes.values() if "=" not in one)
    words = [one for one in sizes.values() if "=" in one]
    return " ".join([*words, f"hash_entries={tables}"] if tables else words)
