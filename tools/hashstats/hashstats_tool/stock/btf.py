# SPDX-License-Identifier: GPL-2.0
"""BTF, the kernel's description of its own types: sizes and offsets of members.

Documentation/bpf/btf.rst in the kernel describes the format. Types of a module
continue those of the kernel: `base` has the first ones.
"""

import struct
from typing import NamedTuple

from .missing import Missing

MAGIC = 0xEB9F
HEADER = struct.Struct("<HBBIIIII")
TYPE = struct.Struct("<III")  # name, info, size or type
MEMBER = struct.Struct("<III")  # name, type, bit offset
INT, POINTER, ARRAY, STRUCT, UNION, ENUM, FORWARD, TYPEDEF = range(1, 9)
VOLATILE, CONST, RESTRICT, FUNCTION, PROTOTYPE, VARIABLE, SECTION, FLOAT = range(9, 17)
DECLARATION_TAG, TYPE_TAG, ENUM_64 = range(17, 20)
# Bytes behind a type: always, and for each of its members.
BEHIND = {
    INT: (4, 0),
    ARRAY: (12, 0),
    STRUCT: (0, 12),
    UNION: (0, 12),
    ENUM: (0, 8),
    PROTOTYPE: (0, 8),
    VARIABLE: (4, 0),
    SECTION: (0, 12),
    DECLARATION_TAG: (4, 0),
    ENUM_64: (0, 12),
    **dict.fromkeys((POINTER, FORWARD, TYPEDEF, VOLATILE, CONST, RESTRICT), (0, 0)),
    **dict.fromkeys((FUNCTION, FLOAT, TYPE_TAG), (0, 0)),
}
OTHER_NAMES = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
NO_NAME = bytes(4)
DEEPEST = 64  # typedefs and qualifiers around a type
WORD_SIZE = 8


class Type(NamedTuple):
    kind: int
    name: str
    size: int  # of structures and numbers; else the type that is referred to
    length: int  # in members
    bits: bool  # whether offsets have a number of bits above them
    at: int  # of what is behind, in the data
    owner: object  # the Btf whose data that is


class Btf:
    def __init__(self, data, base=None):
        self.data, self.base = data, base
        self.known = {}  # (name, kind) -> number of the type
        try:
            magic, _, _, head, types, size, strings, length = HEADER.unpack_from(data)
            if magic != MAGIC:
                raise Missing("the types of this kernel are not in BTF")
            self.strings = data[head + strings : head + strings + length]
            self.first = base.last if base else 1
            self.first_string = base.last_string if base else 0
            self.places = self._places(head + types, head + types + size)
        except struct.error:
            raise Missing("the BTF of this kernel is cut off") from None
        self.last = self.first + len(self.places)
        self.last_string = self.first_string + length

    def _places(self, at, end):
        """Where each type begins; there is no index in the format."""
        places = []
        info = struct.Struct("<I").unpack_from
        step = {kind: (TYPE.size + always, each) for kind, (always, each) in BEHIND.items()}
        data = self.data
        while at < end:
            places.append(at)
            (word,) = info(data, at + 4)
            try:
                always, each = step[word >> 24 & 31]
            except KeyError:
                raise Missing(f"BTF has a kind {word >> 24 & 31} that is not known") from None
            at += always + each * (word & 0xFFFF)
        return places

    def text(self, offset):
        if offset < self.first_string:
            return self.base.text(offset)
        start = offset - self.first_string
        return self.strings[start : self.strings.index(b"\0", start)].decode(errors="replace")

    def type(self, number):
        if number < self.first:
            if self.base:
                return self.base.type(number)
            return Type(0, "void", 0, 0, False, 0, self)
        at = self.places[number - self.first]
        name, info, size = TYPE.unpack_from(self.data, at)
        return Type(
            info >> 24 & 31,
            self.text(name),
            size,
            info & 0xFFFF,
            bool(info >> 31),
            at + TYPE.size,
            self,
        )

    def plain(self, number):
        """(number, type) below typedefs and qualifiers."""
        found = self.type(number)
        for _ in range(DEEPEST):
            if found.kind not in OTHER_NAMES:
                break
            number = found.size
            found = self.type(number)
        return number, found

    def struct(self, name):
        """The number of a structure."""
        return self._named(name, STRUCT, "structure")

    def values(self, enum):
        """{name: value} of an enumeration."""
        found = self.type(self._named(enum, ENUM, "enumeration"))
        pairs = struct.Struct("<II").iter_unpack(
            found.owner.data[found.at : found.at + 8 * found.length]
        )
        return {self.text(name): value for name, value in pairs}

    def _named(self, name, kind, what):
        if (name, kind) not in self.known:
            self.known[name, kind] = self._search(name, kind)
        number = self.known[name, kind]
        if number is None and self.base:
            return self.base._named(name, kind, what)
        if number is None:
            raise Missing(f"the kernel has no {what} {name}")
        return number

    def _search(self, name, kind):
        key = self._key(name)
        for number, at in enumerate(self.places, self.first) if key else ():
            if self.data[at : at + 4] == key and self.data[at + 7] & 31 == kind:
                return number
        return None

    def _key(self, name):
        """A name as types and members have it; None if nothing is called so."""
        start = self.strings.find(b"\0" + name.encode() + b"\0")
        return struct.pack("<I", start + 1 + self.first_string) if start >= 0 else None

    def unnamed(self, members):
        """The number of the structure without a name that begins with these members."""
        data, key = self.data, self._key(members[0])
        for number, at in enumerate(self.places, self.first) if key else ():
            first = at + TYPE.size
            if (
                data[first : first + 4] == key
                and data[at : at + 4] == NO_NAME
                and data[at + 7] & 31 == STRUCT
            ):
                names = [name for name, _, _ in self.members(self.type(number))]
                if names[: len(members)] == list(members):
                    return number
        raise Missing(f"the kernel has no structure of {', '.join(members)}")

    def members(self, found):
        """(name, number of the type, offset in bytes) of each member."""
        for at in range(found.at, found.at + MEMBER.size * found.length, MEMBER.size):
            name, number, bit = MEMBER.unpack_from(found.owner.data, at)
            # The size of a bit field stands above its offset.
            yield self.text(name), number, (bit & 0xFFFFFF if found.bits else bit) // 8

    def member(self, number, path):
        """(offset, number of the type) of a member, as "chain.node_list".

        Members of unions and structures without a name belong to what they are in.
        """
        offset = 0
        for name in path.split("."):
            found = self._find(number, name)
            if not found:
                raise Missing(f"struct {self.plain(number)[1].name} has no member {name}")
            offset, number = offset + found[0], found[1]
        return offset, number

    def _find(self, number, wanted):
        _, found = self.plain(number)
        if found.kind not in (STRUCT, UNION):
            return None
        for name, inner, offset in self.members(found):
            if name == wanted:
                return offset, inner
            if not name and (deeper := self._find(inner, wanted)):
                return offset + deeper[0], deeper[1]
        return None

    def size(self, number):
        _, found = self.plain(number)
        if found.kind == POINTER:
            return WORD_SIZE
        if found.kind in (INT, ENUM, ENUM_64, STRUCT, UNION, FLOAT):
            return found.size
        raise Missing(f"the size of {found.name or 'a type'} is not known")
