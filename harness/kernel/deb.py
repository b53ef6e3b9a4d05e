# SPDX-License-Identifier: GPL-2.0
"""make deb: Debian packages of the patched kernel for a real machine, and of the
program that reads its /proc/hashstats.

The packages appear in build/deb/ when all of them are complete. The kernel's own
make goes on where an interrupted build stopped.
"""

import os
import re
import shlex
from pathlib import Path

from common import BUILD, ROOT, die, disk, flag, lock, run, step
from common.packages import ensure_packages
from kernel import build, distribution, kconfig, pahole
from series import compose, gitcmd, source, worktree
from tool import debian_package

RESULT = BUILD / "deb"
# What README says that the kernel has, and BTF, which hashstats and tracers read.
ADVERTISED = """\
CONFIG_HASHSTATS=y
CONFIG_BUFFER_HASH=y
CONFIG_PAGE_HASH=y
CONFIG_DEBUG_INFO_BTF=y
"""
# A distribution's configuration names certificates that are not in the kernel's
# source. A key of this build signs the modules; else loading one taints the kernel.
KEYS = """\
CONFIG_SYSTEM_TRUSTED_KEYS=""
CONFIG_SYSTEM_REVOCATION_KEYS=""
CONFIG_MODULE_SIG_KEY="certs/signing_key.pem"
CONFIG_MODULE_SIG_ALL=y
"""
# BTF is made from debug information; a configuration that has some keeps its kind.
FOR_BTF = """\
CONFIG_BPF_SYSCALL=y
# CONFIG_DEBUG_INFO_REDUCED is not set
# CONFIG_DEBUG_INFO_SPLIT is not set
"""
DWARF = """\
# CONFIG_DEBUG_INFO_NONE is not set
CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT=y
"""
# Bytes on the disk for each module, an upper bound, and for the rest: Debian's
# configurations take 8 GiB (cloud) and 20 GiB (amd64), half as much again with DEBUG=1.
PER_MODULE, REST = 4 << 20, 3 << 30
# For the description of the package linux-image; one line is one line there.
UNSIGNED = """\
 .
 This kernel has the boothash patches: hash tables that are sized at boot, and
 /proc/hashstats, which shows them. The package boothash-tools reads that file.
 .
 It is not signed. With Secure Boot the boot loader refuses it: sign it with a
 key of your own that mokutil has enrolled, or switch Secure Boot off. Debian's
 kernels stay installed beside it and start as before.
"""
DESCRIBED = r"^ files, version:"  # the last line of mkdebian's own description


def deb() -> None:
    report(build_packages())


def build_packages() -> list[Path]:
    """All packages, complete and in their place."""
    flag("DEBUG")  # a bad value is refused before any work
    distribution.refuse_bad()
    ensure_packages("source", "build", "deb")
    start = distribution.start()
    print(f"  configuration: {start.path}")
    words = [*pahole.words(), f"KBUILD_BUILD_VERSION={revision()}"]
    commit = compose.compose()
    with lock(BUILD / "build.lock"):
        src = worktree.checkout("deb", commit, patterns=())
        obj = src.parent / start.name / "obj"
        configure(src, obj, start, words)
        compile_all(src, obj, words)
        return publish(package(src, obj, words))


def revision() -> int:
    """Grows with each commit of this repository, so that a later package is newer."""
    if not (ROOT / ".git").exists():
        return 1
    if gitcmd.out("rev-parse", "--is-shallow-repository", repo=ROOT) == "true":
        die(
            "this clone is shallow and does not know how many commits there are, which are part of "
            "a package's version: run `git fetch --unshallow`"
        )
    return int(gitcmd.out("rev-list", "--count", "HEAD", repo=ROOT))


def version() -> str:
    return f"{source.version()}-{revision()}"


def configure(src: Path, obj: Path, start: distribution.Start, words: list[str]) -> None:
    before = kconfig.values(start.text)
    wanted = f'{ADVERTISED}CONFIG_LOCALVERSION="{start.localversion}"\n'
    wanted += "# CONFIG_LOCALVERSION_AUTO is not set\n"
    extra = [KEYS, FOR_BTF] if has_dwarf(before) else [KEYS, FOR_BTF, DWARF]
    kconfig.configure(
        src,
        obj,
        [wanted],
        extra,
        lambda *targets, log: build.make(*targets, *words, log=log),
        start=start.text,
    )
    after = kconfig.values((obj / ".config").read_text())
    for symbol in kconfig.values(wanted + "".join(extra)):
        old, new = before.get(symbol, "n"), after.get(symbol, "n")
        print(f"  set: {symbol}={new}" + (f" (was {old})" if old != new else ""))


