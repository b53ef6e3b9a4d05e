# SPDX-License-Identifier: GPL-2.0
"""The base kernel: found, checked, and kept as one commit in a repository.

The source is streamed into `git fast-import`.  No work tree is written, and
files which the kernel's .gitignore would hide cannot be lost.  All bases are in
one bare repository, a tag for each, so that git can compare them.
"""

import functools
import glob
import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from common import (
    BUILD,
    Failure,
    Step,
    archive,
    die,
    lock,
    packages,
    setting,
    step,
    write_if_changed,
)
from series import bases, gitcmd, kernel_org
from series.bases import Base
from series.sourcetree import Folder, Tarball, makefile_version, open_source

PERSON = ("boothash", "boothash@localhost")
# The day Linux 6.12 came out.  A fixed date keeps commit ids reproducible.
DATE = 1731885060
CACHE = BUILD / "base-versions.json"
REPOSITORY = BUILD / "linux.git"
# Debian's source package ignores every file at the top.  A developer's
# `git add` would leave new files out silently, so the lines go.
DEBIAN_IGNORES = re.compile(
    rb"(#\n# Debian packaging: .*\n(#.*\n)*)?/\*\n"
    rb"!/debian/\n"
)


@dataclass(frozen=True)
class Linux:
    """The source of a base kernel, as a commit."""

    base: Base
    source: Folder | Tarball
    fingerprint: str  # tells it from an older state of the same place
    version: str  # such as 7.3.4
    given: bool  # by KERNEL=

    @property
    def name(self) -> str:
        """Another source of the same version has another name."""
        path = os.fsencode(self.source.path)
        return self.version + (f"-kernel-{hashlib.sha256(path).hexdigest()[:8]}" * self.given)

    @property
    def folder(self) -> Path:
        """Where everything made from this source is, but for its commits."""
        return BUILD / self.name

    @property
    def tag(self) -> str:
        return "v" + self.name

    @functools.cached_property
    def commit(self) -> str:
        """The source in REPOSITORY, imported only when needed."""
        stamp = self.folder / "imported"
        with lock(BUILD / "linux.lock"):
            found = gitcmd.ref(self.tag, REPOSITORY) if REPOSITORY.is_dir() else None
            if not found or not stamp.is_file() or stamp.read_text() != self.fingerprint:
                import_source(self)
                found = None
                stamp.parent.mkdir(parents=True, exist_ok=True)
                stamp.write_text(self.fingerprint)
        return found or gitcmd.commit(self.tag, REPOSITORY)

    @property
    def repo(self) -> Path:
        """A bare git repository that has the source at `tag`."""
        return REPOSITORY if self.commit else die(f"{self.tag}: not in {REPOSITORY}")


def current() -> Base:
    """The base in use: that of BASE=, of KERNEL=, or the newest that can be had."""
    name = setting("BASE")
    if name:
        return bases.named(name)
    if setting("KERNEL"):
        _, version = read(given_source())
        fitting = [one for one in bases.table() if (version or "").startswith(one.name + ".")]
        return [*fitting, *bases.table()][0]
    found = newest_at_hand()
    # Also for the programs that this one starts: the reason is printed once.
    os.environ["BASE"] = found.name
    return found


def newest_at_hand() -> Base:
    """The newest base whose source this machine has or can fetch."""
    kernel_org.given_checksum()  # a bad one is no reason to fall back
    reasons: list[str] = []
    for base in bases.table():
        try:
            tarball(base)
        except Failure as failure:
            reasons.append(str(failure))
            continue
        if reasons:
            print(f"  using Linux {base.name}: {reasons[0]}")
        return base
    die(reasons[0])


def tarball(base: Base) -> Path:
    """The tarball of Debian's package, installed or fetched, else that of kernel.org."""
    name = base.package("source")
    if installed := sorted(glob.glob(f"/usr/src/{name}.tar.*")):
        return Path(installed[0])
    unpacked = archive.place(base.suite) / name
    if kernel_org.path(base).is_file() and not unpacked.is_dir():
        return kernel_org.tarball(base)
    try:
        unpacked = archive.fetch_package(name, base.suite, "")
    except Failure as debian:
        try:
            return kernel_org.tarball(base)
        except Failure as failure:
            die(f"Linux {base.name} cannot be had: {debian}; {failure}")
    return unpacked / f"usr/src/{name}.tar.xz"


