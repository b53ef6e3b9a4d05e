# SPDX-License-Identifier: GPL-2.0
"""Git as the series tools use it: no setting of the user's changes a result."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from common import ROOT, Done, StrPath, run

Env = dict[str, str]
Person = tuple[str, str]  # name, mail

SETTINGS = (
    "safe.directory=*",  # build/ may belong to another user
    "gc.auto=0",
    "core.compression=1",
    "core.quotePath=false",
    "core.autocrlf=false",
    "checkout.workers=0",
    "advice.detachedHead=false",
    "commit.gpgSign=false",
)
OPTIONS = [word for setting in SETTINGS for word in ("-c", setting)]


def clean_environment() -> Env:
    """The environment without git's variables, as when a hook calls make."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env.update(
        GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", LC_ALL="C"
    )
    return env


def git(*args: StrPath, repo: StrPath | None = None, env: Env | None = None, **kw: Any) -> Done:
    """Run git in `repo` (bare repository or work tree); CompletedProcess."""
    environment = clean_environment() | (env or {})
    where = ["-C", repo] if repo else []
    return run(["git", *OPTIONS, *where, *args], env=environment, **kw)


def out(*args: StrPath, **kw: Any) -> str:
    """What git prints, without the last newline."""
    return git(*args, **kw).stdout.rstrip("\n")


def records(*args: StrPath, **kw: Any) -> list[str]:
    """What git prints with -z, as a list."""
    return [item for item in git(*args, **kw).stdout.split("\0") if item]


@contextlib.contextmanager
def private_index(tree: str | None = None, repo: StrPath | None = None) -> Iterator[Env]:
    """Environment of an index that no work tree uses; it starts with a tree."""
    with tempfile.TemporaryDirectory() as temp:
        env = {"GIT_INDEX_FILE": os.path.join(temp, "index")}
        if tree:
            git("read-tree", tree, repo=repo, env=env)
        yield env


def commit_tree(parent: str, message: str, repo: StrPath, index: Env, who: Env) -> str:
    """Commit what a private index has."""
    tree = out("write-tree", repo=repo, env=index)
    return out("commit-tree", tree, "-p", parent, repo=repo, env=who, input=message)


def ref(name: str, repo: StrPath) -> str | None:
    """The commit that a ref names, or nothing."""
    done = git("rev-parse", "--quiet", "--verify", name + "^{commit}", repo=repo, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def commit(name: str, repo: StrPath) -> str:
    """The commit that a ref names, which must be there."""
    return out("rev-parse", "--verify", name + "^{commit}", repo=repo)


def identity() -> Person | None:
    """(name, mail) of the user, from git's own settings, or None."""
    for place in (ROOT, "/"):
        done = run(
            ["git", "-C", place, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"],
            check=False,
        )
        if done.returncode == 0:
            name, _, rest = done.stdout.partition(" <")
            return name, rest.partition(">")[0]
    return None


def signature(person: Person, seconds: int) -> Env:
    """Environment that makes `person` author and committer at a fixed time."""
    name, mail = person
    date = f"{seconds} +0000"
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
        "GIT_COMMITTER_DATE": date,
    }
