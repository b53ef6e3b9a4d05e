# SPDX-License-Identifier: GPL-2.0
"""What a kernel address is: symbol, slab cache, structure and field.

Works on the memory of a guest as it was left, by its own page tables.  A kmalloc()
object has the type of the pointers that lead to it.
"""

import bisect
import collections
import mmap
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.lib.symbols import KERNEL, PART
from bench.lines.structures import Structures
from common import die, run
from guest import initramfs

LINE = 64
PAGE_SHIFT = 12
PAGE = 1 << PAGE_SHIFT
WORD = 8
TEXT = 0xFFFFFFFF80000000  # where the kernel's image is mapped
# Of page tables: bits of an address for each level, and bits of an entry.
INDEX_BITS = 9
PRESENT, LARGE = 1, 1 << 7
FRAME = 0x000FFFFFFFFFF000
FIVE_LEVELS = 0xFF11000000000000  # the direct map with five levels of page tables
PER_CPU_SIZE = 0x40000
WORD_MAX = (1 << 64) - 1
TABLE_MAX = 4 << 20  # from a pointer to the end of its table
ROUNDS = 3  # pointers to objects that pointers lead to
FIELDS_SHOWN = 4
DATA = "bBdDrRvV"
# Caches that are not called as their structure.
CACHES = {
    "UDP": "udp_sock",
    "TCP": "tcp_sock",
    "UNIX": "unix_sock",
    "UNIX-STREAM": "unix_sock",
    "bdev_cache": "bdev_inode",
    "cred_jar": "cred",
    "ext4_groupinfo_4k": "ext4_group_info",
    "ext4_inode_cache": "ext4_inode_info",
    "file_lock_cache": "file_lock",
    "file_lock_ctx": "file_lock_context",
    "files_cache": "files_struct",
    "filp": "file",
    "inode_cache": "inode",
    "jbd2_journal_handle": "jbd2_journal_handle",
    "jbd2_journal_head": "journal_head",
    "jbd2_transaction_s": "transaction_s",
    "mnt_cache": "mount",
    "posix_timers_cache": "k_itimer",
    "proc_inode_cache": "proc_inode",
    "shmem_inode_cache": "shmem_inode_info",
    "sighand_cache": "sighand_struct",
    "signal_cache": "signal_struct",
    "skbuff_head_cache": "sk_buff",
    "sock_inode_cache": "socket_alloc",
    "tcp_bind_bucket": "inet_bind_bucket",
    "uid_cache": "user_struct",
}
# Variables that are large structures.
VARIABLES = {
    "contig_page_data": "pglist_data",
    "init_net": "net",
    "init_task": "task_struct",
    "init_user_ns": "user_namespace",
    "tcp_hashinfo": "inet_hashinfo",
}
# Symbols of no bytes, at the address of what comes next.
EMPTY = re.compile(r"__key\b.*")
# What super_block.s_fs_info points to, by the file system.
FS_INFO = {"ext4": "ext4_sb_info", "tmpfs": "shmem_sb_info"}


class Symbol(NamedTuple):
    address: int
    name: str


class Slab(NamedTuple):
    cache: str
    size: int
    base: int  # of the object


class Place(NamedTuple):
    """Where an address is: `offset` bytes into something."""

    label: str
    struct: str
    offset: int


