# SPDX-License-Identifier: GPL-2.0
"""The verdict on a table, and the figures behind it.

The first rule that holds gives the verdict:

idle		the table is off, or it is empty and has counted nothing
skewed		a lookup examines at least 0.5 nodes more than with a random
                function, its nodes above one are more than 1.5 times those of
                a random function, and at least 100 pairs of objects share a
                bucket without need: keys collide, and more buckets help little
crowded		a lookup examines more than 2.5 nodes, which is about three
                objects per bucket; in a table of wait queues, a wakeup examines
                more than one entry that waits for something else; in a table
                with one object per bucket, more than 25 % of the lookups meet
                another object; the last two need at least 100 of them
oversized	more than 64 KiB for less than one object per 32 buckets, unless
                the objects stay for moments only, or the table has one object
                per bucket and follows memory
ok		none of these

A waiter stands in a queue for milliseconds, so the waiters at the time of a
reading say little, and waiters for the same page share a queue on purpose.
Queues are therefore judged by what their wakeups examined. Futexes and file
locks have the same problem and no counters: many tasks wait for one of them. So
they are judged by what a random function would give for as many objects, and are
never skewed.
"""

from . import spread

WORDS = ("ok", "crowded", "oversized", "skewed", "idle")
BAD = ("crowded", "skewed")  # the worse one last

CROWDED_NODES = 2.5
CROWDED_FOREIGN = 1.0
CROWDED_STALE = 0.25
SKEWED_BEYOND = 0.5  # nodes more than with a random function
SKEWED_TIMES = 1.5  # the nodes above one of a random function
SKEWED_PAIRS = 100  # fewer are noise, or too few to matter
ENOUGH = 100  # wakeups or lookups for a mean
OVERSIZED_BYTES = 64 << 10
OVERSIZED_LOAD = 1 / 32

QUEUES = ("folio_wait", "bit_wait")
ONE_A_BUCKET = ("page",)
# Their objects wait, or are being looked up, and leave within moments.
MOMENTARY = (*QUEUES, "futex", "dentry_lookup", "blocked_locks")

# Many objects may have the same key, and so share a chain at any size.
SAME_KEYS = ("futex", "blocked_locks")

OFF, CHAINS, WAITS, DIRECT = "off", "chains", "queues", "direct"


class Judged:
    """A table and what follows from its figures; None where nothing does."""

    def __init__(self, table):
        self.table = table
        self.name = table.name
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
            # A wakeup is for one entry, and examines foreign ones as well.
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
    def severity(self):
        """0, or how bad the verdict is."""
        return BAD.index(self.verdict) + 1 if self.bad else 0

    @property
    def word(self):
        """The verdict, or - if it needs more counts than there are."""
        unjudged = self.verdict == "ok" and self.kind in (WAITS, DIRECT) and not self.enough
        return "-" if unjudged else self.verdict

    @property
    def enough(self):
        """Whether enough was counted for a mean."""
        return self.table.counted >= ENOUGH


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
    # Each object meets half of the others in its bucket, nodes - 1 of them.
    return (
        nodes - ideal >= SKEWED_BEYOND
        and (nodes - ideal) * objects >= SKEWED_PAIRS
        and nodes - 1 > SKEWED_TIMES * (ideal - 1)
    )


def verdict(judged):
    """The verdict, and its reason in a line."""
    table = judged.table
    if judged.kind == OFF:
        return "idle", "is off"
    if not table.counted and not table.objects:
        return "idle", "is empty and has counted nothing"
    if judged.kind == WAITS:
        return of_queues(judged)
    if judged.kind == DIRECT:
        return of_direct(judged)
    return of_chains(judged)


def of_queues(judged):
    foreign = judged.foreign
    if foreign is None or not judged.enough:
        return "ok", f"fewer than {ENOUGH} wakeups were counted"
    if foreign > CROWDED_FOREIGN:
        return "crowded", f"a wakeup examines {foreign:.3f} foreign entries"
    return "ok", f"a wakeup examines {foreign:.3f} foreign entries"


def of_direct(judged):
    stale = judged.stale_rate
    if stale is not None and judged.enough and stale > CROWDED_STALE:
        return "crowded", f"{stale:.0%} of the lookups find another object in their slot"
    if stale is None or not judged.enough:
        return "ok", "too few lookups counted"
    return "ok", "few lookups find another object in their slot"


def of_chains(judged):
    table = judged.table
    nodes, ideal = judged.nodes, judged.ideal
    if nodes is not None:
        said = f"{nodes:.3f} nodes per lookup, {ideal:.3f} with a random function"
        if table.name in SAME_KEYS:
            nodes = ideal
        if skewed(table.objects, nodes, ideal):
            return "skewed", f"keys collide: {said}"
        if nodes > CROWDED_NODES:
            return "crowded", said
    else:
        said = "is empty now"
    return of_size(judged) or ("ok", said)


def of_size(judged):
    """The verdict oversized and its reason; None if it does not hold."""
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
