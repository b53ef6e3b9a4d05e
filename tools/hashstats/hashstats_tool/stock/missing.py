# SPDX-License-Identifier: GPL-2.0
"""Why something cannot be read; the user sees the text of these in one line."""

import struct

# What Python says of bytes that make no sense.
DAMAGE = (
    ValueError,
    LookupError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    struct.error,
)


class Missing(Exception):
    """A table, a symbol or a layout that this kernel does not have."""


class BadAddress(Missing):
    """An address that is not in the memory of the kernel."""

    def __init__(self, address):
        super().__init__(f"{address:#x} is not in the kernel's memory")
        self.address = address
