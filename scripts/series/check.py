# SPDX-License-Identifier: GPL-2.0
"""make check-series: the stored patches, the new files, and white space."""

from common import ROOT, die
from series import compose, gitcmd, paths, source
from series.patchfile import Patch


def check() -> None:
    """make check-series."""
    check_listed()
    series = compose.patches()
    brought = {name for patch in series for name in patch.brings}
    for name in sorted(paths.kernel_files() - brought):
        die(
            f"{paths.in_repository(name).relative_to(ROOT)}: no patch "
            f"brings it; add a line `Brings: {name}` to one"
        )
    commit = compose.compose()
    check_whitespace(series, commit)
    print(
        f"{len(series)} patches and {len(brought)} new files in order, on Linux {source.version()}"
    )


def check_listed() -> None:
    names = {path.name for path in compose.folder().glob("*.patch")}
    extra = sorted(names - set(compose.listed()))
    if extra:
        die(f"series/{source.base_name()}/series does not name {extra[0]}")
    odd = [
        path.name
        for path in compose.folder().iterdir()
        if path.suffix != ".patch" and path.name not in ("series", "cover-letter")
    ]
    if odd:
        die(
            f"series/{source.base_name()}/{odd[0]}: neither a patch nor `series` nor `cover-letter`"
        )


def check_whitespace(series: list[Patch], commit: str) -> None:
    repo = source.base_repo()
    with gitcmd.private_index() as env:
        for patch, parent in zip(series, [f"{c}~" for c in compose.commits(commit)]):
            gitcmd.git("read-tree", parent, repo=repo, env=env)
            compose.apply_diff(patch, repo, env, "--whitespace=error")
    done = gitcmd.git("diff-tree", "--check", "-r", "base", commit, repo=repo, check=False)
    if done.returncode:
        die(f"bad white space: {done.stdout.splitlines()[0]}")
