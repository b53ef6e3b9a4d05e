# SPDX-License-Identifier: GPL-2.0
"""Program headers and notes of an ELF core: /proc/kcore, a crash dump.

Only 64-bit little-endian files; the structures of the kernel would be read
wrongly from others.
"""

import os
import struct
from typing import NamedTuple

from ..errors import Complaint

MAGIC = b"\x7fELF"
LITTLE_64 = b"\x02\x01"
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
NOTE = struct.Struct("<III")
LOAD, NOTES = 1, 4
MANY = 0xFFFF  # program headers: the first section header has their number
MOST_NOTES = 64 << 20


class Segment(NamedTuple):
    virtual: int
    physical: int
    size: int
    offset: int  # in the file


class Core:
    """An open core file: .segments, and .notes as name -> content."""

    def __init__(self, path, shown):
        self.shown = shown
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.segments, self.notes = self._headers()
        except BaseException:
            self.close()
            raise

    def fetch(self, size, offset):
        return os.pread(self.fd, size, offset)

    def close(self):
        os.close(self.fd)

    def check_size(self):
        """Refuse a file that lacks its end: chains would end there, and look short."""
        size = os.fstat(self.fd).st_size
        wanted = max((one.offset + one.size for one in self.segments), default=0)
        if size < wanted:
            raise Complaint(
                f"{self.shown}: the file is cut off at {size} of {wanted} bytes, "
                "expected a whole crash dump"
            )

    def bad(self, what):
        return Complaint(f"{self.shown}: {what}, expected a core of a 64-bit little-endian kernel")

    def _read(self, size, offset):
        data = os.pread(self.fd, size, offset)
        if len(data) < size:
            raise self.bad("the file is cut off")
        return data

    def _headers(self):
        head = self._read(HEADER.size, 0)
        if head[:4] != MAGIC:
            raise self.bad("not an ELF file")
        if head[4:6] != LITTLE_64:
            raise self.bad("a 32-bit or big-endian file")
        _, _, self.machine, _, _, at, sections, _, _, size, number, *_ = HEADER.unpack(head)
        if number == MANY:
            number = SECTION.unpack(self._read(SECTION.size, sections))[7]
        if size != PROGRAM.size or not number:
            raise self.bad("no program headers")
        segments: list[Segment] = []
        notes: dict[bytes, bytes] = {}
        for kind, _, offset, virtual, physical, length, _, _ in PROGRAM.iter_unpack(
            self._read(size * number, at)
        ):
            if kind == LOAD and length:
                segments.append(Segment(virtual, physical, length, offset))
            elif kind == NOTES and length <= MOST_NOTES:
                # A dump that was cut off lacks its end, not its beginning.
                notes |= parsed(os.pread(self.fd, length, offset))
        return segments, notes


def parsed(data):
    """Notes by name; the first of each."""
    notes: dict[bytes, bytes] = {}
    at = 0
    while at + NOTE.size <= len(data):
        name, content, _ = NOTE.unpack_from(data, at)
        at += NOTE.size
        word = data[at : at + name].rstrip(b"\0")
        at += aligned(name)
        notes.setdefault(word, data[at : at + content])
        at += aligned(content)
    return notes


def aligned(size):
    return -(-size // 4) * 4
