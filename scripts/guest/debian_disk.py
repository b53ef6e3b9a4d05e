# SPDX-License-Identifier: GPL-2.0
"""A disk with programs of Debian, for guests that need more than busybox.

The packages are downloaded with all that they depend on, as for a machine that
has none, unpacked, and put into an ext4 image that guests share and do not
write to. Nothing is installed here. Scripts of the packages are not run; what
the programs need of them is made here.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from common import BUILD, die, lock, run, step
from common.packages import superuser

FOLDER = BUILD / "usersystem"
IMAGE = FOLDER / "system.ext4"
PACKAGES = (
    "dash",
    "coreutils",
    "grep",
    "libc-bin",
    "gcc",
    "libc6-dev",
    "ed",
    "groff-base",
    "spell",
    "ispell",
    "iamerican",
)
# Documents that no program reads.
LEFT_OUT = ("doc", "info", "locale", "man")
# Folders that a guest mounts something at.
PLACES = ("dev", "home", "proc", "tmp")
# What alternatives and dictionaries-common would link.
LINKS = {
    "usr/bin/cc": "gcc",
    "usr/lib/ispell/default.hash": "american.hash",
    "usr/lib/ispell/default.aff": "english.aff",
}
MERGED = ("bin", "lib", "lib64", "sbin")
WORDS = "usr/share/ispell/american.mwl.gz"
SIZE = "512M"
UUID = "b007a5b0-0000-4000-8000-000000000001"
NAME = re.compile(r"([a-z0-9][a-z0-9+.-]+)_([^_]+)_[a-z0-9]+\.deb")


def image() -> tuple[Path, dict[str, str]]:
    """The disk, made when it is missing, and the packages on it."""
    with lock(FOLDER / "lock"):
        stamp = FOLDER / "stamp"
        if not (stamp.is_file() and stamp.read_text() == key() and IMAGE.is_file()):
            stamp.unlink(missing_ok=True)
            make()
            stamp.write_text(key())
        return IMAGE, versions(FOLDER / "packages")


def key() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def make() -> None:
    """Download, unpack, and fill the image."""
    debs, root = FOLDER / "packages", FOLDER / "root"
    for folder in (debs, root):
        shutil.rmtree(folder, ignore_errors=True)
    with step("download Debian packages") as now:
        download(debs)
        now.note = f"{len(versions(debs))} packages"
    with step("make the disk of the users' programs"):
        unpack(debs, root)
        finish(root)
        make_disk(root)
    shutil.rmtree(root)


# The packages.


def download(debs: Path) -> None:
    """With an empty list of what is installed, apt takes everything along."""
    (debs / "partial").mkdir(parents=True)
    (FOLDER / "status").write_text("")
    log = FOLDER / "apt.log"
    command = [
        "apt-get",
        "-qq",
        "-y",
        "--no-install-recommends",
        "--download-only",
        "-o",
        f"Dir::State::status={FOLDER}/status",
        "-o",
        f"Dir::Cache::archives={debs}/",
        "-o",
        "Dir::Cache::pkgcache=",
        "-o",
        "Dir::Cache::srcpkgcache=",
        "-o",
        "Debug::NoLocking=1",
        "-o",
        "APT::Sandbox::User=root",
        "install",
        *PACKAGES,
    ]
    if run(command, log=log, check=False).returncode:
        update()
        if run(command, log=log, check=False).returncode:
            die(reason(log))


def update() -> None:
    """Old lists name packages that are no longer there."""
    sudo = superuser()
    if sudo is not None:
        run([*sudo, "apt-get", "-qq", "update"], check=False)


def reason(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    why = [line[3:] for line in lines if line.startswith("E: ")]
    return (
        f"apt-get could not download {' '.join(PACKAGES)}: "
        f"{why[0] if why else 'see its log'}; full log: {log}"
    )


def versions(debs: Path) -> dict[str, str]:
    """{name: version} of the packages in a folder."""
    found = {}
    for path in sorted(debs.glob("*.deb")):
        match = NAME.fullmatch(path.name)
        if not match:
            die(f"{path.name}: not the name of a Debian package")
        found[match[1]] = match[2].replace("%3a", ":")
    for name in PACKAGES:
        if name not in found:
            die(f"apt-get brought no package {name}")
    return found


# The root folder.


def unpack(debs: Path, root: Path) -> None:
    """Debian's packages still name /bin and /lib, which are links."""
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    left_out = [f"--exclude=./usr/share/{name}" for name in LEFT_OUT]
    for path in sorted(debs.glob("*.deb")):
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            done = run(
                ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", *left_out, "-C", root],
                stdin=process.stdout,
                check=False,
            )
        if process.returncode or done.returncode:
            die(f"{path}: not a Debian package that can be unpacked")


def finish(root: Path) -> None:
    """What the packages' scripts would have done."""
    for name in PLACES:
        (root / name).mkdir(exist_ok=True)
    for link, target in LINKS.items():
        (root / link).unlink(missing_ok=True)
        (root / link).symlink_to(target)
    inside(root, "/sbin/ldconfig")
    if not (root / WORDS).is_file():
        die(f"package iamerican has no /{WORDS}, the words for spell")
    (root / "words").write_bytes(gzip.decompress((root / WORDS).read_bytes()))
    inside(
        root,
        "/usr/bin/buildhash",
        "-s",
        "/words",
        "/usr/lib/ispell/english.aff",
        "/usr/lib/ispell/american.hash",
    )
    for rest in root.glob("words*"):
        rest.unlink()


def inside(root: Path, *words: str) -> None:
    """Run a program of the folder as if it were the whole system."""
    plain = ["unshare", "--map-root-user"] if os.geteuid() else []
    run([*plain, "chroot", root, *words], cwd=root, what=f"{words[0]} of {root}")


def make_disk(root: Path) -> None:
    part = IMAGE.with_suffix(".new")
    part.unlink(missing_ok=True)
    run(
        [
            "mkfs.ext4",
            "-q",
            "-d",
            root,
            "-m",
            "0",
            "-O",
            "^has_journal",
            "-U",
            UUID,
            "-E",
            f"root_owner=0:0,hash_seed={UUID}",
            part,
            SIZE,
        ],
        what="mkfs.ext4 of the users' programs",
    )
    part.replace(IMAGE)


def option() -> list[str]:
    """QEMU's words for the disk, which becomes /dev/vda."""
    path, _ = image()
    # A comma ends a value for QEMU, two are one.
    plain = str(path).replace(",", ",,")
    return ["-drive", f"file={plain},format=raw,if=virtio,readonly=on"]
