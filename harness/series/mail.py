# SPDX-License-Identifier: GPL-2.0
"""make mail: each topic as it is mailed; check that the mails give the composed tree.

It is written twice: as files, and as a branch that `b4 send` takes. Nothing
here needs a network.
"""

import contextlib
import hashlib
import json
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import ROOT, die, run, setting, step
from series import compose, gitcmd, source, topics, worktree
from series.paths import MAINTAINERS

BRANCH = "b4/boothash"
# What b4 knows its cover letter by, in a commit of its own below the patches.
TRACKING = "--- b4-submit-tracking ---"
RECIPIENTS = "scripts/get_maintainer.pl"
READ_BY_IT = (RECIPIENTS, MAINTAINERS, ".get_maintainer.conf", ".get_maintainer.ignore", ".mailmap")


def cover(topic: str) -> tuple[str, str]:
    """(subject, body) of a topic's cover letter."""
    path = topics.PATCHES / topic / "cover-letter"
    if not path.is_file():
        die(
            f"{path.relative_to(ROOT)}: not there; it holds `Subject: ` and "
            f"the text of the cover letter"
        )
    lines = [line for line in path.read_text().splitlines() if not line.startswith("# SPDX")]
    first, *rest = "\n".join(lines).strip("\n").split("\n")
    if not first.startswith("Subject: "):
        die(f"{path.relative_to(ROOT)}: its first line must be `Subject: title`")
    body = "\n".join(rest).strip("\n")
    below = topics.with_needs(topic)[:-1]
    if below:
        body += f"\n\nThis set applies on top of: {', '.join(below)}."
    return first.removeprefix("Subject: "), body


def mail() -> None:
    person = gitcmd.identity()
    if not person:
        die(
            "make mail signs the patches off: set `git config user.name` "
            "and `git config user.email`"
        )
    path = worktree.src()
    branch = worktree.current_branch(path) if worktree.exists(path) else ""
    if branch.startswith(BRANCH):
        die(
            f"{path} is on {branch}, which is made anew: run `git checkout "
            f"{worktree.branch()}` there"
        )
    only = setting("TOPIC")
    if only:
        topics.check(only)
    base = source.current().name
    for topic in [only] if only else topics.needs():
        if topics.of_base(base, [topic]):
            mail_topic(topic, person)
        else:
            print(f"{topic}: no patches for Linux {base}")
    print(f"  the branches {BRANCH}-* for b4 are in {path} (`make tree` makes the folder)")


def b4_branch(topic: str) -> str:
    """What `b4 send` takes; that of an older base, which nobody sends, is another."""
    base = source.current().name
    return f"{BRANCH}-{topic}" + (f"-{base}" if base != topics.bases()[0] else "")


def mail_topic(topic: str, person: gitcmd.Person) -> None:
    """Write the mails of one topic, on top of the topics that it needs."""
    subject, body = cover(topic)
    repo, wanted = source.base_repo(), topics.with_needs(topic)
    below, commit = compose.compose(tuple(wanted[:-1])), compose.compose(tuple(wanted))
    folder = source.version_dir() / "mail" / topic
    shutil.rmtree(folder, ignore_errors=True)
    first, *patches = format_patch(repo, below, commit, folder, person)
    with (
        step(f"apply the mailed set {topic} to the base with git am"),
        repository(repo, below, patches) as temp,
    ):
        gitcmd.git("reset", "--quiet", "--hard", commit, repo=temp)
        to, cc = recipients(temp, patches)
        fill_cover(first, subject, body, to, cc)
        gitcmd.git("reset", "--quiet", "--hard", below, repo=temp)
        who, branch = undated(person), b4_branch(topic)
        text = cover_commit(repo, branch, subject, body, to, cc)
        gitcmd.git("commit", "--quiet", "--allow-empty", "-F", "-", repo=temp, env=who, input=text)
        mailed = tree_of_mail(temp, patches, who)
        composed = gitcmd.out("rev-parse", commit + "^{tree}", repo=repo)
        if mailed != composed:
            die(
                f"the mailed set {topic} gives tree {mailed}, the composed patches "
                f"{composed}: compare them with git in {repo}"
            )
        gitcmd.git("fetch", "--quiet", temp, f"+HEAD:refs/heads/{branch}", repo=repo)
    print(f"  written: {folder.relative_to(ROOT)}, for {len(to)} people and {len(cc)} lists")
    print(f"{topic}: {len(patches)} patches, tree {composed} identical")


