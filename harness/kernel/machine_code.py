# SPDX-License-Identifier: GPL-2.0
"""The machine code of an object file, function by function, for comparison."""

import re
from pathlib import Path

from common import run

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
OFFSET = re.compile(r"^\s*[0-9a-f]+:\s*")
TARGET = re.compile(r"[0-9a-f]+ <[^>]*>")
# Where a variable stands in its section says nothing of the code.
ADDEND = re.compile(r"(\.(?:text|data|bss|rodata|init)[^+\s]*)[-+]0x[0-9a-f]+")


def functions(path: Path) -> dict[str, list[str]]:
    """{name: instructions} of what stays after boot: not of .init.text."""
    listing = run(["objdump", "-dr", "--no-show-raw-insn", "-j", ".text", str(path)]).stdout
    found: dict[str, list[str]] = {}
    name = None
    for line in listing.splitlines():
        start = FUNCTION.match(line)
        if start:
            name = start[1]
            found[name] = []
        elif name and line.strip():
            line = OFFSET.sub("", line)
            line = TARGET.sub("<>", line)
            found[name].append(ADDEND.sub(r"\1", line))
    # Padding behind a function belongs to its neighbour.
    return {name: without_padding(code) for name, code in found.items()}


def without_padding(code: list[str]) -> list[str]:
    while code and re.match(r"(cs )?nop|xchg +%ax,%ax|data16|int3", code[-1]):
        code = code[:-1]
    return code


def differences(ours: Path, theirs: Path) -> list[str]:
    """Functions of two objects that are not the same in both."""
    left, right = functions(ours), functions(theirs)
    return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))
