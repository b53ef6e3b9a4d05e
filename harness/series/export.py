# SPDX-License-Identifier: GPL-2.0
"""make export: write the developer's commits back to series and new files.

Each commit is compared with its parent after the new files have been taken
out of both: what is left is the hunks of the stored patch.
"""

import functools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from common import ROOT, die, flag, lock
from series import (
    compose,
    gitcmd,
    maintainers,
    patchfile,
    paths,
    source,
    topics,
    worktree,
)
from series.patchfile import Patch
from series.paths import MAINTAINERS
from series.topics import Entry

Contents = dict[Path, tuple[bytes, bool]]  # file here: bytes, executable

DIFF = [
    "diff-tree",
    "-p",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-U3",
    "--diff-algorithm=myers",
    "--indent-heuristic",
]
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
    sections: list[str] = field(default_factory=list)  # of MAINTAINERS
    bare: str = ""  # its tree without new files
    brings: list[str] = field(default_factory=list)
    topic: str = ""


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
        head = write_back(path)
        settle(path, head)


def check_untouched() -> None:
    """Refuse to write over files edited here since `make tree`."""
    before = worktree.record()
    if flag("FORCE") or not before.is_file():
        return
    then, now = json.loads(before.read_text()), current()
    differ = sorted(n for n in then.keys() | now.keys() if then.get(n) != now.get(n))
    if differ:
        die(
            f"{differ[0]} changed here since the last `make tree`: keep its "
            f"new content elsewhere, or `make export FORCE=1` to write "
            f"over it"
        )


def current() -> dict[str, str]:
    """Digests of the files now; composing may no longer work with them."""
    base = source.base_name()
    names = [topics.text_of(entry, base) for entry in topics.of_base(base)]
    series = [patchfile.read(path) for path in names if path.is_file()]
    return compose.inputs(series)


def write_back(path: Path) -> str:
    commits = read_commits(path)
    assign_topics(commits)
    assign_files(commits, path)
    series = make_patches(commits, path)
    old = {paths.in_repository(name) for patch in compose.patches() for name in patch.brings}
    contents = new_contents(commits, path)
    check_strangers(contents, old)
    store_files(contents, old, brought_by_others())
    store_patches(series)
    return commits[-1].id if commits else source.base_commit()


def read_commits(path: Path) -> list[Commit]:
    linux = source.linux()
    own = ["--reverse", "--parents", f"{linux.tag}..HEAD"]
    ids = gitcmd.out("rev-list", *own, repo=path).splitlines()
    if gitcmd.out("merge-base", linux.tag, "HEAD", repo=path) != linux.commit:
        die(f"{path}: its commits do not stand on Linux {source.version()}")
    if any(len(line.split()) != 2 for line in ids):
        die(f"{path}: holds a merge; a series is a straight line of commits")
    return [read_commit(line.split()[0], path) for line in ids]


def read_commit(commit: str, path: Path) -> Commit:
    message = gitcmd.git("log", "-1", "--format=%B", commit, repo=path).stdout
    message, _ = patchfile.split_brings(SIGNED.sub("", message))
    topic = TOPIC.search(message)
    subject, _, body = TOPIC.sub("", message).partition("\n")
    return Commit(
        commit,
        subject.strip(),
        body.strip("\n"),
        names(path, "--diff-filter=A", source.linux().tag, commit),
        names(path, f"{commit}~", commit),
        topic=topic[1] if topic else "",
    )


def assign_topics(commits: list[Commit]) -> None:
    """Each commit's topic: as its message says, as stored, or that before it."""
    order = list(topics.needs())
    known = {subject: entry.topic for subject, entry in known_entries().items()}
    before = order[0]
    for commit in commits:
        commit.topic = commit.topic or known.get(commit.subject, before)
        topics.check(commit.topic)
        if order.index(commit.topic) < order.index(before):
            die(
                f"`{commit.subject}` of the topic {commit.topic} stands behind commits of "
                f"{before}: put the commits in the order of patches/topics"
            )
        before = commit.topic


def known_entries() -> dict[str, Entry]:
    """The stored patches of every base, by subject."""
    found = {}
    for base in reversed(topics.bases()):
        for entry in topics.of_base(base):
            path = topics.text_of(entry, base)
            if path.is_file():
                found[patchfile.read(path).subject] = entry
    return found


