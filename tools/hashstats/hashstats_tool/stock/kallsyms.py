# SPDX-License-Identifier: GPL-2.0
"""Addresses of symbols, from the text of /proc/kallsyms.

The text is searched and not parsed: it has some hundred thousand lines, of which
a few are wanted. Where the kernel hides addresses from it (kptr_restrict), or a
dump comes without it, the same text is made of the tables in memory from which
the kernel makes it.
"""

import re
import struct
from typing import NamedTuple

from . import vmcoreinfo
from .missing import BadAddress, Missing

PATH = "/proc/kallsyms"
AROUND = 12  # symbols on each side
BESIDE = 4096  # bytes of text before and behind a symbol in which these are
TABLES = ("names", "num_syms", "token_table", "token_index", "offsets")
TOKENS = 256
MOST_TEXT = 256 << 20  # bytes; more than any kernel has
LONGEST_NAME = 24  # bytes, compressed and on average; more than enough
WRONG = re.compile(rb"^(?![0-9a-fA-F]{1,16} \S \S).", re.MULTILINE)
# A symbol whose address VMCOREINFO gives too, so that decoding can be checked.
CHECKED = "_stext"


class Symbol(NamedTuple):
    name: str
    address: int
    room: int  # bytes to the next symbol
    near: list  # names on both sides


class Symbols:
    """Symbols of the kernel itself; those of modules have another line end."""

    def __init__(self, text, shift=0):
        self.text = text
        self.shift = shift  # what the kernel's address is above that of the text

    def moved_to(self, address):
        """The same, if one symbol is known to be at another address.

        A System.map has the addresses before the kernel was moved at random.
        """
        found = self.all(CHECKED)
        if not address or not found:
            return self
        return Symbols(self.text, address - found[0].address)

    @property
    def wrong(self):
        """The number and the beginning of the first line that is no symbol, or None."""
        if not (match := WRONG.search(self.text)):
            return None
        line = self.text[match.start() : match.start() + 100].splitlines()[0]
        return self.text.count(b"\n", 0, match.start()) + 1, line.decode(errors="replace")

    @property
    def hidden(self):
        """Whether all addresses are shown as 0."""
        return not any(one.address for one in self.all(CHECKED))

    def all(self, name):
        """Each symbol of this name, in the order of addresses."""
        needle, at, found = b" " + name.encode() + b"\n", 0, []
        while (at := self.text.find(needle, at)) >= 0:
            start = self.text.rfind(b"\n", 0, at) + 1
            end = at + len(needle)
            address = int(self.text[start:at].split()[0], 16)
            room, near = self._room(address, end), self._near(start, end)
            found.append(Symbol(name, address + self.shift, room, near))
            at = end
        return found

    def one(self, name):
        """The first of this name."""
        found = self.all(name)
        if not found:
            raise Missing(f"the kernel has no symbol {name}")
        return found[0]

    def _room(self, address, at):
        while at < len(self.text):
            end = self.text.find(b"\n", at)
            line = self.text[at : end if end >= 0 else len(self.text)]
            # Several names may have one address.
            if line and (after := int(line.split()[0], 16)) > address:
                return after - address
            if end < 0:
                break
            at = end + 1
        return 0

    def _near(self, start, end):
        before = self.text[max(0, start - BESIDE) : start].splitlines()[-AROUND:]
        after = self.text[end : end + BESIDE].splitlines()[:AROUND]
        return [line.split()[2].decode() for line in before + after if len(line.split()) == 3]


def in_memory(memory, info):
    """The text made of the kernel's tables, as /proc/kallsyms shows it to root."""
    at = {name: vmcoreinfo.address(info, f"kallsyms_{name}") for name in TABLES}
    if None in at.values():
        raise Missing("VMCOREINFO of this kernel does not say where kallsyms is")
    count = memory.half_word(at["num_syms"])
    names = decoded(memory, at, count)
    offsets = struct.unpack(f"<{count}i", memory.read(at["offsets"], 4 * count))
    base = vmcoreinfo.address(info, "kallsyms_relative_base")
    for addresses in schemes(offsets, at["offsets"], base and memory.word(base)):
        pairs = sorted(zip(addresses, names))
        if any(
            name[1:] == CHECKED.encode() and address == vmcoreinfo.address(info, CHECKED)
            for address, name in pairs
        ):
            return b"".join(b"%016x %c %s\n" % (a, n[0], n[1:]) for a, n in pairs if n)
    raise Missing("the kernel's kallsyms are in a form that is not known")


def schemes(offsets, start, base):
    """Addresses by each way in which kernels have stored them.

    Up to 6.14 with per-CPU symbols as positive numbers and others as negative
    ones before the base; then all behind the base; since 7.1 relative to the
    number itself.
    """
    if base is None:
        yield [start + 4 * at + offset for at, offset in enumerate(offsets)]
        return
    yield [offset if offset >= 0 else base - 1 - offset for offset in offsets]
    yield [base + (offset & 0xFFFFFFFF) for offset in offsets]


def decoded(memory, at, count):
    """Names with the letter of their type in front; each byte stands for a token."""
    index = struct.unpack(f"<{TOKENS}H", memory.read(at["token_index"], 2 * TOKENS))
    table = memory.read(at["token_table"], index[-1] + 128)
    tokens = [table[start : table.index(b"\0", start)] for start in index]
    raw = compressed(memory, at["names"], count * LONGEST_NAME)
    names, place = [], 0
    try:
        for _ in range(count):
            size = raw[place]
            place += 1
            if size & 0x80:
                size = size & 0x7F | raw[place] << 7
                place += 1
            names.append(b"".join([tokens[byte] for byte in raw[place : place + size]]))
            place += size
    except IndexError:
        raise Missing("the kernel's kallsyms cannot be decoded") from None
    return names


def compressed(memory, address, size):
    """As much as there is: the end of the names is not known before they are read."""
    while size:
        try:
            return memory.read(address, size)
        except BadAddress:
            size //= 2
    raise BadAddress(address)
