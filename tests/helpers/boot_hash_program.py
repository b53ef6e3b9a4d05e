# SPDX-License-Identifier: GPL-2.0
"""mm/boot_hash.c as a program that reads command lines, with sanitizers."""

import re
import subprocess

from common import ROOT

FUZZ = ROOT / "tests/helpers/fuzz"
SOURCE = (ROOT / "mm/boot_hash.c").read_text()
SEEDS = (
    "\x12dentry:4K,inode:0x100\n1G\n64K",
    "\x10page:auto,uid:2\nmax\n",
    "\x1fpage:0,a:1G,tcp-established:1M",
    "\x01nothing:1,dentry,:1\n0x10\n-1",
    "\x12dentry:010K\n20000000000G\n18446744073709551616",
)


def build(here, text, *words):
    """Compile the kernel's file, or one with a fault in it, by the compiler in words."""
    headers = here / "linux"
    headers.mkdir(parents=True)
    (here / "boot_hash.c").write_text(text)
    (here / "boot_hash.h").write_bytes((ROOT / "mm/boot_hash.h").read_bytes())
    for header in re.findall(r"<linux/(\S+)>", text) + ["types.h"]:
        (headers / header).write_text('#include "kernel.h"\n')
    program = here / "program"
    words += ("-g", "-O1", "-fno-sanitize-recover=all", f"-I{here}", f"-I{FUZZ}")
    subprocess.run([*words, FUZZ / "command_line.c", "-o", program], check=True)
    return program


def write_seeds(folder):
    folder.mkdir()
    paths = [folder / str(number) for number in range(len(SEEDS))]
    for path, seed in zip(paths, SEEDS):
        path.write_bytes(seed.encode("latin-1"))
    return paths
