# SPDX-License-Identifier: GPL-2.0
"""The configuration that a kernel for a real machine starts from."""

import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from common import die, setting
from common.archive import fetch_package
from kernel import kconfig
from series import source

OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}
ACCEPTED = "accepted: a kernel configuration, plain, .gz or .xz"
# FLAVOUR=: name of the file in Debian's package linux-config.
FLAVOURS = {"amd64": "config.amd64_none_amd64.xz", "cloud": "config.amd64_none_cloud-amd64.xz"}


class Start(NamedTuple):
    name: str  # of the folder that is built in
    path: Path
    text: str

    @property
    def localversion(self) -> str:
        """What the kernel's release ends with; two flavours can be installed at once."""
        return "-boothash" + ("-cloud" if self.name == "cloud" else "")


def start() -> Start:
    """What CONFIG= or FLAVOUR= names, else the running kernel's, else Debian's."""
    name, path = chosen()
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rt") as handle:
            text = handle.read()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, lzma.LZMAError) as error:
        die(f"{path}: cannot be read ({error}); {ACCEPTED}")
    if not kconfig.values(text):
        die(f"{path}: not a kernel configuration: no CONFIG_ line in it")
    return Start(name, path, text)


def refuse_bad() -> None:
    """End with one line where CONFIG= or FLAVOUR= cannot be used."""
    named, flavour = setting("CONFIG"), setting("FLAVOUR")
    if named and flavour:
        die(f"CONFIG={named} FLAVOUR={flavour}: each names a configuration; give one of them")
    if named and not Path(named).expanduser().is_file():
        die(f"CONFIG={named}: no such file; {ACCEPTED}")
    if flavour and flavour not in FLAVOURS:
        die(f"FLAVOUR={flavour}: accepted: {', '.join(FLAVOURS)}")


def chosen() -> tuple[str, Path]:
    refuse_bad()
    named, flavour = setting("CONFIG"), setting("FLAVOUR")
    if named:
        return "config", Path(named).expanduser()
    if not flavour:
        running = running_config()
        if running:
            return "running", running
        flavour = "amd64"
    return flavour, debian_config(flavour)


def running_config() -> Path | None:
    for path in (Path("/boot/config-" + os.uname().release), Path("/proc/config.gz")):
        if path.is_file() and os.access(path, os.R_OK):
            return path
    return None


def debian_config(flavour: str) -> Path:
    base = source.current()
    name = base.package("config")
    return fetch_package(name, base.suite, "give CONFIG=") / "usr/src" / name / FLAVOURS[flavour]
