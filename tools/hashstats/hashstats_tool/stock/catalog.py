# SPDX-License-Identifier: GPL-2.0
"""Which tables a kernel has, by version: data, and nothing else.

BTF describes structures, but not variables. So this says what a variable is, what
gives the number of buckets, what a bucket is, which member of it begins the
chain, and of what kind the list is. `since` is the first version for which an
entry is true, `until` the last one.
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


class Form(NamedTuple):
    """What a bucket is."""

    chain: str  # kind of list
    bucket: str  # structure
    head: str  # member of it that begins the chain


class Entry(NamedTuple):
    name: str
    place: tuple
    form: Form
    parameter: str = ""  # of the kernel's command line, that sets the size
    since: tuple = ALWAYS
    until: tuple = NOW
    fixed: bool = False  # of one size on each machine
    beside: tuple = ()  # more structures for each bucket in the same allocation
    optional: bool = False  # many kernels do not have it

    def holds(self, version):
        return self.since <= version <= self.until


ONE_WAY = Form(HLIST, "hlist_head", "first")
LOCKED = Form(BL, "hlist_bl_head", "first")
ENDED = Form(NULLS, "hlist_nulls_head", "first")
QUEUE = Form(LIST, "wait_queue_head", "head")
FUTEX = Form(LIST, "futex_hash_bucket", "chain.node_list")
TIMERS = Form(HLIST, "timer_hash_bucket", "head.first")
ESTABLISHED = Form(NULLS, "inet_ehash_bucket", "chain.first")
BIND = Form(HLIST, "inet_bind_hashbucket", "chain.first")
LISTEN = Form(NULLS, "inet_listen_hashbucket", "nulls_head.first")
UDP = Form(HLIST, "udp_hslot", "head.first")


def boot(name, symbol, size, rule, form, parameter):
    """A table that the kernel allocates at boot."""
    return Entry(name, Pointer(symbol, size, rule), form, parameter=parameter)


def fixed(name, symbol, form, near=(), since=ALWAYS, until=NOW):
    """A table that is a variable."""
    return Entry(name, Array(symbol, near), form, since=since, until=until, fixed=True)


def tcp(name, table, size, rule, form, parameter="", beside=()):
    place = Members("tcp_hashinfo", "inet_hashinfo", table, size, rule)
    return Entry(name, place, form, parameter=parameter, beside=beside)


def udp(name, symbol, beside, since=ALWAYS, until=NOW, optional=False):
    return Entry(
        name,
        Members(symbol, "udp_table", "hash", "mask", "mask"),
        UDP,
        parameter="uhash_entries",
        since=since,
        until=until,
        beside=beside,
        optional=optional,
    )


FUTEX_DATA = ("queues", "hashsize")
FUTEX_DATA_NODES = ("hashmask", "hashshift", "queues")
TIMER_DATA = ("buckets", "mask")
# mm_slots_hash of mm/ksm.c and of mm/khugepaged.c.
KSM, KHUGEPAGED = ("one_stable_tree", "rmap_item_cache"), ("khugepaged_",)

TABLES = (
    boot("dentry", "dentry_hashtable", "d_hash_shift", "32-bits", LOCKED, "dhash_entries"),
    fixed("dentry_lookup", "in_lookup_hashtable", LOCKED),
    boot("inode", "inode_hashtable", "i_hash_shift", "bits", ONE_WAY, "ihash_entries"),
    boot("mount", "mount_hashtable", "m_hash_shift", "bits", ONE_WAY, "mhash_entries"),
    boot("mountpoint", "mountpoint_hashtable", "mp_hash_shift", "bits", ONE_WAY, "mphash_entries"),
    fixed("folio_wait", "folio_wait_table", QUEUE),
    fixed("bit_wait", "bit_wait_table", QUEUE),
    Entry(
        "futex",
        Members("__futex_data", FUTEX_DATA, "queues", "hashsize", "number"),
        FUTEX,
        until=(6, 15),
    ),
    Entry(
        "futex",
        Nodes("__futex_data", FUTEX_DATA_NODES, "queues", "hashmask", "mask"),
        FUTEX,
        since=(6, 16),
        until=(7, 0),
    ),
    Entry("futex", Code("__futex_hash", "__futex_mask", "mask"), FUTEX, since=(7, 1)),
    fixed("uid", "uidhash_table", ONE_WAY),
    fixed("ucounts", "ucounts_hashtable", ONE_WAY, until=(6, 14)),
    fixed("ucounts", "ucounts_hashtable", ENDED, since=(6, 15)),
    fixed("posix_timers", "posix_timers_hashtable", ONE_WAY, until=(6, 14)),
    Entry(
        "posix_timers",
        Members("__timer_data", TIMER_DATA, "buckets", "mask", "mask"),
        TIMERS,
        since=(6, 15),
    ),
    fixed("css_set", "css_set_table", ONE_WAY),
    Entry("dquot", Pointer("dquot_hash", "dq_hash_bits", "bits"), ONE_WAY, fixed=True),
    fixed("blocked_locks", "blocked_hash", ONE_WAY),
    fixed("ksm_mm", "mm_slots_hash", ONE_WAY, KSM),
    fixed("khugepaged_mm", "mm_slots_hash", ONE_WAY, KHUGEPAGED),
    tcp("tcp-established", "ehash", "ehash_mask", "mask", ESTABLISHED, "thash_entries"),
    tcp("tcp-bind", "bhash", "bhash_size", "number", BIND, beside=("inet_bind_hashbucket",)),
    tcp("tcp_listen_portaddr_hash", "lhash2", "lhash2_mask", "mask", LISTEN),
    udp("udp", "udp_table", ("udp_hslot",), until=(6, 12)),
    udp("udp", "udp_table", ("udp_hslot_main", "udp_hslot"), since=(6, 13)),
    udp("udp-lite", "udplite_table", ("udp_hslot",), until=(6, 12), optional=True),
    udp("udp-lite", "udplite_table", ("udp_hslot_main", "udp_hslot"), since=(6, 13), optional=True),
)

# File systems with caches of extended attributes: the structure behind
# s_fs_info, and its members that are caches with the last word of their names.
CACHES = {
    "ext4": ("ext4_sb_info", (("s_ea_block_cache", ""), ("s_ea_inode_cache", "inode"))),
    "ext3": ("ext4_sb_info", (("s_ea_block_cache", ""), ("s_ea_inode_cache", "inode"))),
    "ext2": ("ext2_sb_info", (("s_ea_block_cache", ""),)),
}
# Where a process has its own futexes, from newest to oldest.
PRIVATE_FUTEXES = ("futex.phash.hash", "futex_phash")


def entries(version):
    """Those that are true of a version, in the order in which they are shown."""
    return [entry for entry in TABLES if entry.holds(version)]
