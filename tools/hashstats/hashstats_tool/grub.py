# SPDX-License-Identifier: GPL-2.0
"""A file for GRUB that puts hash_entries= on the command line of all boots."""

from . import outputs
from .sources import quoted_path

DROP_IN = "/etc/default/grub.d/hashstats.cfg"

# The kernel takes the last of several requests.  GRUB puts this variable behind
# GRUB_CMDLINE_LINUX; an entry for recovery has only the latter.
TEXT = """\
# Written by hashstats advise --apply-grub; remove this file to undo it.
GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {line}"
"""


def apply(line, path, sure):
    """Show the file, and write it if the user is sure."""
    text = TEXT.format(line=line)
    yield f"{quoted_path(path)}:"
    yield from ("    " + row for row in text.splitlines())
    if not sure:
        yield "Not written; --yes writes it."
        return
    outputs.replace(path, text)
    yield "Written. Run update-grub, then reboot."
