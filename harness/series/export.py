# SPDX-License-Identifier: GPL-2.0
"""make export: write the developer's commits back to patches and new files.

Each commit is compared with its parent after the new files that one commit makes
have been taken out of both: what is left is the hunks of the stored patch.  A new
file that several commits change is built up by the hunks of each of them.
"""

import json
import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from common import ROOT, die, flag, lock
from series import compose, gitcmd, maintainers, patchfile, paths, source, topics, worktree
from series.patchfile import Patch
from series.paths import MAINTAINERS
from series.topics import Entry

Contents = dict[Path, tuple[bytes, bool]]  # file here: bytes, executable

DIFF = shlex.split(
    "diff-tree -p --no-color --no-ext-diff --no-textconv --no-renames --src-prefix=a/ "
    "--dst-prefix=b/ -U3 --diff-algorithm=myers --indent-heuristic"
)
SIGNED = re.compile(r"^Signed-off-by: .*\n?", re.MULTILINE)
# The topic of a new commit, if it is not that of the commit before it.
TOPIC = re.compile(r"^Topic: (\S+)\n?", re.MULTILINE)


@dataclass
class Commit:
    """A commit of the work tree on its way to a stored patch."""

    id: str
    subject: str
    body: str
    added: set[str]  # new files that exist after it
    touched: set[str]  # files that it changes
    topic: str  # that its message names
    sections: list[str] = field(default_factory=list)  # of MAINTAINERS
    brings: list[str] = field(default_factory=list)


def export() -> None:
    path = worktree.src()
    if not worktree.exists(path):
        die(f"{path} is not there: run `make tree` first")
    if worktree.rebasing(path):
        die(f"{path} is in the middle of a rebase or merge: finish it first")
    changed = worktree.dirty(path)
    if changed:
        die(f"{path} has changes that are not committed ({changed}): commit them first")
    with lock(source.version_dir() / "tree.lock"):
        check_untouched()
        print(f"  write the commits of {path} back to the series")
        settle(path, write_back(path))


def check_untouched() -> None:
    """Refuse to write over files edited here since `make tree`."""
    before = worktree.record()
    if flag("FORCE") or not before.is_file():
        return
    then, now = json.loads(before.read_text()), compose.inputs(stored_patches({source.base_name()}))
    differ = sorted(n for n in then.keys() | now.keys() if then.get(n) != now.get(n))
    if differ:
        die(
            f"{differ[0]} changed here since the last `make tree`: keep its "
            f"new content elsewhere, or `make export FORCE=1` to write "
            f"over it"
        )


def stored_patches(names: set[str]) -> list[Patch]:
    """Patches of some bases whose files are there: they need not compose."""
    texts = {topics.text_of(entry, name) for name in names for entry in topics.of_base(name)}
    return [patchfile.read(path) for path in sorted(texts) if path.is_file()]


def write_back(path: Path) -> str:
    known = known_entries()
    commits = read_commits(path)
    assign_topics(commits, known)
    contents = new_files(commits, path)
    series = make_patches(commits, path, known)
    base = {source.base_name()}
    old, others = (
        {paths.in_repository(name) for patch in patches for name in patch.brings + patch.creates}
        for patches in (stored_patches(base), stored_patches(set(topics.bases()) - base))
    )
    check_strangers(contents, old)
    store_files(contents, old - others)
    for topic in topics.needs():
        store_topic(topic, [patch for patch in series if patch.topic == topic], known)
    return commits[-1].id if commits else source.base_commit()


def known_entries() -> dict[str, Entry]:
    """The stored patches of every base, by subject."""
    found = {}
    for base in reversed(topics.bases()):
        for entry in topics.of_base(base):
            path = topics.text_of(entry, base)
            if path.is_file():
                found[patchfile.read(path).subject] = entry
    return found


# --- commits -----------------------------------------------------------------


def read_commits(path: Path) -> list[Commit]:
    linux = source.linux()
    own = ["--reverse", "--parents", f"{linux.tag}..HEAD"]
    ids = gitcmd.out("rev-list", *own, repo=path).splitlines()
    if gitcmd.out("merge-base", linux.tag, "HEAD", repo=path) != linux.commit:
        die(f"{path}: its commits do not stand on Linux {linux.version}")
    if any(len(line.split()) != 2 for line in ids):
        die(f"{path}: holds a merge; a series is a straight line of commits")
    return [read_commit(line.split()[0], path) for line in ids]


def read_commit(commit: str, path: Path) -> Commit:
    message = gitcmd.git("log", "-1", "--format=%B", commit, repo=path).stdout
    message, _ = patchfile.split_brings(SIGNED.sub("", message))
    topic = TOPIC.search(message)
    subject, _, body = TOPIC.sub("", message).partition("\n")
    if subject.startswith(("fixup!", "squash!", "amend!")):
        die(f"`{subject}`: squash it first: git rebase -i --autosquash {source.linux().tag}")
    return Commit(
        commit,
        subject.strip(),
        body.strip("\n"),
        names(path, "--diff-filter=A", source.linux().tag, commit),
        names(path, f"{commit}~", commit),
        topic[1] if topic else "",
    )


