# SPDX-License-Identifier: GPL-2.0
"""Kernel builds: configuration, make, and the record that lets one be skipped."""

import functools
import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from common import BUILD, ROOT, die, flag, lock, run, step
from common.packages import ensure_packages
from kernel import kconfig
from series import source, worktree

CONFIGS = ROOT / "configs"
GUEST = (CONFIGS / "guest.config", CONFIGS / "boothash.config")
TARGETS = ("vmlinux", "bzImage")
CCACHE = BUILD / "ccache"
PASSED_ON = ("PATH", "HOME", "USER", "TERM", "TMPDIR")
OBJECT = re.compile(r"^  (CC|AS|LD|AR|HOSTCC|OBJCOPY)\b", re.MULTILINE)
WARNING = re.compile(r"\bwarning: |^WARNING: ")
# Seconds of each kernel that this process compiled: no part of a benchmark.
COMPILING = []


@dataclass
class Build:
    """A kernel that was built; `warnings` are those of the last real make."""

    flavour: str
    src: Path
    obj: Path
    log: Path
    warnings: list

    @property
    def vmlinux(self):
        return self.obj / "vmlinux"

    @property
    def bzimage(self):
        return self.obj / "arch/x86/boot/bzImage"

    @property
    def config(self):
        return self.obj / ".config"


def environment():
    """What kbuild may see: nothing of the user's shell or of our own make."""
    env = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
    env.update(
        LC_ALL="C",
        LOCALVERSION="",
        # All flavours share objects: paths below the version folder are
        # cached relative, and the folder's name is left out.
        CCACHE_DIR=str(CCACHE),
        CCACHE_MAXSIZE="5G",
        CCACHE_NOHASHDIR="1",
        CCACHE_BASEDIR=str(source.version_dir()),
        CCACHE_SLOPPINESS="time_macros",
        # Nothing in the image may depend on when and where it was made.
        KBUILD_BUILD_TIMESTAMP="Sun Nov 17 00:00:00 UTC 2024",
        KBUILD_BUILD_USER="boothash",
        KBUILD_BUILD_HOST="boothash",
        KBUILD_BUILD_VERSION="1",
    )
    return env


def make_command(src, obj, *words):
    return [
        "make",
        "-C",
        src,
        f"O={obj}",
        f"-j{os.cpu_count() or 1}",
        "CC=ccache gcc",
        "HOSTCC=ccache gcc",
        *words,
    ]


def make(src, obj, *words, log=None, what=""):
    """Run the kernel's own make."""
    return run(make_command(src, obj, *words), log=log, env=environment(), what=what)


@functools.cache
def compiler():
    return run(["gcc", "--version"]).stdout.partition("\n")[0]


def build(flavour, fragments, commit, optional=(), flags=(), targets=TARGETS):
    """Build a commit with a configuration; gives a Build.

    Every line of `fragments` must survive in the configuration, those of
    `optional` need not; `flags` are words for each make, such as ARCH=um.
    Nothing is done when nothing changed.
    """
    ensure_packages("source", "build")
    with lock(source.version_dir() / f"build-{flavour}.lock"):
        src = worktree.src(flavour) if flavour == "patched" else worktree.checkout(flavour, commit)
        if worktree.head(src) != commit:
            die(f"{src} is not at the composed commit: run `make tree` first")
        return _build(
            flavour, src, list(fragments), list(optional), commit, list(flags), list(targets)
        )


def _build(flavour, src, fragments, optional, commit, flags, targets):
    obj = src.parent / "obj"
    result = Build(flavour, src, obj, src.parent / "build.log", [])
    record = src.parent / "build.json"
    key = build_key(fragments, optional, commit, flags, targets)
    known = json.loads(record.read_text()) if record.is_file() else {}
    if known.get("key") == key and have(result, targets):
        result.warnings = known["warnings"]
        return result
    record.unlink(missing_ok=True)
    kconfig.configure(
        src, obj, fragments, optional, lambda *words, log: make(*words, *flags, log=log)
    )
    compile_kernel(result, flags, targets)
    record.write_text(json.dumps({"key": key, "warnings": result.warnings}))
    return result


def build_key(fragments, optional, commit, flags, targets):
    digest = hashlib.sha256()
    for path in [*fragments, *optional, Path(__file__), Path(kconfig.__file__)]:
        digest.update(kconfig.text_of(path).encode())
    return [digest.hexdigest(), commit, flags, targets, compiler()]


def have(result, targets):
    paths = {"vmlinux": result.vmlinux, "bzImage": result.bzimage}
    return all(paths[t].is_file() for t in targets if t in paths)


def compile_kernel(result, flags, targets):
    words = [*flags, *targets] + (["V=1"] if flag("V") else [])
    with step(f"build {result.flavour} kernel") as progress:
        progress.note = lambda: f"{objects(result.log)} objects"
        make(
            result.src,
            result.obj,
            *words,
            log=result.log,
            what=f"the build of the {result.flavour} kernel",
        )
    COMPILING.append(progress.seconds())
    result.warnings = [
        line for line in result.log.read_text(errors="replace").splitlines() if WARNING.search(line)
    ]


def objects(log):
    """How many objects a running build has made."""
    if not log.is_file():
        return 0
    return len(OBJECT.findall(log.read_text(errors="replace")))


def patched():
    """The kernel that make boot and make test boot."""
    return build("patched", GUEST, worktree.tree())


def kernel():
    """make kernel"""
    ensure_packages("source", "build")
    result = patched()
    print(f"  vmlinux: {result.vmlinux}\n  bzImage: {result.bzimage}")
    for line in result.warnings:
        print(f"  {line}")
