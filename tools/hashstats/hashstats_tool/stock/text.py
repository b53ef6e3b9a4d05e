# SPDX-License-Identifier: GPL-2.0
"""What was found, in the form of /proc/hashstats (version 1).

Beside the labels that the kernel writes, the first paragraph says what was read,
and each table how many of its chains could not be read whole.
"""

from .. import spread
from ..tables import LONG, SIZES

MOST_LETTERS = 4000  # of the line about what was not read


def header(source, release, stock, unread, layouts=()):
    yield "version: 1"
    yield "counting: off"
    yield f"source: {source}"
    yield f"kernel: {release}"
    # Which parameters size its tables.
    yield f"hash-entries: {'no' if stock else 'yes'}"
    if layouts:
        yield f"layouts: {'; '.join(layouts)}"
    if unread:
        yield "not-read: " + "; ".join(f"{name}: {why}" for name, why in unread)[:MOST_LETTERS]


def table(name, buckets, size, sized_by):
    yield ""
    yield f"name: {name}"
    yield f"buckets: {buckets}"
    yield f"bytes: {size}"
    yield f"sized-by: {sized_by}"


def chains(buckets, lengths, seconds):
    """Figures of the chains, and the histogram."""
    objects, of = lengths.objects, lengths.of
    used = buckets - of[0]
    squares = sum(length * length * count for length, count in of.items())
    mean = objects / buckets
    nodes = (squares + objects) / 2 / objects if objects else 0
    expected = spread.nodes_expected(buckets, objects) if objects else 0
    yield f"objects: {objects}"
    yield f"used: {used}"
    yield f"used-expected: {spread.used_expected(buckets, objects):.3f}"
    yield f"longest: {max((length for length, count in of.items() if count), default=0)}"
    yield f"capped: {lengths.capped}"
    yield f"torn: {lengths.torn}"
    if lengths.same:
        yield f"same-key: {lengths.same}"
    if lengths.bad:
        yield f"bad-pointers: {lengths.bad}"
    yield f"nodes-per-hit: {nodes:.3f}"
    yield f"nodes-per-hit-expected: {expected:.3f}"
    yield f"variance-over-mean: {(squares / buckets - mean * mean) / mean if mean else 0:.3f}"
    yield f"walk-us: {seconds * 1e6:.0f}"
    yield from rows(of, objects)


def rows(of, objects):
    yield "size    buckets    objects sum-pct"
    reached = 0
    for size, name in enumerate(SIZES):
        members = (
            [(size, of[size])]
            if size < LONG
            else [(length, count) for length, count in of.items() if length >= LONG]
        )
        count = sum(buckets for _, buckets in members)
        inside = sum(length * buckets for length, buckets in members)
        reached += inside
        percent = reached * 100 // objects if objects else 0
        yield f"{name:>4} {count:10} {inside:10} {percent:7}"
