# SPDX-License-Identifier: GPL-2.0
"""Guests with a kernel of Debian, Python, and our tool in /tool."""

import functools
import io
import py_compile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from guest import initramfs, vm
from guest.debian_kernel import DebianKernel
from tool import install

SECONDS = 60  # time limit with KVM
# QEMU 7.2 emulates cmpxchg16b wrongly at times: a page fault in it leaves wrong
# flags, and kernels that use it in the allocator die of it.
PROCESSOR = ("-cpu", "max,-cx16")


PROGRAM = Path("/usr/bin/python3.11")
LIBRARY = Path("/usr/lib/python3.11")
INSIDE = "/usr/lib/python311.zip"  # Python looks there by itself
# Large, and of no use to a program without a screen.
LEFT_OUT = ("test", "idlelib", "lib2to3", "tkinter", "distutils", "ensurepip", "pydoc_data")
# Compiled modules are of no use in an archive.
COMPILED = ("_ctypes", "_json", "mmap", "termios", "resource")


@functools.cache
def python_files() -> initramfs.Files:
    """Guest path -> content of Python's library, as one archive of bytecode."""
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


def tool_files() -> dict[initramfs.Inside, Path | str | bytes]:
    """Guest path -> host path of the tool."""
    return {
        f"/tool/{to.relative_to(install.OWN)}": path
        for to, path in install.files().items()
        if to.is_relative_to(install.OWN)
    }


def guest(kernel: DebianKernel | vm.Image, script: str, **options: Any) -> vm.Guest:
    """A guest with one of Debian's kernels, or another one, with Python and the tool."""
    files = dict(python_files()) | tool_files() | dict(options.pop("files", {}))
    image: vm.Image
    if isinstance(kernel, DebianKernel):
        files.update(kernel.files())
        image = kernel.image
    else:
        image = kernel
    return vm.Guest(
        image,
        script,
        files=files,
        programs=[str(PROGRAM), *options.pop("programs", ())],
        qemu=[*PROCESSOR, *options.pop("qemu", ())],
        timeout=options.pop("timeout", SECONDS),
        **options,
    )