def accepted(any_version: bool = False) -> str:
    """What KERNEL= takes."""
    names = [setting("BASE")] if setting("BASE") else bases.names()
    versions = "" if any_version else " " + " or ".join(f"{name}.y" for name in names)
    return f"accepted: a tree or tarball of Linux{versions}"


@functools.cache
def given_source(any_version: bool = False) -> Folder | Tarball:
    """The source that KERNEL= names."""
    kernel = setting("KERNEL")
    path = Path(kernel).expanduser().resolve()
    if not path.exists():
        die(f"KERNEL={kernel}: no such file or folder; {accepted(any_version)}")
    return open_source(path)


@functools.cache
def read(found: Folder | Tarball) -> tuple[str, str | None]:
    """(fingerprint, version) of a source; None if it is not that of a kernel."""
    fingerprint = found.fingerprint()
    cache = json.loads(CACHE.read_text()) if CACHE.is_file() else {}
    known = cache.get(str(found.path))
    if not known or known["fingerprint"] != fingerprint:
        known = {"fingerprint": fingerprint, "version": makefile_version(found.makefile())}
        cache[str(found.path)] = known
        write_if_changed(CACHE, json.dumps(cache, indent=1))
    return fingerprint, known["version"]


@functools.cache
def linux(base: Base | None = None, any_version: bool = False) -> Linux:
    """The source of a base, else of the one in use; make check-bases takes any version."""
    packages.ensure_packages("source")
    given = bool(setting("KERNEL")) and (any_version or base in (None, current()))
    base = base or current()
    found = given_source(any_version) if given else Tarball(tarball(base))
    fingerprint, version = read(found)
    if version is None:
        die(
            f"{found.path}: not a Linux source tree (no Makefile with VERSION, "
            f"PATCHLEVEL and SUBLEVEL); {accepted(any_version)}"
        )
    if not any_version and not version.startswith(base.name + "."):
        die(f"{found.path}: this is Linux {version}; {accepted()}")
    return Linux(base, found, fingerprint, version, given)


def base_name() -> str:
    """The name of the base in use, such as 7.3."""
    return current().name


def version() -> str:
    """The version of the base in use, such as 7.3.4."""
    return linux().version


def version_dir() -> Path:
    """Where everything made from the base in use is, but for its commits."""
    return linux().folder


def base_repo() -> Path:
    """A bare git repository with the source of the base in use."""
    return linux().repo


def base_commit() -> str:
    """The source of the base in use."""
    return linux().commit


def import_source(linux: Linux) -> None:
    repo = REPOSITORY
    if not (repo / "HEAD").is_file():
        gitcmd.git("init", "--quiet", "--bare", str(repo))
        gitcmd.git("config", "gc.auto", "0", repo=repo)
        gitcmd.git("config", "core.compression", "1", repo=repo)
    with step(f"import Linux {linux.version}") as progress:
        options = ["-C", str(repo), "fast-import", "--quiet", "--force", "--depth=0"]
        command = ["git", *gitcmd.OPTIONS, *options]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, env=gitcmd.clean_environment()
        ) as process:
            assert process.stdin
            feed(process.stdin, linux, progress)
            process.stdin.close()
        if process.returncode:
            die(f"git fast-import of {linux.source.path} failed")


def feed(stream: IO[bytes], linux: Linux, progress: Step) -> None:
    """Write the fast-import stream of one commit that holds every file."""
    name, mail = PERSON
    message = f"Linux {linux.version}\n".encode()
    stream.write(
        f"commit refs/tags/{linux.tag}\ncommitter {name} <{mail}> {DATE} "
        f"+0000\ndata {len(message)}\n".encode()
        + message
    )
    stream.write(b"deleteall\n")
    for count, (path, mode, data) in enumerate(linux.source.entries(), 1):
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
