# SPDX-License-Identifier: GPL-2.0
"""The patch series: verbs tree, refresh, mail, check."""

import os
import tempfile

import compose as composing
import gitcmd
import layout
import source
import worktree
from common import ROOT, die, dispatch
from compose import commits, compose, patches     # for those who import us
from mail import mail
from refresh import refresh
from setup import ensure_packages

__all__ = ["check", "commits", "compose", "mail", "patches", "refresh", "tree"]


def tree():
    """make tree; gives the composed commit."""
    commit = worktree.tree()
    print(f"  tree: {worktree.src()}")
    return commit


def check():
    """make check-series."""
    check_listed()
    series = patches()
    brought = {name for patch in series for name in patch.brings}
    for name in sorted(layout.kernel_files() - brought):
        die(f"{layout.in_repository(name).relative_to(ROOT)}: no patch "
            f"brings it; add a line `Brings: {name}` to one")
    commit = compose()
    check_whitespace(series, commit)
    print(f"{len(series)} patches and {len(brought)} new files in order, "
          f"on Linux {source.version()}")


def check_listed():
    names = {path.name for path in composing.folder().glob("*.patch")}
    extra = sorted(names - set(composing.listed()))
    if extra:
        die(f"series/{source.base_name()}/series does not name {extra[0]}")
    odd = [path.name for path in composing.folder().iterdir()
           if path.suffix != ".patch"
           and path.name not in ("series", "cover-letter")]
    if odd:
        die(f"series/{source.base_name()}/{odd[0]}: neither a patch nor "
            f"`series` nor `cover-letter`")


def check_whitespace(series, commit):
    repo = source.base_repo()
    with tempfile.TemporaryDirectory() as temp:
        env = {"GIT_INDEX_FILE": os.path.join(temp, "index")}
        for patch, parent in zip(series, [f"{c}~" for c in commits(commit)]):
            gitcmd.git("read-tree", parent, repo=repo, env=env)
            composing.apply_diff(patch, repo, env, "--whitespace=error")
    done = gitcmd.git("diff-tree", "--check", "-r", "base", commit, repo=repo,
                      check=False)
    if done.returncode:
        die(f"bad white space: {done.stdout.splitlines()[0]}")


def prepared(function):
    """A verb that first makes sure git and xz are there."""
    def verb():
        ensure_packages("source")
        result = function()
        return None if isinstance(result, str) else result
    return verb


if __name__ == "__main__":
    dispatch({"tree": prepared(tree), "refresh": prepared(refresh),
              "mail": prepared(mail), "check": prepared(check)})
