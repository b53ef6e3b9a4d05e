# SPDX-License-Identifier: GPL-2.0
"""Debian packages and the private Python environment, each only when missing."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from common import BUILD, ROOT, die, run, step

GROUPS = {
    "source": "git xz-utils",
    "build": "gcc make bc flex bison libelf-dev libssl-dev libc6-dev cpio "
    "kmod rsync ccache perl lz4 zstd",
    "menu": "libncurses-dev",
    "arm64": "gcc-aarch64-linux-gnu",
    "s390x": "gcc-s390x-linux-gnu",
    "arm": "gcc-arm-linux-gnueabihf",
    "riscv64": "gcc-riscv64-linux-gnu",
    "emulated-arm": "qemu-system-arm",
    "emulated-s390x": "qemu-system-misc",
    "python": "python3-venv",
    "boot": "qemu-system-x86 busybox-static e2fsprogs kmod udev",
    "check": "sparse gdb groff-base python3-ply python3-git liburcu-dev zsh",
    "xfs": "xfsprogs",
    "disk": "mmdebstrap uidmap",
    "deb": "debhelper dpkg-dev libdw-dev openssl",
    "types": "pahole",
    "picture": "python3-matplotlib",
    "dump": "python3-libkdumpfile makedumpfile",
    "fuzz": "clang libclang-rt-dev",
    "clang": "clang-19 lld-19 llvm-19",
    "coccinelle": "coccinelle",
    "suites": "stress-ng quota libcap-dev libnuma-dev",
}
# On a machine without apt: the programs and headers of a group.
PROGRAMS = {
    "source": "git xz",
    "build": "gcc make bc flex bison cpio depmod rsync ccache perl lz4 zstd gelf.h openssl/evp.h",
    "menu": "ncurses.h",
    "arm64": "aarch64-linux-gnu-gcc",
    "s390x": "s390x-linux-gnu-gcc",
    "arm": "arm-linux-gnueabihf-gcc",
    "riscv64": "riscv64-linux-gnu-gcc",
    "emulated-arm": "qemu-system-arm qemu-system-aarch64",
    "emulated-s390x": "qemu-system-s390x",
    "boot": "qemu-system-x86_64 busybox mkfs.ext4 depmod udevadm",
    "check": "sparse gdb groff zsh",
    "xfs": "mkfs.xfs",
    "disk": "mmdebstrap newuidmap",
    "deb": "dh dpkg-buildpackage openssl elfutils/libdw.h",
    "types": "pahole",
    "dump": "makedumpfile",
    "fuzz": "clang",
    "clang": "clang-19 ld.lld-19 llvm-ar-19",
    "coccinelle": "spatch",
    "suites": "stress-ng quotacheck sys/capability.h numa.h",
}
UPDATE_LOG = BUILD / "log" / "apt-update.log"
VENV = BUILD / "venv"
REQUIREMENTS = ROOT / "harness" / "requirements.txt"


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
    if not has_apt():
        need_programs(groups)
        return
    wanted = dict.fromkeys(" ".join(GROUPS[g] for g in groups).split())
    have = installed(wanted)
    missing = [name for name in wanted if name not in have]
    if missing:
        install(missing)


def has_apt() -> bool:
    return bool(shutil.which("apt-get") and shutil.which("dpkg-query"))


def need_programs(groups: Iterable[str]) -> None:
    """Without apt: end with one line if something is missing, else use what is there."""
    places = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    names = dict.fromkeys(" ".join(PROGRAMS.get(g, "") for g in groups).split())
    missing = [name for name in names if not found(name, places)]
    if missing:
        die(f"this machine has no apt-get to install what is missing: {', '.join(missing)}")


def found(name: str, places: str) -> bool:
    if name.endswith(".h"):
        return any(Path("/usr/include").glob(name)) or any(Path("/usr/include").glob(f"*/{name}"))
    return bool(shutil.which(name, path=places))


def superuser() -> list[str] | None:
    """Words before a command that only root may run."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    return None


def may_install() -> bool:
    """sudo asks for the password here, where it can be seen."""
    sudo = superuser()
    return sudo == [] or sudo is not None and subprocess.run(["sudo", "-v"]).returncode == 0


def apt(*words: str) -> list[str]:
    options = ["-qq", "-o", "DPkg::Lock::Timeout=300"]
    noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive"]
    return [*(superuser() or []), *noninteractive, "apt-get", *options, *words]


def update() -> None:
    # A third party's broken list must not stop us: install decides.
    with step("renew the lists of packages"):
        run(apt("update"), log=UPDATE_LOG, check=False)


def install(missing: list[str]) -> None:
    names = " ".join(missing)
    by_root = f"run as root: apt-get install {names}"
    if superuser() is None:
        die(f"packages are missing and neither root nor sudo is at hand; {by_root}")
    if not may_install():
        die(f"packages are missing and sudo is refused; {by_root}")
    update()
    log = BUILD / "log" / "apt.log"
    with step(f"install {names}"):
        done = run(apt("install", "-y", "--no-install-recommends", *missing), log=log, check=False)
        if done.returncode:
            die(f"apt-get could not install {names}: {apt_reason(log)}; full log: {log}")


def apt_reason(log: Path) -> str:
    """Why apt failed; what it could not fetch says more than a package that is nowhere."""
    reasons = complaints(log, "E: ")
    unfetched = [line for one in (log, UPDATE_LOG) for line in complaints(one, "[WE]: Failed to ")]
    if unfetched and not any("dpkg" in line for line in reasons):
        return f"{unfetched[0]} (is there a network, and does apt know the proxy?)"
    return reasons[0] if reasons else "see its log"


def complaints(log: Path, beginning: str) -> list[str]:
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return [" ".join(line[3:].split()) for line in lines if re.match(beginning, line)]


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
        pip = [VENV / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        if run([*pip, "-r", REQUIREMENTS], log=log, check=False).returncode:
            die(f"pip could not install harness/requirements.txt: {pip_reason(log)}; log: {log}")
        stamp.write_text(venv_key())
    return VENV


def pip_reason(log: Path) -> str:
    text = log.read_text(errors="replace")
    if "connection broken by" in text or "Cannot connect to proxy" in text:
        return (
            "its index cannot be reached (is there a network, and does https_proxy name the proxy?)"
        )
    errors = re.findall(r"^ERROR: (.*)", text, re.MULTILINE)
    return errors[0] if errors else "see its log"


def setup() -> None:
    """make setup: everything that boot and test need."""
    ensure_packages("source", "build", "boot", "check")
    ensure_venv()
    print("  everything is installed")
