# SPDX-License-Identifier: GPL-2.0
"""The kernel versions that the series is for: a row of patches/bases for each."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from common import ROOT, die

PATCHES = ROOT / "patches"
ROW = re.compile(r"(\d+\.\d+) +(\1\.\d+) +([a-z-]+) +(\d+)\.(\d+)(?: +([0-9a-f]{64}))?")


@dataclass(frozen=True)
class Base:
    """A kernel version, and where its source is."""

    name: str  # such as 7.3
    stable: str  # such as 7.3.4
    suite: str  # the release of Debian that has this kernel
    pahole: int  # 126 for 1.26
    sha256: str = ""  # of the tarball, if kernel.org's list is not to be read

    @property
    def tarball(self) -> str:
        """The file's name at kernel.org."""
        return f"linux-{self.stable}.tar.xz"

    def package(self, what: str) -> str:
        """Debian's package of the source or of configurations."""
        return f"linux-{what}-{self.name}"


def lines(path: Path) -> list[str]:
    """Lines of a list, without comments."""
    if not path.is_file():
        die(f"{path.relative_to(ROOT)}: not there")
    text = path.read_text().splitlines()
    return [word for line in text if (word := line.partition("#")[0].strip())]


@functools.cache
def table() -> tuple[Base, ...]:
    """All bases, the newest first."""
    found = []
    for line in lines(PATCHES / "bases"):
        match = ROW.fullmatch(line)
        if not match:
            die(
                f"patches/bases: `{line}`: expected a version, a stable version of it, a "
                f"release of Debian, a version of pahole and perhaps a SHA-256"
            )
        name, stable, suite, major, minor, sha256 = match.groups(default="")
        found.append(Base(name, stable, suite, int(major) * 100 + int(minor), sha256))
    return tuple(found) or die("patches/bases: names no kernel version")


def names() -> tuple[str, ...]:
    return tuple(base.name for base in table())


def named(name: str) -> Base:
    """The base of this name, as BASE= gives it."""
    for base in table():
        if base.name == name:
            return base
    die(f"BASE={name}: no such base; accepted: {' '.join(names())}")
