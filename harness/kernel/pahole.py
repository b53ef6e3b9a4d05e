# SPDX-License-Identifier: GPL-2.0
"""pahole, which writes a kernel's BTF: the machine's, or a newer one of Debian."""

import re
from pathlib import Path

from common import run, write_if_changed
from common.archive import FOLDER, fetch_package
from common.packages import ensure_packages
from series import source

SUITE = "trixie"
OTHERWISE = "install pahole 1.26 or newer"
# What pahole loads; the C library of an older release does not run it.
LIBRARIES = (
    "libbpf1",
    "libc6",
    "libdw1t64",
    "libelf1t64",
    "zlib1g",
    "libbz2-1.0",
    "liblzma5",
    "libzstd1",
)
INSIDE = "usr/lib/x86_64-linux-gnu"


def words() -> list[str]:
    """Words for the kernel's make."""
    ensure_packages("types")
    # Debian 12 has 1.24.
    if version("pahole") >= source.current().pahole:
        return []
    return [f"PAHOLE={newer()}"]


def version(program: str | Path) -> int:
    """126 for v1.26, as the kernel counts; 0 if it does not run."""
    match = re.search(r"v(\d+)\.(\d+)", run([program, "--version"], check=False).stdout)
    return int(match[1]) * 100 + int(match[2]) if match else 0


def newer() -> Path:
    """A program that runs Debian 13's pahole with the libraries of Debian 13."""
    program = fetch_package("pahole", SUITE, OTHERWISE) / "usr/bin/pahole"
    folders = [fetch_package(name, SUITE, OTHERWISE) / INSIDE for name in LIBRARIES]
    loader = next(folder for folder in folders if (folder / "libc.so.6").exists())
    path = ":".join(str(folder) for folder in folders)
    script = FOLDER / SUITE / "pahole.sh"
    write_if_changed(
        script,
        f"#!/bin/sh\nexec {loader}/ld-linux-x86-64.so.2 --library-path {path} {program} "
        + '"$@"\n',
    )
    script.chmod(0o755)
    return script
