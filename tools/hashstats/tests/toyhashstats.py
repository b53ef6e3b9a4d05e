# SPDX-License-Identifier: GPL-2.0
"""Text of /proc/hashstats for tests of the tool, and the tool itself."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent
TOOL = FOLDER / "hashstats"
SAMPLES = HERE / "samples"
BUCKET = 8


def used_expected(buckets, objects):
    return buckets * (1 - (1 - 1 / buckets) ** objects)


def histogram(buckets):
    """Rows of so many buckets with 0, 1, ... objects."""
    counts = [*buckets, *[0] * (17 - len(buckets))]
    objects = sum(size * count for size, count in enumerate(counts))
    reached = 0
    yield "size    buckets    objects sum-pct"
    for size, count in enumerate(counts):
        reached += size * count
        percent = reached * 100 // objects if objects else 0
        name = size if size < 16 else ">15"
        yield f"{name:>4} {count:10} {size * count:10} {percent:7}"


def table(name, *chains, sized_by="memory", bucket=BUCKET, **more):
    """A paragraph; chains are buckets with 0, 1, ... objects, each at most 16."""
    buckets = sum(chains)
    objects = sum(size * count for size, count in enumerate(chains))
    pairs = sum(size * (size + 1) // 2 * count for size, count in enumerate(chains))
    lines = [
        f"name: {name}",
        f"buckets: {buckets}",
        f"bytes: {buckets * bucket}",
        f"sized-by: {sized_by}",
        f"objects: {objects}",
        f"used: {buckets - chains[0]}",
        f"used-expected: {used_expected(buckets, objects):.3f}",
        f"longest: {max(n for n, count in enumerate(chains) if count)}",
        f"nodes-per-hit: {pairs / objects if objects else 0:.3f}",
    ]
    lines += plain(more)
    return "\n".join([*lines, *histogram(chains)])


def bare(name, buckets, sized_by="memory", **more):
    """A paragraph without a histogram."""
    return "\n".join(
        [
            f"name: {name}",
            f"buckets: {buckets}",
            f"bytes: {buckets * BUCKET}",
            f"sized-by: {sized_by}",
            *plain(more),
        ]
    )


def queues(name, buckets, wakes, foreign):
    """A table of wait queues, empty just now, and what its wakeups met."""
    return table(
        name,
        buckets,
        bucket=24,
        wakes=wakes,
        entries_examined=wakes + foreign,
        entries_matched=wakes,
        functions_called=wakes,
        foreign_per_wake=f"{foreign / wakes:.3f}",
    )


def plain(fields):
    return [f"{label.replace('_', '-')}: {value}" for label, value in fields.items()]


def file(*paragraphs, counting="on"):
    return "\n\n".join([f"version: 1\ncounting: {counting}", *paragraphs]) + "\n"


def environment(**more):
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **more}


def hashstats(*words, text=None, python=sys.executable, **env):
    """Run the tool; text is its standard input."""
    return subprocess.run(
        [python, str(TOOL), *map(str, words)],
        input=text or "",
        text=True,
        capture_output=True,
        timeout=60,
        env=environment(**env),
    )


def said(*words, text=None, **env):
    """What it prints when it has nothing to complain of."""
    done = hashstats(*words, text=text, **env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
