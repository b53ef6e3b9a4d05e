# SPDX-License-Identifier: GPL-2.0
"""A disk with programs of Debian, for guests that need more than busybox.

mmdebstrap installs the packages, and all that they depend on, as on a machine
that has none. The result becomes an ext4 image that guests share and do not
write to. Nothing is installed on this machine.
"""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

from common import BUILD, die, lock, run, step
from common.packages import ensure_packages

FOLDER = BUILD / "usersystem"
IMAGE = FOLDER / "system.ext4"
# Beside those that Debian calls essential.
PACKAGES = ("gcc", "libc6-dev", "ed", "groff-base", "spell", "ispell", "iamerican")
# Documents that no program reads.
LEFT_OUT = ("doc", "info", "locale", "man")
# These differ between machines.
OF_THIS_MACHINE = ("etc/hostname", "etc/resolv.conf")
SIZE = "512M"
UUID = "b007a5b0-0000-4000-8000-000000000001"
DATE = "1731885060"  # of each file on the disk at the latest: Linux 6.12
STATUS = re.compile(r"^Package: (\S+)$.*?^Version: (\S+)$", re.MULTILINE | re.DOTALL)


def image() -> tuple[Path, dict[str, str]]:
    """The disk, made when it is missing, and the versions of its packages."""
    with lock(FOLDER / "lock"):
        stamp, packages = FOLDER / "stamp", FOLDER / "packages.json"
        if not (stamp.is_file() and stamp.read_text() == key() and IMAGE.is_file()):
            stamp.unlink(missing_ok=True)
            packages.write_text(json.dumps(make()))
            stamp.write_text(key())
        return IMAGE, json.loads(packages.read_text())


def key() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def make() -> dict[str, str]:
    """Install the packages and fill the image; the packages' versions."""
    ensure_packages("disk")
    archive, root = FOLDER / "root.tar", FOLDER / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    with step("install Debian packages for the users' programs") as now:
        bootstrap(archive)
        # Only root may make devices; a guest mounts its own.
        run(["tar", "-x", "--no-same-owner", "--exclude=./dev/*", "-f", archive, "-C", root])
        found = versions((root / "var/lib/dpkg/status").read_text())
        now.note = f"{len(found)} packages"
    with step("make the disk of the users' programs"):
        make_disk(root)
    shutil.rmtree(root)
    archive.unlink()
    return found


def bootstrap(archive: Path) -> None:
    """Root folder of a Debian with the packages, as a tar archive."""
    log = FOLDER / "mmdebstrap.log"
    gone = " ".join(f'"$1/{name}"' for name in OF_THIS_MACHINE)
    command = [
        "mmdebstrap",
        "--variant=essential",
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LEFT_OUT),
        *(f"--aptopt={line}" for line in proxies()),
        f"--customize-hook=rm -f {gone}",
        "",  # the suites are named by the sources
        archive,
        *sources(),
    ]
    if run(command, log=log, check=False, env=os.environ | {"SOURCE_DATE_EPOCH": DATE}).returncode:
        die(reason(log))


def sources() -> list[str]:
    """Debian's archives among those of this machine: others may be broken."""
    line = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    wanted = ["Created-By: Packages", "Origin: Debian"]
    found = run(["apt-get", "indextargets", "--format", line, *wanted]).stdout.splitlines()
    if not found:
        die("apt has no package lists of Debian: run `apt-get update` as root")
    return sorted(set(found))


def proxies() -> list[str]:
    lines = run(["apt-config", "dump", "Acquire"]).stdout.splitlines()
    return [line for line in lines if "::Proxy" in line]


def reason(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    why = [line[3:] for line in lines if line.startswith("E: ")]
    return (
        f"mmdebstrap could not install {' '.join(PACKAGES)}: "
        f"{why[0] if why else 'see its log'}; full log: {log}"
    )


def versions(status: str) -> dict[str, str]:
    """{name: version} from dpkg's own record of what is installed."""
    found = dict(STATUS.findall(status))
    for name in PACKAGES:
        if name not in found:
            die(f"mmdebstrap brought no package {name}")
    return found


def make_disk(root: Path) -> None:
    part = IMAGE.with_suffix(".new")
    part.unlink(missing_ok=True)
    options = ["-E", f"root_owner=0:0,hash_seed={UUID}", "-U", UUID, "-m", "0"]
    run(
        ["mkfs.ext4", "-q", "-d", root, "-O", "^has_journal", *options, part, SIZE],
        env=os.environ | {"E2FSPROGS_FAKE_TIME": DATE},
        what="mkfs.ext4 of the users' programs",
    )
    part.replace(IMAGE)


def option() -> list[str]:
    """QEMU's words for the disk, which becomes /dev/vda."""
    path, _ = image()
    # A comma ends a value for QEMU, two are one.
    plain = str(path).replace(",", ",,")
    return ["-drive", f"file={plain},format=raw,if=virtio,readonly=on"]
