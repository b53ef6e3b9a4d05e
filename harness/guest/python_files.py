# SPDX-License-Identifier: GPL-2.0
"""Debian's Python for a guest: its library as one archive of bytecode."""

import functools
import io
import py_compile
import tempfile
import zipfile
from pathlib import Path

from guest import initramfs

PROGRAM = Path("/usr/bin/python3.11")
LIBRARY = Path("/usr/lib/python3.11")
INSIDE = "/usr/lib/python311.zip"  # Python looks there by itself
# Large, and of no use to a program without a screen.
LEFT_OUT = ("test", "idlelib", "lib2to3", "tkinter", "distutils", "ensurepip", "pydoc_data")
# Compiled modules are of no use in an archive.
COMPILED = ("_ctypes", "_json", "mmap", "termios", "resource")


@functools.cache
def files() -> initramfs.Files:
    """Guest path -> content; the program itself comes with its libraries."""
    found: dict[initramfs.Inside, Path | str | bytes] = {INSIDE: library()}
    folder = LIBRARY / "lib-dynload"
    for name in COMPILED:
        for path in folder.glob(f"{name}.cpython-*.so"):
            found[path] = path
            for needed in initramfs.libraries(path):
                found[needed] = needed
    return found


def library() -> bytes:
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive,
        tempfile.TemporaryDirectory() as temp,
    ):
        for path in sorted(LIBRARY.rglob("*.py")):
            name = path.relative_to(LIBRARY)
            if name.parts[0] in LEFT_OUT or name.parts[0].startswith("config-"):
                continue
            compiled = py_compile.compile(str(path), cfile=f"{temp}/one.pyc", optimize=1)
            if compiled:
                archive.write(compiled, str(name.with_suffix(".pyc")))
    return packed.getvalue()
