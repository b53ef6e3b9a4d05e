# SPDX-License-Identifier: GPL-2.0
"""Patches on top of a commit, for kernels that only a test or a benchmark wants."""

from pathlib import Path

from common import die
from series import gitcmd, patchfile, source


def commit(parent: str, what: str, *paths: Path) -> str:
    """Parent and patches as a commit, the same one for the same input."""
    for path in paths:
        parent = with_patch(path, parent, what)
    return parent


def with_patch(path: Path, parent: str, what: str) -> str:
    patch, repo = patchfile.read(path), source.base_repo()
    with gitcmd.private_index(parent, repo) as env:
        done = gitcmd.git("apply", "--cached", repo=repo, env=env, input=patch.diff, check=False)
        if done.returncode:
            die(f"{path.name} does not apply to {what}: {done.stderr}")
        who = gitcmd.signature(source.PERSON, source.DATE)
        return gitcmd.commit_tree(parent, patch.message, repo, env, who)