def brought_by_others() -> set[Path]:
    """New files that patches of other bases bring."""
    texts = {
        topics.text_of(entry, base)
        for base in topics.bases()
        if base != source.base_name()
        for entry in topics.of_base(base)
    }
    return {
        paths.in_repository(name)
        for path in texts
        if path.is_file()
        for name in patchfile.read(path).brings
    }


def names(path: Path, *what: str) -> set[str]:
    return set(
        gitcmd.records("diff-tree", "-r", "-z", "--no-renames", "--name-only", *what, repo=path)
    )


def assign_files(commits: list[Commit], path: Path) -> None:
    """Give each new file to the first commit from which on it is there."""
    if not commits:
        return
    base = compose.blob(f"{source.linux().tag}:{MAINTAINERS}", path)
    for commit in commits:
        strip(commit, base, path)
    for name in sorted(commits[-1].added):
        paths.in_repository(name)  # refuses a place we have no room for
        assign_owner(commits, name, functools.partial(adds, name))
    if commits[-1].sections:
        assign_owner(commits, MAINTAINERS, lambda c: bool(c.sections))


def adds(name: str, commit: Commit) -> bool:
    return name in commit.added


def assign_owner(commits: list[Commit], name: str, has: Callable[[Commit], bool]) -> None:
    owner = len(commits) - 1
    while owner and has(commits[owner - 1]):
        owner -= 1
    commits[owner].brings.append(name)
    for later in commits[owner + 1 :]:
        before = commits[commits.index(later) - 1]
        if name in later.touched and (name != MAINTAINERS or later.sections != before.sections):
            print(
                f"  folded: the change to {name} in `{later.subject}` goes "
                f"into `{commits[owner].subject}`, which brings the file"
            )


def strip(commit: Commit, base: str, path: Path) -> None:
    """Make the tree of a commit without any new file or section."""
    lines = [f"0 {'0' * 40}\t{name}\0" for name in sorted(commit.added)]
    if base:
        text = compose.blob(f"{commit.id}:{MAINTAINERS}", path)
        rest, commit.sections = maintainers.split(text, base)
        if commit.sections:
            data = rest.encode("utf-8", "surrogateescape")
            lines.append(f"100644 {compose.store(data, path)}\t{MAINTAINERS}\0")
    with gitcmd.private_index(commit.id, path) as env:
        gitcmd.git("update-index", "-z", "--index-info", repo=path, env=env, input="".join(lines))
        commit.bare = gitcmd.out("write-tree", repo=path, env=env)


def make_patches(commits: list[Commit], path: Path) -> list[Patch]:
    """The stored patches; a commit that was folded whole gives none."""
    series, before = [], source.linux().tag
    old = old_patches()
    for commit in commits:
        diff = gitcmd.git(*DIFF, before, commit.bare, repo=path).stdout
        if "\nBinary files " in diff:
            die(f"`{commit.subject}` changes a binary file: only text is kept")
        patch = Patch(
            commit.subject,
            commit.body,
            in_order(commit, old.get(commit.subject)),
            patchfile.without_index(diff),
            topic=commit.topic,
        )
        keep_stored_hunks(patch, before, commit.bare, path)
        patchfile.check_message(patch, f"`{patch.subject}`")
        if patch.diff or patch.brings:
            series.append(patch)
        else:
            print(f"  left out: `{patch.subject}`, nothing of its own remains")
        before = commit.bare
    return series


def keep_stored_hunks(patch: Patch, before: str, after: str, path: Path) -> None:
    """Take the hunks that are stored if they give the same tree.

    They may differ in line numbers, which one text for two bases must.
    """
    entry = known_entries().get(patch.subject)
    for stored in [] if entry is None else [topics.own(entry, base) for base in topics.bases()]:
        if stored.is_file() and compose.gives(
            patchfile.read(stored), before, after, source.linux(), files=False
        ):
            patch.diff = patchfile.read(stored).diff
            return


def old_patches() -> dict[str, Patch]:
    """The patches stored now, by subject."""
    return {patch.subject: patch for patch in compose.patches()}


