# SPDX-License-Identifier: GPL-2.0
"""Which objects a chain has: their keys, as a person knows them.

The kernel changes its memory meanwhile, so an object may have gone before its key is read.
"""

import ipaddress

from . import catalog
from .missing import DAMAGE, BadAddress, Missing

DEEPEST = 256  # folders above a name
LONGEST_NAME = 255
COMMON = "__sk_common."
V6 = 10  # AF_INET6


def known(table):
    """The keys of a table's objects in the catalog; None if it has none."""
    for mark in catalog.ONE_OF_MANY:
        table = table.partition(mark)[0]
    return catalog.KEYS.get(table)


def of(kernel, table, node):
    """{name: text} of the object with this node."""
    keys = known(table)
    if not keys:
        raise Missing("hashstats does not know the keys of its objects")
    one = kernel.view(keys.struct, node - kernel.offset(keys.struct, keys.node))
    return {name: told(one, kind, member) for name, kind, member in keys.fields}


def told(one, kind, member):
    """A key, or ? where the object has gone and its memory is something else."""
    try:
        return KINDS[kind](one, member)
    except (BadAddress, *DAMAGE):
        return "?"


def number(one, member):
    return str(one[member])


def name(one, member):
    address = one[member]
    return printable(one.kernel.memory.text(address)) if address else "-"


def device(one, member):
    """The device or the kind of a file system, by its super block."""
    block = one.kernel.view("super_block", one[member])
    return printable(one.kernel.memory.text(block.at("s_id")))


def path(one, member):
    """The path of a name in its file system."""
    if member:
        one = one.kernel.view("dentry", one[member])
    words: list[str] = []
    for _ in range(DEEPEST):
        above = one["d_parent"]
        if above == one.address:
            return "/" + "/".join(reversed(words))
        words.append(printable(one.kernel.memory.text(one["d_name"]["name"], LONGEST_NAME)))
        one = one.kernel.view("dentry", above)
    return ".../" + "/".join(reversed(words[:8]))


def local(one, _):
    return end_of(one, "skc_rcv_saddr", "skc_v6_rcv_saddr", one[COMMON + "skc_num"])


def peer(one, _):
    # In the order of the network.
    port = int.from_bytes(one[COMMON + "skc_dport"].to_bytes(2, "little"), "big")
    return end_of(one, "skc_daddr", "skc_v6_daddr", port)


def end_of(one, v4, v6, port):
    memory = one.kernel.memory
    if one[COMMON + "skc_family"] == V6:
        address = ipaddress.IPv6Address(memory.read(one.at(COMMON + v6), 16))
        return f"[{address}]:{port}"
    return f"{ipaddress.IPv4Address(memory.read(one.at(COMMON + v4), 4))}:{port}"


def printable(text):
    return "".join(letter if letter.isprintable() else "?" for letter in text)


KINDS = {
    "number": number,
    "name": name,
    "device": device,
    "path": path,
    "local": local,
    "peer": peer,
}
