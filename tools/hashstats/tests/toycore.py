# SPDX-License-Identifier: GPL-2.0
"""Crash dumps of a kernel that never ran: memory, symbols and types made up here."""

import struct

BASE = 0xFFFF888000000000
SIZE = 1 << 19
TEXT = 0xFFFFFFFF81000000
RELEASE = "6.12.1-toy"
POINTER = 8
# name -> members as (name, type, offset); a type is a name, or * for a pointer.
STRUCTS = {
    "hlist_node": [("next", "*", 0), ("pprev", "*", 8)],
    "hlist_bl_node": [("next", "*", 0), ("pprev", "*", 8)],
    "hlist_nulls_node": [("next", "*", 0), ("pprev", "*", 8)],
    "list_head": [("next", "*", 0), ("prev", "*", 8)],
    "hlist_head": [("first", "*", 0)],
    "hlist_bl_head": [("first", "*", 0)],
    "hlist_nulls_head": [("first", "*", 0)],
    "wait_queue_head": [("lock", "int", 0), ("head", "list_head", 8)],
    "plist_head": [("node_list", "list_head", 0)],
    "futex_hash_bucket": [("waiters", "int", 0), ("lock", "int", 4), ("chain", "plist_head", 8)],
    "inet_ehash_bucket": [("chain", "hlist_nulls_head", 0)],
    "inet_hashinfo": [("ehash", "*", 0), ("ehash_mask", "int", 8)],
    "": [("queues", "*", 0), ("hashsize", "long", 8)],
}
SIZES = {"int": 4, "long": 8, "*": POINTER, "short": 2}


