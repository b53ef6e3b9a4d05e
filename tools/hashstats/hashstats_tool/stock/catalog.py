# SPDX-License-Identifier: GPL-2.0
"""Which tables a kernel has, by version: data, and nothing else.

BTF describes structures, but not variables. So this says what a variable is, what
gives the number of buckets, what a bucket is, which member of it begins the
chain, and of what kind the list is. Where a table has had several forms, `needs` is
what the kernel's types and symbols must have for this one. `since` is the first
version of mainline with this form, `until` the last one; layouts.py chooses.
"""

from __future__ import annotations

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


class Has(NamedTuple):
    """The kernel has this structure, with this member of this type."""

    struct: str | tuple  # its first members if it has no name
    member: str = ""
    type: str = ""


class Not(NamedTuple):
    """The kernel does not have it."""

    need: Has


class Symbol(NamedTuple):
    """The kernel has this variable."""

    name: str


class Same(NamedTuple):
    """A lookup passes several objects with this key by design, so they count once."""

    struct: str  # of the objects in the chains
    node: str  # its member in the chain
    key: str  # its member that is equal; 0 is equal to nothing
    flags: str = ""  # its member with a bit that is set in objects that count alone
    bit: int = 0


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
    needs: tuple = ()  # Has and Symbol
    same: Same | None = None

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
UDP_MAIN = Form(HLIST, "udp_hslot_main", "hslot.head.first")
UDP_FOUR = Form(NULLS, "udp_hslot", "nulls_head.first")
# Sockets of a group of SO_REUSEPORT share this pointer.
GROUP = "sk_reuseport_cb"
LISTENERS = Same("sock", "__sk_common.skc_nulls_node", GROUP)
BY_PORT = Same("sock", "__sk_common.skc_node", GROUP)
BY_ADDRESS = Same("sock", "__sk_common.skc_portaddr_node", GROUP)
# When a block of attributes has as many references as it may have, it loses this flag,
# and the next file with equal attributes gets another block with the same key.
REUSABLE = 1
ATTRIBUTES = Same("mb_cache_entry", "e_hash_list", "e_key", "e_flags", REUSABLE)


def boot(name, symbol, size, rule, form, parameter):
    """A table that the kernel allocates at boot."""
    return Entry(name, Pointer(symbol, size, rule), form, parameter=parameter)


def fixed(name, symbol, form, near=(), **more):
    """A table that is a variable."""
    return Entry(name, Array(symbol, near), form, fixed=True, **more)


def tcp(name, table, size, rule, form, **more):
    place = Members("tcp_hashinfo", "inet_hashinfo", table, size, rule)
    return Entry(name, place, form, parameter="thash_entries", **more)


def udp(name, table, form, symbol="udp_table", **more):
    place = Members(symbol, "udp_table", table, "mask", "mask")
    optional = symbol != "udp_table"
    return Entry(name, place, form, parameter="uhash_entries", optional=optional, **more)


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
        needs=(Symbol("__futex_data"), Has(FUTEX_DATA)),
    ),
    Entry(
        "futex",
        Nodes("__futex_data", FUTEX_DATA_NODES, "queues", "hashmask", "mask"),
        FUTEX,
        since=(6, 16),
        until=(7, 0),
        needs=(Symbol("__futex_data"), Has(FUTEX_DATA_NODES)),
    ),
    Entry(
        "futex",
        Code("__futex_hash", "__futex_mask", "mask"),
        FUTEX,
        since=(7, 1),
        needs=(Symbol("__futex_mask"),),
    ),
    fixed("uid", "uidhash_table", ONE_WAY),
    fixed(
        "ucounts",
        "ucounts_hashtable",
        ONE_WAY,
        until=(6, 14),
        needs=(Has("ucounts", "node", "hlist_node"),),
    ),
    fixed(
        "ucounts",
        "ucounts_hashtable",
        ENDED,
        since=(6, 15),
        needs=(Has("ucounts", "node", "hlist_nulls_node"),),
    ),
    fixed(
        "posix_timers",
        "posix_timers_hashtable",
        ONE_WAY,
        until=(6, 14),
        needs=(Symbol("posix_timers_hashtable"),),
    ),
    Entry(
        "posix_timers",
        Members("__timer_data", TIMER_DATA, "buckets", "mask", "mask"),
        TIMERS,
        since=(6, 15),
        needs=(Symbol("__timer_data"), Has(TIMER_DATA)),
    ),
    fixed("css_set", "css_set_table", ONE_WAY),
    Entry("dquot", Pointer("dquot_hash", "dq_hash_bits", "bits"), ONE_WAY, fixed=True),
    fixed("blocked_locks", "blocked_hash", ONE_WAY),
    fixed("ksm_mm", "mm_slots_hash", ONE_WAY, KSM),
    fixed("khugepaged_mm", "mm_slots_hash", ONE_WAY, KHUGEPAGED),
    tcp("tcp-established", "ehash", "ehash_mask", "mask", ESTABLISHED),
    # By port, and by port and address.
    tcp("tcp-bind", "bhash", "bhash_size", "number", BIND),
    tcp("tcp-bind2", "bhash2", "bhash_size", "number", BIND),
    tcp("tcp_listen_portaddr_hash", "lhash2", "lhash2_mask", "mask", LISTEN, same=LISTENERS),
    # By port, for bind() and multicast; received packets use the next two.
    udp("udp", "hash", UDP, same=BY_PORT),
    udp(
        "udp-hash2",
        "hash2",
        UDP,
        until=(6, 12),
        needs=(Has("udp_table", "hash2"), Not(Has("udp_hslot_main"))),
        same=BY_ADDRESS,
    ),
    udp(
        "udp-hash2",
        "hash2",
        UDP_MAIN,
        since=(6, 13),
        needs=(Has("udp_hslot_main"),),
        same=BY_ADDRESS,
    ),
    udp("udp-hash4", "hash4", UDP_FOUR, since=(6, 13), needs=(Has("udp_table", "hash4"),)),
    udp("udp-lite", "hash", UDP, symbol="udplite_table", same=BY_PORT),
)

