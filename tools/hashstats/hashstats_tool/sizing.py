# SPDX-License-Identifier: GPL-2.0
"""Sizes for the next boot.

A table with chains gets the smallest power of two at which a random function
makes a lookup examine no more nodes than the target. More buckets do not help
where keys collide, so a skewed table keeps its size. Doubling the queues halves
the foreign entries that a wakeup examines. Doubling the buckets of a table with
one object per bucket halves the share of lookups that meet another object.

A table gets smaller only if the caller allows it, and then no smaller than what
fits into an inner cache.

A prediction is the mean over all ways in which keys may fall into buckets. One
way of them deviates from it, the more the fewer buckets there are. Of n objects,
about n^2 / 2m pairs share a bucket, with a deviation of the root of that, so the
nodes of a lookup deviate by sqrt(1/2m). Each of n waiters is woken itself and is
examined by wakeups of others, which makes it sqrt(2/m). A few keys that are
waited for all the time, such as the locks of one driver, deviate more, and
entries without a key are examined in any number of queues.
"""

import math

from . import numbers, spread, verdicts
from .errors import Complaint

PAGE = 4096  # a smaller table saves nothing
SMALL = 64 << 10  # shrink larger tables only, and to this at least
LEAST = 2  # buckets, see boot_hash_choose()
MOST = 1 << 31
ROUGH = 0.15  # of a prediction; twice its deviation is more

# What the kernel gives one table, and all tables together, of memory.
SHARE, SHARE_OF_ALL = 16, 4
# Fewest and most buckets of tables with chains whose callers of
# alloc_large_system_hash() set limits without HASH_SOFT_LIMITS.
LIMITS = {
    "tcp-established": (LEAST, 512 << 10),
    "tcp-bind": (LEAST, 64 << 10),
    "udp": (256, 64 << 10),
    "udp-lite": (256, 64 << 10),
}

# The kernel derives limits from the sizes of these: TCP's, of orphaned sockets and
# of sockets in TIME_WAIT.
LIMIT_OTHERS = ("tcp-established",)

# hash_entries= does not size tables that are allocated at mount.
OF_MOUNTS = ("fat-", "exfat-")

KEEP, GROW, SHRINK = "keep", "grow", "shrink"


