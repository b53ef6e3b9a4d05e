# SPDX-License-Identifier: GPL-2.0
"""What a random function would do with so many objects in so many buckets.

lib/hash_histogram.c explains the theory. With n objects, m buckets and the
load factor a = n / m, chain lengths are nearly Poisson:

        m a^k / k! e^-a			buckets have k objects,
        m (1 - (1 - 1/m)^n)		are used,
        1 + (n - 1) / 2m		nodes are examined to find an object.

The last also holds for another size m, so all advice follows from it.
"""

import math

from .tables import LONG


def used_expected(buckets, objects):
    if not buckets:
        return 0.0
    if buckets == 1:
        return float(objects > 0)
    return -buckets * math.expm1(objects * math.log1p(-1 / buckets))


def nodes_expected(buckets, objects):
    """Nodes that a lookup examines; 1 in a table without objects."""
    return 1 + max(objects - 1, 0) / (2 * buckets) if buckets else 1.0


def buckets_for(objects, nodes):
    """The smallest power of two at which a lookup examines no more nodes."""
    return power_of_two(max(objects - 1, 0) / (2 * (nodes - 1)))


def power_of_two(number):
    """The smallest one that is not below a number, at least 1."""
    return 1 << max(math.ceil(number) - 1, 0).bit_length()


def poisson(buckets, objects):
    """Expected buckets in the rows 0 to 15 and >15 of a histogram."""
    load = objects / buckets if buckets else 0
    if not load:
        return [float(buckets), *[0.0] * LONG]
    # By logarithms, because e^-load is 0 for long chains.
    rows = [
        buckets * math.exp(size * math.log(load) - load - math.lgamma(size + 1))
        for size in range(LONG)
    ]
    return [*rows, max(buckets - sum(rows), 0.0)]


def nodes_of(table):
    """Nodes per hit by the rows; None in an empty table."""
    return nodes_of_rows(table.rows) if table.objects else None


def nodes_of_rows(rows):
    """Chains behind >15 count as if all were equal, the least that they can be."""
    nodes = sum(row.buckets * size * (size + 1) / 2 for size, row in enumerate(rows[:LONG]))
    last = rows[LONG]
    if last.buckets:
        nodes += last.objects * (last.objects / last.buckets + 1) / 2
    return nodes / sum(row.objects for row in rows)
