# SPDX-License-Identifier: GPL-2.0
"""Debian packages of a release that this machine need not have.

apt runs with sources, lists and cache of its own below build/downloads/; those
of the system are neither read nor changed, and nothing is installed.
"""

import os
import shutil
from pathlib import Path

from common import BUILD, die, lock, run, step

FOLDER = BUILD / "downloads"
LOG = BUILD / "log/archive.log"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR = "http://deb.debian.org/debian"


def usable() -> bool:
    """This machine has what fetch_package() takes."""
    return KEYRING.is_file() and all(map(shutil.which, ("apt-get", "dpkg-deb")))


def fetch_package(name: str, suite: str, otherwise: str, architecture: str = "") -> Path:
    """The folder in which a package is unpacked; fetched only when needed.

    `otherwise` says what a user can do without it; `architecture` is Debian's
    name of one, if not the host's.
    """
    unpacked = place(suite, architecture) / name
    if unpacked.is_dir():
        return unpacked
    for tool in "apt-get", "dpkg-deb":
        if not shutil.which(tool):
            die(f"{name} of Debian's {suite}: {tool} is not here to fetch it; {otherwise}")
    if not KEYRING.is_file():
        die(f"{KEYRING}: not there; install debian-archive-keyring, or {otherwise}")
    with lock(FOLDER / "apt.lock"):
        if not unpacked.is_dir():
            unpack(download(name, suite, otherwise, architecture), unpacked)
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
    sources.write_text(f"deb [signed-by={KEYRING}] {MIRROR} {suite} main\n")
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


def download(name: str, suite: str, otherwise: str, architecture: str = "") -> Path:
    conf = configuration(suite, architecture)
    folder = conf.parent.parent
    with step(f"fetch {name} of Debian's {suite}"):
        update(conf)
        done = run(
            ["apt-get", "-q", "-c", conf, "download", name], cwd=folder, log=LOG, check=False
        )
    found = sorted(folder.glob(f"{name}_*.deb"))
    if done.returncode or not found:
        die(f"{name} of Debian's {suite} cannot be had (see {LOG}); {otherwise}")
    return found[-1]


def unpack(file: Path, folder: Path) -> None:
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    run(["dpkg-deb", "-x", file, part], what="dpkg-deb")
    part.rename(folder)
    file.unlink()
