# SPDX-License-Identifier: GPL-2.0
"""Files that the tool writes."""

import os
import tempfile

from .errors import Complaint
from .sources import quoted_path

READABLE = 0o644  # by the collector, by update-grub


def refused(path, error):
    return Complaint(
        f"{quoted_path(path)}: {error.strerror or error}, expected a "
        "file in a folder that can be written"
    )


def replace(path, text):
    """A file for others: whole or still the old one, whenever it is read.

    A link stays and its target is replaced; a device or a FIFO is written to.
    """
    temporary = None
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
        target = os.path.realpath(path)
        with tempfile.NamedTemporaryFile(
            "w",
            dir=os.path.dirname(target),
            prefix=".hashstats.",
            encoding="utf-8",
            delete=False,
        ) as file:
            temporary = file.name
            file.write(text)
            os.fchmod(file.fileno(), READABLE)
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise refused(path, error) from None


def create(path):
    """A file for the user alone to decide on: the umask says who may read it."""
    try:
        return open(path, "wb", buffering=0)
    except OSError as error:
        raise refused(path, error) from None
