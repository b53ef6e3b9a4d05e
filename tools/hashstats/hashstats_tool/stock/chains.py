# SPDX-License-Identifier: GPL-2.0
"""Lengths of chains in memory that changes while it is read.

No lock of the kernel is taken, so each step is checked: a node names the one
before it. When it names another, or is not in memory, the chain has changed
under the walk, and is walked again from its bucket, TRIES times at most. A chain
that changes during each try counts as torn.

Chains are walked one after the other. To read neighbours in memory at once is
slower in Python: sorting addresses costs more than the system calls it saves.
"""

import heapq
import struct
from collections import Counter
from dataclasses import dataclass, field

from .missing import BadAddress, Missing

HLIST, BL, NULLS, LIST, SLOT = "hlist", "hlist_bl", "hlist_nulls", "list", "slot"
# Of each kind: what a node is, its pointers to the next node and the one before.
NODES = {
    HLIST: ("hlist_node", "next", "pprev"),
    BL: ("hlist_bl_node", "next", "pprev"),
    NULLS: ("hlist_nulls_node", "next", "pprev"),
    LIST: ("list_head", "next", "prev"),
}
TRIES = 4
LONGEST = 32768  # as in the kernel's own walk; a longer chain counts as capped
CHUNK = 1 << 20  # bytes of buckets that are read at once
PAIR = struct.Struct("<QQ")
ODD = 1


@dataclass
class Lengths:
    """What a walk has found; `of` is length -> buckets."""

    of: Counter = field(default_factory=Counter)
    walked: int = 0  # buckets that were not empty when they were read
    torn: int = 0
    again: int = 0  # chains that were walked more than once
    capped: int = 0
    bad: int = 0  # torn by a pointer to what is not memory
    same: int = 0  # objects behind another one with the same key, which do not count

    @property
    def objects(self):
        return sum(length * buckets for length, buckets in self.of.items())


def check(kernel, kind):
    """The walk takes the two pointers of a node for its first two words."""
    if kind == SLOT:
        return
    name, following, before = NODES[kind]
    if (kernel.offset(name, following), kernel.offset(name, before)) != (0, 8):
        raise Missing(f"struct {name} of this kernel is of a form that is not known")


class Walk:
    """One table: `step` bytes from bucket to bucket, its list `head` bytes in."""

    def __init__(self, memory, kind, step, head, tick=lambda done: None):
        self.memory, self.kind = memory, kind
        self.step, self.head = step, head
        self.tick = tick
        self.result = Lengths()
        # The extent of the last node: the next one is mostly there too.
        self.low, self.high, self.delta = 1, 0, 0

    def table(self, base, buckets):
        """Add the chains of a table, or of a part of one."""
        each = max(CHUNK // self.step, 1)
        for first in range(0, buckets, each):
            count = min(each, buckets - first)
            self._chunk(base + first * self.step, count)
            self.tick(count)

    def _chunk(self, start, count):
        raw = self.memory.read(start, count * self.step)
        heads = self._heads(raw)
        of, first_head = self.result.of, start + self.head
        if self.kind == SLOT:
            used = sum(1 for one in heads if one)
            of[1] += used
        else:
            pairs = self._used(heads, first_head)
            used = len(pairs)
            for number, first in pairs:
                of[self._length(first_head + number * self.step, first)] += 1
        of[0] += count - used
        self.result.walked += used

    def _heads(self, raw):
        if self.step % 8 or self.head % 8:
            return [
                int.from_bytes(raw[at : at + 8], "little")
                for at in range(self.head, len(raw), self.step)
            ]
        return memoryview(raw).cast("Q")[self.head // 8 :: self.step // 8]

    def _used(self, heads, first_head):
        """(number, first node) of the buckets that are not empty."""
        pairs = enumerate(heads)
        if self.kind == LIST:
            step = self.step
            return [(at, one) for at, one in pairs if one != first_head + at * step]
        if self.kind == NULLS:
            return [(at, one) for at, one in pairs if not one & ODD]
        # 1 is an empty bucket of hlist_bl that is locked.
        return [(at, one) for at, one in pairs if one > ODD]

    def end(self, address):
        """What a pointer is at the end of a chain."""
        return address if self.kind == LIST else 0

    def _length(self, address, first):
        """The length of one chain; what there was of it when it is torn."""
        result = self.result
        for turn in range(TRIES):
            if turn:
                first = self.memory.word(address)
            whole, length = self._follow(address, first)
            if whole:
                result.again += bool(turn)
                result.capped += length >= LONGEST
                return length
        result.again += 1
        result.torn += 1
        return length

    def _follow(self, address, node):
        """(is it whole, nodes) of the chain that begins at a node."""
        # All in local variables: this loop is where the time goes.
        fetch, unpack = self.memory.fetch, PAIR.unpack
        low, high, delta = self.low, self.high, self.delta
        end = self.end(address)
        if self.kind == BL:
            node &= ~ODD  # the lock
        before, length = address, 0
        try:
            while node != end and not node & ODD and length < LONGEST:
                if not low <= node < high:
                    low, high, delta = self.memory.extent(node)
                    high -= PAIR.size - 1
                    if node >= high:
                        raise BadAddress(node)
                following, back = unpack(fetch(16, node + delta))
                if back != before:
                    return False, length
                before, node = node, following
                length += 1
        except (BadAddress, OSError, struct.error):
            self.result.bad += 1
            return False, length
        finally:
            self.low, self.high, self.delta = low, high, delta
        # Only a nulls chain ends with an odd pointer.
        return not node & ODD or self.kind == NULLS, length


class Longest(Walk):
    """A walk that remembers where the longest chains are."""

    def __init__(self, *rest, kept):
        super().__init__(*rest)
        self.kept = kept
        self.top = []  # (length, address of the bucket's list), the shortest first

    def _length(self, address, first):
        length = super()._length(address, first)
        change = heapq.heappush if len(self.top) < self.kept else heapq.heappushpop
        change(self.top, (length, address))
        return length

    def number(self, address, where):
        """The number of a bucket; those of the next part continue those of the last one."""
        for part, base in enumerate(where.parts):
            inside = (address - base) // self.step
            if 0 <= inside < where.buckets:
                return part * where.buckets + inside
        return None

    def nodes(self, address, length):
        """The nodes of a chain as it is now, no more than it had."""
        node = self.memory.word(address)
        if self.kind == BL:
            node &= ~ODD
        for _ in range(length):
            if node == self.end(address) or node & ODD:
                return
            yield node
            node = self.memory.word(node)


class Grouped(Walk):
    """A walk that counts objects once that have the same key by design."""

    def __init__(self, *rest, key):
        super().__init__(*rest)
        # (bytes from a node to its key, size of the key), and the same for its flags or
        # None, and the bit of those that count alone.
        self.key, self.flags, self.bit = key

    def _length(self, address, first):
        length = super()._length(address, first)
        if length < 2:
            return length
        different = len(self._keys(first & ~ODD if self.kind == BL else first, length))
        self.result.same += length - different
        return different

    def _number(self, node, member):
        return self.memory.number(node + member[0], member[1])

    def _keys(self, node, length):
        """Keys of so many nodes; a node without one has its address."""
        keys = set()
        for number in range(length):
            try:
                key = self._number(node, self.key)
                alone = not key or self.flags and self._number(node, self.flags) >> self.bit & 1
                keys.add(-node if alone else key)
                node = self.memory.word(node)
            except BadAddress:
                # It changed meanwhile: the rest counts one by one.
                keys |= set(range(-length, -number))
                break
        return keys
