# SPDX-License-Identifier: GPL-2.0
"""Sizes for the next boot.

A table with chains gets the smallest power of two at which chance makes a
lookup examine no more nodes than the target, but is not made smaller than what
an inner cache holds; a lookup in a table whose keys collide examines as many at
any size, so that one is left alone. What a wakeup meets of others is halved by
twice the queues, and so is the share of lookups that meet another object in a
table of one object a bucket.

All tables of a name have one word on the command line, so one size.

A prediction is the mean over all ways in which keys may fall. Where keys fall is
luck, and with few buckets luck is much. Of n objects about n^2 / 2m pairs share a
bucket, give or take the root of that, so the nodes of a lookup vary by sqrt(1/2m);
each of n waiters is both who is woken and who is in the way, which makes it
sqrt(2/m). A few keys that are waited for all the time, as the locks of one driver,
vary more, and entries without a key are met in any number of queues.
"""

import math

from . import numbers, spread, verdicts
from .errors import Complaint

PAGE = 4096  # a smaller table saves nothing
SMALL = 64 << 10  # a larger one is worth shrinking, to this at most
SHARE, SHARE_OF_MANY = 16, 256  # of memory that the kernel gives one table
LEAST = 2  # buckets
ROUGH = 0.15  # of a prediction; twice its luck is more

KEEP, GROW, SHRINK = "keep", "grow", "shrink"


class Plan:
    """All tables of one name, now and at the next boot."""

    def __init__(self, name, members):
        self.name = name
        self.members = members  # judged, at their peaks
        self.now = max(one.table.buckets for one in members)
        self.bucket = max(
            (one.table.bytes // one.table.buckets for one in members if one.table.buckets),
            default=0,
        )
        self.buckets = self.now
        self.capped = False
        self.sized = [one for one in members if can_be_sized(one)]

    @property
    def bytes_now(self):
        return sum(one.table.bytes for one in self.members)

    @property
    def bytes(self):
        if self.buckets == self.now:
            return self.bytes_now
        return sum(self.buckets * self.bucket for one in self.members if one.table.buckets)

    @property
    def action(self):
        if self.buckets == self.now:
            return KEEP
        return GROW if self.buckets > self.now else SHRINK

    def floor(self, size):
        """Buckets of so many bytes; today's where the moment says nothing."""
        if any(one.momentary or one.kind == verdicts.DIRECT for one in self.members):
            return self.now
        buckets = spread.power_of_two(size / self.bucket) if self.bucket else LEAST
        return min(max(buckets, LEAST), self.now)

    def meet(self, target, memory):
        """The smallest size that meets the target in each table of the name."""
        if not self.sized:
            return
        wanted = max(needed(one, target) for one in self.sized)
        self.buckets = max(wanted, self.floor(SMALL))
        if memory and self.bucket:
            part = SHARE_OF_MANY if self.members[0].table.instance else SHARE
            most = memory // part // self.bucket
            most = max(1 << max(most.bit_length() - 1, 1), self.now)
            self.capped = self.buckets > most
            self.buckets = min(self.buckets, most)

    def predicted(self, one, buckets=None):
        """Nodes that a lookup in one of the tables would then examine."""
        return predict(one, self.buckets if buckets is None else buckets)

    def cost_of_half(self):
        """Nodes that halving costs all lookups together, for each byte saved."""
        half = self.buckets // 2
        more = sum(
            (self.predicted(one, half) - self.predicted(one))
            * (one.counted or one.table.objects or 1)
            for one in self.sized
        )
        return more / (half * self.bucket)


def can_be_sized(one):
    """Whether its figures say what another size would do."""
    if one.kind == verdicts.OFF or one.verdict in ("idle", "skewed"):
        return False
    if one.kind == verdicts.CHAINS:
        return bool(one.table.objects)
    return one.nodes is not None and one.enough


def needed(one, target):
    now = one.table.buckets
    if one.kind == verdicts.CHAINS:
        return spread.buckets_for(one.table.objects, target)
    if one.kind == verdicts.WAITS:
        return spread.power_of_two(now * one.foreign / (target - 1))
    if one.verdict != "crowded":
        return now
    return spread.power_of_two(now * one.stale_rate / verdicts.CROWDED_STALE)


def predict(one, buckets):
    now = one.table.buckets
    if one.nodes is None or buckets == now or one.verdict == "skewed":
        return one.nodes
    if one.kind == verdicts.CHAINS:
        return spread.nodes_expected(buckets, one.table.objects)
    return 1 + (one.nodes - 1) * now / buckets


def rough(one, buckets):
    """Whether a prediction for another size may well miss by more than ROUGH."""
    nodes = predict(one, buckets)
    if nodes is None or one.kind == verdicts.DIRECT or buckets == one.table.buckets:
        return False
    luck = math.sqrt((2 if one.kind == verdicts.WAITS else 1 / 2) / buckets)
    return 2 * luck > ROUGH * nodes


def plans(judged, names, target, memory=None, budget=None):
    """A plan for each name, within a budget of bytes for all of them.

    Only tables of these names are given another size; the others are there
    because the budget and the line are for all.
    """
    of_name: dict[str, list] = {}
    for one in judged:
        of_name.setdefault(one.table.name, []).append(one)
    result = [Plan(name, members) for name, members in of_name.items()]
    for plan in result:
        if plan.name in names:
            plan.meet(target, memory)
        else:
            plan.sized = []
    if budget is not None:
        fit(result, budget)
    return result


def fit(result, budget):
    """Halve where it costs least until all tables together are in the budget."""
    while (total := sum(plan.bytes for plan in result)) > budget:
        able = [
            plan
            for plan in result
            if plan.sized and plan.bucket and plan.buckets // 2 >= plan.floor(PAGE)
        ]
        if not able:
            raise Complaint(
                f"--budget {budget} bytes: the tables take {total} at "
                f"least; accepted: {total} or more"
            )
        cheapest = min(able, key=Plan.cost_of_half)
        cheapest.buckets //= 2


def line_of(result):
    """hash_entries= as a whole: what is changed, and what stands there today."""
    words = [
        f"{plan.name}:{word_of(plan)}" for plan in result if plan.action != KEEP or asked_for(plan)
    ]
    return f"hash_entries={','.join(words)}" if words else ""


def asked_for(plan):
    """Whether the table would be another one without a word."""
    return plan.now and any(
        one.table.sized_by == "command line" or one.table.name in verdicts.ONE_A_BUCKET
        for one in plan.members
    )


def word_of(plan):
    if (
        plan.action == KEEP
        and plan.name in verdicts.ONE_A_BUCKET
        and plan.members[0].table.sized_by != "command line"
    ):
        return "auto"
    return numbers.short(plan.buckets)
