# SPDX-License-Identifier: GPL-2.0
"""Room on a disk, asked before a long build takes it."""

import contextlib
import os
import shutil
from pathlib import Path

from common import die

GIB = 1 << 30


def used(folder: Path) -> int:
    """Bytes on the disk of all files of a folder, in which a build may be running."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
    return total


def require(folder: Path, needed: float, what: str) -> None:
    """End unless the disk of the folder, which need not be there, has the bytes free."""
    place = folder
    while not place.is_dir():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < needed:
        die(
            f"{what} needs {needed / GIB:.1f} GiB of disk; the disk of {place} has "
            f"{free / GIB:.1f} GiB free"
        )
