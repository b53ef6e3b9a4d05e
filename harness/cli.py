# SPDX-License-Identifier: GPL-2.0
"""The entry of every make target, and `make help`: cli.py TARGET."""

import errno
import importlib
import io
import os
import sys
import textwrap
from typing import NamedTuple

from common import BUILD, DISK_FULL, ROOT, Failure, die
from common.settings import SETTINGS, VARIABLES

sys.path.append(str(ROOT))  # the package `bench`

# Errors of a file that say what the user must change.
FILE_ERRORS = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}


class Target(NamedTuple):
    """The module and function that do it, what help prints, and variables of few targets."""

    place: str
    help: str
    reads: str = ""


BENCH = Target(
    "bench.lib.run:bench",
    "every benchmark, one after the other; make bench-NAME one of them ({benchmarks})",
    "QUICK LONG",
)
# In the order of `make help`, which prints an empty line between groups.
GROUPS: tuple[dict[str, Target], ...] = (
    {
        "boot": Target(
            "guest.boot:boot",
            "build the patched kernel, boot it in QEMU, run a short load, show the tables before "
            "and after it, power off",
            "MEM CPUS APPEND",
        ),
        "shell": Target(
            "guest.boot:shell", "the same kernel with a prompt instead", "MEM CPUS APPEND"
        ),
        "kunit": Target(
            "guest.kunit:kunit",
            "run the KUnit suites in one guest and show the kernel's report",
            "MEM CPUS APPEND SUITES",
        ),
        "test": Target("check.tests:test", "everything that CI runs", "TESTS"),
        "lint": Target(
            "check.lint:lint",
            "its first stage: ruff, mypy, codespell and shellcheck, silent if fine",
        ),
        "litmus": Target(
            "check.litmus:litmus",
            "its litmus tests of lockless code: herd7 tries every execution that the kernel's "
            "memory model allows",
        ),
        "test-long": Target(
            "check.tests:test_long",
            "sanitizer kernels, stress, every memory size, unusual and random configurations, "
            "test-arch, test-machine",
            "TESTS SEED LTP",
        ),
        "test-arch": Target(
            "check.tests:test_arch",
            "its part for other architectures: build each kernel, boot it in QEMU (riscv64: "
            "build only)",
            "ARCH",
        ),
        "test-machine": Target(
            "check.tests:test_machine",
            "packages of make deb FLAVOUR=cloud in a Debian machine: boot, load, sizes, reboot, "
            "removal; as root, an hour or two",
        ),
    },
    {
        "tree": Target(
            "series.worktree:tree",
            "compose base + series + new files into a git tree in build/",
            "FORCE",
        ),
        "export": Target(
            "series.export:export",
            "write that tree's commits back to patches/ and the new files",
        ),
        "mail": Target(
            "series.mail:mail",
            "write the mail set of each topic, and check that the mails give the composed tree",
            "TOPIC",
        ),
        "range-diff": Target(
            "series.range_diff:range_diff",
            "compare a topic's patches for the newest base with those for BASE, by default 6.12",
            "TOPIC",
        ),
        "check-series": Target(
            "series.check:check",
            "check that exactly one patch adds each file, that patches and topics apply, and "
            "white space",
        ),
        "check-bases": Target(
            "series.check_bases:check",
            "which patches apply to KERNEL=PATH, of whatever version, and why others do not",
        ),
        "kernel": Target("kernel.build:kernel", "build the patched kernel only"),
        "menuconfig": Target(
            "kernel.menu:menuconfig",
            "change the configuration of boot, shell, kunit and kernel; to go back, remove "
            "build/guest.config",
        ),
        "deb": Target(
            "kernel.deb:deb",
            "Debian packages of the patched kernel for a real machine, and of hashstats",
            "CONFIG FLAVOUR DEBUG",
        ),
        "install-tools": Target(
            "tool.install:install",
            "install hashstats, which reads /proc/hashstats, its manual and shell completion",
            "PREFIX DESTDIR",
        ),
        "uninstall-tools": Target("tool.install:uninstall", "remove them", "PREFIX DESTDIR"),
        "zipapp": Target(
            "tool.zipapp:zipapp",
            "hashstats as one file for Python 3.9 or newer, build/hashstats.pyz",
        ),
        "bench": BENCH,
        "bench-compare": Target(
            "bench.lib.run:compare", "compare the last two runs of each benchmark"
        ),
        "figures": Target(
            "report.figures:figures",
            "compare the newest run of each benchmark with results/figures.csv",
            "KEEP",
        ),
    },
    {
        "setup": Target(
            "common.packages:setup",
            "install packages and the Python environment (others do it too)",
        ),
        "clean": Target(
            "series.cleanup:clean",
            "remove what was built; keep downloads, compiler cache, Python",
            "FORCE",
        ),
        "distclean": Target("series.cleanup:distclean", "remove all of build/", "FORCE"),
    },
)
TARGETS = {name: target for group in GROUPS for name, target in group.items()}
WIDTH, INDENT = 90, 21


def benchmarks() -> list[str]:
    """Names for make bench-NAME."""
    return sorted(path.parent.name for path in ROOT.glob("bench/*/case.py"))


def entry(shown: str, text: str) -> str:
    """Lines of help: a word, and what it does beside it."""
    head = f"  {shown}".ljust(INDENT)
    lines = textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False)
    if len(head) > INDENT:
        lines.insert(0, "")
    return "\n".join([f"{head}{lines[0]}".rstrip(), *(" " * INDENT + one for one in lines[1:])])


def show_help() -> None:
    """make help."""
    print("boothash: hash tables of Linux, sized at boot and shown in /proc/hashstats\n")
    for group in GROUPS:
        for name, target in group.items():
            text = target.help.format(benchmarks=", ".join(benchmarks()))
            print(entry(f"make {name}", text))
        print()
    print("Variables:")
    for name, variable in VARIABLES.items():
        if variable.shown:
            readers = [target for target, one in TARGETS.items() if name in one.reads.split()]
            of = f"{', '.join(readers)}: " if readers else ""
            print(entry(variable.shown, of + variable.help))


def function(argv: list[str]) -> tuple[str, list[str]]:
    """The function that a target names, as module:name, and its arguments."""
    match argv:
        case ["help"]:
            return "cli:show_help", []
        case ["bench"]:
            return BENCH.place, ["all"]
        case [target] if target in TARGETS:
            return TARGETS[target].place, []
        case [target] if target.startswith("bench-"):
            return BENCH.place, [target.removeprefix("bench-")]
    return die(
        f"{' '.join(argv) or 'nothing'}: no such target; accepted: help {' '.join(TARGETS)} "
        "bench-NAME"
    )


def call(argv: list[str]) -> object:
    """Do what a target names."""
    SETTINGS.check(os.environ.get("GIVEN", "").split())
    for goal in os.environ.get("GOALS", "").split():
        function([goal])  # refuses a misspelt one before the others are done
    place, arguments = function(argv)
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)


def main() -> int:
    # Progress must come in order with what commands print, also in a pipe.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    try:
        status = call(sys.argv[1:])
        return status if isinstance(status, int) else 0
    except Failure as failure:
        print(f"boothash: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader went away (make help | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            said = DISK_FULL
        elif error.errno in FILE_ERRORS and error.filename:
            said = f"{error.filename}: {error.strerror}"
            if str(error.filename).startswith(str(BUILD)):
                said += f"; accepted: a folder {BUILD} in which this user can write"
        else:
            raise
        print(f"boothash: {said}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("boothash: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
