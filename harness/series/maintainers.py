# SPDX-License-Identifier: GPL-2.0
"""Merge sections into the kernel's MAINTAINERS, and take them out again."""

import re

SECTION = re.compile(r"\S.*\n[A-Z]:\s")
LAST = "THE REST"


def heading(paragraph: str) -> str | None:
    """The heading of a paragraph that is a section, or None."""
    return paragraph.partition("\n")[0] if SECTION.match(paragraph) else None


def read_own(text: str) -> tuple[str, list[str]]:
    """(header, sections) of the repository's own file; header: # lines."""
    paragraphs = text.strip("\n").split("\n\n") if text.strip() else []
    header = [p for p in paragraphs if not heading(p)]
    return "\n\n".join(header), [p for p in paragraphs if heading(p)]


def write_own(header: str, sections: list[str]) -> str:
    return "\n\n".join(([header] if header else []) + sections) + "\n"


def rank(name: str) -> tuple[bool, str]:
    return (name == LAST, name.upper())


def place(paragraphs: list[str], name: str) -> int:
    """Where a section belongs.  The kernel's order has slips: take the place
    with the fewest neighbours on the wrong side."""
    ranks = [(i, rank(h)) for i, p in enumerate(paragraphs) if (h := heading(p))]
    wrong = sum(1 for _, r in ranks if r < rank(name))
    best, where = wrong, (ranks[0][0] if ranks else len(paragraphs))
    for i, r in ranks:
        wrong += 1 if r > rank(name) else -1
        if wrong < best:
            best, where = wrong, i + 1
    return where


def merge(kernel: str, sections: list[str]) -> str:
    """The kernel's text with the sections in their places."""
    paragraphs = kernel.rstrip("\n").split("\n\n")
    for section in sections:
        paragraphs.insert(place(paragraphs, section.partition("\n")[0]), section)
    return "\n\n".join(paragraphs) + "\n"


def headings(text: str) -> set[str]:
    return {h for p in text.split("\n\n") if (h := heading(p))}


def split(text: str, base: str) -> tuple[str, list[str]]:
    """(text without the sections that `base` does not have, those sections)."""
    known = headings(base)
    kept: list[str] = []
    ours: list[str] = []
    for paragraph in text.rstrip("\n").split("\n\n"):
        name = heading(paragraph)
        (ours if name and name not in known else kept).append(paragraph)
    return "\n\n".join(kept) + "\n", ours
