# SPDX-License-Identifier: GPL-2.0
"""Virtual to physical addresses by the kernel's own page tables, on x86-64.

For dumps of physical memory, and for vmalloc() addresses in kdump's files,
where only the direct map and the kernel's text have segments.
"""

import struct

from . import vmcoreinfo

TEXT = 0xFFFFFFFF80000000  # where the kernel image is mapped, less its random offset
PRESENT, LARGE = 1, 1 << 7
FRAME = 0x000FFFFFFFFFF000
PAGE = 12
INDEX = 9  # bits of an address that one level takes
WORD = struct.Struct("<Q")
X86_64 = 62


class PageTables:
    """A map for Memory; extents are whole pages, small, large or huge."""

    def __init__(self, fetch, physical, root, levels):
        self.fetch = fetch
        self.physical = physical
        self.root = root
        self.levels = levels
        self.known = {}  # number of a small page -> extent

    def extent(self, address):
        page = address >> PAGE
        if page not in self.known:
            self.known[page] = self._walk(address)
        return self.known[page]

    def _walk(self, address):
        table = self.root
        for level in reversed(range(self.levels)):
            shift = PAGE + INDEX * level
            entry = self._word(table + (address >> shift & (1 << INDEX) - 1) * WORD.size)
            if not entry or not entry & PRESENT:
                return None
            if not level or level < 3 and entry & LARGE:
                return self._page(address, shift, entry)
            table = entry & FRAME
        return None

    def _page(self, address, shift, entry):
        size = 1 << shift
        start = address & -size
        frame = entry & FRAME & -size
        inside = self.physical.extent(frame + address - start)
        if not inside:
            return None
        # A large page may reach beyond what the file has of it.
        low, high, delta = inside
        first = max(start, start + low - frame)
        return first, min(start + size, start + high - frame), delta + frame - start

    def _word(self, physical):
        inside = self.physical.extent(physical)
        data = self.fetch(WORD.size, physical + inside[2]) if inside else b""
        return WORD.unpack(data)[0] if len(data) == WORD.size else None


def of(machine, fetch, physical, info):
    """The kernel's page tables, None where they are not known."""
    root = vmcoreinfo.address(info, "swapper_pg_dir")
    if machine != X86_64 or not root or not physical or "NUMBER(phys_base)" not in info:
        return None
    base = vmcoreinfo.number(info, "phys_base")
    levels = 5 if vmcoreinfo.number(info, "pgtable_l5_enabled") else 4
    return PageTables(fetch, physical, root - TEXT + base, levels)
