# SPDX-License-Identifier: GPL-2.0
"""Debian's own kernels, for tests of what works without our patches.

apt fetches the packages with a configuration of its own, below build/: the
sources, lists and cache of this machine stay as they are.  The packages are
unpacked and not installed, and only the kernel and a few modules are kept.
"""

import lzma
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from common import BUILD, lock, run, step
from common.packages import ensure_packages

FOLDER = BUILD / "stock"
ARCHIVE = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The release of Debian that has the series.
SUITES = {"6.1": "bookworm", "6.12": "trixie", "7.3": "trixie-backports"}
FLAVOUR = "cloud-amd64"
# What a guest needs: its ports and disks, a RAM disk, quotas, FUSE.
MODULES = ("virtio_pci", "virtio_console", "virtio_blk", "brd", "quota_v2", "fuse")
CONFIGURATION = """\
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "-";
Dir::Etc::Preferences "-";
Dir::Etc::PreferencesParts "-";
Dir::State "{folder}/state";
Dir::State::Lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
APT::Architecture "amd64";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
"""


class Unavailable(Exception):
    """The archive cannot be reached, or does not have the kernel; one line."""


@dataclass
class DebianKernel:
    """An unpacked kernel; `modules` are in the order in which they load."""

    release: str
    image: Path
    config: str
    modules: list[Path]

    def files(self) -> dict[PurePath | str, Path | str | bytes]:
        """Its modules, where init of a guest finds them."""
        return {f"/modules/{n:02}-{path.name}": path for n, path in enumerate(self.modules)}


def kernel(series: str) -> DebianKernel:
    """The newest kernel of a series, fetched when it is not there yet."""
    folder = FOLDER / series
    with lock(FOLDER / "lock"):
        stamp = folder / "release"
        if not stamp.is_file():
            ensure_packages("boot")
            with step(f"fetch Debian's kernel {series}") as progress:
                progress.note = fetch(series, folder)
            stamp.write_text(str(progress.note))
        release = stamp.read_text()
    return DebianKernel(
        release,
        folder / "vmlinuz",
        (folder / "config").read_text(),
        [*map(Path, (folder / "modules").read_text().split())],
    )


def fetch(series: str, folder: Path) -> str:
    """Download and unpack; the release of the kernel, as `uname -r` has it."""
    apt = Apt(series)
    release, packages = chosen(series, apt.names())
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for package in apt.download(packages, new):
        unpack(package, new)
        package.unlink()
    loaded = load_order(new)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)
    (folder / "modules").write_text("".join(f"{folder / name}\n" for name in loaded))
    return release


class Apt:
    """apt with sources, lists and a cache of its own."""

    def __init__(self, series: str) -> None:
        self.series = series
        folder = FOLDER / f"apt-{SUITES[series]}"
        for name in ("lists/partial", "cache/archives/partial", "state"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(
            f"deb [signed-by={KEYRING}] {ARCHIVE} {SUITES[series]} main\n"
        )
        self.configuration = folder / "apt.conf"
        self.configuration.write_text(CONFIGURATION.format(folder=folder))

    def words(self, program: str, *words: str) -> list[str]:
        return [program, "-qq", "-c", str(self.configuration), *words]

    def refuse(self, output: str) -> None:
        lines = [line for line in output.splitlines() if line.startswith(("E: ", "W: "))]
        why = lines[0][3:] if lines else "apt-get gave no reason"
        raise Unavailable(f"{ARCHIVE}: no kernel {self.series}: {why}")

    def names(self) -> list[str]:
        """The packages of the suite whose names begin with linux-."""
        # A list that cannot be fetched is only a warning for apt.
        strict = ("-o", "APT::Update::Error-Mode=any", "update")
        done = run(self.words("apt-get", *strict), check=False)
        if done.returncode:
            self.refuse(done.stderr)
        return run(self.words("apt-cache", "pkgnames", "linux-")).stdout.split()

    def download(self, packages: Iterable[str], folder: Path) -> list[Path]:
        done = run(self.words("apt-get", "download", *packages), cwd=folder, check=False)
        if done.returncode:
            self.refuse(done.stderr)
        return sorted(folder.glob("*.deb"))


def chosen(series: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """(release, packages) of the newest kernel among the names."""
    kinds: dict[str, dict[str, str]] = {}
    pattern = re.compile(
        rf"linux-(image|binary|modules|base)-({re.escape(series)}\.\S*-{FLAVOUR})(-unsigned)?"
    )
    for name in sorted(names):
        # The signed one comes first and is replaced: Debian keeps the other longer.
        if match := pattern.fullmatch(name):
            kinds.setdefault(match[2], {})[match[1]] = name
    # Newer packages have the image in linux-binary, and image is empty.
    whole = [release for release, of in kinds.items() if "image" in of or "binary" in of]
    if not whole:
        raise Unavailable(f"{ARCHIVE} has no kernel {series} for {FLAVOUR}")
    release = max(whole, key=lambda text: [int(n) for n in re.findall(r"\d+", text)])
    of = kinds[release]
    wanted = ("binary", "modules", "base") if "binary" in of else ("image",)
    return release, [of[kind] for kind in wanted if kind in of]


def unpack(package: Path, folder: Path) -> None:
    """Keep the kernel, its configuration and its modules, decompressed."""
    tree = folder / "package.tar"
    with tree.open("wb") as out:
        out.write(archive_of(package))
    with tarfile.open(tree) as archive:
        for member in archive:
            path = Path(member.name)
            if not member.isfile():
                continue
            if match := re.match(r"(vmlinuz|config)(-|$)", path.name):
                (folder / match[1]).write_bytes(content(archive, member))
            elif path.name.endswith((".ko", ".ko.xz")):
                data = content(archive, member)
                name = path.name.removesuffix(".xz")
                (folder / name).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
    tree.unlink()


def archive_of(package: Path) -> bytes:
    return subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=subprocess.PIPE
    ).stdout


def content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file, member.name  # only asked for a regular file
    return file.read()


def load_order(folder: Path) -> list[str]:
    """The modules that a guest needs, each after those that it depends on."""
    order: list[str] = []

    def add(name: str) -> None:
        path = folder / f"{name}.ko"
        # What is not there is built in.
        if path.is_file() and path.name not in order:
            for needed in depends(path):
                add(needed)
            order.append(path.name)

    for name in MODULES:
        add(name)
    for path in folder.glob("*.ko"):
        if path.name not in order:
            path.unlink()
    return order


def depends(module: Path) -> list[str]:
    found = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    return [name for name in found[1].decode().split(",") if name] if found else []
