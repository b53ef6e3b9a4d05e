# SPDX-License-Identifier: GPL-2.0
"""The caches of extended attributes: each mounted file system has its own."""

import re
from typing import NamedTuple

from . import catalog
from .missing import Missing

MOST_MOUNTED = 1 << 20


class Cache(NamedTuple):
    name: str
    base: int
    buckets: int


def super_blocks(kernel):
    """Each mounted file system."""
    head = kernel.address("super_blocks")
    inside = kernel.offset("super_block", "s_list")
    address = kernel.memory.word(head)
    for _ in range(MOST_MOUNTED):
        if address == head:
            return
        yield kernel.view("super_block", address - inside)
        address = kernel.memory.word(address)
    raise Missing("the list of file systems has no end")


def caches(kernel):
    """The caches of all mounted file systems that have some."""
    for block in super_blocks(kernel):
        described = block.follow("s_type")
        if not described:
            raise Missing("a file system has no type")
        kind = kernel.memory.text(described["name"])
        if kind not in catalog.CACHES or not block["s_fs_info"]:
            continue
        struct, members = catalog.CACHES[kind]
        own = kernel.view(struct, block["s_fs_info"])
        device = kernel.memory.text(block.at("s_id"))
        for member, word in members:
            if own[member]:
                cache = kernel.view("mb_cache", own[member])
                buckets = 1 << min(cache["c_bucket_bits"], 32)
                yield Cache(name_of(kind, device, word), cache["c_hash"], buckets)


def name_of(*words):
    """mbcache-ext4-vda: in the letters that names of tables may have."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", "-".join(filter(None, ("mbcache", *words))))
