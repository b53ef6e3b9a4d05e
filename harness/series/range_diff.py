# SPDX-License-Identifier: GPL-2.0
"""make range-diff: a topic's patches for the newest base with those for an older one."""

import sys

from common import die, setting
from series import bases, compose, gitcmd, source, topics
from series.bases import Base


def range_diff() -> None:
    topic = setting("TOPIC")
    if not topic:
        die(
            f"range-diff: TOPIC= names the patches to compare; accepted: {' '.join(topics.needs())}"
        )
    newest, *older = bases.table()
    ranges = [commits(topic, base) for base in (newest, backport(older))]
    # Texts of one patch may differ much; without the factor, git calls it two patches.
    words = ["range-diff", "--creation-factor=90", *ranges]
    colour = "--color=always" if sys.stdout.isatty() else "--no-color"
    print(gitcmd.git(*words, colour, repo=source.REPOSITORY).stdout, end="")


def backport(older: list[Base]) -> Base:
    """The base of BASE=, or the newest of those that are older than the first."""
    name = setting("BASE")
    fitting = [base for base in older if name in ("", base.name)]
    if not fitting:
        names = " ".join(base.name for base in older)
        die(f"BASE={name}: range-diff compares it with the newest; accepted: {names}")
    return fitting[0]


def commits(topic: str, base: Base) -> str:
    """The range of a topic's commits, on the topics that it needs."""
    if not topics.of_base(base.name, topics.with_needs(topic)[-1:]):
        die(f"TOPIC={topic}: has no patches for Linux {base.name}")
    linux, wanted = source.linux(base), tuple(topics.with_needs(topic))
    return f"{compose.compose(wanted[:-1], linux)}..{compose.compose(wanted, linux)}"
