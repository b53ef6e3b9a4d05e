# SPDX-License-Identifier: GPL-2.0
"""The tables of a kernel that has our patches, and their forms, as it lists them.

For its dumps: there is no /proc/hashstats in a dump.
"""

from __future__ import annotations

from typing import NamedTuple

from .chains import BL, HLIST, LIST, NULLS, SLOT

TABLES = "boot_hash_tables"
NAMES = {
    "HASHSTATS_HLIST": HLIST,
    "HASHSTATS_HLIST_BL": BL,
    "HASHSTATS_HLIST_NULLS": NULLS,
    "HASHSTATS_LIST": LIST,
    "HASHSTATS_SLOT": SLOT,
}
ORIGINS = {
    "BOOT_HASH_FIXED": "fixed",
    "BOOT_HASH_MEMORY": "memory",
    "BOOT_HASH_MINIMUM": "minimum",
    "BOOT_HASH_MAXIMUM": "maximum",
    "BOOT_HASH_CMDLINE": "command line",
    "BOOT_HASH_OFF": "off",
}


class Row(NamedTuple):
    name: str
    base: int
    buckets: int
    bytes: int
    sized_by: str
    chain: str | None  # None if the kernel does not describe its objects
    step: int
    head: int


def has(kernel):
    return bool(kernel.symbols.all(TABLES))


def rows(kernel):
    """Each table that was made at boot."""
    count = kernel.memory.half_word(kernel.address(f"nr_{TABLES}"))
    first, size = kernel.address(TABLES), kernel.size("boot_hash_table")
    infos = [one.address for one in kernel.symbols.all("infos") if one.room >= 8 * count]
    chains = named(kernel, "hashstats_chain", NAMES)
    origins = named(kernel, "boot_hash_origin", ORIGINS)
    for number in range(count):
        table = kernel.view("boot_hash_table", first + number * size)
        about = kernel.memory.word(infos[0] + 8 * number) if infos else 0
        info = kernel.view("hashstats_info", about) if about else None
        yield Row(
            kernel.memory.text(table.at("name")),
            table["table"],
            table["nr_buckets"],
            table["nr_buckets"] * table["bucket_size"],
            origins[table["origin"]],
            chains[info["chain"]] if info else None,
            (info["bucket_size"] if info else 0) or table["bucket_size"],
            info["head"] if info else 0,
        )


def named(kernel, enum, words):
    """{value: our word} of an enumeration of the kernel."""
    return {
        value: words[name] for name, value in kernel.types.values(enum).items() if name in words
    }