def names(path: Path, *what: str) -> set[str]:
    listing = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", *what]
    return set(gitcmd.records(*listing, repo=path))


def assign_topics(commits: list[Commit], known: dict[str, Entry]) -> None:
    """Each commit's topic: as its message says, as stored, or that before it."""
    order = list(topics.needs())
    before = order[0]
    for commit in commits:
        stored = known[commit.subject].topic if commit.subject in known else before
        commit.topic = commit.topic or stored
        topics.check(commit.topic)
        if order.index(commit.topic) < order.index(before):
            die(
                f"`{commit.subject}` of the topic {commit.topic} stands behind commits of "
                f"{before}: put the commits in the order of patches/topics"
            )
        before = commit.topic


# --- new files ---------------------------------------------------------------


def new_files(commits: list[Commit], path: Path) -> Contents:
    """What is stored here of every new file; a commit that alone makes one brings it."""
    if not commits:
        return {}
    last = commits[-1]
    found = {}
    for name in sorted(last.added):
        here, there = paths.in_repository(name), path / name
        found[here] = there.read_bytes(), os.access(there, os.X_OK)
        makers = [commit for commit in commits if name in commit.touched]
        if len(makers) == 1:
            makers[0].brings.append(name)
    read_sections(commits, path)
    if last.sections:
        here = paths.in_repository(MAINTAINERS)
        header, _ = maintainers.read_own(here.read_text() if here.is_file() else "")
        own = maintainers.write_own(header, last.sections)
        found[here] = own.encode("utf-8", "surrogateescape"), False
        # Sections are no hunks: the first commit that has some brings them as they end up.
        next(commit for commit in commits if commit.sections).brings.append(MAINTAINERS)
    for commit in commits:
        for name in commit.added - last.added:
            die(
                f"{name}: `{commit.subject}` has it, and a later commit removes it; squash "
                f"them: no patch adds what a later one removes"
            )
    return found


def read_sections(commits: list[Commit], path: Path) -> None:
    """Our sections of MAINTAINERS after each commit."""
    base = compose.blob(f"{source.linux().tag}:{MAINTAINERS}", path)
    for commit in commits if base else []:
        text = compose.blob(f"{commit.id}:{MAINTAINERS}", path)
        _, commit.sections = maintainers.split(text, base)


def check_strangers(contents: Contents, old: set[Path]) -> None:
    """Refuse to write over a file that no patch has brought so far."""
    for here, new in contents.items():
        if here not in old and here.is_file() and stored(here) != new and not flag("FORCE"):
            die(
                f"{here.relative_to(ROOT)}: is here already, brought by no "
                f"patch, and differs from the work tree's: remove one, or "
                f"`make export FORCE=1` to write over it"
            )


def stored(here: Path) -> tuple[bytes, bool]:
    return here.read_bytes(), os.access(here, os.X_OK)


def store_files(contents: Contents, old: set[Path]) -> None:
    for here, new in contents.items():
        if here.is_file() and stored(here) == new:
            continue
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_bytes(new[0])
        here.chmod(0o755 if new[1] else 0o644)
        print(f"  written: {here.relative_to(ROOT)}")
    for here in sorted(old - contents.keys()):
        here.unlink(missing_ok=True)
        print(f"  removed: {here.relative_to(ROOT)}")


# --- patches -----------------------------------------------------------------


def make_patches(commits: list[Commit], path: Path, known: dict[str, Entry]) -> list[Patch]:
    series, before = [], source.linux().tag
    brought = {name for commit in commits for name in commit.brings}
    for commit in commits:
        after = without(commit, brought, path)
        diff = gitcmd.git(*DIFF, before, after, repo=path).stdout
        if "\nBinary files " in diff:
            die(f"`{commit.subject}` changes a binary file: only text is kept")
        diff = kept_hunks(known.get(commit.subject), before, after) or diff
        patch = Patch(
            commit.subject,
            commit.body,
            sorted(commit.brings),
            patchfile.without_index(diff),
            topic=commit.topic,
        )
        patchfile.check_message(patch, f"`{patch.subject}`")
        if patch.diff or patch.brings:
            series.append(patch)
        else:
            print(f"  left out: `{patch.subject}`, nothing of its own remains")
        before = after
    return series


def without(commit: Commit, brought: set[str], path: Path) -> str:
    """The tree of a commit without the files that patches bring, and without sections."""
    lines = [f"0 {'0' * 40}\t{name}\0" for name in sorted(commit.added & brought)]
    if commit.sections:
        text = compose.blob(f"{commit.id}:{MAINTAINERS}", path)
        rest, _ = maintainers.split(text, compose.blob(f"{source.linux().tag}:{MAINTAINERS}", path))
        data = rest.encode("utf-8", "surrogateescape")
        lines.append(f"100644 {compose.store(data, path)}\t{MAINTAINERS}\0")
    with gitcmd.private_index(commit.id, path) as env:
        compose.add_to_index(lines, path, env)
        return gitcmd.out("write-tree", repo=path, env=env)


