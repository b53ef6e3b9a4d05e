# SPDX-License-Identifier: GPL-2.0
"""make deb: Debian packages of the patched kernel for a real machine, and of the
program that reads its /proc/hashstats."""

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from common import BUILD, die, flag, lock, run, setting, step
from common.packages import ensure_packages
from kernel import build, kconfig
from series import compose, gitcmd, source, worktree
from tool import debian_package

OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}
OURS = """\
CONFIG_HASHSTATS=y
CONFIG_LOCALVERSION="-boothash"
# CONFIG_LOCALVERSION_AUTO is not set
"""
# A distribution's configuration names its own certificates, which are not in
# the kernel's source.
NO_KEYS = """\
CONFIG_SYSTEM_TRUSTED_KEYS=""
CONFIG_SYSTEM_REVOCATION_KEYS=""
CONFIG_MODULE_SIG_KEY="certs/signing_key.pem"
"""
NO_DEBUG = """\
CONFIG_DEBUG_INFO_NONE=y
# CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT is not set
# CONFIG_DEBUG_INFO_DWARF4 is not set
# CONFIG_DEBUG_INFO_DWARF5 is not set
# CONFIG_DEBUG_INFO_BTF is not set
"""


def start() -> tuple[str, Path]:
    """(text, origin) of the configuration to begin with."""
    named = setting("CONFIG")
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            die(
                f"CONFIG={named}: no such file; accepted: a kernel configuration, plain, .gz or .xz"
            )
    else:
        path = running_config() or debian_config()
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rt") as handle:
            text = handle.read()
    except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
        die(
            f"{path}: cannot be read ({error}); accepted: a kernel configuration, plain, .gz or .xz"
        )
    if not kconfig.values(text):
        die(f"{path}: not a kernel configuration: no CONFIG_ line in it")
    return text, path


def running_config() -> Path | None:
    for path in (Path("/boot/config-" + os.uname().release), Path("/proc/config.gz")):
        if path.is_file() and os.access(path, os.R_OK):
            return path
    return None


def debian_config() -> Path:
    ensure_packages("debian-config")
    arch = run(["dpkg", "--print-architecture"]).stdout.strip()
    path = Path(f"/usr/src/linux-config-{source.base_name()}", f"config.{arch}_none_{arch}.xz")
    if not path.is_file():
        die(f"{path}: not there; give CONFIG=")
    return path


def deb() -> None:
    ensure_packages("source", "build", "deb")
    text, origin = start()
    print(f"  configuration: {origin}")
    commit = compose.compose()
    with lock(BUILD / "build.lock"):
        src = worktree.checkout("deb", commit, patterns=())
        obj = src.parent / "obj"
        extra: list[kconfig.Fragment] = [NO_KEYS, *([] if flag("DEBUG") else [NO_DEBUG])]
        kconfig.configure(src, obj, [OURS], extra, build.make, start=text)
        compile_all(src, obj)
        packages = package(src, obj)
    report(packages)


def compile_all(src: Path, obj: Path) -> None:
    log = obj.parent / "build.log"
    with step("build kernel and modules") as progress:
        progress.note = lambda: f"{build.objects(log)} objects"
        build.make(src, obj, "all", log=log, what="the build of the kernel")


def package(src: Path, obj: Path) -> list[Path]:
    for old in obj.parent.glob("*.deb"):
        old.unlink()
    name, mail = gitcmd.identity() or compose.NOBODY
    words = [
        f"KDEB_PKGVERSION={source.version()}-1",
        "KDEB_CHANGELOG_DIST=unstable",
        f"DEBFULLNAME={name}",
        f"DEBEMAIL={mail}",
    ]
    with step("make Debian packages"):
        run(
            ["env", *words, *build.make_command(src, obj, "bindeb-pkg")],
            log=obj.parent / "package.log",
            env=build.environment(),
            what="make bindeb-pkg",
        )
        debian_package.build(obj.parent, f"{source.version()}-1", name, mail)
    # Debian's own linux-libc-dev must stay: programs are built with it.
    return [
        path
        for path in sorted(obj.parent.glob("*.deb"))
        if not path.name.startswith("linux-libc-dev")
    ]


def report(packages: list[Path]) -> None:
    if not packages:
        die("make bindeb-pkg left no package")
    for path in packages:
        print(f"  {path} ({path.stat().st_size / 1e6:.1f} MB)")
    image = next(p for p in packages if p.name.startswith("linux-image"))
    tools = next(p for p in packages if p.name.startswith(debian_package.PACKAGE))
    sudo = "" if os.geteuid() == 0 else "sudo "
    print("Install and boot it:")
    print(f"  {sudo}apt install {image} {tools}")
    print(f"  {sudo}reboot     # the boot menu keeps the old kernel")
    print("Then: sudo hashstats")
