# SPDX-License-Identifier: GPL-2.0
"""Dumps in makedumpfile's compressed formats, by libkdumpfile or drgn.

Neither is needed for other dumps; where both are missing, a line says so.
"""

import importlib

from ..errors import Complaint
from .elf import Segment
from .memory import KERNEL_HALF
from .missing import BadAddress

MAGICS = (b"KDUMP   ", b"DISKDUMP", b"makedumpfile\0")


class Dump:
    """As elf.Core, with all kernel addresses in one segment: the library finds them."""

    fd = -1
    machine = None
    segments = (Segment(KERNEL_HALF, 0, KERNEL_HALF, KERNEL_HALF),)

    def __init__(self, path, shown):
        for library in (Kdumpfile, Drgn):
            try:
                self.library = library(path)
                break
            except ImportError:
                continue
            except Exception as error:
                # Each library has errors of its own.
                raise Complaint(
                    f"{shown}: {one_line(error)}, expected a whole crash dump"
                ) from None
        else:
            raise Complaint(
                f"{shown}: a compressed dump; accepted: with python3-libkdumpfile or drgn installed, "
                "or its ELF form (makedumpfile -E)"
            )
        self.notes = {b"VMCOREINFO": self.library.vmcoreinfo()}

    def fetch(self, size, address):
        return self.library.read(address, size)


class Kdumpfile:
    def __init__(self, path):
        library = importlib.import_module("kdumpfile")
        self.space = library.KDUMP_KVADDR
        self.failure = library.exceptions.KDumpBaseException
        self.file = library.kdumpfile(path)
        self.file.attr["addrxlat.ostype"] = "linux"

    def vmcoreinfo(self):
        return as_bytes(self.file.attr["linux.vmcoreinfo.raw"])

    def read(self, address, size):
        try:
            return bytes(self.file.read(self.space, address, size))
        except self.failure:
            raise BadAddress(address) from None


class Drgn:
    def __init__(self, path):
        library = importlib.import_module("drgn")
        self.failure = library.FaultError
        self.program = library.Program()
        self.program.set_core_dump(path)

    def vmcoreinfo(self):
        return self.program["VMCOREINFO"].string_()

    def read(self, address, size):
        try:
            return self.program.read(address, size)
        except self.failure:
            raise BadAddress(address) from None


def as_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode()


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__
