# SPDX-License-Identifier: GPL-2.0
"""Debian packages of a release that this machine need not have.

apt runs with sources, lists and cache of its own below build/downloads/; those
of the system are neither changed nor used, except for the address of Debian's
archive.  Nothing is installed.
"""

import functools
import os
import shutil
from pathlib import Path

from common import BUILD, die, lock, packages, run, setting, step

FOLDER = BUILD / "downloads"
LOG = BUILD / "log/archive.log"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# apt's lists of Debian's archive, which is not that of security updates.
TARGETS = ("Created-By: Packages", "Origin: Debian", "Label: Debian")


@functools.cache
def mirror() -> str:
    """The address of Debian's archive: MIRROR=, or that of the machine's apt sources."""
    return (
        setting("MIRROR")
        or address()
        or renewed_address()
        or die("apt has no sources of Debian's archive on this machine; give MIRROR=URL")
    )


def address() -> str:
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)", *TARGETS]
    return next(iter(run(targets, check=False).stdout.split()), "").rstrip("/")


def renewed_address() -> str:
    """What a list belongs to is known once it has been fetched."""
    if packages.may_install():
        packages.update()
    return address()


def fetch_package(name: str, suite: str, otherwise: str = "", architecture: str = "") -> Path:
    """The folder in which a package is unpacked; fetched only when needed.

    `otherwise` says what a user can do without it; `architecture` is Debian's
    name of one, if not the host's.
    """
    unpacked = place(suite, architecture) / name
    if unpacked.is_dir():
        return unpacked
    what, end = f"{name} of Debian's {suite}", f"; {otherwise}" * bool(otherwise)
    for tool in "apt-get", "dpkg-deb":
        if not shutil.which(tool):
            die(f"{what}: {tool} is not here to fetch it{end}")
    if not KEYRING.is_file():
        die(f"{what}: {KEYRING} is missing; install debian-archive-keyring{end}")
    with lock(FOLDER / "apt.lock"):
        if not unpacked.is_dir():
            file = download(name, suite, architecture)
            if not file:
                die(f"{what} cannot be fetched from {mirror()} (log: {LOG}){end}")
            unpack(file, unpacked)
    return unpacked


def place(suite: str, architecture: str = "") -> Path:
    """The folder of a release and its architecture."""
    return FOLDER / (f"{suite}-{architecture}" if architecture else suite)


def names(suite: str, beginning: str) -> list[str]:
    """Packages of a release whose names begin so; empty if its list cannot be had."""
    with lock(FOLDER / "apt.lock"):
        conf = configuration(suite)
        update(conf)
        return run(["apt-cache", "-c", conf, "pkgnames", beginning]).stdout.split()


def update(conf: Path) -> None:
    # A list that cannot be renewed may still have the package.
    run(["apt-get", "-q", "-c", conf, "update"], log=LOG, check=False)


def configuration(suite: str, architecture: str = "") -> Path:
    """An apt configuration whose every folder is ours."""
    folder = place(suite, architecture) / "apt"
    for name in ("lists/partial", "cache/archives/partial", "state", "empty.d"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "state/status").touch()
    sources, conf = folder / "sources.list", folder / "apt.conf"
    sources.write_text(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
    values = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": folder / "empty.d",
        "Dir::Etc::Preferences": folder / "none",
        "Dir::Etc::PreferencesParts": folder / "empty.d",
        "Dir::State": folder / "state",
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "state/status",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
    }
    if architecture:
        values |= {"APT::Architecture": architecture, "APT::Architectures": architecture}
    if os.geteuid() == 0:
        # The user _apt may not enter the folder of a repository.
        values["APT::Sandbox::User"] = "root"
    conf.write_text("".join(f'{name} "{value}";\n' for name, value in values.items()))
    return conf


def download(name: str, suite: str, architecture: str) -> Path | None:
    """The newest package of this name, or nothing."""
    conf = configuration(suite, architecture)
    folder = conf.parent.parent
    with step(f"fetch {name} of Debian's {suite}") as progress:
        update(conf)
        words = ["apt-get", "-q", "-c", conf, "download", name]
        done = run(words, cwd=folder, log=LOG, check=False)
        found = sorted(folder.glob(f"{name}_*.deb")) if not done.returncode else []
        progress.note = "" if found else "not there"
    return found[-1] if found else None


def unpack(file: Path, folder: Path) -> None:
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    run(["dpkg-deb", "-x", file, part], what="dpkg-deb")
    part.rename(folder)
    file.unlink()
