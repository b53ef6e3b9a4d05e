# SPDX-License-Identifier: GPL-2.0
"""Keys like those of CITI TR 00-1, which kept histograms and not the keys.

Buffers.  The paper's file systems are ext2: groups of 8192 blocks, each of
which begins with bitmaps and a table of inodes.  If the first blocks of each
group are in memory, device xor block puts the same block of all groups into
two buckets of 16384.  How many blocks of a group are in memory, few in most and
many in some, is a power law.  Its numbers were chosen so that the old function
gives what the paper printed: as many buffers, the longest chain, about the same
nodes per look-up and the same buckets with more than 15.

Inodes.  Numbers of ext2, of which some are free, beside one super block.  The
old function was no worse than chance on the paper's, nor is it here.

Far.  No keys of the paper: numbers with a volume in their upper half, as FUSE
has them.
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


def blocks(law, count):
    """That many numbers of blocks; what the law lacks is in the last group."""
    half = law.groups // 2
    found = []
    for group in range(law.groups):
        # Even and odd groups are in two halves of the table: one law for both.
        share = (group // 2 + 0.5) / half
        used = law.least + round(law.more * share**law.power)
        found += [(offset, group) for offset in range(used)]
    found += [(law.least + law.more + extra, law.groups - 1) for extra in range(count - len(found))]
    return [group * GROUP_BLOCKS + 1 + offset for offset, group in sorted(found)[:count]]


def buffers(law, count):
    return [
        f"device {DEVICE:#x} {BLOCK_DEVICE:#x}",
        *(f"buffer {DEVICE:#x} {block}" for block in blocks(law, count)),
    ]


def inodes(count):
    """Of the numbers from the root directory on, two of three are in use."""
    chance = random.Random(1)
    numbers, number = [], 2
    while len(numbers) < count:
        if chance.random() < 2 / 3:
            numbers.append(number)
        number += 1
    return [f"inode {SUPER_BLOCK:#x} {number}" for number in numbers]


def far():
    return [
        f"inode {SUPER_BLOCK:#x} {volume << 32 | number}"
        for volume in range(64)
        for number in range(1, 1025)
    ]
