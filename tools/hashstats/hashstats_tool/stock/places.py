# SPDX-License-Identifier: GPL-2.0
"""Where a table of the catalog is in the memory of a kernel."""

import re
import struct
from typing import NamedTuple

from . import catalog
from .kernel import View
from .missing import BadAddress, Missing

MOST_BUCKETS = 1 << 32
MOST_NODES = 1024
MOST_CODE = 4096
# movabs: a constant of 64 bits into a register.
CONSTANT = re.compile(rb"[\x48\x49][\xb8-\xbf](.{8})", re.DOTALL)


class Where(NamedTuple):
    """The parts of a table, each with so many buckets."""

    parts: list
    buckets: int


def find(kernel, entry, size):
    """Where an entry is; `size` is of a bucket."""
    return checked(FINDERS[type(entry.place)](kernel, entry.place, size))


def checked(where):
    if not 0 < where.buckets < MOST_BUCKETS or where.buckets & where.buckets - 1:
        raise Missing(f"{where.buckets} buckets cannot be true")
    if not all(where.parts):
        raise Missing("its address is 0: it is not in use")
    return where


def array(kernel, place, size):
    symbol = chosen(place, kernel.symbols.all(place.symbol))
    count = symbol.room // size
    # What is between the end of a table and the next symbol is less than a table.
    return Where([symbol.address], 1 << max(count.bit_length() - 1, 0) if count else 0)


def chosen(place, symbols):
    """Of symbols with one name, the one with the right neighbours."""
    if place.near:
        symbols = [one for one in symbols if any(name.startswith(place.near) for name in one.near)]
    if not symbols:
        raise Missing(f"the kernel has no symbol {place.symbol}")
    if len(symbols) > 1:
        raise Missing(f"the kernel has {len(symbols)} symbols {place.symbol}")
    return symbols[0]


def pointer(kernel, place, size):
    number = kernel.memory.half_word(kernel.address(place.size))
    return Where([kernel.pointer(place.symbol)], count(place.rule, number))


def members(kernel, place, size):
    return inside(place, variable(kernel, place))


def inside(place, view):
    """The table of this structure, which need not be the variable."""
    return Where([view[place.table]], count(place.rule, view[place.size]))


def nodes(kernel, place, size):
    view = variable(kernel, place)
    number = kernel.memory.half_word(kernel.address("nr_node_ids"))
    return Where(
        table_a_node(kernel, view.at(place.table), number), count(place.rule, view[place.size])
    )


def variable(kernel, place):
    types = kernel.types
    number = (
        types.struct(place.struct) if isinstance(place.struct, str) else types.unnamed(place.struct)
    )
    return View(kernel, number, kernel.address(place.symbol))


def table_a_node(kernel, address, number):
    if not 0 < number <= MOST_NODES:
        raise Missing(f"{number} memory nodes cannot be true")
    return [one for one in kernel.memory.words(address, number) if one]


def code(kernel, place, size):
    """The compiler keeps no variable for an address that is only in instructions."""
    buckets = count(place.rule, kernel.memory.half_word(kernel.address(place.size)))
    number = kernel.memory.half_word(kernel.address("nr_node_ids"))
    symbol = kernel.symbols.one(place.function)
    text = kernel.memory.read(symbol.address, min(symbol.room, MOST_CODE))
    for match in CONSTANT.finditer(text):
        (address,) = struct.unpack("<Q", match[1])
        try:
            parts = table_a_node(kernel, address, number)
            if parts and all(queues(kernel, part, size) for part in parts):
                return Where(parts, buckets)
        except BadAddress:
            continue
    raise Missing(f"its address is not in the code of {place.function}()")


def queues(kernel, address, size):
    """Whether a list is there: its first entry, or itself, names it as the one before."""
    head = address + kernel.offset(catalog.FUTEX.bucket, catalog.FUTEX.head)
    memory = kernel.memory
    return memory.word(memory.word(head) + 8) == head


def count(rule, number):
    if rule == "mask":
        return number + 1
    if rule == "number":
        return number
    bits = 32 - number if rule == "32-bits" else number
    if not 0 <= bits <= 32:
        raise Missing(f"2^{bits} buckets cannot be true")
    return 1 << bits


FINDERS = {
    catalog.Array: array,
    catalog.Pointer: pointer,
    catalog.Members: members,
    catalog.Nodes: nodes,
    catalog.Code: code,
}
