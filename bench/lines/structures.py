# SPDX-License-Identifier: GPL-2.0
"""Members of a kernel's structures, for a kernel built without debug information.

A file that includes headers is compiled with debug information, by the command that
made an object of this kernel; pahole writes the types as BTF.
"""

import functools
import hashlib
import re
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import BUILD, die, lock, run, step
from common.packages import ensure_packages
from kernel import build

# Headers with the structures that a benchmark names; those in quotes are of the source tree.
HEADERS = """
    "fs/ext4/ext4.h" "fs/ext4/ext4_jbd2.h" "fs/mount.h" "mm/slab.h" <linux/backing-dev.h>
    <linux/cgroup.h> <linux/filelock.h> <linux/fdtable.h> <linux/jbd2.h> <linux/mmzone.h>
    <linux/mm.h> <linux/posix-timers.h> <linux/proc_ns.h> <linux/quota.h> <linux/sched/signal.h>
    <linux/sched/user.h> <linux/shmem_fs.h> <linux/user_namespace.h> <linux/utsname.h>
    <net/af_unix.h> <net/tcp.h> <net/udp.h>
"""
# Its command compiles for ext4, which finds its own headers.
LIKE = "fs/ext4/super.o"
FOLDER = BUILD / "types"
DEBUG = ("-g", "-fno-eliminate-unused-debug-types")
BTF_MAGIC = 0xEB9F
INT, POINTER, ARRAY, STRUCT, UNION, ENUM = range(1, 7)
SIZED = (INT, STRUCT, UNION, ENUM, 16, 19)  # floating point numbers, 64-bit enumerations
OTHER_NAMES = (8, 9, 10, 11, 18)  # typedef, volatile, const, restrict, type tag
# Bytes behind a type: always, and for each member.  Prototype, variable, section, tag.
BEHIND = {
    **{INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8)},
    **{13: (0, 8), 14: (4, 0), 15: (0, 12), 17: (4, 0), 19: (0, 12)},
}
# Structures of at most this size are one field: locks, lists, counters.
SMALL = 32


class Field(NamedTuple):
    offset: int
    size: int
    name: str


class Type(NamedTuple):
    kind: int
    name: str
    size: int  # of structures and numbers; else the type that is referred to
    members: list[tuple[str, int, int]]  # name, type, byte offset; of an enumeration: value twice
    length: int  # of an array