def has_dwarf(config: dict[str, str]) -> bool:
    return any(re.match(r"CONFIG_DEBUG_INFO_DWARF", name) for name in config if config[name] == "y")


def compile_all(src: Path, obj: Path, words: list[str]) -> None:
    config = kconfig.values((obj / ".config").read_text())
    modules = sum(value == "m" for value in config.values())
    needed = (REST + modules * PER_MODULE) * (1.5 if flag("DEBUG") else 1)
    disk.require(obj.parent, needed - disk.used(obj), "the build")
    name, log = f"deb {obj.parent.name}", obj.parent / "build.log"
    build.make_counted("build kernel and modules", name, src, obj, log, ["all", *words])
    require_versions(obj, config)


def require_versions(obj: Path, config: dict[str, str]) -> None:
    """With MODVERSIONS, a module that uses a symbol without a version does not load.

    A compiler that is interrupted can leave its object without them, and kbuild
    takes the object as complete.
    """
    if config.get("CONFIG_MODVERSIONS") != "y":
        return
    lines = (obj / "Module.symvers").read_text().splitlines()
    missing = [line.split()[1] for line in lines if line.startswith("0x00000000\t")]
    if missing:
        die(
            f"symbols without a version: {len(missing)}, {missing[0]} first, since a build was "
            f"interrupted; remove {obj} and run make deb again"
        )


def package(src: Path, obj: Path, words: list[str]) -> list[Path]:
    for old in obj.parent.glob("*.deb"):
        old.unlink()
    name, mail = gitcmd.identity() or compose.NOBODY
    description = obj.parent / "description"
    description.write_text(UNSIGNED)
    describe = f"sed -i {shlex.quote(f'/{DESCRIBED}/r {description}')} debian/control"
    environment = [
        f"KDEB_PKGVERSION={version()}",
        "KDEB_CHANGELOG_DIST=unstable",
        f"DEBFULLNAME={name}",
        f"DEBEMAIL={mail}",
        *([] if flag("DEBUG") else ["DEB_BUILD_PROFILES=pkg.linux-upstream.nokerneldbg"]),
    ]
    words = [*words, f"DPKG_FLAGS=--hook-binary={shlex.quote(describe)}"]
    with step("make Debian packages"):
        run(
            ["env", *environment, *build.make_command(src, obj, "bindeb-pkg", *words)],
            log=obj.parent / "package.log",
            env=build.environment(),
            what="make bindeb-pkg",
        )
        debian_package.build(obj.parent, version(), name, mail)
    # Debian's own linux-libc-dev must stay: programs are built with it.
    packages = [
        path
        for path in sorted(obj.parent.glob("*.deb"))
        if not path.name.startswith("linux-libc-dev")
    ]
    for beginning in ("linux-image-", debian_package.PACKAGE):
        if not any(path.name.startswith(beginning) for path in packages):
            die(f"make bindeb-pkg left no package {beginning}; full log: {obj.parent}/package.log")
    return packages


def publish(packages: list[Path]) -> list[Path]:
    """Move complete packages to their place; those of earlier builds go."""
    RESULT.mkdir(exist_ok=True)
    for path in packages:
        for old in RESULT.glob(f"{path.name.partition('_')[0]}_*.deb"):
            old.unlink()
        path.rename(RESULT / path.name)
    return [RESULT / path.name for path in packages]


def report(packages: list[Path]) -> None:
    for path in packages:
        print(f"  {path} ({path.stat().st_size / 1e6:.1f} MB)")
    image = next(p for p in packages if re.match(r"linux-image-[^_]*(?<!-dbg)_", p.name))
    tools = next(p for p in packages if p.name.startswith(debian_package.PACKAGE))
    sudo = "" if os.geteuid() == 0 else "sudo "
    print("Install and boot it:")
    print(f"  {sudo}apt install {image} {tools}")
    print(f"  {sudo}reboot     # the boot menu keeps the old kernel")
    print("Then: sudo hashstats")
    print("To go back:")
    print(f"  {sudo}apt remove {image.name.partition('_')[0]} {debian_package.PACKAGE}")
