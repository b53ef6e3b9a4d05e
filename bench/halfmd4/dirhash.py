# SPDX-License-Identifier: GPL-2.0
"""fs/ext4/hash.c of the base and of the series, built unchanged in user space.

bench/halfmd4/dirhash/ext4.h stands for the kernel's headers.  The
programs beside it are linked with the base twice and the series once.
"""

import re
from pathlib import Path
from typing import Any

from common import BUILD, die, run, write_if_changed
from guest import initramfs, uml
from series import compose, source

FILE = "fs/ext4/hash.c"
TOOLS = Path(__file__).parent / "dirhash"
FOLDER = BUILD / "dirhash"
INCLUDE = re.compile(r"^#include <([\w/.]+)>$", re.M)
# The flags of an x86-64 kernel that change its code.
KERNEL = [
    "-std=gnu11",
    "-O2",
    "-funsigned-char",
    "-fno-strict-aliasing",
    "-fno-common",
    "-fno-PIE",
    "-mno-sse",
    "-mno-mmx",
    "-mno-avx",
    "-mno-80387",
    "-mpreferred-stack-boundary=3",
    "-mskip-rax-setup",
    "-mtune=generic",
    "-mno-red-zone",
    "-fno-asynchronous-unwind-tables",
    "-fno-delete-null-pointer-checks",
    "-fno-allow-store-data-races",
    "-fno-stack-protector",
    "-fomit-frame-pointer",
    "-ftrivial-auto-var-init=zero",
    "-fno-strict-overflow",
    "-fconserve-stack",
    "-fno-jump-tables",
]
# All configuration options are off: no folded names, no test.
OPTIONS = ["-DIS_ENABLED(option)=0"]
# Otherwise the time of a short loop depends on its address.
PLACED = ["-falign-functions=64"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-sign-compare"]


def text(commit: str) -> str:
    """The file at a commit."""
    found = compose.blob(f"{commit}:{FILE}", source.base_repo())
    if not found:
        die(f"{commit} has no {FILE}")
    return found


def build(
    program: str, base: str, ours: str, compiler: str = "plain", folder: Path | None = None
) -> Path:
    """Link a program with two texts of the file; return its path."""
    folder = folder or FOLDER / compiler
    objects = [
        compile_one(folder, name, body, compiler)
        for name, body in (("base", base), ("again", base), ("ours", ours))
    ]
    result = folder / program
    gcc(
        "-O2",
        "-fno-PIE",
        "-no-pie",
        *PLACED,
        *WARNINGS,
        "-D_GNU_SOURCE=",
        "-I",
        TOOLS,
        "-I",
        initramfs.COMMON,
        TOOLS / f"{program}.c",
        *objects,
        "-o",
        result,
    )
    return result


def compile_one(folder: Path, name: str, body: str, compiler: str) -> Path:
    """Compile one text under a name of its own, with empty files as headers."""
    place = folder / name
    write_if_changed(place / "hash.c", body)
    for header in INCLUDE.findall(body):
        write_if_changed(place / "include" / header, "")
    result = place / "hash.o"
    gcc(
        *KERNEL,
        *PLACED,
        *uml.FLAGS[compiler].split(),
        *WARNINGS,
        *OPTIONS,
        "-I",
        place / "include",
        "-I",
        TOOLS,
        f"-Dext4fs_dirhash={name}_dirhash",
        "-c",
        place / "hash.c",
        "-o",
        result,
    )
    return result


def gcc(*words: Any) -> None:
    run(["gcc", *words], what=f"building {FILE} in user space")
