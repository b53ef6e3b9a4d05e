# SPDX-License-Identifier: GPL-2.0
"""The base kernel with counters for its hashed wait queues: for bench-herd."""

import os
import tempfile

import build
import gitcmd
import patchfile
import source
from common import ROOT, die

FLAVOUR = "base-counted"
PATCH = ROOT / "scripts" / "count-wakeups.patch"


def commit():
    """Base and patch as a commit, the same one for the same two."""
    patch, repo = patchfile.read(PATCH), source.base_repo()
    with tempfile.TemporaryDirectory() as temp:
        env = {"GIT_INDEX_FILE": os.path.join(temp, "index")}
        gitcmd.git("read-tree", "base", repo=repo, env=env)
        done = gitcmd.git("apply", "--cached", repo=repo, env=env,
                          input=patch.diff, check=False)
        if done.returncode:
            die(f"scripts/{PATCH.name} does not apply to Linux "
                f"{source.version()}: {done.stderr}")
        tree = gitcmd.out("write-tree", repo=repo, env=env)
    base = gitcmd.ref("base", repo)
    return gitcmd.out("commit-tree", tree, "-p", base, repo=repo,
                      env=gitcmd.signature(source.PERSON, source.DATE),
                      input=patch.message)


def kernel():
    """The kernel, built."""
    return build.build(FLAVOUR, [build.CONFIGS / "guest.config"], commit())
