# SPDX-License-Identifier: GPL-2.0
"""Members of a kernel's structures, for a kernel built without debug information.

A file that includes headers is compiled with debug information, by the command that
made an object of this kernel; pahole writes the types as BTF.
"""

import functools
import hashlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import BUILD, die, lock, run, step
from common.packages import ensure_packages
from hashstats_tool.stock import btf
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
# Structures of at most this size are one field: locks, lists, counters.
SMALL = 32


class Field(NamedTuple):
    offset: int
    size: int
    name: str


class Structures:
    def __init__(self, types: btf.Btf) -> None:
        self.types = types

    @functools.cache  # noqa: B019, one object for each kernel
    def find(self, name: str) -> int | None:
        """The number of a structure, None if there is none of this name."""
        try:
            return int(self.types.struct(name))
        except btf.Missing:
            return None

    def has(self, name: str, path: str) -> bool:
        """Whether a structure has this member."""
        return any(field.name == path for field in self.fields(name))

    def offset(self, name: str, path: str) -> int:
        found = self.find(name)
        if not found:
            die(f"the kernel's types have no structure {name}")
        return int(self.types.member(found, path)[0])

    def size(self, name: str) -> int:
        found = self.find(name)
        return int(self.types.size(found)) if found else 0

    def values(self, enum: str) -> dict[str, int]:
        try:
            return dict(self.types.values(enum))
        except btf.Missing:
            die(f"the kernel's types have no enumeration {enum}")

    @functools.cache  # noqa: B019
    def fields(self, name: str) -> list[Field]:
        """Its members; those of large structures inside stand for these."""
        found = self.find(name)
        return list(flatten(self.types, found)) if found else []

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
        return points_to(self.types, found, offset) if found else ("", "")


def bits(start: int, size: int) -> int:
    """A mask of bytes; those before 0 are cut off."""
    end = max(start + size, 0)
    return (1 << end) - (1 << max(start, 0))


def flatten(types: btf.Btf, number: int, base: int = 0, path: str = "") -> Iterator[Field]:
    for name, inner, offset in types.members(types.plain(number)[1]):
        _, found = types.plain(inner)
        whole = f"{path}.{name}" if path and name else path or name
        size = size_of(types, inner)
        if found.kind in (btf.STRUCT, btf.UNION) and (not name or size > SMALL):
            yield from flatten(types, inner, base + offset, whole)
        elif name:
            yield Field(base + offset, size, whole)


def size_of(types: btf.Btf, number: int) -> int:
    number, found = types.plain(number)
    if found.kind == btf.ARRAY:
        element, _, count = (
            int.from_bytes(found.owner.data[found.at + at : found.at + at + 4], "little")
            for at in (0, 4, 8)
        )
        return count * size_of(types, element)
    try:
        return int(types.size(number))
    except btf.Missing:
        return 0


def points_to(types: btf.Btf, number: int, offset: int, path: str = "") -> tuple[str, str]:
    for name, inner, at in types.members(types.plain(number)[1]):
        _, found = types.plain(inner)
        whole = f"{path}.{name}" if path and name else path or name
        if found.kind in (btf.STRUCT, btf.UNION):
            if at <= offset < at + size_of(types, inner):
                field, struct = points_to(types, inner, offset - at, whole)
                if field:
                    return field, struct
        elif found.kind == btf.POINTER and at == offset:
            target = types.plain(found.size)[1]
            return whole, target.name if target.kind == btf.STRUCT else ""
    return "", ""


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
    return Structures(btf.Btf(path.read_bytes()))


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
