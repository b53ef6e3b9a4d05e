# SPDX-License-Identifier: GPL-2.0
"""Debian's own kernels, for tests of what works without our patches.

The packages are unpacked and not installed; only the kernel and a few modules are
kept.
"""

import lzma
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from common import BUILD, archive, die, lock
from common.packages import ensure_packages
from series import bases

FOLDER = BUILD / "stock"
# The release of Debian that has a kernel of this version.
SUITES = {"6.1": "bookworm"} | {base.name: base.suite for base in reversed(bases.table())}
FLAVOUR = "cloud-amd64"
# What a guest needs: its ports and disks, a RAM disk, quotas, FUSE.
MODULES = ("virtio_pci", "virtio_console", "virtio_blk", "brd", "quota_v2", "fuse")


@dataclass
class DebianKernel:
    """An unpacked kernel; `modules` are in the order in which they load."""

    image: Path
    modules: list[Path]

    def files(self) -> dict[PurePath | str, Path | str | bytes]:
        """Its modules, where init of a guest finds them."""
        return {f"/modules/{path.name}": path for path in self.modules}


def kernel(version: str) -> DebianKernel:
    """The newest kernel of a version, fetched only when needed."""
    folder = FOLDER / version
    with lock(FOLDER / "lock"):
        if not folder.is_dir():
            ensure_packages("boot")
            fetch(version, folder)
    return in_folder(folder)


def fetch(version: str, folder: Path) -> None:
    suite = SUITES[version]
    packages = newest(version, archive.names(suite, "linux-"))
    if not packages:
        die(f"Debian's {suite} has no kernel {version} for {FLAVOUR}, or no list of it can be had")
    unpacked = [
        archive.fetch_package(name, suite, "tests of its kernel cannot run") for name in packages
    ]
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    keep(unpacked, part)
    part.rename(folder)
    for one in unpacked:
        shutil.rmtree(one)


def keep(unpacked: Iterable[Path], folder: Path) -> DebianKernel:
    """Copy what a guest needs of packages."""
    files = [path for one in unpacked for path in one.rglob("*") if path.is_file()]
    [image] = [path for path in files if path.name.startswith("vmlinuz")]
    shutil.copy(image, folder / "vmlinuz")
    copy_modules({module_name(path): path for path in files if ".ko" in path.suffixes}, folder)
    return in_folder(folder)


def in_folder(folder: Path) -> DebianKernel:
    return DebianKernel(folder / "vmlinuz", sorted(folder.glob("*.ko")))


def newest(version: str, names: Iterable[str]) -> list[str]:
    """The packages of the newest kernel among the names."""
    kinds: dict[str, dict[str, str]] = {}
    pattern = re.compile(
        rf"linux-(image|binary|modules)-({re.escape(version)}\.\S*-{FLAVOUR})(-unsigned)?"
    )
    for name in sorted(names):
        # The signed one comes first and is replaced: Debian keeps the other longer.
        if match := pattern.fullmatch(name):
            kinds.setdefault(match[2], {})[match[1]] = name
    # Newer packages have the image in linux-binary, and image is empty.
    whole = [release for release, of in kinds.items() if "image" in of or "binary" in of]
    if not whole:
        return []
    of = kinds[max(whole, key=lambda text: [int(n) for n in re.findall(r"\d+", text)])]
    wanted = ("binary", "modules") if "binary" in of else ("image",)
    return [of[kind] for kind in wanted if kind in of]


def module_name(path: Path) -> str:
    return path.name.partition(".")[0].replace("-", "_")


def copy_modules(found: dict[str, Path], folder: Path) -> None:
    """Decompress what a guest needs, numbered in the order in which it loads."""
    done: set[str] = set()

    def copy(name: str) -> None:
        # What is not there is built in.
        if name in done or name not in found:
            return
        data = found[name].read_bytes()
        if found[name].suffix == ".xz":
            data = lzma.decompress(data)
        depends = re.search(rb"\0depends=([^\0]*)\0", data)
        for needed in depends[1].decode().split(",") if depends else ():
            copy(needed)
        (folder / f"{len(done):02}-{name}.ko").write_bytes(data)
        done.add(name)

    for name in MODULES:
        copy(name)