def in_order(commit: Commit, old: Patch | None) -> list[str]:
    """What a commit brings, in the order the stored patch has."""
    known = old.brings if old else []
    kept = [name for name in known if name in commit.brings]
    return kept + [name for name in commit.brings if name not in kept]


def new_contents(commits: list[Commit], path: Path) -> Contents:
    """{file here: (bytes, executable)} of every new file at the last commit."""
    found = {}
    for name in sorted(n for commit in commits for n in commit.brings):
        here = paths.in_repository(name)
        if name == MAINTAINERS:
            text = here.read_text() if here.is_file() else ""
            header, _ = maintainers.read_own(text)
            own = maintainers.write_own(header, commits[-1].sections)
            found[here] = own.encode("utf-8", "surrogateescape"), False
        else:
            there = path / name
            found[here] = there.read_bytes(), os.access(there, os.X_OK)
    return found


def stored(here: Path) -> tuple[bytes, bool]:
    return here.read_bytes(), os.access(here, os.X_OK)


def check_strangers(contents: Contents, old: set[Path]) -> None:
    """Refuse to write over a file that no patch has brought so far."""
    for here, new in contents.items():
        if here not in old and here.is_file() and stored(here) != new and not flag("FORCE"):
            die(
                f"{here.relative_to(ROOT)}: is here already, brought by no "
                f"patch, and differs from the work tree's: remove one, or "
                f"`make export FORCE=1` to write over it"
            )


def store_files(contents: Contents, old: set[Path], others: set[Path]) -> None:
    for here, new in contents.items():
        if here.is_file() and stored(here) == new:
            continue
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_bytes(new[0])
        here.chmod(0o755 if new[1] else 0o644)
        print(f"  written: {here.relative_to(ROOT)}")
    for here in sorted(old - contents.keys() - others):
        here.unlink(missing_ok=True)
        print(f"  removed: {here.relative_to(ROOT)}")


@dataclass(eq=False)
class Slot:
    """A patch of a topic on its way to the files of each base."""

    rest: str  # its file name without the number
    texts: dict[str, bytes] = field(default_factory=dict)  # by base

    def take(self, patch: Patch, base: str) -> None:
        """A new text for a base; others with equal hunks take it too."""
        self.texts[base] = patch.text().encode("utf-8", "surrogateescape")
        for other, text in self.texts.items():
            if hunks(text) == hunks(self.texts[base]):
                self.texts[other] = self.texts[base]

    def entry(self, topic: str, name: str) -> Entry:
        everywhere = set(self.texts) == set(topics.bases())
        return Entry(topic, name, "" if everywhere else next(iter(self.texts)))


def hunks(text: bytes) -> bytes:
    """A stored patch without its message."""
    return text.partition(b"\n---\n")[2]


def store_patches(series: list[Patch]) -> None:
    known = known_entries()
    for topic in topics.needs():
        store_topic(topic, [patch for patch in series if patch.topic == topic], known)


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
    entries = [
        slot.entry(topic, f"{number:0{width}d}-{slot.rest}") for number, slot in enumerate(slots, 1)
    ]
    wanted: dict[Path, bytes] = {}
    for entry, slot in zip(entries, slots):
        wanted |= files(entry, slot.texts)
    stale = {path for entry in before for path in places(entry)}
    for path in sorted(stale - wanted.keys()):
        path.unlink(missing_ok=True)
    for path, new in wanted.items():
        if not path.is_file() or path.read_bytes() != new:
            path.parent.mkdir(parents=True, exist_ok=True)
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
        slot = known or Slot(patchfile.slug(patch.subject) + ".patch")
        if not known:
            merged.insert(place, slot)
        slot.take(patch, base)
        place = merged.index(slot) + 1
    return merged


def files(entry: Entry, texts: dict[str, bytes]) -> dict[Path, bytes]:
    """The files of a patch: a text for the newest base, and each change of it in older ones."""
    found, above = {}, b""
    for base in topics.bases():
        if base in texts and texts[base] != above:
            found[topics.own(entry, base)] = above = texts[base]
    return found


def places(entry: Entry) -> set[Path]:
    """Where texts of a patch may be."""
    return {topics.own(entry, base) for base in topics.bases()}


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
