# SPDX-License-Identifier: GPL-2.0
"""The base kernel: found, checked, and kept as one commit in a repository.

The source is streamed into `git fast-import`.  No work tree is written, and
files which the kernel's .gitignore would hide cannot be lost.
"""

import functools
import glob
import hashlib
import json
import os
import re
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from common import BUILD, Step, archive, die, lock, packages, setting, step
from series import gitcmd, kernel_org, topics

Entry = tuple[str, str, bytes]  # name, mode, content

PERSON = ("boothash", "boothash@localhost")
DEFAULT = "6.12"
# Debian 12 and 13 have the default; another comes from this suite.
BACKPORTS = {"7.3": "trixie-backports"}
# The day Linux 6.12 came out.  A fixed date keeps commit ids reproducible.
DATE = 1731885060
CACHE = BUILD / "base-versions.json"
# make check-bases takes kernels of any version, other targets those of the base.
any_version = False
# Debian's source package ignores every file at the top.  A developer's
# `git add` would leave new files out silently, so the lines go.
DEBIAN_IGNORES = re.compile(
    rb"(#\n# Debian packaging: .*\n(#.*\n)*)?/\*\n"
    rb"!/debian/\n"
)


def base_name() -> str:
    """The base in use: the kernel version that the patches are for."""
    name = setting("BASE", DEFAULT)
    if name not in topics.bases():
        die(f"BASE={name}: no such base; accepted: {' '.join(topics.bases())}")
    return name


def accepted() -> str:
    return "accepted: a tree or tarball of Linux" + ("" if any_version else f" {base_name()}.y")


@functools.cache
def location() -> tuple[Path, bool]:
    """(path, given by the user?) of the base kernel's tree or tarball."""
    kernel = setting("KERNEL")
    if kernel:
        path = Path(kernel).expanduser().resolve()
        if not path.exists():
            die(f"KERNEL={kernel}: no such file or folder; {accepted()}")
        return path, True
    return debian_tarball(), False


def debian_tarball() -> Path:
    """The tarball of Debian's package, or of kernel.org where apt has no archive of Debian."""
    name = f"linux-source-{base_name()}"
    suite = BACKPORTS.get(base_name())
    if suite:
        if not archive.usable():
            return kernel_org.tarball(base_name())
        folder = archive.fetch_package(name, suite, f"give KERNEL=; {accepted()}")
        return folder / "usr/src" / f"{name}.tar.xz"
    pattern = f"/usr/src/{name}.tar.*"
    if not glob.glob(pattern):
        if not packages.available(name):
            return kernel_org.tarball(base_name())
        packages.ensure_packages("debian-source")
    found = sorted(glob.glob(pattern))
    if not found:
        die(f"{pattern}: not there; install {name} or give KERNEL=; {accepted()}")
    return Path(found[0])


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
            die(
                f"{self.path}: has been built in; run `make mrproper` there "
                f"or give a clean tree; {accepted()}"
            )
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
            die(f"{self.path}: not a readable tar archive ({error}); {accepted()}")

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


def content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file, member.name  # only asked for a regular file
    return file.read()


class Tree(NamedTuple):
    """A kernel's source, and what tells it from an older state of the same place."""

    source: Folder | Tarball
    fingerprint: str
    version: str


@functools.cache
def any_tree() -> Tree:
    """The kernel's source, of whatever version."""
    packages.ensure_packages("source")
    path, _ = location()
    source = Folder(path) if path.is_dir() else Tarball(path)
    print_ = source.fingerprint()
    cache = json.loads(CACHE.read_text()) if CACHE.is_file() else {}
    known = cache.get(str(path))
    if not known or known["fingerprint"] != print_:
        known = {"fingerprint": print_, "version": makefile_version(source.makefile())}
        cache[str(path)] = known
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        CACHE.write_text(json.dumps(cache, indent=1))
    if known["version"] is None:
        die(
            f"{path}: not a Linux source tree (no Makefile with VERSION, "
            f"PATCHLEVEL and SUBLEVEL); {accepted()}"
        )
    return Tree(source, print_, known["version"])


def version() -> str:
    """The base's version, such as 6.12.117."""
    found = any_tree().version
    if not found.startswith(base_name() + "."):
        die(f"{location()[0]}: this is Linux {found}; {accepted()}")
    return found


def version_dir() -> Path:
    """Where everything made from this base lives."""
    version()
    return tree_dir()


def tree_dir() -> Path:
    """Where everything made from the kernel's source lives."""
    path, given = location()
    name = any_tree().version
    if given:
        name += "-kernel-" + hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    return BUILD / name


def base_repo() -> Path:
    """A bare git repository whose tag `base` is the pristine kernel."""
    version()
    return any_repo()


@functools.cache
def any_repo() -> Path:
    """The same of whatever version."""
    tree = any_tree()
    repo = tree_dir() / "base.git"
    stamp = repo / "boothash-fingerprint"
    with lock(tree_dir() / "base.lock"):
        if not stamp.is_file() or stamp.read_text() != tree.fingerprint:
            import_base(tree, repo)
            stamp.write_text(tree.fingerprint)
    return repo


def import_base(tree: Tree, repo: Path) -> None:
    if not (repo / "HEAD").is_file():
        gitcmd.git("init", "--quiet", "--bare", str(repo))
        gitcmd.git("config", "gc.auto", "0", repo=repo)
        gitcmd.git("config", "core.compression", "1", repo=repo)
    with step(f"import Linux {tree.version}") as progress:
        command = [
            "git",
            *gitcmd.OPTIONS,
            "-C",
            str(repo),
            "fast-import",
            "--quiet",
            "--force",
            "--depth=0",
        ]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, env=gitcmd.clean_environment()
        ) as process:
            assert process.stdin
            feed(process.stdin, tree, progress)
            process.stdin.close()
        if process.returncode:
            die(f"git fast-import of {tree.source.path} failed")


def feed(stream: IO[bytes], tree: Tree, progress: Step) -> None:
    """Write the fast-import stream of one commit that holds every file."""
    name, mail = PERSON
    message = f"Linux {tree.version}\n".encode()
    stream.write(
        f"commit refs/tags/base\ncommitter {name} <{mail}> {DATE} "
        f"+0000\ndata {len(message)}\n".encode()
        + message
    )
    stream.write(b"deleteall\n")
    for count, (path, mode, data) in enumerate(tree.source.entries(), 1):
        if path == ".gitignore":
            data = DEBIAN_IGNORES.sub(b"", data)
        # Quoted, so that no byte of a name can be taken for syntax.
        quoted = path.replace("\\", "\\\\").replace('"', '\\"')
        stream.write(
            f'M {mode} inline "{quoted}"\ndata {len(data)}\n'.encode(errors="surrogateescape")
            + data
            + b"\n"
        )
        progress.note = f"{count} files"