class Plan:
    """One table, now and at the next boot."""

    def __init__(self, one, limits):
        table = one.table
        self.one = one  # judged, at its peak
        self.name = one.name
        self.now = table.buckets
        self.bucket = table.bytes // table.buckets if table.buckets else 0
        self.buckets = self.now
        self.smaller = None  # buckets, if it may not shrink but could
        self.capped = False
        self.named = False  # on the line although it keeps its size, since others follow it
        self.limits = limits.get(one.name, (LEAST, MOST))
        self.sized = can_be_sized(one)

    @property
    def bytes(self):
        if self.buckets == self.now:
            return self.one.table.bytes
        return self.buckets * self.bucket

    @property
    def action(self):
        if self.buckets == self.now:
            return KEEP
        return GROW if self.buckets > self.now else SHRINK

    def floor(self, size):
        """Number of buckets in so many bytes; today's if a reading tells too little."""
        if self.one.momentary or self.one.kind == verdicts.DIRECT or self.name in LIMIT_OTHERS:
            return self.now
        buckets = spread.power_of_two(size / self.bucket) if self.bucket else LEAST
        least, _ = self.limits
        return min(max(buckets, least), self.now)

    def meet(self, target, memory, shrink):
        """Take the smallest size that meets the target."""
        if not self.sized:
            return
        wanted = max(needed(self.one, target), self.floor(SMALL))
        most = self.most(memory)
        self.capped = wanted > most
        self.buckets = min(wanted, most)
        if self.buckets < self.now and not shrink:
            self.smaller, self.buckets = self.buckets, self.now

    def most(self, memory):
        """Number of buckets that the kernel allows, at least today's."""
        _, most = self.limits
        if memory and self.bucket:
            most = min(most, memory // SHARE // self.bucket)
        return max(1 << max(most.bit_length() - 1, 1), self.now)

    @property
    def predicted(self):
        """Nodes that a lookup will examine."""
        return predict(self.one, self.buckets)

    def cost_of_half(self):
        """Nodes that all lookups together examine more, for each byte saved."""
        return self.cost(self.buckets // 2)

    def gain_of_double(self):
        """Nodes that all lookups together examine less, for each byte spent."""
        return self.cost(self.buckets)

    def cost(self, buckets):
        """The difference between so many buckets and twice as many."""
        more = predict(self.one, buckets) - predict(self.one, 2 * buckets)
        lookups = self.one.table.counted or self.one.table.objects or 1
        return more * lookups / (buckets * self.bucket)


def can_be_sized(one):
    """Whether its figures tell what another size would do."""
    if one.kind == verdicts.OFF or one.verdict in ("idle", "skewed"):
        return False
    if one.name.startswith(OF_MOUNTS):
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


def rough(plan):
    """Whether a prediction for another size may well miss by more than ROUGH."""
    nodes = plan.predicted
    if nodes is None or plan.one.kind == verdicts.DIRECT or plan.action == KEEP:
        return False
    deviation = math.sqrt((2 if plan.one.kind == verdicts.WAITS else 1 / 2) / plan.buckets)
    return 2 * deviation > ROUGH * nodes


def plans(judged, names, target, memory=None, budget=None, shrink=False, limits=LIMITS):
    """A plan for each table, within a budget of bytes for all of them.

    Only tables of these names get another size; the others are there because
    the budget and the line are for all.
    """
    result = [Plan(one, limits) for one in judged]
    for plan in result:
        if plan.name in names:
            plan.meet(target, memory, shrink)
        else:
            plan.sized = False
    if budget is not None:
        fit(result, budget)
    if memory:
        stay_below(result, memory // SHARE_OF_ALL)
    return result


def fit(result, budget):
    """Halve where it costs least until all tables together are in the budget.

    A large table that was halved may leave room for smaller ones: these are doubled
    again, those first where it helps most.
    """
    wanted = {plan: plan.buckets for plan in result}
    if not halve(result, budget, lambda plan: plan.floor(PAGE)):
        total = sum(plan.bytes for plan in result)
        raise Complaint(
            f"--budget {budget} bytes: the tables take {total} at least; accepted: {total} or more"
        )
    room = budget - sum(plan.bytes for plan in result)
    while able := [
        plan
        for plan in result
        if plan.buckets < wanted[plan] and plan.buckets * plan.bucket <= room
    ]:
        plan = max(able, key=Plan.gain_of_double)
        room -= plan.buckets * plan.bucket
        plan.buckets *= 2


def stay_below(result, most):
    """Give growing tables less until the kernel will allow all of them.

    The kernel halves the tables that it allocates last; this halves those where
    it costs least.
    """
    before = {plan: plan.buckets for plan in result}
    halve(result, most, lambda plan: plan.now)
    for plan in result:
        plan.capped |= plan.buckets < before[plan]


def halve(result, most, floor):
    """Halve the cheapest tables; False if their floors do not allow so few bytes."""
    while sum(plan.bytes for plan in result) > most:
        able = [
            plan
            for plan in result
            if plan.sized and plan.bucket and plan.buckets // 2 >= floor(plan)
        ]
        if not able:
            return False
        min(able, key=Plan.cost_of_half).buckets //= 2
    return True


def line_of(result):
    """hash_entries= as a whole: what changes, and what the line has today."""
    words = [
        f"{plan.name}:{word_of(plan)}" for plan in result if plan.action != KEEP or asked_for(plan)
    ]
    return f"hash_entries={','.join(words)}" if words else ""


def asked_for(plan):
    """Whether the table would have another size without a word on the line."""
    return plan.now and (
        plan.one.table.sized_by == "command line" or plan.name in verdicts.ONE_A_BUCKET
    )


def word_of(plan):
    if (
        plan.action == KEEP
        and plan.name in verdicts.ONE_A_BUCKET
        and plan.one.table.sized_by != "command line"
    ):
        return "auto"
    return numbers.short(plan.buckets)
