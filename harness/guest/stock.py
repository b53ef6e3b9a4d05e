# SPDX-License-Identifier: GPL-2.0
"""Guests with a kernel of Debian, Python, and our tool in /tool."""

from pathlib import Path
from typing import Any

from guest import initramfs, python_files, vm
from guest.debian_kernel import DebianKernel
from tool import install

SECONDS = 60  # time limit with KVM
# QEMU 7.2 emulates cmpxchg16b wrongly at times: a page fault in it leaves wrong
# flags, and kernels that use it in the allocator die of it.
PROCESSOR = ("-cpu", "max,-cx16")


def tool_files() -> dict[initramfs.Inside, Path | str | bytes]:
    """Guest path -> host path of the tool."""
    return {
        f"/tool/{to.relative_to(install.OWN)}": path
        for to, path in install.files().items()
        if to.is_relative_to(install.OWN)
    }


def guest(kernel: DebianKernel | vm.Image, script: str, **options: Any) -> vm.Guest:
    """A guest with one of Debian's kernels, or another one, with Python and the tool."""
    files = dict(python_files.files()) | tool_files() | dict(options.pop("files", {}))
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
        programs=[str(python_files.PROGRAM), *options.pop("programs", ())],
        qemu=[*PROCESSOR, *options.pop("qemu", ())],
        timeout=options.pop("timeout", SECONDS),
        **options,
    )
