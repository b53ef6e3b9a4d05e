# SPDX-License-Identifier: GPL-2.0
"""A table in a word, and the figures that the word rests on.

The first rule that holds gives the verdict:

idle		the table is off, or holds nothing and has counted nothing
skewed		its chains make a lookup examine half a node or more beyond what
                chance would, and half as much again of what is above one node,
                and a hundred pairs of objects share a bucket for no reason:
                keys collide, and more buckets help little
crowded		a lookup examines more than 2.5 nodes, that is about three
                objects a bucket; in a table of wait queues, a wakeup looks at
                more than one entry that waits for something else; in a table
                of one object a bucket, more than a quarter of the lookups
                meet another object; both if there were a hundred at least
oversized	more than 64 KiB for less than one object in 32 buckets, unless
                its objects are there for moments only
ok		none of these

Waiters stand in a queue for milliseconds: what is there when the file is read
says little, and those for one same page are in one queue by intention. So
queues are judged by what their wakeups met. The same holds for futexes and file
locks, which do not count: many wait for one, so they are judged by what so many
objects would give by chance, and are never skewed.
"""

from . import spread

WORDS = ("ok", "crowded", "oversized", "skewed", "idle")
BAD = ("crowded", "skewed")

CROWDED_NODES = 2.5
CROWDED_FOREIGN = 1.0
CROWDED_STALE = 0.25
SKEWED_BEYOND = 0.5  # nodes above those of chance
SKEWED_TIMES = 1.5  # of what chance has above one node
SKEWED_PAIRS = 100  # fewer are noise, or too few to care
ENOUGH = 100  # wakeups or lookups whose mean says something
OVERSIZED_BYTES = 64 << 10
OVERSIZED_LOAD = 1 / 32

QUEUES = ("folio_wait", "bit_wait")
ONE_A_BUCKET = ("page",)
# Who waits, or is being looked up, at this moment.
MOMENTARY = (*QUEUES, "futex", "dentry_lookup", "blocked_locks")

# Of these many may have one key, and so one chain, at any size.
SAME_KEYS = ("futex", "blocked_locks")

OFF, CHAINS, WAITS, DIRECT = "off", "chains", "queues", "direct"


class Judged:
    """A table with what follows from its figures; None where nothing does."""

    def __init__(self, table):
        self.table = table
        self.title = table.title
        self.kind = kind_of(table)
        self.load = self.used = self.used_expected = None
        self.nodes = self.ideal = None
        self.foreign = table.fraction("foreign-per-wake")
        self.stale_rate = share(table.number("stale"), table.number("lookups"))
        self.hit_rate = share(table.number("hits"), table.number("lookups"))
        self.cache_hit_rate = cache_hit_rate(table)
        if self.kind != OFF and table.rows:
            self._chains()
        if self.kind == WAITS:
            # A wakeup is for one entry, and examines the foreign beside it.
            self.nodes = None if self.foreign is None else 1 + self.foreign
            self.ideal = None if self.foreign is None else 1.0
        elif self.kind == DIRECT and self.stale_rate is not None:
            self.nodes, self.ideal = 1 + self.stale_rate, 1.0
        self.verdict, self.reason = verdict(self)

    def _chains(self):
        table, buckets, objects = self.table, self.table.buckets, self.table.objects
        self.load = objects / buckets
        self.used = table.number("used") / buckets
        self.used_expected = spread.used_expected(buckets, objects) / buckets
        if objects:
            self.nodes = table.fraction("nodes-per-hit")
            if self.nodes is None:
                self.nodes = spread.nodes_of(table)
            self.ideal = spread.nodes_expected(buckets, objects)

    @property
    def momentary(self):
        return self.table.name in MOMENTARY or self.kind == WAITS

    @property
    def bad(self):
        return self.verdict in BAD

    @property
    def enough(self):
        """Whether what was counted tells of more than a few moments."""
        return self.counted >= ENOUGH

    @property
    def counted(self):
        """Lookups or wakeups that were counted."""
        return sum(self.table.number(label) or 0 for label in ("lookups", "wakes", "cache-hits"))


def kind_of(table):
    if not table.buckets:
        return OFF
    if table.name in QUEUES or "wakes" in table.fields:
        return WAITS
    if table.name in ONE_A_BUCKET or "stale" in table.fields or not table.rows:
        return DIRECT
    return CHAINS


def share(part, whole):
    return None if part is None or not whole else part / whole


def cache_hit_rate(table):
    hits, lookups = table.number("cache-hits"), table.number("lookups")
    return share(hits, (hits or 0) + (lookups or 0))


def skewed(objects, nodes, ideal):
    # Each object meets half of the others in its bucket: nodes - 1 of them.
    return (
        nodes - ideal >= SKEWED_BEYOND
        and (nodes - ideal) * objects >= SKEWED_PAIRS
        and nodes - 1 > SKEWED_TIMES * (ideal - 1)
    )


def verdict(judged):
    """The word, and its reason in a line."""
    table = judged.table
    if judged.kind == OFF:
        return "idle", "is off"
    if not judged.counted and not table.objects:
        return "idle", "holds nothing, and has counted nothing"
    if judged.kind == WAITS:
        return of_queues(judged)
    if judged.kind == DIRECT:
        return of_direct(judged)
    return of_chains(judged)


def of_queues(judged):
    foreign = judged.foreign
    if foreign is None or not judged.enough:
        return "ok", f"fewer than {ENOUGH} wakeups are counted"
    if foreign > CROWDED_FOREIGN:
        return "crowded", f"a wakeup looks at {foreign:.3f} entries of others"
    return "ok", f"a wakeup looks at {foreign:.3f} entries of others"


def of_direct(judged):
    stale = judged.stale_rate
    if stale is not None and judged.enough and stale > CROWDED_STALE:
        return "crowded", f"{stale:.0%} of the lookups meet another object"
    return of_size(judged) or ("ok", "lookups seldom meet another object")


def of_chains(judged):
    table = judged.table
    nodes, ideal = judged.nodes, judged.ideal
    if nodes is not None:
        said = f"{nodes:.3f} nodes a lookup, {ideal:.3f} by chance"
        if table.name in SAME_KEYS:
            nodes = ideal
        if skewed(table.objects, nodes, ideal):
            return "skewed", f"keys collide: {said}"
        if nodes > CROWDED_NODES:
            return "crowded", said
    else:
        said = "holds nothing just now"
    return of_size(judged) or ("ok", said)


def of_size(judged):
    """Too much memory for what is there; None if not."""
    table = judged.table
    if (
        judged.load is None
        or judged.load >= OVERSIZED_LOAD
        or table.bytes <= OVERSIZED_BYTES
        or judged.momentary
    ):
        return None
    return "oversized", f"{table.objects} objects in {table.buckets} buckets"


def of_copy(copy):
    return [Judged(table) for table in copy.tables]
