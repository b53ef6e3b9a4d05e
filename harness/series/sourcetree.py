# SPDX-License-Identifier: GPL-2.0
"""The files of a kernel's source, in a folder or in a tarball."""

import hashlib
import os
import re
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import die
from series import gitcmd

Entry = tuple[str, str, bytes]  # name, mode, content


def makefile_version(text: str) -> str | None:
    """'6.12.117' from a kernel's top Makefile, or None."""
    parts = []
    for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"):
        match = re.search(rf"^{name} = *(\d+)$", text, re.MULTILINE)
        if not match:
            return None
        parts.append(match[1])
    return ".".join(parts)


class Folder:
    """Files of a kernel tree in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        if (self.path / ".git").exists():
            return sorted(gitcmd.records("ls-files", "-z", repo=self.path))
        if (self.path / ".config").exists():
            die(f"{self.path}: has been built in; run `make mrproper` there or give a clean tree")
        return sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        for folder, _, files in os.walk(self.path):
            for name in files:
                yield os.path.relpath(os.path.join(folder, name), self.path)

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name in self.names():
            try:
                about = os.lstat(self.path / name)
            except FileNotFoundError:
                continue
            digest.update(
                f"{name}\0{about.st_size} {about.st_mtime_ns} {about.st_mode}\n".encode(
                    errors="surrogateescape"
                )
            )
        return digest.hexdigest()

    def makefile(self) -> str:
        path = self.path / "Makefile"
        return path.read_text(errors="replace") if path.is_file() else ""

    def entries(self) -> Iterator[Entry]:
        for name in self.names():
            path = self.path / name
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:
                continue  # tracked, and deleted in the work tree
            if stat.S_ISLNK(mode):
                yield name, "120000", os.fsencode(os.readlink(path))
            elif stat.S_ISREG(mode):
                kind = "100755" if mode & 0o100 else "100644"
                yield name, kind, path.read_bytes()


class Tarball:
    """Files of a kernel tree in an archive, read in one pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fingerprint(self) -> str:
        about = self.path.stat()
        return f"{about.st_size} {about.st_mtime_ns}"

    @contextmanager
    def _open(self) -> Iterator[tarfile.TarFile]:
        # xz unpacks with all processors; Python's own module does not.
        packers = {".xz": ["xz", "-dc", "-T0"], ".zst": ["zstd", "-dcq"]}
        packer = packers.get(self.path.suffix)
        if not packer:
            with tarfile.open(self.path, "r|*") as archive:
                yield archive
            return
        with subprocess.Popen(
            [*packer, self.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout
            try:
                with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                    yield archive
            finally:
                process.stdout.close()

    def members(self) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
        try:
            with self._open() as archive:
                for member in archive:
                    name = member.name.removeprefix("./").partition("/")[2]
                    if name:
                        yield name, member, archive
        except (tarfile.TarError, EOFError, OSError) as error:
            die(f"{self.path}: not a readable tar archive ({error})")

    def makefile(self) -> str:
        for name, member, tar in self.members():
            if name == "Makefile" and member.isfile():
                return content(tar, member).decode(errors="replace")
        return ""

    def entries(self) -> Iterator[Entry]:
        for name, member, tar in self.members():
            if member.issym():
                yield name, "120000", os.fsencode(member.linkname)
            elif member.isfile():
                kind = "100755" if member.mode & 0o100 else "100644"
                yield name, kind, content(tar, member)


def content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file, member.name  # only asked for a regular file
    return file.read()


def open_source(path: Path) -> Folder | Tarball:
    return Folder(path) if path.is_dir() else Tarball(path)
