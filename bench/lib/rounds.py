# SPDX-License-Identifier: GPL-2.0
"""Rounds of a measurement: their order, their progress, their noise."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.lib.record import Kept
from common import step


def alternate(rounds: int, sides: Sequence[Any] = ("base", "ours")) -> Iterator[tuple[int, Any]]:
    """(round, side): every second round runs the sides in reverse order."""
    for number in range(rounds):
        for side in sides[::-1] if number % 2 else sides:
            yield number, side


def run_turns(title: str, turns: Sequence[tuple], run: Callable[..., None]) -> None:
    """Call run() with the words of each turn, as one step; a turn is a kernel."""
    with step(title) as progress:
        for done, turn in enumerate(turns):
            progress.note = f"{done} of {len(turns)} kernels"
            run(*turn)
        progress.note = f"{len(turns)} kernels"


def run_jobs(
    jobs: Sequence[Any],
    run: Callable[[Any], None],
    title: Callable[[Any], str] = lambda job: job.title,
    work: Callable[[Any], float] = lambda job: job.work,
) -> None:
    """Call run() with each job, as a step with an estimate of what is left."""
    done, start = 0.0, time.monotonic()
    whole = sum(map(work, jobs))
    for number, job in enumerate(jobs):
        with step(f"{title(job)}, {number + 1} of {len(jobs)}") as progress:
            progress.note = remaining(done, whole, time.monotonic() - start)
            run(job)
        done += work(job)


def remaining(done: float, whole: float, seconds: float) -> str:
    """The note of a step: minutes that were left when it began."""
    if not done:
        return ""
    minutes = seconds / done * (whole - done) / 60
    return f"about {minutes:.0f} min were left at its start"


def same_again(values: Sequence[float]) -> float:
    """The odd rounds of one kernel divided by the even ones: the noise."""
    if len(values) < 2:
        return 1.0
    return statistics.median(values[1::2]) / statistics.median(values[::2])


def furthest(ratios: Sequence[float]) -> float:
    """The ratio that is furthest from 1, above or below."""
    return max(ratios, key=lambda ratio: max(ratio, 1 / ratio))


def paired(result: Kept, kind: str, what: str, side: str, **wanted: Any) -> float:
    """Median of the rounds' ratios of a side to the base."""
    ratios = []
    for base in result.runs(kind, kernel="base", **wanted):
        (same,) = result.runs(kind, kernel=side, round=base["round"], **wanted)
        ratios.append(same[what] / base[what])
    return statistics.median(ratios)
