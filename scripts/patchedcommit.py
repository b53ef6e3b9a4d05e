# SPDX-License-Identifier: GPL-2.0
"""A patch on top of a commit, for kernels that only a benchmark wants."""

import os
import tempfile

import gitcmd
import patchfile
import source
from common import die


def commit(path, parent, what):
    """Parent and patch as a commit, the same one for the same two."""
    patch, repo = patchfile.read(path), source.base_repo()
    with tempfile.TemporaryDirectory() as temp:
        env = {"GIT_INDEX_FILE": os.path.join(temp, "index")}
        gitcmd.git("read-tree", parent, repo=repo, env=env)
        done = gitcmd.git("apply", "--cached", repo=repo, env=env,
                          input=patch.diff, check=False)
        if done.returncode:
            die(f"scripts/{path.name} does not apply to {what}: {done.stderr}")
        tree = gitcmd.out("write-tree", repo=repo, env=env)
    return gitcmd.out("commit-tree", tree, "-p", parent, repo=repo,
                      env=gitcmd.signature(source.PERSON, source.DATE),
                      input=patch.message)
