# SPDX-License-Identifier: GPL-2.0
"""Base kernel + stored patches + new files = commits, one a patch.

All work is done in a private index of the base repository: no work tree is
touched, and the same input gives the same commit ids.
"""

import dataclasses
import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from common import ROOT, Done, die, lock, step
from series import bases, gitcmd, maintainers, patchfile, paths, source, topics
from series.bases import Base
from series.gitcmd import Env, Person
from series.patchfile import Patch
from series.paths import MAINTAINERS, in_repository
from series.source import Linux

NOBODY = ("boothash", "boothash@localhost")


def patches(of: tuple[str, ...] | None = None, base: Base | None = None) -> list[Patch]:
    """A base's patches in order, parsed; of some topics, or of all."""
    found = []
    name = (base or source.current()).name
    for entry in topics.of_base(name, of):
        path = topics.text_of(entry, name)
        if not path.is_file():
            die(
                f"patches/{entry.topic}/series names {entry.name}, but there is no "
                f"{path.relative_to(ROOT)}"
            )
        found.append(dataclasses.replace(patchfile.read(path), topic=entry.topic))
    return found


def inputs(series: list[Patch]) -> dict[str, str]:
    """Digest of each file that composing reads, by name: what was composed."""
    files = [topics.PATCHES / "topics"]
    files += [topics.PATCHES / name / "series" for name in topics.needs()]
    files += [patch.path for patch in series]
    files += [in_repository(name) for patch in series for name in patch.brings + patch.creates]
    return {str(path.relative_to(ROOT)): digest(path) for path in files if path.is_file()}


def digest(path: Path) -> str:
    mode = "x" if os.access(path, os.X_OK) else "-"
    return mode + hashlib.sha256(path.read_bytes()).hexdigest()


def compose(of: tuple[str, ...] | None = None, linux: Linux | None = None) -> str:
    """The commit of the series on a base, or of some topics; made only when needed."""
    linux = linux or source.linux()
    repo, series = linux.repo, patches(of, linux.base)
    check_brings(series, linux)
    person = gitcmd.identity() or NOBODY
    key = json.dumps([linux.commit, person, inputs(series), recipe()])
    name = "refs/boothash/cache/" + hashlib.sha256(key.encode()).hexdigest()
    if commit := gitcmd.ref(name, repo):
        return commit
    with lock(linux.folder / "compose.lock"):
        # Another make may have done it meanwhile.
        if commit := gitcmd.ref(name, repo):
            return commit
        with step(f"compose {len(series)} patches on Linux {linux.version}"):
            commit = apply_all(series, linux, person)
        gitcmd.git("update-ref", name, commit, repo=repo)
    return commit


def recipe() -> list[str]:
    """Digest of these modules: a change to them composes anew."""
    return [
        digest(Path(str(module.__file__)))
        for module in (sys.modules[__name__], bases, maintainers, patchfile, paths, topics)
    ]


def apply_all(series: list[Patch], linux: Linux, person: Person) -> str:
    parent, repo = linux.commit, linux.repo
    with gitcmd.private_index(parent, repo) as env:
        for number, patch in enumerate(series, 1):
            apply_diff(patch, linux, env)
            add_files(patch, linux, env)
            who = gitcmd.signature(person, source.DATE + number)
            parent = gitcmd.commit_tree(parent, patch.message, repo, env, who)
    return parent


def apply_diff(patch: Patch, linux: Linux, env: Env, *options: str) -> None:
    done = try_diff(patch, linux, env, *options)
    if done and done.returncode:
        where = f"Linux {linux.version} with the patches before it"
        die(f"{patch.path.relative_to(ROOT)}: {reason(patch, done.stderr, where)}")


def try_diff(patch: Patch, linux: Linux, env: Env, *options: str) -> Done | None:
    """Apply the hunks to the index; None if there are none."""
    repo = linux.repo
    if not patch.diff:
        return None
    # Hunks for MAINTAINERS are stored as if our sections were not in it.
    sections = take_sections(linux, env) if MAINTAINERS in patch.changes() else []
    words = ["apply", "--cached", "--whitespace=nowarn", *options]
    done = gitcmd.git(*words, repo=repo, env=env, input=patch.diff, check=False)
    if sections and not done.returncode:
        text = maintainers.merge(blob(":" + MAINTAINERS, repo, env), sections)
        replace(MAINTAINERS, text, repo, env)
    return done


def gives(patch: Patch, before: str, after: str, linux: Linux, files: bool = True) -> bool:
    """A patch makes one tree of the other, with the files that it brings or without."""
    repo = linux.repo
    with gitcmd.private_index(before, repo) as env:
        done = try_diff(patch, linux, env)
        if done and done.returncode:
            return False
        if files:
            add_files(patch, linux, env)
        return gitcmd.out("write-tree", repo=repo, env=env) == after


