# SPDX-License-Identifier: GPL-2.0
"""make mail: the set as it is mailed, proven equal to what is composed."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import ROOT, die, step
from series import compose, gitcmd, source


def cover() -> tuple[str, str]:
    """(subject, body) of the cover letter."""
    path = compose.folder() / "cover-letter"
    if not path.is_file():
        die(
            f"{path.relative_to(ROOT)}: not there; it holds `Subject: ` and "
            f"the text of the cover letter"
        )
    lines = [line for line in path.read_text().splitlines() if not line.startswith("# SPDX")]
    first, *rest = "\n".join(lines).strip("\n").split("\n")
    if not first.startswith("Subject: "):
        die(f"{path.relative_to(ROOT)}: its first line must be `Subject: title`")
    return first.removeprefix("Subject: "), "\n".join(rest).strip("\n")


def mail() -> None:
    person = gitcmd.identity()
    if not person:
        die(
            "make mail signs the patches off: set `git config user.name` "
            "and `git config user.email`"
        )
    subject, body = cover()
    commit, repo = compose.compose(), source.base_repo()
    folder = source.version_dir() / "mail"
    shutil.rmtree(folder, ignore_errors=True)
    files = format_patch(repo, commit, folder, person)
    fill_cover(files[0], subject, body)
    with step("apply the mailed set to the base with git am"):
        mailed = tree_of_mail(repo, files[1:])
    composed = gitcmd.out("rev-parse", commit + "^{tree}", repo=repo)
    if mailed != composed:
        die(
            f"the mailed set gives tree {mailed}, the composed series "
            f"{composed}: compare them with git in {repo}"
        )
    print(f"  written: {folder.relative_to(ROOT)}")
    print(f"{len(files) - 1} patches, tree {composed} identical")


def format_patch(repo: Path, commit: str, folder: Path, person: gitcmd.Person) -> list[Path]:
    who = gitcmd.signature(person, source.DATE)
    options = [
        "--cover-letter",
        "--signoff",
        "--no-renames",
        "--no-signature",
        "--no-color",
        "--stat=72",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "-o",
        str(folder),
    ]
    names = gitcmd.out("format-patch", *options, f"base..{commit}", repo=repo, env=who).splitlines()
    if len(names) < 2:
        die("the series is empty: nothing to mail")
    return [Path(name) for name in names]


def fill_cover(path: Path, subject: str, body: str) -> None:
    text = path.read_text()
    text = text.replace("*** SUBJECT HERE ***", subject, 1)
    path.write_text(text.replace("*** BLURB HERE ***", body, 1))


def tree_of_mail(repo: Path, files: list[Path]) -> str:
    """Apply the mails in a repository of their own, which only has out the
    files that they touch: no need to write 86,000 others."""
    touched = sorted({name for path in files for name in names(path)})
    with tempfile.TemporaryDirectory(dir=source.version_dir()) as temp:
        gitcmd.git("init", "--quiet", temp)
        Path(temp, ".git/objects/info/alternates").write_text(f"{repo / 'objects'}\n")
        base = gitcmd.commit("base", repo)
        gitcmd.git("update-ref", "HEAD", base, repo=temp)
        gitcmd.git(
            "sparse-checkout",
            "set",
            "--no-cone",
            "--stdin",
            repo=temp,
            input="".join(f"/{name}\n" for name in touched),
        )
        gitcmd.git("reset", "--quiet", "--hard", repo=temp)
        done = gitcmd.git(
            "am",
            "--quiet",
            *map(str, files),
            repo=temp,
            env=gitcmd.signature(source.PERSON, source.DATE),
            check=False,
        )
        if done.returncode:
            lines = (done.stdout + done.stderr).splitlines()
            die(f"git am refuses the mailed set: {lines[0] if lines else '?'}")
        return gitcmd.out("rev-parse", "HEAD^{tree}", repo=temp)


def names(path: Path) -> Iterator[str]:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    for line in text.splitlines():
        if line.startswith("diff --git a/"):
            yield line.partition(" b/")[2]