def parse(data: bytes) -> list[Type]:
    """All types by their number; Documentation/bpf/btf.rst describes the format."""
    magic, _, _, head, types, size, strings, _ = struct.unpack_from("<HBBIIIII", data)
    if magic != BTF_MAGIC:
        die("pahole wrote no BTF")

    def text(offset: int) -> str:
        start = head + strings + offset
        return data[start : data.index(b"\0", start)].decode()

    found = [Type(0, "void", 0, [], 0)]
    at, end = head + types, head + types + size
    while at < end:
        name, info, value = struct.unpack_from("<III", data, at)
        kind, number, bits = info >> 24 & 31, info & 0xFFFF, info >> 31
        at += 12
        members, length = [], 0
        if kind in (STRUCT, UNION):
            for word, inner, bit in struct.iter_unpack("<III", data[at : at + 12 * number]):
                # The size of a bit field stands above its offset.
                members.append((text(word), inner, (bit & 0xFFFFFF if bits else bit) // 8))
        elif kind == ENUM:
            for word, one in struct.iter_unpack("<II", data[at : at + 8 * number]):
                members.append((text(word), one, one))
        elif kind == ARRAY:
            value, _, length = struct.unpack_from("<III", data, at)
        always, each = BEHIND.get(kind, (0, 0))
        at += always + each * number
        found.append(Type(kind, text(name), value, members, length))
    return found


class Structures:
    def __init__(self, data: bytes) -> None:
        self.types = parse(data)
        self.named = {(one.kind, one.name): one for one in reversed(self.types)}

    def plain(self, number: int) -> Type:
        """Below typedefs and qualifiers."""
        while self.types[number].kind in OTHER_NAMES:
            number = self.types[number].size
        return self.types[number]

    def find(self, name: str) -> Type | None:
        """A structure, None if there is none of this name."""
        return self.named.get((STRUCT, name))

    def offset(self, name: str, path: str) -> int:
        for field in self.fields(name):
            if field.name == path:
                return field.offset
        die(f"the kernel's types have no member {path} of a structure {name}")

    def has(self, name: str, path: str) -> bool:
        return any(field.name == path for field in self.fields(name))

    def size(self, name: str) -> int:
        found = self.find(name)
        return found.size if found else 0

    def values(self, enum: str) -> dict[str, int]:
        found = self.named.get((ENUM, enum))
        if not found:
            die(f"the kernel's types have no enumeration {enum}")
        return {name: value for name, value, _ in found.members}

    @functools.cache  # noqa: B019, one object for each kernel
    def fields(self, name: str) -> list[Field]:
        """Its members; those of large structures inside stand for these."""
        found = self.find(name)
        return list(self._flatten(found)) if found else []

    def _flatten(self, found: Type, base: int = 0, path: str = "") -> Iterator[Field]:
        for name, inner, offset in found.members:
            below = self.plain(inner)
            whole = f"{path}.{name}" if path and name else path or name
            size = self._size(inner)
            if below.kind in (STRUCT, UNION) and (not name or size > SMALL):
                yield from self._flatten(below, base + offset, whole)
            elif name:
                yield Field(base + offset, size, whole)

    def _size(self, number: int) -> int:
        found = self.plain(number)
        if found.kind == ARRAY:
            return found.length * self._size(found.size)
        return 8 if found.kind == POINTER else found.size if found.kind in SIZED else 0

    def touched(self, name: str, start: int, mask: int) -> list[str]:
        """Fields under the set bits; bit 0 is the byte at `start`."""
        return [
            field.name
            for field in self.fields(name)
            if field.offset < start + mask.bit_length()
            and mask & bits(field.offset - start, field.size)
        ]

    def pointee(self, name: str, offset: int) -> tuple[str, str]:
        """The field at an offset, and the structure that it points to, or nothing."""
        found = self.find(name) if name else None
        return self._points_to(found, offset) if found else ("", "")

    def _points_to(self, found: Type, offset: int, path: str = "") -> tuple[str, str]:
        for name, inner, at in found.members:
            below = self.plain(inner)
            whole = f"{path}.{name}" if path and name else path or name
            if below.kind in (STRUCT, UNION):
                if at <= offset < at + below.size:
                    field, target = self._points_to(below, offset - at, whole)
                    if field:
                        return field, target
            elif below.kind == POINTER and at == offset:
                to = self.plain(below.size)
                return whole, to.name if to.kind == STRUCT else ""
        return "", ""


def bits(start: int, size: int) -> int:
    """A mask of bytes; those before 0 are cut off."""
    end = max(start + size, 0)
    return (1 << end) - (1 << max(start, 0))


def structures(kernel: build.Build) -> Structures:
    """Of a built kernel; compiled once for each."""
    ensure_packages("types")
    config = kernel.config.read_bytes()
    command = debug_command(kernel.obj, LIKE)
    text = "".join(f"#include {include(kernel.src, one)}\n" for one in HEADERS.split())
    # What the headers are is known by the kernel's own code.
    key = hashlib.sha256(b"\0".join([config, command.encode(), text.encode(), digest(kernel)]))
    path = FOLDER / f"{kernel.flavour}-{key.hexdigest()[:12]}.btf"
    with lock(FOLDER / "lock"):
        if not path.is_file():
            with step(f"types of the {kernel.flavour} kernel"):
                write_types(kernel, command, text, path)
    return Structures(path.read_bytes())


def digest(kernel: build.Build) -> bytes:
    return hashlib.sha256(kernel.vmlinux.read_bytes()).digest()


def include(src: Path, header: str) -> str:
    return f'"{src}/{header.strip(chr(34))}"' if header[0] == '"' else header


def write_types(kernel: build.Build, command: str, text: str, to: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, out = f"{folder}/types.c", f"{folder}/types.o"
        Path(source).write_text(text)
        run(
            ["sh", "-c", f"{command} {' '.join(DEBUG)} -c -o {out} {source}"],
            cwd=kernel.obj,
            env=build.environment(),
            what="compiling the kernel's headers with debug information",
        )
        part = to.with_suffix(".new")
        run(["pahole", "-J", f"--btf_encode_detached={part}", out], what="pahole")
        part.replace(to)


def debug_command(obj: Path, name: str) -> str:
    """The command that made an object, without its files."""
    path = obj / name
    record = path.with_name(f".{path.name}.cmd")
    if not record.is_file():
        die(f"{record}: not found; the kernel was built without {name}")
    found = re.search(r"^savedcmd_\S+ := (.*?) -c -o (\S+) ", record.read_text(), re.M)
    if not found or found[2] != name:
        die(f"{record}: expected a command with -c -o {name}")
    # The list of dependencies is that of the real object.
    return re.sub(r" -Wp,-MMD,\S+", "", found[1])
