# SPDX-License-Identifier: GPL-2.0
"""make menuconfig: change the configuration of the guest, and keep what differs."""

import subprocess
import sys
from pathlib import Path

from common import ROOT, die, lock
from common.packages import ensure_packages
from kernel import build, kconfig
from series import source, worktree

HEAD = """\
# Options that `make menuconfig` changed, merged after the files in configs/.
# Remove this file to go back.
"""


def menuconfig() -> int:
    """Open the guest's configuration in the composed tree."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        die("make menuconfig: needs a terminal; without one, edit build/guest.config")
    ensure_packages("source", "build", "menu")
    worktree.tree()
    folder = worktree.folder("menuconfig")
    with lock(source.version_dir() / "build-menuconfig.lock"):
        before = prepare(folder / "obj")
        words = build.make_command(worktree.src(), folder / "obj", "menuconfig")
        status = subprocess.call(list(map(str, words)), env=build.environment())
        if status == 0:
            keep(before, (folder / "obj/.config").read_text())
    return status


def prepare(obj: Path) -> str:
    """Write the guest's configuration with the options kept so far; it without them."""
    src = worktree.src()
    kconfig.configure(src, obj, [], build.GUEST, build.make)
    before = (obj / ".config").read_text()
    if build.OWN.is_file():
        kconfig.configure(src, obj, [], [build.OWN], build.make, start=before)
    return before


def keep(before: str, after: str) -> None:
    """Store the lines of `after` that differ."""
    lines = difference(before, after)
    here = build.OWN.relative_to(ROOT)
    if lines:
        build.OWN.write_text(HEAD + lines)
        print(f"  {here}: {len(lines.splitlines())} options for make boot, shell, kunit and kernel")
    else:
        build.OWN.unlink(missing_ok=True)
        print(f"  no option differs from configs/, so there is no {here}")


def difference(before: str, after: str) -> str:
    """The lines that make one configuration of the other."""
    old, new = kconfig.values(before), kconfig.values(after)
    names = [*new, *(name for name in old if name not in new)]
    return "".join(
        kconfig.line((name, new.get(name, "n")))
        for name in names
        if new.get(name, "n") != old.get(name, "n")
    )
