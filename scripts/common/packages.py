# SPDX-License-Identifier: GPL-2.0
"""Debian packages and the private Python environment, each only when missing."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from common import BUILD, ROOT, die, run, step

GROUPS = {
    "source": "git xz-utils",
    "debian-source": "linux-source-6.12",
    "build": "gcc make bc flex bison libelf-dev libssl-dev libc6-dev cpio "
    "kmod rsync ccache perl lz4 zstd",
    "arm64": "gcc-aarch64-linux-gnu",
    "python": "python3-venv",
    "boot": "qemu-system-x86 busybox-static e2fsprogs kmod udev",
    "check": "sparse gdb groff-base python3-ply python3-git liburcu-dev zsh",
    "xfs": "xfsprogs",
    "disk": "mmdebstrap uidmap",
    "deb": "debhelper dpkg-dev openssl",
    "types": "pahole libdw-dev",
    "picture": "python3-matplotlib",
    "dump": "python3-libkdumpfile makedumpfile",
}
VENV = BUILD / "venv"
REQUIREMENTS = ROOT / "scripts" / "requirements.txt"


def installed(packages: Iterable[str]) -> set[str]:
    """Which of the packages dpkg knows as installed."""
    done = run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages], check=False
    )
    lines = (line.split() for line in done.stdout.splitlines())
    return {name for name, *status in lines if status == ["installed"]}


def ensure_packages(*groups: str) -> None:
    """Install what is missing of the groups; nothing happens otherwise."""
    for group in groups:
        if group not in GROUPS:
            die(f"package group {group}: accepted: {', '.join(GROUPS)}")
    wanted = dict.fromkeys(" ".join(GROUPS[g] for g in groups).split())
    if not shutil.which("dpkg-query"):
        print("  not a Debian machine; needed: " + " ".join(wanted))
        return
    have = installed(wanted)
    missing = [name for name in wanted if name not in have]
    if missing:
        install(missing)


def superuser() -> list[str] | None:
    """Words before a command that only root may run."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    return None


def install(missing: list[str]) -> None:
    names = " ".join(missing)
    sudo = superuser()
    if sudo is None:
        die(
            f"packages are missing and neither root nor sudo is at hand; "
            f"run as root: apt-get install {names}"
        )
    apt = [
        *sudo,
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-qq",
        "-o",
        "DPkg::Lock::Timeout=300",
    ]
    if sudo:
        # Ask for the password here, where it can be seen.
        subprocess.run(["sudo", "-v"], check=False)
    log = BUILD / "log" / "apt.log"
    with step(f"install {names}"):
        # A third party's broken list must not stop us: install decides.
        run([*apt, "update"], log=log, check=False)
        done = run(
            [*apt, "install", "-y", "--no-install-recommends", *missing], log=log, check=False
        )
        if done.returncode:
            die(apt_reason(log, names))


def apt_reason(log: Path, names: str) -> str:
    lines = log.read_text(errors="replace").splitlines()
    reasons = [line[3:] for line in lines if line.startswith("E: ")]
    if "linux-source-6.12" in names and any("locate" in r for r in reasons):
        return (
            "the apt sources have no linux-source-6.12 (Debian 12 needs "
            "its security archive); or give KERNEL=/path/to/linux-6.12.y"
        )
    why = reasons[0] if reasons else "see its log"
    return f"apt-get could not install {names}: {why}; full log: {log}"


def venv_key() -> str:
    text = REQUIREMENTS.read_bytes() + sys.version.encode()
    return hashlib.sha256(text).hexdigest()


def ensure_venv() -> Path:
    """The private Python environment; its folder is returned."""
    stamp = VENV / "stamp"
    if stamp.is_file() and stamp.read_text() == venv_key():
        return VENV
    ensure_packages("python")
    log = BUILD / "log" / "venv.log"
    with step("private Python environment"):
        shutil.rmtree(VENV, ignore_errors=True)
        run([sys.executable, "-m", "venv", VENV], log=log, what="python3 -m venv")
        run(
            [
                VENV / "bin" / "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
                REQUIREMENTS,
            ],
            log=log,
            what="pip install of scripts/requirements.txt",
        )
        stamp.write_text(venv_key())
    return VENV


def setup() -> None:
    """make setup: everything that boot and test need."""
    ensure_packages("source", "debian-source", "build", "boot", "check")
    ensure_venv()
    print("  everything is installed")