def size_of(name, structs):
    if name in SIZES:
        return SIZES[name]
    _, kind, offset = structs[name][-1]
    return -(-(offset + size_of(kind, structs)) // 8) * 8


def btf(structs=None, bits=False):
    """The structures in BTF; bits: as one with bit fields has its offsets."""
    structs = STRUCTS if structs is None else structs
    names, types = {}, b""
    strings = b"\0"

    def name_of(text):
        nonlocal strings
        if text and text not in names:
            names[text] = len(strings)
            strings += text.encode() + b"\0"
        return names.get(text, 0)

    number = {"int": 1, "long": 2, "*": 3, "short": 4}
    number |= {name: at for at, name in enumerate(structs, 5)}
    types += struct.pack("<IIII", name_of("int"), 1 << 24, 4, 32)
    types += struct.pack("<IIII", name_of("long"), 1 << 24, 8, 64)
    types += struct.pack("<III", 0, 2 << 24, 0)
    types += struct.pack("<IIII", name_of("short"), 1 << 24, 2, 16)
    for name, members in structs.items():
        info = 4 << 24 | len(members) | bits << 31
        types += struct.pack("<III", name_of(name), info, size_of(name, structs))
        for member, kind, offset in members:
            types += struct.pack("<III", name_of(member), number[kind], offset * 8)
    head = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return head + types + strings


class ToyCore:
    """A memory that is filled piece by piece, and written as an ELF core."""

    def __init__(self, release=RELEASE, types=None):
        self.release, self.info = release, ""
        self.memory = bytearray(SIZE)
        self.end = BASE + 4096
        self.symbols = {"_stext": TEXT}
        self.store(f"Linux version {release} (toy) #1\n\0".encode(), "linux_banner")
        self.room("toy_end", 0)
        data = btf() if types is None else types
        if data:
            self.symbols["__start_BTF"] = self.store(data)
            self.symbols["__stop_BTF"] = self.symbols["__start_BTF"] + len(data)

    def room(self, symbol, size):
        """Reserve memory; a symbol of it."""
        address = self.end
        self.end += -(-size // 64) * 64
        if symbol:
            self.symbols[symbol] = address
        return address

    def store(self, data, symbol=None):
        address = self.room(symbol, len(data))
        self.memory[address - BASE : address - BASE + len(data)] = data
        return address

    def write(self, address, *words):
        struct.pack_into(f"<{len(words)}Q", self.memory, address - BASE, *words)

    def chains(self, base, lengths, step=8, head=0, kind="hlist"):
        """Chains of so many nodes, one for each bucket from a base."""
        for number, length in enumerate(lengths):
            place = base + number * step + head
            nodes = [self.room(None, 16) for _ in range(length)]
            if kind == "list":
                ring = [place, *nodes]
                for at, node in enumerate(ring):
                    self.write(node, ring[(at + 1) % len(ring)], ring[at - 1])
                continue
            end = 2 * number + 1 if kind == "nulls" else 0
            self.write(place, nodes[0] if nodes else end)
            for at, node in enumerate(nodes):
                after = nodes[at + 1] if at + 1 < len(nodes) else end
                self.write(node, after, nodes[at - 1] if at else place)

    def table(self, symbol, shift_symbol, shift, lengths):
        """A table that a variable points to, and the variable with its size."""
        base = self.room(None, 8 * len(lengths))
        self.chains(base, lengths)
        self.store(struct.pack("<Q", base), symbol)
        self.store(struct.pack("<I", shift), shift_symbol)
        return base

    def usual(self):
        """One table of each form."""
        self.dentry = self.table("dentry_hashtable", "d_hash_shift", 28, [0] * 8 + [1] * 6 + [2, 3])
        self.inode = self.table("inode_hashtable", "i_hash_shift", 3, [0, 0, 1, 1, 2, 0, 0, 20])
        uid = self.room("uidhash_table", 8 * 8)
        self.room("after_uidhash_table", 0)
        self.chains(uid, [1, 0, 2, 0, 0, 0, 0, 0])
        waits = self.room("folio_wait_table", 24 * 16)
        self.room("after_folio_wait_table", 0)
        self.chains(waits, [0] * 15 + [3], 24, 8, "list")
        ehash = self.room(None, 8 * 4)
        self.chains(ehash, [0, 1, 0, 2], kind="nulls")
        self.store(struct.pack("<QI", ehash, 3), "tcp_hashinfo")
        queues = self.room(None, 24 * 4)
        self.chains(queues, [1, 0, 0, 0], 24, 8, "list")
        self.store(struct.pack("<QQ", queues, 4), "__futex_data")
        return self

    def kallsyms(self, hidden=False):
        """Symbols in the form of /proc/kallsyms."""
        rows = sorted((address, name) for name, address in self.symbols.items())
        return "".join(f"{0 if hidden else address:016x} d {name}\n" for address, name in rows)

    def vmcoreinfo(self):
        lines = [f"OSRELEASE={self.release}", "PAGESIZE=4096"]
        lines += [
            *self.info.split(),
            f"SYMBOL(_stext)={TEXT:x}",
            f"SYMBOL(swapper_pg_dir)={TEXT + 4096:x}",
        ]
        return "\n".join(lines).encode() + b"\n"

    def bytes(self, note=True):
        info = self.vmcoreinfo() if note else b""
        notes = struct.pack("<III", 11, len(info), 0) + b"VMCOREINFO\0\0"
        notes += info + bytes(-len(info) % 4)
        start = 64 + 2 * 56
        head = struct.pack(
            "<16sHHIQQQIHHHHHH",
            b"\x7fELF\x02\x01\x01" + bytes(9),
            *(4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0),
        )
        programs = struct.pack("<IIQQQQQQ", 4, 0, start, 0, 0, len(notes), 0, 0)
        programs += struct.pack(
            "<IIQQQQQQ", 1, 0, start + len(notes), BASE, 0, len(self.memory), len(self.memory), 0
        )
        return head + programs + notes + bytes(self.memory)

    def files(self, folder):
        """(core, symbols) as files."""
        core, symbols = folder / "vmcore", folder / "kallsyms"
        core.write_bytes(self.bytes())
        symbols.write_text(self.kallsyms())
        return core, symbols
