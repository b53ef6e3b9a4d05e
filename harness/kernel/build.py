# SPDX-License-Identifier: GPL-2.0
"""Kernel builds: configuration, make, and the record that lets one be skipped."""

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from common import BUILD, ROOT, Done, die, disk, flag, lock, run, step, write_if_changed
from common.packages import ensure_packages
from kernel import kconfig
from kernel.kconfig import Fragment
from series import source, worktree

CONFIGS = ROOT / "configs"
BASE_GUEST = (CONFIGS / "guest.config",)
GUEST = (*BASE_GUEST, CONFIGS / "series.config")
# What make menuconfig changed.
OWN = BUILD / "guest.config"
TARGETS = ("vmlinux",)
CCACHE = BUILD / "ccache"
# How many objects each configuration compiled when it was last built from nothing.
# make clean keeps this folder.
OBJECTS = CCACHE / "objects"
PASSED_ON = ("PATH", "HOME", "USER", "TERM", "TMPDIR")
OBJECT = re.compile(r"^  (CC|AS|LD|AR|HOSTCC|OBJCOPY)\b", re.MULTILINE)
MADE = re.compile(r"^  (?:CC|AS) +(?:\[M\]  ?)?(\S+\.o)$", re.MULTILINE)
# objcopy finds an empty segment in mainline's user-mode Linux 7.3.
WARNING = re.compile(r"^(?!objcopy: .*empty loadable segment).*\bwarning: |^WARNING: ")
# Source, repository, work tree and objects of one kernel.
BYTES = 3.5 * disk.GIB
# Seconds of each kernel that this process compiled: no part of a benchmark.
COMPILING: list[float] = []


@dataclass
class Build:
    """A kernel that was built; `warnings` are those of the last real make."""

    flavour: str
    src: Path
    obj: Path
    log: Path
    warnings: list[str]

    @property
    def vmlinux(self) -> Path:
        return self.obj / "vmlinux"

    @property
    def config(self) -> Path:
        return self.obj / ".config"


def environment() -> dict[str, str]:
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
        # What a file includes is learnt from the compiler, so none is read twice.
        CCACHE_DEPEND="1",
        # Nothing in the image may depend on when and where it was made.
        KBUILD_BUILD_TIMESTAMP="Sun Nov 17 00:00:00 UTC 2024",
        KBUILD_BUILD_USER="boothash",
        KBUILD_BUILD_HOST="boothash",
        KBUILD_BUILD_VERSION="1",
    )
    return env


def make_command(src: Path, obj: Path, *words: str) -> list[str | Path]:
    return [
        # Guests that run meanwhile have loads of a fixed time.
        "nice",
        "make",
        "-C",
        src,
        f"O={obj}",
        f"-j{os.cpu_count() or 1}",
        "CC=ccache gcc",
        "HOSTCC=ccache gcc",
        *words,
    ]


def make(src: Path, obj: Path, *words: str, log: Path | None = None, what: str = "") -> Done:
    """Run the kernel's own make."""
    return run(make_command(src, obj, *words), log=log, env=environment(), what=what)


@functools.cache
def compiler(program: str = "gcc") -> str:
    return run([program, "--version"]).stdout.partition("\n")[0]


def compiler_of(flags: Iterable[str]) -> str:
    """The version of the compiler that the words for make choose."""
    # The compiler is the last word: ccache may stand before it.
    chosen = [word.removeprefix("CC=").split()[-1] for word in flags if word.startswith("CC=")]
    return compiler(chosen[-1] if chosen else "gcc")


@dataclass(frozen=True)
class Recipe:
    """What a kernel is built from, besides a commit."""

    fragments: tuple[Fragment, ...]  # every line must survive in the configuration
    optional: tuple[Fragment, ...] = ()  # lines that need not
    flags: tuple[str, ...] = ()  # words for each make, such as ARCH=um
    targets: tuple[str, ...] = TARGETS

    def digests(self) -> list[object]:
        """What a configuration depends on, besides the kernel's source."""
        ours: tuple[Fragment, ...] = (Path(__file__), Path(kconfig.__file__))
        texts = [digest_of(part) for part in (ours, self.fragments, self.optional)]
        return [*texts, list(self.flags), compiler_of(self.flags)]


def build(
    flavour: str,
    fragments: Iterable[Fragment],
    commit: str,
    optional: Iterable[Fragment] = (),
    flags: Iterable[str] = (),
    targets: Iterable[str] = TARGETS,
    tree: str = "",
) -> Build:
    """Build a commit with a configuration, as Recipe has it; gives a Build.

    `tree` is the flavour whose work tree is built, else the flavour has its own.
    Nothing is done when nothing changed.
    """
    tree = tree or flavour
    recipe = Recipe(tuple(fragments), tuple(optional), tuple(flags), tuple(targets))
    ensure_packages("source", "build")
    with lock(source.version_dir() / f"build-{flavour}.lock"):
        src = worktree.src() if tree == "patched" else worktree.checkout(tree, commit)
        if worktree.head(src) != commit:
            die(f"{src} is not at the composed commit: run `make tree` first")
        return _build(flavour, src, commit, recipe)


