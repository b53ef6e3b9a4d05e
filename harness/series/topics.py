# SPDX-License-Identifier: GPL-2.0
"""Topics: sets of patches that one maintainer can take, for several bases.

series/bases                  kernel versions, the newest first
series/topics                 topics in order, each with those that it needs
series/TOPIC/cover-letter
series/TOPIC/series           the topic's patches in order; behind a name
                              stands the base that alone has this patch
series/TOPIC/NN-NAME.patch    for the newest base, and for each other base
                              that takes the same text
series/BASE/TOPIC/NN-NAME.patch
                              the text for BASE, if it needs another
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from common import ROOT, die

SERIES = ROOT / "series"


@dataclass(frozen=True)
class Entry:
    """A line of a topic's series file."""

    topic: str
    name: str
    only: str = ""  # the base that alone has this patch

    def line(self) -> str:
        return f"{self.name} {self.only}".rstrip()


def lines(path: Path) -> list[str]:
    """Lines of a list, without comments."""
    if not path.is_file():
        die(f"{path.relative_to(ROOT)}: not there")
    text = path.read_text().splitlines()
    return [word for line in text if (word := line.partition("#")[0].strip())]


@functools.cache
def bases() -> tuple[str, ...]:
    """Kernel versions that the series is for, the newest first."""
    return tuple(lines(SERIES / "bases"))


@functools.cache
def needs() -> dict[str, tuple[str, ...]]:
    """The topics in order; for each, the topics that must be below it."""
    found: dict[str, tuple[str, ...]] = {}
    for line in lines(SERIES / "topics"):
        topic, _, below = line.partition(":")
        found[topic] = tuple(below.split())
        for one in found[topic]:
            if one not in found:
                die(f"series/topics: {topic} needs {one}, which is not above it")
    return found


def with_needs(topic: str) -> list[str]:
    """A topic and all that must be below it, in order."""
    check(topic)
    wanted = {topic}
    for one in reversed(needs()):
        if one in wanted:
            wanted.update(needs()[one])
    return [one for one in needs() if one in wanted]


def check(topic: str) -> None:
    if topic not in needs():
        die(f"TOPIC={topic}: no such topic; accepted: {' '.join(needs())}")


def entries(topic: str) -> list[Entry]:
    """The patches of a topic, those of every base, in order."""
    found: list[Entry] = []
    for line in lines(SERIES / topic / "series"):
        name, *only = line.split()
        if len(only) > 1 or only and only[0] not in bases():
            die(
                f"series/{topic}/series: `{line}`: behind the name of a patch "
                f"stands nothing or one of {' '.join(bases())}"
            )
        if any(one.name == name for one in found):
            die(f"series/{topic}/series names {name} twice")
        found.append(Entry(topic, name, "".join(only)))
    return found


def of_base(base: str, topics: Iterable[str] | None = None) -> list[Entry]:
    """The patches of a base in order, of all topics or of some."""
    return [
        entry
        for topic in (needs() if topics is None else topics)
        for entry in entries(topic)
        if entry.only in ("", base)
    ]


def shared(entry: Entry) -> Path:
    """The text for the newest base, which others may take."""
    return SERIES / entry.topic / entry.name


def own(entry: Entry, base: str) -> Path:
    """The text for one base; the newest has no other than the shared one."""
    return shared(entry) if base == bases()[0] else SERIES / base / entry.topic / entry.name


def text_of(entry: Entry, base: str) -> Path:
    """The file that a base takes."""
    path = own(entry, base)
    return path if path.is_file() or entry.only else shared(entry)
