# SPDX-License-Identifier: GPL-2.0
"""Instructions by symbol of the kernel, counted by a plugin in QEMU's TCG."""

import collections
import functools
import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from bench.lib.symbols import USER, Symbols
from common import BUILD, ROOT, die, lock, run
from guest import accelerator as accelerators
from guest import vm

SOURCES = ROOT / "bench/lib/plugin"
FOLDER = BUILD / "plugin"
# Newest first: a QEMU takes old versions too, but with the newer prototypes.
APIS = (4, 3, 2, 1)
RECLAIM = "shrink_slab"
TURNS = 100_000
EMULATED = accelerators.Accelerator("tcg", "instructions are counted")


class Segment:
    """What ran between two markers: instructions and entries by symbol.

    .calls is how often one symbol called another or jumped into it, by (from,
    to), without calls through a pointer.  .atomics is how many of the
    instructions are atomic: with the prefix LOCK, or an XCHG with memory.
    """

    def __init__(self, label: int) -> None:
        self.label = label
        self.insns: collections.Counter[str] = collections.Counter()
        self.entries: collections.Counter[str] = collections.Counter()
        self.calls: collections.Counter[tuple[str, str]] = collections.Counter()
        self.atomics: collections.Counter[str] = collections.Counter()

    def kernel(self, without: Collection[str] = ()) -> dict[str, int]:
        """Instructions of the kernel by symbol, without some symbols."""
        return {
            name: insns
            for name, insns in self.insns.items()
            if name != USER and name not in without
        }


@functools.cache
def plugin(name: str = "symbol_counts") -> Path:
    """A plugin, built for the installed QEMU, which must load it."""
    said: str | None = "no answer"
    for api in APIS:
        path = FOLDER / f"{name}-{api}.so"
        with lock(FOLDER / "plugin.lock"):
            compile_plugin(path, SOURCES / f"{name}.c", api)
        said = trial(path)
        if not said:
            return path
    die(
        f"{accelerators.QEMU} loads no TCG plugin, so instructions cannot be "
        f"counted: {said}; wanted: a QEMU built with --enable-plugins and "
        f"with plugin API 1 to {max(APIS)}"
    )


def compile_plugin(path: Path, source: Path, api: int) -> None:
    newest = max(one.stat().st_mtime for one in (source, *SOURCES.glob("*.h")))
    if path.is_file() and path.stat().st_mtime > newest:
        return
    run(
        [
            "gcc",
            "-O2",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            f"-DAPI={api}",
            "-o",
            path,
            source,
        ],
        what="building the QEMU plugin",
    )


def trial(path: Path) -> str | None:
    """None if QEMU loads the plugin, else why it does not."""
    command = [
        accelerators.QEMU,
        "-M",
        "none",
        "-accel",
        "tcg",
        "-nodefaults",
        "-display",
        "none",
        "-monitor",
        "stdio",
        *option(path, "/dev/null"),
    ]
    try:
        done = subprocess.run(command, input="quit\n", text=True, timeout=60, capture_output=True)
    except FileNotFoundError:
        die(f"{accelerators.QEMU}: not found; `make setup` installs it")
    except subprocess.TimeoutExpired:
        return "it did not start within 60 s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    return None


def option(path: Path, out: Any, skip: Collection[int] = ()) -> list[str]:
    # A comma ends a value for QEMU; two commas are one.
    plain = str(path).replace(",", ",,")
    words = f",skip={':'.join(f'{one:x}' for one in skip)}" if skip else ""
    return ["-plugin", f"{plain},out={out}{words}"]


def count(
    kernel: Any,
    script: str,
    qemu: Sequence[str] = (),
    interrupts: bool = True,
    **options: Any,
) -> tuple[list[Segment], str, list[str]]:
    """Run a job; return its Segments, its output and the QEMU command.

    interrupts=False leaves out what runs in interrupts.  The kernel must run
    at the address that it was linked for (nokaslr).
    """
    symbols = Symbols(kernel)
    skip = [] if interrupts else symbols.interrupts()
    machine = vm.Guest(
        kernel,
        script,
        cpus=1,
        accel=EMULATED,
        qemu=[*option(plugin(), "counts", skip), *qemu],
        **options,
    )
    with machine:
        output = machine.finish().output
        lines = (machine.folder / "counts").read_text().splitlines()
        return segments(lines, symbols), output, machine.command()


def segments(lines: Sequence[str], symbols: Symbols) -> list[Segment]:
    """The plugin's file as a list of Segment."""
    found: dict[str, Segment] = {}
    for line in lines:
        number, label, *block = line.split()
        segment = found.setdefault(number, Segment(int(label)))
        if block:
            address, executions = int(block[0], 16), int(block[2])
            name = symbols.name(address)
            segment.insns[name] += int(block[1]) * executions
            segment.atomics[name] += int(block[4]) * executions
            if address in symbols.starts:
                segment.entries[name] += executions
            called = symbols.name(int(block[3], 16))
            if called not in (name, USER):
                segment.calls[name, called] += executions
    return list(found.values())


def check_segments(found: Sequence[Segment], wanted: int) -> None:
    """Each measured part of a load must have its segment."""
    if len(found) != wanted:
        die(f"the QEMU plugin saw {len(found)} segments of {wanted}")


def check_memory(segment: Segment) -> None:
    """Refuse a load during which the kernel shrank its caches."""
    if segment.entries[RECLAIM]:
        die(
            f"the guest ran short of memory: {RECLAIM} was called "
            f"{segment.entries[RECLAIM]} times during the load"
        )


def check(kernel: Any) -> int:
    """A loop of known length must be counted exactly."""
    found, output, _ = count(kernel, f"lookups -l {TURNS}", mem="128M", append="nokaslr")
    said = re.search(r"^instructions: (\d+)$", output, re.M)
    if not said:
        die(f"lookups -l {TURNS} did not print its instructions: {output[-200:]!r}")
    wanted = int(said[1])
    got = [segment.insns[USER] for segment in found]
    if got != [wanted]:
        die(f"the QEMU plugin counted {got} instructions in a loop of {wanted}")
    return wanted
