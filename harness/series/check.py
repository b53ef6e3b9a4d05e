# SPDX-License-Identifier: GPL-2.0
"""make check-series: the stored patches, the new files, and white space.

Each topic must apply to the base with nothing below it but what it needs.
"""

import dataclasses
from pathlib import Path

from common import ROOT, die
from series import compose, gitcmd, patchfile, paths, source, topics
from series.patchfile import Patch


def check() -> None:
    """make check-series."""
    check_listed()
    series = compose.patches()
    brought = {name for patch in series for name in patch.brings + patch.creates}
    for name in sorted(paths.kernel_files() - brought - brought_anywhere()):
        die(
            f"{paths.in_repository(name).relative_to(ROOT)}: no patch "
            f"brings it; add a line `Brings: {name}` to one"
        )
    commit = compose.compose()
    for name in sorted(name for patch in series for name in patch.creates):
        check_built_up(name, commit)
    for topic in topics.needs():
        compose.compose(tuple(topics.with_needs(topic)))
    check_whitespace(series, commit)
    check_once(series, commit)
    print(
        f"{len(series)} patches and {len(brought)} new files in order, on Linux {source.version()}"
    )


def check_built_up(name: str, commit: str) -> None:
    """A file that hunks of several patches make is stored as they leave it."""
    here = paths.in_repository(name)
    text = here.read_bytes().decode("utf-8", "surrogateescape")
    if compose.blob(f"{commit}:{name}", source.base_repo()) != text:
        die(
            f"{here.relative_to(ROOT)}: differs from the {name} that the patches build up; "
            "change the hunks, or run `make export`, which writes this file"
        )


def all_texts() -> set[Path]:
    """The file of each patch of each base."""
    return {
        topics.text_of(entry, base) for base in topics.bases() for entry in topics.of_base(base)
    }


def brought_anywhere() -> set[str]:
    texts = [patchfile.read(path) for path in all_texts()]
    return {name for patch in texts for name in patch.brings + patch.creates}


def check_listed() -> None:
    """Each file below patches/ is one that this program knows."""
    known = all_texts() | {topics.PATCHES / "bases", topics.PATCHES / "topics"}
    for topic in topics.needs():
        known |= {topics.PATCHES / topic / name for name in ("series", "cover-letter")}
    for path in sorted(path for path in topics.PATCHES.rglob("*") if path.is_file()):
        if path in known:
            continue
        here = path.relative_to(ROOT)
        if path.suffix == ".patch":
            die(f"{here}: no base takes it; name it in the series file of its topic or remove it")
        die(f"{here}: neither a patch nor `series` nor `cover-letter`")


def check_once(series: list[Patch], commit: str) -> None:
    """A text for one base stands where the shared one does not serve."""
    base, repo = source.base_name(), source.base_repo()
    for patch, made in zip(series, compose.commits(commit)):
        shared = patch.path.with_name(patch.name.replace(f".{base}.patch", ".patch"))
        if patch.path == shared or not shared.is_file():
            continue
        before, after = (
            gitcmd.out("rev-parse", name + "^{tree}", repo=repo) for name in (f"{made}~", made)
        )
        text = dataclasses.replace(patchfile.read(shared), brings=patch.brings)
        if compose.gives(text, before, after, source.linux()):
            die(
                f"{patch.path.relative_to(ROOT)}: {shared.relative_to(ROOT)} serves {base} as "
                "well; remove it"
            )


def check_whitespace(series: list[Patch], commit: str) -> None:
    linux = source.linux()
    with gitcmd.private_index() as env:
        for patch, parent in zip(series, [f"{c}~" for c in compose.commits(commit)]):
            gitcmd.git("read-tree", parent, repo=linux.repo, env=env)
            compose.apply_diff(patch, linux, env, "--whitespace=error")
    whole = ["diff-tree", "--check", "-r", linux.tag, commit]
    done = gitcmd.git(*whole, repo=linux.repo, check=False)
    if done.returncode:
        die(f"bad white space: {done.stdout.splitlines()[0]}")
