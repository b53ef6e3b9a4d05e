# SPDX-License-Identifier: GPL-2.0
"""Instructions by symbol of the kernel, counted by a plugin in QEMU's TCG."""

import bisect
import collections
import functools
import re
import subprocess

from common import BUILD, ROOT, die, lock, run
from guest import accelerator as accelerators
from guest import vm

SOURCE = ROOT / "scripts/bench/plugin/symbol_counts.c"
FOLDER = BUILD / "plugin"
# Newest first: a QEMU takes old versions too, but with the newer prototypes.
APIS = (4, 3, 2, 1)
KERNEL = 1 << 63
USER = "[user]"
# What the compiler splits off a function counts as that function.
PART = re.compile(r"\.(cold|part|isra|constprop)\b.*")
INTERRUPT = re.compile(r"asm_(common_interrupt|spurious_interrupt|sysvec_.*)")
TURNS = 100_000
EMULATED = accelerators.Accelerator("tcg", "instructions are counted")


class Segment:
    """What ran between two markers: instructions and entries by symbol.

    .calls is how often one symbol called another or jumped into it, by (from,
    to): what is called through a pointer is not there.  .atomics is how many
    of the instructions are atomic: with the prefix LOCK, or an XCHG with memory.
    """

    def __init__(self, label):
        self.label = label
        self.insns = collections.Counter()
        self.entries = collections.Counter()
        self.calls = collections.Counter()
        self.atomics = collections.Counter()


@functools.cache
def plugin():
    """The plugin built for the QEMU that is here; it is tried in it."""
    said = "no answer"
    for api in APIS:
        path = FOLDER / f"symbol_counts-{api}.so"
        with lock(FOLDER / "plugin.lock"):
            compile_plugin(path, api)
        said = trial(path)
        if not said:
            return path
    die(
        f"{accelerators.QEMU} loads no TCG plugin, so instructions cannot be "
        f"counted: {said}; wanted: a QEMU built with --enable-plugins and "
        f"with plugin API 1 to {max(APIS)}"
    )


def compile_plugin(path, api):
    if path.is_file() and path.stat().st_mtime > SOURCE.stat().st_mtime:
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
            SOURCE,
        ],
        what="building the QEMU plugin",
    )


def trial(path):
    """None when QEMU loads the plugin, else why it does not."""
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


def option(path, out, skip=()):
    # A comma ends a value for QEMU, two are one.
    plain = str(path).replace(",", ",,")
    words = f",skip={':'.join(f'{one:x}' for one in skip)}" if skip else ""
    return ["-plugin", f"{plain},out={out}{words}"]


def count(kernel, script, qemu=(), interrupts=True, **options):
    """Run a job; give its Segments, its output and the QEMU command.

    interrupts=False leaves out what runs in interrupts, if the kernel runs
    where it was linked (nokaslr).
    """
    symbols = Symbols(kernel)
    skip = () if interrupts else symbols.interrupts()
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


class Symbols:
    """Addresses of a kernel's functions."""

    def __init__(self, kernel):
        path = getattr(kernel, "obj", None) or kernel.parent
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

    def interrupts(self):
        """Where the kernel enters interrupts; exceptions are not among them."""
        found = sorted(
            address
            for address, name in zip(self.addresses, self.names)
            if INTERRUPT.fullmatch(name)
        )
        if not found:
            die("System.map names no entry of an interrupt, such as asm_common_interrupt")
        return found

    def name(self, address):
        if address < KERNEL:
            return USER
        index = bisect.bisect_right(self.addresses, address) - 1
        return self.names[index] if index >= 0 else "[unknown]"


def segments(lines, symbols):
    """The plugin's file as a list of Segment."""
    found = {}
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


def check(kernel):
    """A loop of known length must be counted exactly."""
    found, output, _ = count(kernel, f"lookups -l {TURNS}", mem="128M", append="nokaslr")
    wanted = int(re.search(r"^instructions: (\d+)$", output, re.M)[1])
    got = [segment.insns[USER] for segment in found]
    if got != [wanted]:
        die(f"the QEMU plugin counted {got} instructions in a loop of {wanted}")
    return wanted
