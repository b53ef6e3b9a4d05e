# SPDX-License-Identifier: GPL-2.0
"""A kernel: its memory, symbols and types together, and views of structures."""

import re

from .btf import POINTER, STRUCT, UNION

WORD_SIZE = 8


def version_of(release):
    """(6, 12) of "6.12.107-cloud"; (0, 0) of what is no release."""
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


class Kernel:
    def __init__(self, memory, symbols, types, release, command_line=""):
        self.memory = memory
        self.symbols = symbols
        self.types = types
        self.release = release
        self.version = version_of(release)
        self.command_line = command_line

    def address(self, name):
        return self.symbols.one(name).address

    def size(self, struct):
        return self.types.size(self.types.struct(struct))

    def offset(self, struct, path):
        return self.types.member(self.types.struct(struct), path)[0]

    def view(self, struct, address):
        return View(self, self.types.struct(struct), address)

    def pointer(self, symbol):
        """The value of a variable that is a pointer."""
        return self.memory.word(self.address(symbol))


class View:
    """A structure at an address; view["a.b"] is the value of a member."""

    def __init__(self, kernel, number, address):
        self.kernel, self.number, self.address = kernel, number, address

    def at(self, path):
        """The address of a member."""
        return self.address + self.kernel.types.member(self.number, path)[0]

    def __getitem__(self, path):
        """A number, a pointer as a number, or a view of a structure inside."""
        offset, number = self.kernel.types.member(self.number, path)
        _, found = self.kernel.types.plain(number)
        if found.kind in (STRUCT, UNION):
            return View(self.kernel, number, self.address + offset)
        size = self.kernel.types.size(number)
        return self.kernel.memory.number(self.address + offset, size)

    def follow(self, path):
        """The structure that a member points to; None if it is NULL."""
        offset, number = self.kernel.types.member(self.number, path)
        _, found = self.kernel.types.plain(number)
        address = self.kernel.memory.word(self.address + offset)
        if found.kind != POINTER or not address:
            return None
        return View(self.kernel, found.size, address)
