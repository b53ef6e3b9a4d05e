# SPDX-License-Identifier: GPL-2.0
"""Cache lines that move between CPUs in each operation, and how long locks are held.

bench/lines/lineops.c carries out operations in a guest whose CPUs take turns.
A plugin in QEMU (bench/lib/plugin/lines.c) feeds each access to a model of the
protocol MSI.  This module runs the guest and gives what moved a name.
"""

import collections
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bench.lib import symbol_counts
from bench.lib.jobs import UUID
from bench.lib.symbols import Symbols
from bench.lines.objects import LINE, Objects
from bench.lines.structures import Structures
from common import die, write_if_changed
from guest import vm
from guest.accelerator import Accelerator
from kernel import build

EMULATED = Accelerator("tcg", "accesses to memory are observed")
MEMORY = "1G"
# Time is the number of executed instructions, so that each run is the same.
# Queues of virtio are served at once, by the CPU that fills them.
QEMU = (
    *("-icount", "shift=0,sleep=off", "-rtc", "clock=vm,base=2024-11-17T00:00:00", "-seed", "1"),
    *("-global", "virtio-serial-pci.ioeventfd=off"),
    *("-object", f"memory-backend-file,id=mem,size={MEMORY},mem-path=ram,share=on"),
    *("-machine", "memory-backend=mem"),
)
# slab_nomerge: a cache's name says what is in it.
APPEND = "nokaslr slab_nomerge brd.rd_nr=3"
# As in lineops.c: known answers, in shared memory.
WINDOW = 0x626800000000
WINDOW_BYTES = 4096
WINDOW_LINES = ("lock", "slots", "published")
GROUP = 4  # labels
EXCLUSIVE, SHARED = 1, 2
ACQUIRE = {
    "exclusive": re.compile(
        r"_raw_(spin|write)_(try)?lock(_irq|_irqsave|_bh)?|"
        r"mutex_(try)?lock(_interruptible|_killable)?|down_write(_trylock|_killable)?"
    ),
    "shared": re.compile(
        r"_raw_read_(try)?lock(_irq|_irqsave|_bh)?|"
        r"down_read(_trylock|_killable|_interruptible)?"
    ),
}
# Functions that many call; what called them says more.
HELPERS = re.compile(
    r"_raw_\w+|__?mutex\w*|mutex_\w+|(down|up)_(read|write)\w*|rwsem_\w+|lockref_\w+|"
    r"__list_\w+|list_lru_\w+|(__)?percpu_counter_\w+|mem(set|cpy|move)|__mem\w+|refcount_\w+|"
    r"kmem_cache_\w+|__?kmem\w*|kfree|_*slab_\w+|_*kmalloc\w*|rb_\w+|_*radix\w*|xa_\w+|xas_\w+|"
    r"idr_\w+|ida_\w+|call_rcu\w*|__call_rcu\w*|rcu_\w+|put_cpu_partial|get_partial\w*|"
    r"fprop_\w+|_atomic_dec_and_lock\w*|__put_user\w*|queued_\w+|__srcu\w*|clear_page\w*|copy_page\w*"
)
KINDS = ("reads", "writes", "reads and writes")

# Group of operations -> disk, features, more words for -E.
DISKS = {
    "ext4": ("/dev/ram0", "", ""),
    "orphan": ("/dev/ram1", "-O orphan_file", ""),
    "quota": ("/dev/ram2", "-O quota,project", "quotatype=usrquota:prjquota,"),
}


class Op(NamedTuple):
    """One operation with N CPUs; numbers are of all that counted."""

    name: str
    counted: int
    switched: int
    interrupted: int
    insns: int
    transfers: int

    @property
    def each(self) -> float:
        return self.transfers / self.counted if self.counted else 0.0


class Hit(NamedTuple):
    """Transfers of an operation, by what they are of."""

    op: str
    object: str
    kind: str
    function: str
    shared: bool  # whether CPUs share bytes, or the line only
    line: int
    times: int


class Section(NamedTuple):
    """How an operation holds one lock."""

    op: str
    lock: str
    function: str
    address: int
    kind: int
    times: int
    insns: int
    cpus: int  # a mask
    transfers: int  # while it is held, that of its own line among them


class Observed(NamedTuple):
    text: str  # what the plugin wrote
    ops: list[Op]
    hits: list[Hit]
    sections: list[Section]
    command: list[str]


def script(cpus: int, warm: int, rounds: int, groups: Sequence[str]) -> str:
    """The job of a guest."""
    lines = ["mkdir /tmpfs", "mount -t tmpfs tmpfs /tmpfs"]
    for number, (name, (disk, features, more)) in enumerate(DISKS.items()):
        if groups and name not in groups:
            continue
        uuid = UUID.format(number)
        # Small groups of blocks, so that the directories of CPUs are in different ones.
        lines += [
            f"mkfs.ext4 -q -b 4096 -g 8192 -G 1 -N 65536 -U {uuid} {features} "
            f"-E {more}lazy_itable_init=1,nodiscard,hash_seed={uuid} {disk} 960M",
            f"mkdir /{name}",
            f"mount -o noinit_itable {disk} /{name}",
        ]
    words = " ".join(map(str, (cpus, warm, rounds, *groups)))
    return "\n".join([*lines, f"lineops {words}"]) + "\n"


