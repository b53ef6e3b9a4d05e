# SPDX-License-Identifier: GPL-2.0
"""Plain English, as far as a machine can hold it."""

import re
import warnings
from pathlib import Path

import pytest

from common import ROOT
from series import gitcmd

# Not written by us, or recorded from a program.
SKIPPED = re.compile(r"^(results|tests/samples)/|\.(svg|xz|dump)$|^COPYING$")
# What reads as translated, and what to write.
BANNED = {
    r"without a word of\b": "by default",
    r"\bfor ever\b": "forever",
    r"\bcom(e|es|ing) to nothing\b": "is ignored",
    r"\bis told in\b": "see",
    r"\bdear(er)?\b": "expensive",
    r"\bparted by\b": "separated by",
    r"\bwhat chance would\b": "a random function",
    r"\bwhoever\b": "the caller",
    r"\bnobody shall\b": "do not",
    r"\bwho waits\b": "a task that waits",
    r"\bhung into\b": "added to",
    r"\bhas the last word\b": "wins",
    r"\blook-ups?\b": "lookup",
    r"\bwake-ups?\b": "wakeup",
}
ADDED = re.compile(r"^[+](?![+][+] )(.*)|^(?![-+@ ]|diff |index )(.*)")
LONG = 40  # words: a longer sentence has to be read twice, which is a warning
LONGEST = 60
SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z`*])")
NO_PROSE = re.compile(r"\s|\.\. |[=~^|:+-]{2,}|\* -|[-*] ")
DOCUMENTS = ("README", "CONTRIBUTING", "Documentation/admin-guide/*.rst", "results/*.rst")


def written() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("a copy without git does not say which files are its own")
    names = gitcmd.records("ls-files", "-z", repo=ROOT)
    own = Path(__file__).relative_to(ROOT).as_posix()
    return [
        ROOT / name
        for name in names
        if not SKIPPED.search(name) and name != own and (ROOT / name).is_file()
    ]


def lines(path: Path) -> list[tuple[int, str]]:
    """(number, text) of what we wrote: of a patch, its message and the added lines."""
    numbered = list(enumerate(path.read_text().splitlines(), 1))
    if path.suffix != ".patch":
        return numbered
    return [(n, m[1] or m[2] or "") for n, text in numbered if (m := ADDED.match(text))]


def faults(name: str, numbered: list[tuple[int, str]]) -> list[str]:
    return [
        f"{name}:{number}: {match[0]!r}: write {better!r}"
        for number, text in numbered
        for banned, better in BANNED.items()
        if (match := re.search(banned, text, re.IGNORECASE))
    ]


def long_sentences(text: str) -> list[str]:
    """Sentences of paragraphs; tables, lists and literal blocks are left out."""
    paragraphs = re.split(r"\n\s*\n", text)
    prose = (one for one in paragraphs if not any(map(NO_PROSE.match, one.splitlines())))
    return [
        sentence
        for paragraph in prose
        for sentence in SENTENCE_END.split(" ".join(paragraph.split()))
        if len(sentence.split()) > LONG
    ]


def test_plain_words():
    found = [
        one for path in written() for one in faults(path.relative_to(ROOT).as_posix(), lines(path))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text, better",
    [
        ("Whoever holds the lock", "the caller"),
        ("a wake-up of all", "wakeup"),
        ("a dear operation", "expensive"),
        ("Several sizes are parted by commas.", "separated by"),
    ],
)
def test_a_banned_word_is_named(text, better):
    (found,) = faults("file", [(7, text)])
    assert found.startswith("file:7: ") and better in found


def test_only_added_lines_of_a_patch_are_read(tmp_path):
    patch = tmp_path / "one.patch"
    patch.write_text(
        "Subject: a wake-up\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ whoever\n"
        " for ever\n-is told in\n+look-up\n"
    )
    assert [number for number, _ in lines(patch)] == [1, 2, 9]
    assert len(faults("one.patch", lines(patch))) == 2


def test_sentences_of_documents():
    paths = [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]
    assert paths
    too_long = []
    for path in paths:
        for sentence in long_sentences(path.read_text()):
            words = len(sentence.split())
            warnings.warn(f"{path.name}: {words} words: {sentence}", stacklevel=1)
            if words > LONGEST:
                too_long.append(f"{path.name}: {words} words: {sentence}")
    assert not too_long, "\n".join(too_long)


def test_a_long_sentence_is_seen():
    words = "word " * LONG
    assert len(long_sentences(f"Short. A {words}end.\n\nShort too.")) == 1
    assert not long_sentences(f"::\n\n  A {words}end.\n\n====\n{words} end\n====\n")
