# SPDX-License-Identifier: GPL-2.0
"""make clean and make distclean, which do not drop a developer's commits."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from common import BUILD, die, flag
from series import gitcmd, worktree

KEPT = ("downloads", "ccache", "venv")


def guard() -> None:
    """Commits of the developer's tree, and of branches and stashes, live in build/ only."""
    for src in BUILD.glob("*/patched/src"):
        if flag("FORCE") or not worktree.exists(src) or not gitcmd.ref("HEAD", src):
            continue
        why = worktree.unsaved(src)
        if why:
            die(f"{src} {why}: run `make export` to keep them, or add FORCE=1 to drop them")
        name = worktree.another_branch(src)
        if name:
            die(
                f"{src} has commits on {name} that are not in the series: fetch them "
                "from there to keep them, or add FORCE=1 to drop them"
            )


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            os.unlink(path)
        print(f"  removed: {Path(os.path.relpath(path))}")


def clean() -> None:
    if BUILD.is_dir():
        guard()
        remove(p for p in sorted(BUILD.iterdir()) if p.name not in KEPT)


def distclean() -> None:
    if BUILD.is_dir():
        guard()
        remove([BUILD])
