# SPDX-License-Identifier: GPL-2.0
"""The form of one stored patch: a mail's subject and body, then hunks.

    Subject: [PATCH] mm: title

    Why, and what was measured.

    Brings: mm/new-file.c

    ---
    diff --git ...

`Brings:` names a new file which this patch adds as it is stored in this repository.  If
several patches build a file up, hunks create and change it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from common import die

SUBJECT = re.compile(r"Subject: \[PATCH\] (\S.*)")
BRINGS = re.compile(r"Brings: (\S+)")
FILE = re.compile(r"^diff --git a/(\S+) b/(\S+)$", re.MULTILINE)
CREATED = re.compile(r"^diff --git a/(\S+) .*\nnew file mode ", re.MULTILINE)
HUNK = re.compile(r"^@@ -(\d+)", re.MULTILINE)
SLUG_LENGTH = 60
# A line of a message that would make `git am` take the rest for a patch.
CUTS_MAIL = re.compile(r"^(---|diff -.*|Index: .*)$", re.MULTILINE)


@dataclass
class Patch:
    subject: str
    body: str = ""
    brings: list[str] = field(default_factory=list)
    diff: str = ""
    path: Path = Path()
    topic: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def title(self) -> str:
        """The file's name without the number, which another patch may shift, and the base."""
        return self.name[3:].partition(".")[0]

    @property
    def message(self) -> str:
        """The commit message: no Brings: lines."""
        return f"{self.subject}\n" + (f"\n{self.body}\n" if self.body else "")

    def text(self) -> str:
        parts = [f"Subject: [PATCH] {self.subject}\n"]
        if self.body:
            parts.append(self.body + "\n")
        if self.brings:
            parts.append("".join(f"Brings: {name}\n" for name in self.brings))
        return "\n".join(parts) + "---\n" + ("\n" + self.diff if self.diff else "")

    @property
    def creates(self) -> list[str]:
        """New files that hunks create, for later patches to build up."""
        return CREATED.findall(self.diff)

    def changes(self) -> set[str]:
        """Paths that the hunks touch."""
        return {new for _, new in FILE.findall(self.diff)}


def split_brings(message: str) -> tuple[str, list[str]]:
    """(message without its Brings: lines, what they name)."""
    lines, brings = [], []
    for line in message.splitlines():
        match = BRINGS.fullmatch(line.rstrip())
        if match:
            brings.append(match[1])
        else:
            lines.append(line)
    return "\n".join(lines).strip("\n"), brings


def read(path: Path) -> Patch:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    head, found, rest = text.partition("\n---\n")
    first, _, body = head.partition("\n")
    match = SUBJECT.fullmatch(first)
    if not match:
        die(f"{path.name}: its first line must be `Subject: [PATCH] subsystem: title`")
    if not found:
        die(f"{path.name}: no line `---` between the message and the hunks")
    body, brings = split_brings(body)
    # A diffstat may stand before the hunks; git makes its own.
    start = re.search(r"^diff --git ", rest, re.MULTILINE)
    if not start and rest.strip() and re.search(r"^(\+\+\+|@@) ", rest, re.M):
        die(f"{path.name}: hunks without a `diff --git a/FILE b/FILE` line")
    diff = rest[start.start() :] if start else ""
    return Patch(match[1].strip(), body, brings, diff, path)


def write(path: Path, patch: Patch) -> None:
    path.write_bytes(patch.text().encode("utf-8", "surrogateescape"))


def check_message(patch: Patch, name: str) -> None:
    if CUTS_MAIL.search(patch.body):
        die(
            f"{name}: a line of its message would cut the mail in two "
            f"(`---`, `diff -`, `Index:` at the start of a line)"
        )


def slug(subject: str) -> str:
    words = re.sub(r"[^a-z0-9_]+", "-", subject.lower()).strip("-")
    if len(words) > SLUG_LENGTH:
        words = words[:SLUG_LENGTH].rpartition("-")[0]
    return words


def without_index(diff: str) -> str:
    """Drop git's `index` lines: stored patches must not depend on blob ids."""
    return re.sub(
        r"^(diff --git .*\n(?:(?:old|new|deleted).*\n)*)index .*\n", r"\1", diff, flags=re.MULTILINE
    )


def hunk_at(diff: str, path: str, line: int) -> int | None:
    """Which hunk of `path`, counted from 1, starts at an old line."""
    starts = list(FILE.finditer(diff))
    for match, after in zip(starts, [*starts[1:], None]):
        if match[1] == path:
            part = diff[match.end() : after.start() if after else None]
            lines = [int(number) for number in HUNK.findall(part)]
            return lines.index(line) + 1 if line in lines else None
    return None
