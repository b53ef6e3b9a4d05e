# SPDX-License-Identifier: GPL-2.0
"""Dumps in makedumpfile's compressed format, by libkdumpfile.

Other dumps do not need it. Only pages of physical memory are read by it: the
kernel's page tables are followed as in other dumps.
"""

import importlib

from ..errors import Complaint
from . import vmcoreinfo
from .elf import Segment
from .missing import BadAddress
from .paging import X86_64

MAGICS = (b"KDUMP   ", b"DISKDUMP")
FLAT = b"makedumpfile\0"
PAGE = 4096
RAW = "linux.vmcoreinfo.raw"


class Dump:
    """As elf.Core, with all physical memory in one segment."""

    machine = X86_64

    def __init__(self, path, shown):
        try:
            library = importlib.import_module("kdumpfile")
        except ImportError:
            raise Complaint(
                f"{shown}: a compressed dump; accepted: with python3-libkdumpfile installed, "
                "or its ELF form (makedumpfile -E)"
            ) from None
        self.failure = library.exceptions.KDumpBaseException
        self.space = library.KDUMP_MACHPHYSADDR
        try:
            self.file = library.kdumpfile(path)
            self.size = self.file.attr["max_pfn"] * PAGE
        except (self.failure, KeyError) as error:
            raise Complaint(
                f"{shown}: {' '.join(str(error).split())}, expected a whole crash dump"
            ) from None
        self.segments = (Segment(0, 0, self.size, 0),)
        self.notes = {vmcoreinfo.NOTE: self._vmcoreinfo()}

    def fetch(self, size, address):
        try:
            return bytes(self.file.read(self.space, address, size))
        except self.failure:
            raise BadAddress(address) from None

    def _vmcoreinfo(self):
        try:
            raw = self.file.attr[RAW]
        except KeyError:
            return self._searched()
        return raw if isinstance(raw, bytes) else str(raw).encode()

    def _searched(self):
        """A dump by QEMU has no note; pages that were left out are skipped."""
        for address in range(0, self.size, PAGE):
            try:
                data = self.fetch(PAGE, address)
            except BadAddress:
                continue
            if data.startswith(vmcoreinfo.FIRST) and vmcoreinfo.is_whole(data):
                return data
        return b""


def complain_of_flat(shown):
    raise Complaint(
        f"{shown}: a dump in makedumpfile's flat format; accepted: what `makedumpfile -R` "
        "makes of it"
    )
