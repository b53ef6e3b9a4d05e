# SPDX-License-Identifier: GPL-2.0
"""Keys like those of CITI TR 00-1, which kept histograms and not the keys.

Buffers.  The paper's file systems are ext2: groups of 8192 blocks, each of
which begins with bitmaps and a table of inodes.  If the first blocks of each
group are in memory, device xor block puts the same block of all groups into
two of 16384 buckets.  The number of a group's blocks in memory follows a power
law: few in most groups, many in some.  Its parameters were chosen so that the
old function reproduces the paper's histogram: the number of buffers, the
longest chain, about the nodes per lookup, and the buckets with more than 15.

Inodes.  Inode numbers of ext2 with gaps, and one super block.  The old function
is no worse than a random function on these keys, as on the paper's.

Far.  Not in the paper: numbers with a volume in their upper half, as FUSE
makes them.
"""

import random
from typing import NamedTuple

DEVICE = 0x801  # sda1
BLOCK_DEVICE = 0xFFFF888003CC5A00
SUPER_BLOCK = 0xFFFF888004A61800
GROUP_BLOCKS = 8192


class Groups(NamedTuple):
    """Block groups, by how many of their first blocks are in memory."""

    groups: int
    least: int  # blocks of the emptiest
    more: int  # that the fullest has
    power: int


FULL = Groups(232, 6, 2000, 12)  # Histogram 1
AFTER = Groups(160, 2, 88, 5)  # Histogram 2


def blocks(law: Groups, count: int) -> list[int]:
    """`count` block numbers; what the law lacks comes from the last group."""
    half = law.groups // 2
    found: list[tuple[int, int]] = []
    for group in range(law.groups):
        # Even and odd groups are in two halves of the table: one law for both.
        share = (group // 2 + 0.5) / half
        used = law.least + round(law.more * share**law.power)
        found += [(offset, group) for offset in range(used)]
    found += [(law.least + law.more + extra, law.groups - 1) for extra in range(count - len(found))]
    return [group * GROUP_BLOCKS + 1 + offset for offset, group in sorted(found)[:count]]


def buffers(law: Groups, count: int) -> list[str]:
    return [
        f"device {DEVICE:#x} {BLOCK_DEVICE:#x}",
        *(f"buffer {DEVICE:#x} {block}" for block in blocks(law, count)),
    ]


def inodes(count: int) -> list[str]:
    """Two of three numbers are in use, from the root directory's on."""
    chance = random.Random(1)
    numbers: list[int] = []
    number = 2
    while len(numbers) < count:
        if chance.random() < 2 / 3:
            numbers.append(number)
        number += 1
    return [f"inode {SUPER_BLOCK:#x} {number}" for number in numbers]


def far() -> list[str]:
    return [
        f"inode {SUPER_BLOCK:#x} {volume << 32 | number}"
        for volume in range(64)
        for number in range(1, 1025)
    ]