def take_sections(linux: Linux, env: Env) -> list[str]:
    """Take our sections out of the index's MAINTAINERS."""
    repo = linux.repo
    text = blob(":" + MAINTAINERS, repo, env)
    rest, ours = maintainers.split(text, blob(f"{linux.tag}:{MAINTAINERS}", repo))
    if ours:
        replace(MAINTAINERS, rest, repo, env)
    return ours


def blob(name: str, repo: Path, env: Env | None = None) -> str:
    """The text of a file, or nothing when it is not there."""
    return gitcmd.git("cat-file", "blob", name, repo=repo, env=env, check=False).stdout


def replace(name: str, text: str, repo: Path, env: Env) -> None:
    data = text.encode("utf-8", "surrogateescape")
    add_to_index([f"100644 {store(data, repo)}\t{name}\0"], repo, env)


def add_to_index(lines: list[str], repo: Path, env: Env) -> None:
    """Lines of mode, blob and name."""
    words = ["update-index", "-z", "--index-info"]
    gitcmd.git(*words, repo=repo, env=env, input="".join(lines))


def reason(patch: Patch, said: str, where: str) -> str:
    """What `git apply` says of a patch, as one line."""
    match = re.search(r"error: patch failed: (\S+):(\d+)", said)
    if match:
        number = patchfile.hunk_at(patch.diff, match[1], int(match[2]))
        hunk = f"hunk {number}" if number else "a hunk"
        return f"{hunk} of {match[1]} (line {match[2]}) does not apply to {where}"
    match = re.search(r"error: (\S+): does not exist in index", said)
    if match:
        return f"changes {match[1]}, which is not in {where}"
    match = re.search(r"<stdin>:(\d+): (.*?)\.?\n", said)
    if match:
        line = patch.diff.splitlines()[int(match[1]) - 1]
        return f"{match[2]} in the line {line!r}"
    errors = [line for line in said.splitlines() if line.startswith("error")]
    return (errors or ["git apply failed"])[0]


def check_brings(series: list[Patch], linux: Linux) -> None:
    """Each new file exists and is new, and one patch adds it."""
    owner: dict[str, str] = {}
    for patch in series:
        for name in patch.brings + patch.creates:
            if name in owner:
                die(f"{name}: brought by {owner[name]} and by {patch.name}")
            owner[name] = patch.name
            if not in_repository(name).is_file():
                die(
                    f"{patch.name} brings {name}, but there is no "
                    f"{in_repository(name).relative_to(ROOT)}"
                )
    new = [name for name in owner if name != MAINTAINERS]
    listing = ["ls-tree", "-z", "--name-only", linux.tag, "--", *new]
    old = gitcmd.records(*listing, repo=linux.repo) if new else []
    if old:
        die(
            f"{owner[old[0]]} brings {old[0]}, which Linux "
            f"{linux.version} has: a change to it belongs into a hunk"
        )
    whole = {name for patch in series for name in patch.brings} - {MAINTAINERS}
    for patch in series:
        patchfile.check_message(patch, patch.name)
        ours = sorted(patch.changes() & whole)
        if ours:
            die(
                f"{patch.name} has hunks for {ours[0]}, a new file that "
                f"{owner[ours[0]]} brings whole: change the file itself"
            )


def add_files(patch: Patch, linux: Linux, env: Env) -> None:
    """Put the files that a patch brings into the index."""
    lines, repo = [], linux.repo
    for name in patch.brings:
        path = in_repository(name)
        mode = "100755" if os.access(path, os.X_OK) else "100644"
        data = path.read_bytes()
        if name == MAINTAINERS:
            mode, data = "100644", merged(data, linux, env)
        lines.append(f"{mode} {store(data, repo)}\t{name}\0")
    if lines:
        add_to_index(lines, repo, env)


def merged(own: bytes, linux: Linux, env: Env) -> bytes:
    """The index's MAINTAINERS with our sections."""
    text = blob(":" + MAINTAINERS, linux.repo, env)
    _, sections = maintainers.read_own(own.decode("utf-8", "surrogateescape"))
    double = sorted(maintainers.headings(text) & {maintainers.heading(s) for s in sections})
    if double:
        die(f"MAINTAINERS: Linux {linux.version} already has a section {double[0]}")
    return maintainers.merge(text, sections).encode("utf-8", "surrogateescape")


def store(data: bytes, repo: Path) -> str:
    with tempfile.NamedTemporaryFile() as temp:
        temp.write(data)
        temp.flush()
        return gitcmd.out("hash-object", "-w", "--no-filters", temp.name, repo=repo)


def commits(commit: str) -> list[str]:
    """Commits of a composed series, the first patch first."""
    linux = source.linux()
    return gitcmd.out("rev-list", "--reverse", f"{linux.tag}..{commit}", repo=linux.repo).split()