def _build(flavour: str, src: Path, commit: str, recipe: Recipe) -> Build:
    folder = worktree.folder(flavour)
    result = Build(flavour, src, folder / "obj", folder / "build.log", [])
    record = folder / "build.json"
    key = [*recipe.digests(), commit, list(recipe.targets)]
    known = json.loads(record.read_text()) if record.is_file() else {}
    there = "vmlinux" not in recipe.targets or result.vmlinux.is_file()
    if known.get("key") == key and there:
        result.warnings = known["warnings"]
        return result
    record.unlink(missing_ok=True)
    configure(result, commit, recipe)
    compile_kernel(result, recipe)
    if worktree.head(src) != commit:
        die(f"{src} was moved to another commit during the build; run it again")
    record.write_text(json.dumps({"key": key, "warnings": result.warnings}))
    return result


def configure(result: Build, commit: str, recipe: Recipe) -> None:
    """Write the configuration, unless it stands and nothing it comes from changed."""
    record = result.obj.parent / "config.json"
    key = [*recipe.digests(), kconfig.sources(result.src, commit)]
    if record.is_file() and json.loads(record.read_text()) == [key, config_digest(result)]:
        return
    record.unlink(missing_ok=True)
    kconfig.configure(
        result.src,
        result.obj,
        recipe.fragments,
        recipe.optional,
        lambda *words, log: make(*words, *recipe.flags, log=log),
    )
    record.write_text(json.dumps([key, config_digest(result)]))


def config_digest(result: Build) -> str | None:
    config = result.config
    return hashlib.sha256(config.read_bytes()).hexdigest() if config.is_file() else None


def digest_of(texts: Iterable[Fragment]) -> str:
    return hashlib.sha256("".join(map(kconfig.text_of, texts)).encode()).hexdigest()


def compile_kernel(result: Build, recipe: Recipe) -> None:
    words = [*recipe.flags, *recipe.targets] + (["V=1"] if flag("V") else [])
    what = f"build {result.flavour} kernel"
    COMPILING.append(make_counted(what, result.flavour, result.src, result.obj, result.log, words))
    read_warnings(result)


def make_counted(what: str, name: str, src: Path, obj: Path, log: Path, words: list[str]) -> float:
    """Run make, print meanwhile how many objects it has compiled, and return the seconds.

    A build from nothing also prints how many the configuration `name` took last time.
    """
    from_nothing = not (obj / "init/main.o").exists()
    record = OBJECTS / f"{source.version()}-{name}"
    last = f" of {record.read_text()}" if from_nothing and record.is_file() else ""
    with step(what) as progress:
        progress.note = lambda: f"{objects(log)}{last} objects"
        make(src, obj, *words, log=log, what="the build of the kernel")
    if from_nothing:
        write_if_changed(record, str(objects(log)))
    return progress.seconds()


def read_warnings(result: Build) -> None:
    """Warnings of a make.  The next would not repeat them, so it shall compile these again."""
    text = result.log.read_text(errors="replace")
    result.warnings = [line for line in text.splitlines() if WARNING.search(line)]
    made = MADE.findall(text)
    for name in {name for line in result.warnings for name in objects_of(line, made)}:
        path = result.obj / name
        path.with_name(f".{path.name}.cmd").unlink(missing_ok=True)


def objects_of(warning: str, made: list[str]) -> list[str]:
    """Of these objects, that of the file that a warning names; all, if it is a header."""
    file = "/" + warning.partition(":")[0]
    return [name for name in made if file.endswith(f"/{name[:-2]}.c")] or made


def objects(log: Path) -> int:
    """How many objects a running build has made."""
    if not log.is_file():
        return 0
    return len(OBJECT.findall(log.read_text(errors="replace")))


def patched() -> Build:
    """The kernel that make test boots."""
    return _patched(GUEST)


def guest() -> Build:
    """The kernel that make boot, shell and kunit boot: with the options of make menuconfig."""
    if not OWN.is_file():
        return patched()
    changed = len(kconfig.values(OWN.read_text()))
    print(f"  {OWN.relative_to(ROOT)} changes {changed} options; remove it to go back", flush=True)
    return _patched((OWN,), optional=GUEST)


def _patched(fragments: Iterable[Fragment], optional: Iterable[Fragment] = ()) -> Build:
    made = f"{source.base_name()}.*"
    if not any(BUILD.glob(f"{made}/patched/obj/vmlinux")):
        used = sum(map(disk.used, BUILD.glob(made)))
        disk.require(BUILD, BYTES - used, "the source and the build of a kernel")
    return build("patched", fragments, worktree.tree(), optional=optional)


def kernel() -> None:
    """make kernel"""
    ensure_packages("source", "build")
    result = guest()
    print(f"  vmlinux: {result.vmlinux}")
    for line in result.warnings:
        print(f"  {line}")