def kept_hunks(entry: Entry | None, before: str, after: str) -> str:
    """The stored hunks that give the same tree, or nothing.

    They may differ in line numbers, which one text for two bases must.
    """
    for text in [topics.own(entry, base) for base in topics.bases()] if entry else []:
        if text.is_file():
            patch = patchfile.read(text)
            if compose.gives(patch, before, after, source.linux(), files=False):
                return patch.diff
    return ""


@dataclass(eq=False)
class Slot:
    """A patch of a topic on its way to the files of each base."""

    rest: str  # its file name without the number
    texts: dict[str, bytes]  # by base

    def take(self, patch: Patch, base: str) -> None:
        """A new text for a base; others with equal hunks take it too."""
        self.texts[base] = patch.text().encode("utf-8", "surrogateescape")
        for other, text in self.texts.items():
            if hunks(text) == hunks(self.texts[base]):
                self.texts[other] = self.texts[base]

    def entry(self, topic: str, number: str) -> Entry:
        everywhere = set(self.texts) == set(topics.bases())
        return Entry(topic, f"{number}-{self.rest}", "" if everywhere else next(iter(self.texts)))

    def files(self, entry: Entry) -> dict[Path, bytes]:
        """A text for the newest base, and each change of it in older ones."""
        found, above = {}, b""
        for base in topics.bases():
            if base in self.texts and self.texts[base] != above:
                found[topics.own(entry, base)] = above = self.texts[base]
        return found


def hunks(text: bytes) -> bytes:
    """A stored patch without its message."""
    return text.partition(b"\n---\n")[2]


def store_topic(topic: str, series: list[Patch], known: dict[str, Entry]) -> None:
    """Write the patches of a topic and its series file; other bases keep theirs."""
    base = source.base_name()
    before = {entry: stored_texts(entry) for entry in topics.entries(topic)}
    for slot in before.values():
        slot.texts.pop(base, None)
    own = [
        (patch, before.get(known[patch.subject]) if patch.subject in known else None)
        for patch in series
    ]
    slots = [slot for slot in merge_order(list(before.values()), own, base) if slot.texts]
    width = 2 if len(slots) < 100 else 3
    entries = [slot.entry(topic, f"{n:0{width}d}") for n, slot in enumerate(slots, 1)]
    wanted: dict[Path, bytes] = {}
    for entry, slot in zip(entries, slots):
        wanted |= slot.files(entry)
    stale = {topics.own(entry, base) for entry in before for base in topics.bases()}
    for path in stale - wanted.keys():
        path.unlink(missing_ok=True)
    for path, new in wanted.items():
        if not path.is_file() or path.read_bytes() != new:
            path.write_bytes(new)
            print(f"  written: {path.relative_to(ROOT)}")
    if entries != list(before):
        store_order(topic, entries)


def stored_texts(entry: Entry) -> Slot:
    of = [entry.only] if entry.only else topics.bases()
    found = {base: topics.text_of(entry, base) for base in of}
    texts = {base: path.read_bytes() for base, path in found.items() if path.is_file()}
    return Slot(re.sub(r"^\d+-", "", entry.name), texts)


def merge_order(old: list[Slot], own: list[tuple[Patch, Slot | None]], base: str) -> list[Slot]:
    """Slots of all bases, those of this base in the order of its commits.

    They stand where they stood, in their new order; a new one stands behind
    the commit before it.
    """
    moved = [slot for _, slot in own if slot]
    merged = list(old)
    for place, slot in zip(sorted(old.index(slot) for slot in moved), moved):
        merged[place] = slot
    place = 0
    for patch, known in own:
        slot = known or Slot(patchfile.slug(patch.subject) + ".patch", {})
        if not known:
            merged.insert(place, slot)
        slot.take(patch, base)
        place = merged.index(slot) + 1
    return merged


def store_order(topic: str, entries: list[Entry]) -> None:
    """Rewrite a series file; keep its head."""
    path = topics.PATCHES / topic / "series"
    head = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            break
        head.append(line)
    path.write_text("\n".join(head + [entry.line() for entry in entries]) + "\n")


def settle(path: Path, head: str) -> None:
    """Compose what was written; it must be the tree that it came from."""
    commit = compose.compose()
    same = gitcmd.out("rev-parse", f"{head}^{{tree}}", repo=path) == gitcmd.out(
        "rev-parse", f"{commit}^{{tree}}", repo=path
    )
    worktree.move(path, commit)
    worktree.remember(commit)
    if not same:
        print("  note: the place of a section in MAINTAINERS was put in order")
    print(f"  {len(compose.patches())} patches stored")
