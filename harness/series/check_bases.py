# SPDX-License-Identifier: GPL-2.0
"""make check-bases: which patches apply to any kernel, and why others do not.

The tool for the port to the next kernel: a patch that does not apply is left
out, and those behind it are tried without it.
"""

from common import ROOT, die, setting, step
from series import bases, compose, gitcmd, source
from series.gitcmd import Env
from series.patchfile import Patch
from series.source import Linux


def check() -> int:
    """make check-bases: a line for each patch, and 1 if one does not apply."""
    if not setting("KERNEL"):
        die("check-bases: KERNEL=PATH names the kernel to try; a tree or tarball of any version")
    base = bases.named(setting("BASE", bases.names()[0]))
    linux, series = source.linux(base, any_version=True), compose.patches(base=base)
    compose.check_brings(series, linux)
    with step(f"try {len(series)} patches for {linux.base.name} on Linux {linux.version}"):
        found = reasons(series, linux)
    for patch, why in found:
        print(f"  {patch.path.relative_to(ROOT)}: {why or 'applies'}")
    good = sum(not why for _, why in found)
    print(f"{good} of {len(found)} patches apply to Linux {linux.version}")
    return int(good < len(found))


def reasons(series: list[Patch], linux: Linux) -> list[tuple[Patch, str]]:
    """Each patch with the reason why it does not apply, which is empty if it does."""
    found: list[tuple[Patch, str]] = []
    with gitcmd.private_index(linux.commit, linux.repo) as env:
        for patch in series:
            why = refused(patch, linux, env)
            missing = [
                f"{one.topic}/{one.name[:2]}"
                for one, reason in found
                if reason and one.changes() & patch.changes()
            ]
            if why and missing:
                why += f"; {', '.join(missing)} with changes to the same file is left out"
            if not why:
                compose.add_files(patch, linux, env)
            found.append((patch, why))
    return found


def refused(patch: Patch, linux: Linux, env: Env) -> str:
    """Why the hunks do not apply to the index; if they do, they are in it."""
    done = compose.try_diff(patch, linux, env)
    if done is None or not done.returncode:
        return ""
    back = compose.try_diff(patch, linux, env, "--reverse", "--check")
    if back and not back.returncode:
        return "is in this kernel already"
    return compose.reason(patch, done.stderr, f"Linux {linux.version}")
