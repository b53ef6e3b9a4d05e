# SPDX-License-Identifier: GPL-2.0
"""A kernel's functions: by address, and by the object file that they are in."""

import bisect
import collections
import re
from pathlib import Path
from typing import Any

from common import die, run

KERNEL = 1 << 63
USER = "[user]"
# A part that the compiler splits off a function counts as that function.
PART = re.compile(r"\.(cold|part|isra|constprop)\b.*")
# nm prints archive, member, address, kind and name.
OF_ARCHIVE = re.compile(r"^[^:\n]+:([^:\n]+):\w+ [tTwW] (\S+)$", re.M)
INTERRUPT = re.compile(r"asm_(common_interrupt|spurious_interrupt|sysvec_.*)")
# How often the clock ticks during a load depends on the machine, not on the
# kernel.  kernel/sched/build_utility.o is not here: it has the wait queues.
CLOCK = (
    "kernel/time/*.o",
    "kernel/rcu/*.o",
    "kernel/sched/core.o",
    "kernel/sched/fair.o",
    "arch/x86/kernel/apic/*.o",
)


class Symbols:
    """Addresses of a kernel's functions."""

    def __init__(self, kernel: Any) -> None:
        path: Path = getattr(kernel, "obj", None) or kernel.parent
        lines = (path / "System.map").read_text().splitlines()
        words = (line.split() for line in lines)
        table = sorted(
            (int(address, 16), PART.sub("", name), "." not in name)
            for address, kind, name in words
            if kind in "tTwW"
        )
        self.addresses = [address for address, _, _ in table]
        self.names = [name for _, name, _ in table]
        self.starts = {address for address, _, whole in table if whole}

    def interrupts(self) -> list[int]:
        """Where the kernel enters interrupts; exceptions are not among them."""
        found = sorted(
            address
            for address, name in zip(self.addresses, self.names)
            if INTERRUPT.fullmatch(name)
        )
        if not found:
            die("System.map names no entry of an interrupt, such as asm_common_interrupt")
        return found

    def name(self, address: int) -> str:
        if address < KERNEL:
            return USER
        index = bisect.bisect_right(self.addresses, address) - 1
        return self.names[index] if index >= 0 else "[unknown]"


def functions_of(kernel: Any, *patterns: str) -> set[str]:
    """Functions of object files, without names that occur elsewhere too."""
    found: set[str] = set()
    for path in (one for name in patterns for one in kernel.obj.glob(name)):
        listing = run(["nm", path]).stdout.splitlines()
        found |= {PART.sub("", line.split()[-1]) for line in listing if line.split()[-2] in "tT"}
    if not found:
        die(f"{kernel.obj}: no functions in {' '.join(patterns)}")
    lines = (kernel.obj / "System.map").read_text().splitlines()
    several = collections.Counter(line.split()[2] for line in lines)
    return {one for one in found if several[one] <= 1}


def objects_of(kernel: Any) -> dict[str, str]:
    """The object file of each function, without names that occur in several."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    archives = ("vmlinux.a", "lib/lib.a", "arch/x86/lib/lib.a")
    listing = run(["nm", "-A", *archives], cwd=kernel.obj).stdout
    for path, name in OF_ARCHIVE.findall(listing):
        found[PART.sub("", name)].add(path)
    return {name: paths.pop() for name, paths in found.items() if len(paths) == 1}


def clock_functions(kernel: Any) -> set[str]:
    return functions_of(kernel, *CLOCK)