class Objects:
    def __init__(self, ram: Path, system_map: Path, types: Structures, cpus: int) -> None:
        self.ram, self.types = ram, types
        self.data: list[Symbol] = []
        self.percpu: list[Symbol] = []
        self.symbols: dict[str, int] = {}
        self._read_symbols(system_map)
        with open(ram, "rb") as file:
            self.bytes = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.levels = self._levels()
        self.direct = self.word(self.symbols["page_offset_base"])
        self.vmemmap = self.word(self.symbols["vmemmap_base"])
        offsets = self.symbols["__per_cpu_offset"]
        self.cpu_areas = [
            self.word(offsets + WORD * cpu) + self.symbols["__per_cpu_start"] & WORD_MAX
            for cpu in range(cpus)
        ]
        self.page_size = types.size("page")
        head = "compound_info" if types.has("page", "compound_info") else "compound_head"
        self.head_offset = types.offset("page", head)
        self.slab_type = types.values("pagetype")["PGTY_slab"]
        self.caches: dict[int, tuple[str, int]] = {}
        # Base of a kmalloc() object -> what leads to it.
        self.owners: dict[int, tuple[str, str]] = {}
        self.tables = self._tables()

    def _read_symbols(self, path: Path) -> None:
        if not path.is_file():
            die(f"{path}: not found; objects cannot be named without it")
        found = []
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) != 3:
                die(f"{path}: expected ADDRESS KIND NAME, found {line!r}")
            address, kind, name = int(words[0], 16), words[1], PART.sub("", words[2])
            self.symbols.setdefault(name, address)
            if not EMPTY.fullmatch(name):
                found.append((address, kind, name))
        # 0 up to Linux 6.14, then where the image has them.
        first, last = (self.symbols[f"__per_cpu_{end}"] for end in ("start", "end"))
        for address, kind, name in found:
            if first <= address <= last and kind in DATA + "aA":
                self.percpu.append(Symbol(address - first, name))
            elif kind in DATA and address >= KERNEL:
                self.data.append(Symbol(address, name))
        self.data.sort()
        self.percpu.sort()

    def _levels(self) -> int:
        """Of the page tables."""
        if self._physical(self.symbols["phys_base"] - TEXT):
            die("the guest's kernel was moved; run it with nokaslr")
        base = self._physical(self.symbols["page_offset_base"] - TEXT)
        return 5 if base == FIVE_LEVELS else 4

    def _physical(self, address: int) -> int:
        """The word at a physical address."""
        return int.from_bytes(self.bytes[address : address + WORD], "little")

    def translate(self, address: int) -> int | None:
        """The physical address, by the kernel's own page tables."""
        table = self.symbols["init_top_pgt"] - TEXT
        for level in reversed(range(self.levels)):
            shift = PAGE_SHIFT + INDEX_BITS * level
            entry = self._physical(table + (address >> shift & (1 << INDEX_BITS) - 1) * WORD)
            if not entry & PRESENT:
                return None
            if not level or level < 3 and entry & LARGE:
                size = 1 << shift
                return (entry & FRAME & -size) + address % size
            table = entry & FRAME
        return None

    def word(self, address: int) -> int:
        place = self.translate(address)
        return self._physical(place) if place is not None else 0

    def text(self, address: int) -> str:
        place = self.translate(address)
        if place is None:
            return ""
        return self.bytes[place : place + 64].partition(b"\0")[0].decode(errors="replace")

    def _tables(self) -> list[Symbol]:
        """Where variables point to: tables of pages that no slab has."""
        start, end = self.data[0].address & -WORD, self.symbols["_end"] & -WORD
        words = memoryview(self.bytes)[start - TEXT : end - TEXT].cast("Q")
        found = []
        for at, value in enumerate(words):
            address = start + WORD * at
            if not KERNEL <= value < TEXT or value % PAGE or address in self.freed():
                continue
            if self.slab(value):
                continue
            found.append(Symbol(value, f"{self.pointer(address)[0]}[]"))
        return sorted(found)

    def freed(self) -> range:
        """What only boot used; its symbols say nothing of what is there now."""
        return range(self.symbols["__init_begin"], self.symbols["__init_end"])

    def pointer(self, address: int) -> tuple[str, str]:
        """A variable that is a pointer, or has one here; what it points to."""
        symbol = nearest(self.data, address)
        struct = VARIABLES.get(symbol.name, "")
        field, target = self.types.pointee(struct, address - symbol.address)
        return f"{symbol.name}.{field}" if field else symbol.name, target

    # Slabs.

    def page(self, address: int) -> int:
        """The struct page of an address in the direct map, of the first page."""
        page = self.vmemmap + (address - self.direct >> PAGE_SHIFT) * self.page_size
        info = self.word(page + self.head_offset)
        if not info & 1:
            return page
        # The address of the first page, or a mask for that of this page; struct pages
        # are below the kernel's image, and masks have more bits set.
        return info - 1 if info < TEXT else page & info

    def in_direct_map(self, address: int) -> bool:
        return 0 <= address - self.direct < len(self.bytes)

    def slab(self, address: int) -> Slab | None:
        if not self.in_direct_map(address):
            return None
        page = self.page(address)
        kind = self.word(page + self.types.offset("page", "page_type")) & 0xFFFFFFFF
        if kind >> 24 != self.slab_type:
            return None
        cache = self.word(page + self.types.offset("slab", "slab_cache"))
        name, size = self.cache(cache)
        first = self.direct + ((page - self.vmemmap) // self.page_size << PAGE_SHIFT)
        return Slab(name, size, address - (address - first) % size) if size else None

    def cache(self, address: int) -> tuple[str, int]:
        if address not in self.caches:
            name = self.text(self.word(address + self.types.offset("kmem_cache", "name")))
            size = self.word(address + self.types.offset("kmem_cache", "size")) & 0xFFFFFFFF
            self.caches[address] = name, size
        return self.caches[address]

    # What is at an address.

    def place(self, address: int) -> Place:
        area = max((one for one in self.cpu_areas if one <= address), default=0)
        if address - area < PER_CPU_SIZE:
            symbol = nearest(self.percpu, address - area)
            if symbol.name == "__per_cpu_end":
                return Place("per-CPU memory", "", 0)
            return Place(f"per-CPU {symbol.name}", "", address - area - symbol.address)
        if address >= TEXT:
            symbol = nearest(self.data, address)
            struct = VARIABLES.get(symbol.name, "")
            return Place(symbol.name, struct, address - symbol.address)
        if self.vmemmap <= address < self.vmemmap + (1 << 40):
            return self.page_place(address)
        slab = self.slab(address)
        if slab:
            return self.slab_place(slab, address)
        table = nearest(self.tables, address)
        if table and address - table.address < TABLE_MAX and self.is_table(table, address):
            return Place(table.name, "", address - table.address)
        if self.in_direct_map(address):
            return Place(self.page_content(address), "", address % PAGE)
        return Place("vmalloc", "", 0)

    def is_table(self, table: Symbol, address: int) -> bool:
        """Whether no slab and no file has pages between the start and the address."""
        if not self.in_direct_map(address):
            return not self.in_direct_map(table.address)
        return self.page_content(address) == "page"

    def page_place(self, address: int) -> Place:
        frame = (address - self.vmemmap) // self.page_size
        owner = self.direct + (frame << PAGE_SHIFT)
        slab = self.slab(owner)
        what = f"slab {slab.cache}" if slab else self.page_content(owner)
        label = "struct page" if what == "page" else f"struct page of {what}"
        return Place(label, "page", (address - self.vmemmap) % self.page_size)

    def page_content(self, address: int) -> str:
        """The file system that caches this page, or `page`."""
        mapping = self.word(self.page(address) + self.types.offset("page", "mapping"))
        if not mapping or mapping & 3:
            return "page"
        host = self.word(mapping + self.types.offset("address_space", "host"))
        slab = self.slab(host)
        return f"page cache of {slab.cache}" if slab else "page"

    def slab_place(self, slab: Slab, address: int) -> Place:
        offset = address - slab.base
        struct = CACHES.get(slab.cache, slab.cache)
        if self.types.find(struct):
            return Place(struct, struct, offset)
        label, struct = self.owners.get(slab.base, (slab.cache, ""))
        return Place(label, struct, offset)

    def name(self, line: int, mask: int) -> str:
        """A line of which the bytes of the mask are used."""
        skipped = (mask & -mask).bit_length() - 1 if mask else 0
        address = line * LINE + skipped
        place = self.place(address)
        if place.struct:
            fields = self.types.touched(place.struct, place.offset, mask >> skipped)
            return f"{place.label}.{shown(fields)}" if fields else place.label
        if address >= TEXT:
            return shown(self.symbols_of(line, mask))
        return place.label

    def symbols_of(self, line: int, mask: int) -> list[str]:
        """The symbols under the bytes of the mask, some of the same address."""
        found: dict[str, None] = {}
        for byte in range(LINE):
            if mask >> byte & 1:
                found[nearest(self.data, line * LINE + byte).name] = None
        return list(found)

    # kmalloc() objects.

    def learn(self, lines: Iterable[int]) -> None:
        """Find what leads to the kmalloc() objects of these lines."""
        wanted = {
            slab.base
            for line in lines
            if (slab := self.slab(line * LINE))
            and not self.types.find(CACHES.get(slab.cache, slab.cache))
        }
        untyped: dict[int, tuple[str, str]] = {}
        for _ in range(ROUNDS):
            wanted -= self.owners.keys()
            if not wanted:
                break
            votes, unknown = self.votes(wanted)
            for target, counter in votes.items():
                # A pointer with a type says more than one without.
                typed = [one for one in counter if one[1]]
                best = max(sorted(typed or counter), key=lambda one: counter[one])
                (self.owners if typed else untyped)[target] = best
            # What leads to them may have a type in the next round.
            wanted |= unknown
        self.owners = untyped | self.owners

    def votes(
        self, wanted: set[int]
    ) -> tuple[dict[int, collections.Counter[tuple[str, str]]], set[int]]:
        """What leads to these objects, and objects on the way that have no type."""
        words = "".join(f"{one:x}\n" for one in sorted(wanted))
        found = run([initramfs.tools() / "find_words", self.ram], input=words).stdout
        votes: dict[int, collections.Counter[tuple[str, str]]] = {}
        unknown: set[int] = set()
        for line in found.splitlines():
            target, offset = (int(word, 16) for word in line.split())
            vote = self.vote(target, self.virtual(offset), unknown)
            if vote:
                votes.setdefault(target, collections.Counter())[vote] += 1
        return votes, unknown

    def virtual(self, offset: int) -> int:
        image = TEXT + offset
        if self.data[0].address <= image < self.symbols["_end"] and image not in self.freed():
            return image
        return self.direct + offset

    def vote(self, target: int, address: int, unknown: set[int]) -> tuple[str, str] | None:
        """(label, structure) by a pointer to an object."""
        if address >= TEXT:
            name, struct = self.pointer(address)
            return struct or f"*{name}", struct
        slab = self.slab(address)
        if not slab or slab.base == target:
            return None
        place = self.slab_place(slab, address)
        if not place.struct:
            unknown.add(slab.base)
            return None
        field, struct = self.types.pointee(place.struct, place.offset)
        if not field:
            return None
        if (place.struct, field) == ("super_block", "s_fs_info"):
            kind = self.word(slab.base + self.types.offset("super_block", "s_type"))
            struct = FS_INFO.get(self.text(self.word(kind)), "")
        return struct or f"*{place.struct}.{field}", struct


def nearest(symbols: list[Symbol], address: int) -> Any:
    """The last symbol that does not begin behind an address."""
    at = bisect.bisect_right(symbols, address, key=lambda one: one.address) - 1
    if at < 0:
        return Symbol(0, "?")
    # Of several at one address, the first.
    while at and symbols[at - 1].address == symbols[at].address:
        at -= 1
    return symbols[at]


def shown(names: list[str]) -> str:
    more = "..." if len(names) > FIELDS_SHOWN else ""
    return "{" + ", ".join(names[:FIELDS_SHOWN]) + more + "}" if len(names) > 1 else names[0]
