# SPDX-License-Identifier: GPL-2.0
"""Which tables a kernel has, by version: data, and nothing else.

BTF tells the layout of structures, but not the types of variables, so those are
here: what the variable is, how the number of buckets is had, what a bucket is,
which member of it begins the chain, and what kind of list that is. `since` is
the first version of which an entry is true, `until` the last one.
"""

from typing import NamedTuple

from .chains import BL, HLIST, LIST, NULLS

NEWEST = (7, 3)  # the last version that was compared with the source and tested
OLDEST = (6, 1)
ALWAYS = (0, 0)
NOW = (999, 0)


class Array(NamedTuple):
    """The variable is the table; the next symbol tells its size."""

    symbol: str
    near: tuple = ()  # beginnings of names beside it, if others have the name


class Pointer(NamedTuple):
    """The variable points to the table; another one has its size."""

    symbol: str
    size: str
    rule: str  # bits: 2^n buckets; 32-bits: 2^(32 - n); mask: n + 1


class Members(NamedTuple):
    """The variable is a structure with the table's address and size."""

    symbol: str
    struct: str | tuple  # its name; its first members if it has none
    table: str
    size: str
    rule: str  # number: n buckets; else as above


class Nodes(NamedTuple):
    """As Members, but a table for each memory node."""

    symbol: str
    struct: str | tuple
    table: str
    size: str
    rule: str


class Code(NamedTuple):
    """The address is only in the instructions of a function; a table a node."""

    function: str
    size: str
    rule: str


class Entry(NamedTuple):
    name: str
    place: tuple
    chain: str
    bucket: str
    head: str
    parameter: str = ""  # of the kernel's command line, that sets the size
    since: tuple = ALWAYS
    until: tuple = NOW
    fixed: bool = False  # of one size on each machine
    beside: tuple = ()  # more structures for each bucket in the same allocation
    optional: bool = False  # many kernels do not have it

    def holds(self, version):
        return self.since <= version <= self.until


HEAD, BL_HEAD = ("hlist_head", "first"), ("hlist_bl_head", "first")
NULLS_HEAD = ("hlist_nulls_head", "first")
QUEUE = ("wait_queue_head", "head")
FUTEX = ("futex_hash_bucket", "chain.node_list")
UDP = ("udp_hslot", "head.first")
INET = "inet_hashinfo"


def fixed(name, symbol, chain, bucket, near=(), **more):
    return Entry(name, Array(symbol, near), chain, *bucket, fixed=True, **more)


def boot(name, symbol, size, rule, chain, bucket, parameter):
    return Entry(name, Pointer(symbol, size, rule), chain, *bucket, parameter)


TABLES = (
    boot(
        "dentry", "dentry_hashtable", "d_hash_shift", "32-bits", BL, BL_HEAD, "dhash_entries"
    ),
    fixed("dentry_lookup", "in_lookup_hashtable", BL, BL_HEAD),
    boot("inode", "inode_hashtable", "i_hash_shift", "bits", HLIST, HEAD, "ihash_entries"),
    boot("mount", "mount_hashtable", "m_hash_shift", "bits", HLIST, HEAD, "mhash_entries"),
    boot(
        "mountpoint", "mountpoint_hashtable", "mp_hash_shift", "bits", HLIST, HEAD, "mphash_entries"
    ),
    fixed("folio_wait", "folio_wait_table", LIST, QUEUE),
    fixed("bit_wait", "bit_wait_table", LIST, QUEUE),
    Entry(
        "futex",
        Members("__futex_data", ("queues", "hashsize"), "queues", "hashsize", "number"),
        LIST,
        *FUTEX,
        until=(6, 15),
    ),
    Entry(
        "futex",
        Nodes("__futex_data", ("hashmask", "hashshift", "queues"), "queues", "hashmask", "mask"),
        LIST,
        *FUTEX,
        since=(6, 16),
        until=(7, 0),
    ),
    Entry("futex", Code("__futex_hash", "__futex_mask", "mask"), LIST, *FUTEX, since=(7, 1)),
    fixed("uid", "uidhash_table", HLIST, HEAD),
    fixed("ucounts", "ucounts_hashtable", HLIST, HEAD, until=(6, 14)),
    fixed("ucounts", "ucounts_hashtable", NULLS, NULLS_HEAD, since=(6, 15)),
    fixed("posix_timers", "posix_timers_hashtable", HLIST, HEAD, until=(6, 14)),
    Entry(
        "posix_timers",
        Members("__timer_data", ("buckets", "mask"), "buckets", "mask", "mask"),
        HLIST,
        "timer_hash_bucket",
        "head.first",
        since=(6, 15),
    ),
    fixed("css_set", "css_set_table", HLIST, HEAD),
    Entry("dquot", Pointer("dquot_hash", "dq_hash_bits", "bits"), HLIST, *HEAD, fixed=True),
    fixed("blocked_locks", "blocked_hash", HLIST, HEAD),
    fixed("ksm_mm", "mm_slots_hash", HLIST, HEAD, ("one_stable_tree", "rmap_item_cache")),
    fixed("khugepaged_mm", "mm_slots_hash", HLIST, HEAD, ("khugepaged_",)),
    Entry(
        "tcp-established",
        Members("tcp_hashinfo", INET, "ehash", "ehash_mask", "mask"),
        NULLS,
        "inet_ehash_bucket",
        "chain.first",
        "thash_entries",
    ),
    Entry(
        "tcp-bind",
        Members("tcp_hashinfo", INET, "bhash", "bhash_size", "number"),
        HLIST,
        "inet_bind_hashbucket",
        "chain.first",
        beside=("inet_bind_hashbucket",),
    ),
    Entry(
        "tcp_listen_portaddr_hash",
        Members("tcp_hashinfo", INET, "lhash2", "lhash2_mask", "mask"),
        NULLS,
        "inet_listen_hashbucket",
        "nulls_head.first",
    ),
    Entry(
        "udp",
        Members("udp_table", "udp_table", "hash", "mask", "mask"),
        HLIST,
        *UDP,
        "uhash_entries",
        until=(6, 12),
        beside=("udp_hslot",),
    ),
    Entry(
        "udp",
        Members("udp_table", "udp_table", "hash", "mask", "mask"),
        HLIST,
        *UDP,
        "uhash_entries",
        since=(6, 13),
        beside=("udp_hslot_main", "udp_hslot"),
    ),
    Entry(
        "udp-lite",
        Members("udplite_table", "udp_table", "hash", "mask", "mask"),
        HLIST,
        *UDP,
        "uhash_entries",
        until=(6, 12),
        beside=("udp_hslot",),
        optional=True,
    ),
)

# File systems with caches of extended attributes: the structure behind
# s_fs_info, and its members that are caches with the words that tell them apart.
CACHES = {
    "ext4": ("ext4_sb_info", (("s_ea_block_cache", "ea-block"), ("s_ea_inode_cache", "ea-inode"))),
    "ext3": ("ext4_sb_info", (("s_ea_block_cache", "ea-block"), ("s_ea_inode_cache", "ea-inode"))),
    "ext2": ("ext2_sb_info", (("s_ea_block_cache", ""),)),
}
# Where a process has its own futexes, from newest to oldest.
PRIVATE_FUTEXES = ("futex.phash.hash", "futex_phash")


def entries(version):
    """Those that are true of a version, in the order in which they are shown."""
    return [entry for entry in TABLES if entry.holds(version)]