def config(symbols: Symbols, warm: int) -> str:
    """What the plugin must know of the kernel."""
    lines = [f"warm {warm}", f"window {WINDOW:x} {WINDOW + WINDOW_BYTES:x}"]
    lines += [f"interrupt {one:x}" for one in symbols.interrupts()]
    acquiring = 0
    for at, (address, name) in enumerate(zip(symbols.addresses, symbols.names)):
        if name == "__switch_to_asm":
            lines.append(f"switch {address:x}")
        for kind, pattern in ACQUIRE.items():
            if pattern.fullmatch(name):
                acquiring += 1
                lines.append(f"{kind} {address:x} {symbols.addresses[at + 1]:x}")
    if not acquiring or not any(line.startswith("switch") for line in lines):
        die("System.map names no __switch_to_asm, or no function that acquires a lock")
    return "\n".join(lines) + "\n"


def observe(
    kernel: build.Build,
    types: Structures,
    cpus: int,
    warm: int,
    rounds: int,
    groups: Sequence[str] = (),
    timeout: int = 300,
) -> Observed:
    """Run the operations in a guest, and name what moved."""
    symbols = Symbols(kernel)
    guest = vm.Guest(
        kernel,
        script(cpus, warm, rounds, groups),
        mem=MEMORY,
        cpus=cpus,
        append=APPEND,
        programs=["mkfs.ext4"],
        accel=EMULATED,
        timeout=timeout,
        qemu=[*QEMU, "-plugin", f"{symbol_counts.plugin('lines')},out=lines,config=config"],
    )
    write_if_changed(guest.folder / "config", config(symbols, warm))
    with guest:
        output = guest.finish().output
        text = (guest.folder / "lines").read_text()
        names = operations(output)
        objects = Objects(guest.folder / "ram", kernel.obj / "System.map", types, cpus)
        return attribute(text, names, symbols, objects, guest.command())


def operations(output: str) -> dict[int, str]:
    """{label: name}, as lineops printed them."""
    found = {int(label): name for label, name in re.findall(r"^op (\d+) (.+)$", output, re.M)}
    if not found or not output.endswith("end\n"):
        die(f"lineops did not end well: {output[-200:]!r}")
    return found


def records(text: str) -> dict[str, list[list[str]]]:
    """The lines of the plugin by their first word."""
    found: dict[str, list[list[str]]] = collections.defaultdict(list)
    width = {"op": 6, "hit": 9, "line": 5, "lock": 12, "end": 0}
    lines = text.splitlines()
    if lines[-1:] != ["end"]:
        die("the plugin's file is cut off: expected `end` as its last line")
    for line in lines:
        kind, *words = line.split()
        if len(words) != width.get(kind, -1):
            die(f"the plugin wrote a line that cannot be read: {line}")
        found[kind].append(words)
    return found


def attribute(
    text: str, names: dict[int, str], symbols: Symbols, objects: Any, command: list[str]
) -> Observed:
    """The plugin's file, with names."""
    found = records(text)
    ops = [Op(names[int(label)], *map(int, numbers)) for label, *numbers in found["op"]]
    masks: dict[tuple[int, int], tuple[int, bool]] = {}
    for group, line, read, written, both in found["line"]:
        masks[int(group), int(line, 16)] = int(read, 16) | int(written, 16), both == "1"
    kernel_lines = {line for _, line in masks if line >> 57}
    lock_words = {int(words[1], 16) for words in found["lock"]}
    objects.learn(sorted(kernel_lines | {one // LINE for one in lock_words}))
    hits = []
    for label, line, kind, pc, *callers, count in found["hit"]:
        number = int(line, 16)
        mask, shared = masks[int(label) // GROUP, number]
        hits.append(
            Hit(
                names[int(label)],
                object_name(objects, number, mask),
                KINDS[int(kind)],
                where(symbols, [pc, *callers]),
                shared,
                number,
                int(count),
            )
        )
    sections = []
    for label, word, kind, pc, *callers, count, insns, cpus, moved in found["lock"]:
        address = int(word, 16)
        # A spin lock has four bytes.
        name = object_name(objects, address // LINE, 0xF << address % LINE)
        sections.append(
            Section(
                names[int(label)],
                name,
                where(symbols, [pc, *callers]),
                address,
                int(kind),
                int(count),
                int(insns),
                int(cpus, 16),
                int(moved),
            )
        )
    return Observed(text, ops, hits, sections, command)


def object_name(objects: Any, line: int, mask: int) -> str:
    first = WINDOW // LINE
    if first <= line < first + WINDOW_BYTES // LINE:
        at = line - first
        return f"window.{WINDOW_LINES[at] if at < len(WINDOW_LINES) else 'counters'}"
    return str(objects.name(line, mask))


def where(symbols: Symbols, places: Iterable[str]) -> str:
    """The first function of a call chain that is no helper."""
    names = []
    for number, place in enumerate(places):
        low = int(place, 16)
        if not low:
            break
        # A caller's address is that behind its call.
        name = symbols.name((0xFFFFFFFF << 32 | low) - bool(number))
        names.append(name)
        if not HELPERS.fullmatch(name):
            break
    return names[-1] if names else "[unknown]"
