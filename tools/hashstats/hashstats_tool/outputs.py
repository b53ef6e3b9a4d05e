# SPDX-License-Identifier: GPL-2.0
"""Files that the tool writes."""

import errno
import fcntl
import itertools
import os
import tempfile

from .errors import Complaint, quoted_path

READABLE = 0o644  # by the collector, by update-grub
# What another path would not mend, or may not.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def refused(path, error):
    hint = "" if error.errno in FULL else ", expected a file in a folder that can be written"
    return Complaint(f"{quoted_path(path)}: {error.strerror or error}{hint}")


def refuse_dash(path):
    if path == "-":
        raise Complaint("-: this cannot be standard output; accepted: ./- for a file named -")


def replace(path, text):
    """A file for others: whole or still the old one, whenever it is read.

    A link stays and its target is replaced; a device or a FIFO is written to.
    """
    refuse_dash(path)
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


def check(path):
    """Refuse before the work what create() would refuse after it."""
    target = os.path.realpath(path)
    new = not os.path.exists(target)
    # Opening a FIFO waits for a reader.
    if not new and not os.path.isfile(target) and not os.path.isdir(target):
        return
    try:
        open(target, "ab").close()
        if new:
            os.unlink(target)
    except OSError as error:
        raise refused(path, error) from None


def create(path):
    """A file for the user alone to decide on: the umask says who may read it."""
    refuse_dash(path)
    try:
        # Emptied only when no other process writes to it.
        file = open(path, "ab")  # noqa: SIM115
        if os.path.isfile(path):
            alone(file, path)
            file.truncate(0)
        return file
    except OSError as error:
        raise refused(path, error) from None


def alone(file, path):
    """Two that write to one file would leave one that cannot be read."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise Complaint(
            f"{quoted_path(path)}: another hashstats writes to it; accepted: another file"
        ) from None
    except OSError:
        pass  # a file system without locks


def create_new(stem, suffix):
    """The same, but never a file that exists: a number makes the name unique."""
    for number in itertools.count(1):
        path = f"{stem}-{number}{suffix}" if number > 1 else stem + suffix
        try:
            file = open(path, "xb")  # noqa: SIM115
            alone(file, path)
            return file
        except FileExistsError:
            continue
        except OSError as error:
            raise refused(path, error) from None
