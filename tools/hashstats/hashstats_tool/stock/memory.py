# SPDX-License-Identifier: GPL-2.0
"""The kernel's memory: addresses to bytes of a file.

A map gives the extent that an address is in: where it begins, where it ends,
and what to add to an address to have an offset in the file. Nothing outside
the extents is read, so a bad pointer is a BadAddress and never touches a
device or a hole of /proc/kcore.
"""

import bisect
import struct

from .missing import BadAddress

KERNEL_HALF = 1 << 63  # kernel addresses have the highest bit
WORD = struct.Struct("<Q")
HALF_WORD = struct.Struct("<I")
LONGEST_TEXT = 4096


class Extents:
    """Ranges of addresses that lie in a file one after the other."""

    def __init__(self, ranges):
        """ranges: (start, size, offset in the file)"""
        self.ranges = sorted(
            (start, start + size, offset - start) for start, size, offset in ranges
        )
        self.starts = [one[0] for one in self.ranges]

    def __bool__(self):
        return bool(self.ranges)

    def extent(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        if at >= 0 and address < self.ranges[at][1]:
            return self.ranges[at]
        return None


def virtual(core):
    """The extents of a core by virtual address.

    A dump of physical memory has physical addresses in both places, or 0.
    """
    return Extents(
        (one.virtual, one.size, one.offset) for one in core.segments if one.virtual & KERNEL_HALF
    )


def physical(core):
    """The same by physical address; /proc/kcore gives none for some of its segments."""
    return Extents(
        (one.physical, one.size, one.offset)
        for one in core.segments
        if one.physical < KERNEL_HALF and (one.physical or not one.virtual & KERNEL_HALF)
    )


class Memory:
    """Reads by virtual address; `maps` are asked one after the other."""

    def __init__(self, fetch, maps):
        self.fetch = fetch  # (size, offset) -> bytes
        self.maps = maps

    def extent(self, address):
        """(start, end, delta) around an address."""
        for one in self.maps:
            found = one.extent(address)
            if found:
                return found
        raise BadAddress(address)

    def read(self, address, size):
        pieces = []
        while size:
            _, end, delta = self.extent(address)
            wanted = min(size, end - address)
            try:
                piece = self.fetch(wanted, address + delta)
            except OSError:
                raise BadAddress(address) from None
            if not piece:
                raise BadAddress(address)
            pieces.append(piece)
            address += len(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def word(self, address):
        return WORD.unpack(self.read(address, 8))[0]

    def half_word(self, address):
        return HALF_WORD.unpack(self.read(address, 4))[0]

    def number(self, address, size):
        return int.from_bytes(self.read(address, size), "little")

    def words(self, address, count):
        return memoryview(self.read(address, 8 * count)).cast("Q")

    def text(self, address, longest=LONGEST_TEXT):
        """The string at an address, without its end."""
        data = b""
        while len(data) < longest:
            # Not beyond the page: the next one may not be there.
            more = self.read(address + len(data), 64 - (address + len(data)) % 64)
            data += more
            if b"\0" in more:
                break
        return data.partition(b"\0")[0][:longest].decode(errors="replace")
