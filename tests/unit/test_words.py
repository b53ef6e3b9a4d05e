# SPDX-License-Identifier: GPL-2.0
"""Documents and messages without the phrases that readers stumbled over."""

import re

import pytest

from common import ROOT

DOCUMENTS = (
    "README",
    "CONTRIBUTING",
    "Documentation/**/*.rst",
    "results/**/*.rst",
    "patches/**/cover-letter",
    "patches/**/*.patch",
)
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


def faults(text: str) -> list[str]:
    """Of a patch, only its message is read."""
    message = text.partition("\n---\n")[0] if text.startswith("Subject: ") else text
    return [
        f"{match[0]!r}: write {better!r}"
        for banned, better in BANNED.items()
        for match in re.finditer(banned, message, re.IGNORECASE)
    ]


def test_plain_words():
    paths = [path for pattern in DOCUMENTS for path in ROOT.glob(pattern)]
    assert len(paths) > 100
    found = {path.name: faults(path.read_text()) for path in paths}
    assert not {name: one for name, one in found.items() if one}


@pytest.mark.parametrize("text", ["Whoever holds the lock", "a wake-up of all", "for ever"])
def test_a_banned_phrase_is_named(text):
    assert len(faults(text)) == 1
