# SPDX-License-Identifier: GPL-2.0
"""Work trees of the composed kernel; files are touched only when they differ."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from common import BUILD, die, flag, lock, step, write_if_changed
from series import compose, gitcmd, source

# No kernel of a guest compiles these; without them a work tree takes 0.6 GiB for 1.6.
# Build systems need each Kconfig and Makefile.
LEFT_OUT = (
    *("drivers/accel", "drivers/gpu", "drivers/infiniband", "drivers/media", "drivers/staging"),
    *("drivers/net/ethernet", "drivers/net/wireless", "sound", "tools/perf"),
)
NO_GUEST_NEEDS = (
    "/*",
    *(f"!/{folder}/**/*.[ch]" for folder in LEFT_OUT),
    *(f"!/arch/*/boot/dts/**/*.{kind}" for kind in ("dts", "dtsi")),
    *(f"!/Documentation/**/*.{kind}" for kind in ("rst", "txt", "yaml", "svg")),
)


DEVELOPERS = "patched"  # the only tree in which people work


def folder(flavour: str) -> Path:
    return source.version_dir() / flavour


def src(flavour: str = DEVELOPERS) -> Path:
    return folder(flavour) / "src"


def branch() -> str:
    """The branch of the developer's tree: one of each base."""
    return f"boothash-{source.linux().name}"


def composed(path: Path) -> str:
    """The ref of what `make tree` last made in the developer's tree at `path`."""
    return f"refs/boothash/composed/{path.parent.parent.name}"


def tag(path: Path) -> str:
    """The tag of the base of the developer's tree at `path`."""
    return f"v{path.parent.parent.name}"


def record() -> Path:
    """Digests of the files that the work tree was composed from."""
    return folder(DEVELOPERS) / "composed.json"


def complete(path: Path) -> Path:
    """The mark of a work tree whose first check out was not interrupted."""
    return path.parent / "src.complete"


def exists(path: Path) -> bool:
    """A work tree of our repository is there, and its first check out was not interrupted."""
    link = path / ".git"
    if not link.is_file() or not complete(path).is_file():
        return False
    repo = os.path.realpath(source.REPOSITORY)
    ours = link.read_text().startswith(f"gitdir: {repo}/")
    if not ours and path.parent.name == DEVELOPERS:
        die(
            f"{path}: a work tree of another repository than {repo}: fetch from there what "
            f"you want to keep, then remove {path.parent.parent}"
        )
    return ours


def add(path: Path, commit: str, *options: str, patterns: Iterable[str] = ()) -> None:
    """Check out a commit, of its files those that git's sparse patterns ask for."""
    with step(f"check out {path.parent.name} tree"):
        shutil.rmtree(path, ignore_errors=True)
        # Git fails, and does not wait, if another process writes the repository's settings.
        with lock(BUILD / "worktrees.lock"):
            # A folder that is gone leaves its registration behind.
            gitcmd.git("worktree", "prune", repo=source.base_repo())
            words = ["worktree", "add", "--quiet", "--force", "--no-checkout", *options]
            gitcmd.git(*words, str(path), commit, repo=source.base_repo())
            if patterns:
                gitcmd.git("sparse-checkout", "set", "--no-cone", *patterns, repo=path)
        gitcmd.git("reset", "--quiet", "--hard", repo=path)
        complete(path).touch()


def checkout(flavour: str, commit: str, patterns: Iterable[str] = NO_GUEST_NEEDS) -> Path:
    """A generated work tree at a commit, changes in it dropped."""
    path = src(flavour)
    if not exists(path):
        add(path, commit, "--detach", patterns=patterns)
    elif head(path) != commit or dirty(path):
        gitcmd.git("checkout", "--quiet", "--force", "--detach", commit, repo=path)
        gitcmd.git("clean", "-fdq", repo=path)
    return path


def head(path: Path) -> str | None:
    return gitcmd.ref("HEAD", path)


def dirty(path: Path) -> str | None:
    """A file with changes that no commit holds, or nothing."""
    lines = gitcmd.records("status", "--porcelain", "-z", repo=path)
    return lines[0][3:] if lines else None


def rebasing(path: Path) -> bool:
    git_dir = gitcmd.out("rev-parse", "--absolute-git-dir", repo=path)
    return any(
        os.path.exists(f"{git_dir}/{name}")
        for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD")
    )


def unsaved(path: Path) -> str | None:
    """What would be lost by moving the developer's tree, in words."""
    if rebasing(path):
        return "is in the middle of a rebase or merge"
    changed = dirty(path)
    if changed:
        return f"has changes that are not committed ({changed})"
    if head(path) not in (gitcmd.ref(composed(path), path), gitcmd.ref(tag(path), path)):
        return "has commits that are not in the series"
    return None


def another_branch(path: Path) -> str | None:
    """A branch, or the stash, with commits that the developer's tree does not have."""
    had = ["--not", "HEAD", "--tags", "--glob=refs/boothash/composed"]
    refs = gitcmd.out("for-each-ref", "--format=%(refname)", "refs/heads", "refs/stash", repo=path)
    for name in refs.split():
        if gitcmd.out("rev-list", "--max-count=1", name, *had, repo=path):
            return name.removeprefix("refs/").removeprefix("heads/")
    return None


def tree() -> str:
    """make tree: the composed series in the developer's tree; its commit."""
    commit, path = compose.compose(), src()
    with lock(source.version_dir() / "tree.lock"):
        if not exists(path):
            add(path, commit, "-B", branch())
        else:
            guard(path)
            move(path, commit)
        remember(commit)
    print(f"  tree: {path}")
    return commit


def guard(path: Path) -> None:
    why = unsaved(path)
    if not why:
        return
    if not flag("FORCE"):
        die(f"{path} {why}: run `make export` to keep them, or `make tree FORCE=1` to drop them")
    print(f"  dropped: {path} {why}; its commit was {head(path)}")
    if rebasing(path):
        gitcmd.git("rebase", "--quit", repo=path, check=False)
    gitcmd.git("reset", "--quiet", "--hard", repo=path)
    gitcmd.git("clean", "-fdq", repo=path)


def move(path: Path, commit: str) -> None:
    """Put the branch at a commit; git rewrites only files that differ."""
    if head(path) != commit or current_branch(path) != branch():
        gitcmd.git("checkout", "--quiet", "-B", branch(), commit, repo=path)


def current_branch(path: Path) -> str:
    done = gitcmd.git("symbolic-ref", "--short", "-q", "HEAD", repo=path, check=False)
    return done.stdout.strip()


def remember(commit: str) -> None:
    gitcmd.git("update-ref", composed(src()), commit, repo=source.base_repo())
    write_if_changed(record(), json.dumps(compose.inputs(compose.patches()), indent=1))