def undated(person: gitcmd.Person) -> gitcmd.Env:
    """Author and committer, now: b4 looks for what is younger than a year."""
    env = gitcmd.signature(person, source.DATE)
    return {name: value for name, value in env.items() if not name.endswith("_DATE")}


def format_patch(
    repo: Path, below: str, commit: str, folder: Path, person: gitcmd.Person
) -> list[Path]:
    who = gitcmd.signature(person, source.DATE)
    options = shlex.split(
        "--cover-letter --signoff --no-renames --no-signature --no-color --stat=72 "
        "--src-prefix=a/ --dst-prefix=b/"
    )
    words = ["format-patch", *options, "-o", str(folder), f"{below}..{commit}"]
    names = gitcmd.out(*words, repo=repo, env=who).splitlines()
    return [Path(name) for name in names]


def fill_cover(path: Path, subject: str, body: str, to: list[str], cc: list[str]) -> None:
    text = path.read_text()
    text = text.replace("*** SUBJECT HERE ***", subject, 1)
    text = text.replace("*** BLURB HERE ***", body, 1)
    fields = "".join(
        f"{name}: " + ",\n ".join(people) + "\n"
        for name, people in (("To", to), ("Cc", cc))
        if people
    )
    path.write_text(text.replace("\nDate: ", f"\n{fields}Date: ", 1))


def recipients(tree: str, files: list[Path]) -> tuple[list[str], list[str]]:
    """(people, lists) that the kernel names for the patches."""
    options = ["--no-tree", "--nogit", "--nogit-fallback", "--nofixes", "--norolestats"]
    said = run(["perl", RECIPIENTS, *options, *files], cwd=tree, what=RECIPIENTS).stdout
    found = dict.fromkeys(said.splitlines())
    return [one for one in found if "<" in one], [one for one in found if "<" not in one]


def cover_commit(
    repo: Path, branch: str, subject: str, body: str, to: list[str], cc: list[str]
) -> str:
    """The cover letter as b4 keeps it; what b4 noted of earlier versions stays."""
    old = gitcmd.git(
        "log", "-1", "-F", f"--grep={TRACKING}", "--format=%B", branch, "--", repo=repo, check=False
    )
    _, found, notes = old.stdout.partition(TRACKING)
    if not found:
        mark = hashlib.sha256(subject.encode()).hexdigest()[:12]
        series = {"revision": 1, "change-id": f"20241117-boothash-{mark}", "prefixes": []}
        notes = "\n# Written by make mail, read and kept by b4.\n" + json.dumps(
            {"series": series}, indent=2
        )
    people = "".join([*(f"To: {one}\n" for one in to), *(f"Cc: {one}\n" for one in cc)])
    return f"{subject}\n\n{body}\n\n{people}\n{TRACKING}{notes}"


@contextlib.contextmanager
def repository(repo: Path, commit: str, files: list[Path]) -> Iterator[str]:
    """A repository that only has out the files that the mails touch, and what
    names recipients: no need to write 86,000 others."""
    touched = sorted({*READ_BY_IT, *(name for path in files for name in names(path))})
    with tempfile.TemporaryDirectory(dir=source.version_dir()) as temp:
        gitcmd.git("init", "--quiet", temp)
        Path(temp, ".git/objects/info/alternates").write_text(f"{repo / 'objects'}\n")
        gitcmd.git("update-ref", "HEAD", commit, repo=temp)
        patterns = "".join(f"/{name}\n" for name in touched)
        gitcmd.git("sparse-checkout", "set", "--no-cone", "--stdin", repo=temp, input=patterns)
        yield temp


def tree_of_mail(temp: str, files: list[Path], who: gitcmd.Env) -> str:
    """The tree that git am makes of the mails."""
    done = gitcmd.git("am", "--quiet", *files, repo=temp, env=who, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        die(f"git am refuses the mailed set: {lines[0] if lines else '?'}")
    return gitcmd.out("rev-parse", "HEAD^{tree}", repo=temp)


def names(path: Path) -> Iterator[str]:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    for line in text.splitlines():
        if line.startswith("diff --git a/"):
            yield line.partition(" b/")[2]
