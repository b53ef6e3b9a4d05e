# SPDX-License-Identifier: GPL-2.0
"""Topics: sets of patches that one maintainer can take, for several bases.

patches/bases                 kernel versions, the newest first: see bases.py
patches/topics                topics in order, each with those that it needs
patches/TOPIC/cover-letter
patches/TOPIC/series          the topic's patches in order; a base after a
                              name is the only one that has this patch
patches/TOPIC/NN-NAME.patch   for the newest base, and for each other base
                              that takes the same text
patches/TOPIC/NN-NAME.BASE.patch
                              for BASE and older ones, if they need another text
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from common import die
from series.bases import PATCHES, lines, names


@dataclass(frozen=True)
class Entry:
    """A line of a topic's series file."""

    topic: str
    name: str
    only: str = ""  # the base that alone has this patch

    def line(self) -> str:
        return f"{self.name} {self.only}".rstrip()


def bases() -> tuple[str, ...]:
    """Kernel versions that the series is for, the newest first."""
    return names()


@functools.cache
def needs() -> dict[str, tuple[str, ...]]:
    """The topics in order; for each, the topics that must be below it."""
    found: dict[str, tuple[str, ...]] = {}
    for line in lines(PATCHES / "topics"):
        topic, _, below = line.partition(":")
        found[topic] = tuple(below.split())
        for one in found[topic]:
            if one not in found:
                die(f"patches/topics: {topic} needs {one}, which is not above it")
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
    for line in lines(PATCHES / topic / "series"):
        name, *only = line.split()
        if len(only) > 1 or only and only[0] not in bases():
            die(
                f"patches/{topic}/series: `{line}`: expected the name of a patch, "
                f"or the name and one of {' '.join(bases())}"
            )
        if any(one.name == name for one in found):
            die(f"patches/{topic}/series names {name} twice")
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


def own(entry: Entry, base: str) -> Path:
    """The text for one base; that of the newest has the plain name."""
    path = PATCHES / entry.topic / entry.name
    return path if base == bases()[0] else path.with_suffix(f".{base}.patch")


def text_of(entry: Entry, base: str) -> Path:
    """The file that a base takes: its own, or that of the next newer base."""
    newer = bases()[bases().index(base) :: -1]
    found = [path for one in newer if (path := own(entry, one)).is_file()]
    return found[0] if found else own(entry, bases()[0])