# Where struct net points to the structure of a table; it is a namespace's own if it
# is not this variable. Of those of TCP, it has its own table of connections only.
OF_NAMESPACES = {"tcp_hashinfo": "ipv4.tcp_death_row.hashinfo", "udp_table": "ipv4.udp_table"}
OWN_OF_NAMESPACES = ("ehash", "hash", "hash2", "hash4")

# File systems with caches of extended attributes: the structure behind
# s_fs_info, and its members that are caches with the last word of their names.
CACHES = {
    "ext4": ("ext4_sb_info", (("s_ea_block_cache", ""), ("s_ea_inode_cache", "inode"))),
    "ext3": ("ext4_sb_info", (("s_ea_block_cache", ""), ("s_ea_inode_cache", "inode"))),
    "ext2": ("ext2_sb_info", (("s_ea_block_cache", ""),)),
}
# Where a process has its own futexes, from newest to oldest.
PRIVATE_FUTEXES = ("futex.phash.hash", "futex_phash")


class Keys(NamedTuple):
    """What says of an object in a chain which one it is."""

    struct: str
    node: str  # its member in the chain
    fields: tuple  # (name, kind, member); keys.py has the kinds


ON = ("on", "device", "i_sb")
SOCKET = (("local", "local", ""), ("peer", "peer", ""))
UID = ("uid", "number", "uid.val")
KEYS = {
    "dentry": Keys("dentry", "d_hash", (("path", "path", ""), ("on", "device", "d_sb"))),
    "inode": Keys("inode", "i_hash", (("inode", "number", "i_ino"), ON)),
    "mount": Keys(
        "mount", "mnt_hash", (("at", "path", "mnt_mountpoint"), ("device", "name", "mnt_devname"))
    ),
    "uid": Keys("user_struct", "uidhash_node", (UID,)),
    "ucounts": Keys("ucounts", "node", (UID,)),
    "posix_timers": Keys("k_itimer", "t_hash", (("timer", "number", "it_id"),)),
    "css_set": Keys("css_set", "hlist", (("tasks", "number", "nr_tasks"),)),
    "tcp-established": Keys("sock", "__sk_common.skc_nulls_node", SOCKET),
    "tcp_listen_portaddr_hash": Keys("sock", "__sk_common.skc_nulls_node", SOCKET[:1]),
    "tcp-bind": Keys("inet_bind_bucket", "node", (("port", "number", "port"),)),
    "tcp-bind2": Keys("inet_bind2_bucket", "node", (("port", "number", "port"),)),
    "udp": Keys("sock", "__sk_common.skc_node", SOCKET),
    "udp-hash2": Keys("sock", "__sk_common.skc_portaddr_node", SOCKET),
    "udp-lite": Keys("sock", "__sk_common.skc_node", SOCKET),
}
# Names of tables that are one of many.
ONE_OF_MANY = ("-net",)
