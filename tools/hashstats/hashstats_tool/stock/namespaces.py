# SPDX-License-Identifier: GPL-2.0
"""Tables that a network namespace has for itself.

net.ipv4.tcp_child_ehash_entries and net.ipv4.udp_child_hash_entries give them to the
namespaces that are made later; the other namespaces share the first one's.
"""

from . import catalog
from .missing import Missing

MOST = 1 << 20


def all_of(kernel):
    """A view of each network namespace."""
    head = kernel.address("net_namespace_list")
    inside = kernel.offset("net", "list")
    address = kernel.memory.word(head)
    for _ in range(MOST):
        if address == head:
            return
        yield kernel.view("net", address - inside)
        address = kernel.memory.word(address)
    raise Missing("the list of network namespaces has no end")


def tables(kernel, entries):
    """(entry with a name of its own, view of its structure) of each such table."""
    paths = {name: path for name, path in catalog.OF_NAMESPACES.items() if has(kernel, path)}
    if not paths:
        return
    shared = {name: kernel.address(name) for name in paths if kernel.symbols.all(name)}
    for net in all_of(kernel):
        for symbol, path in paths.items():
            address = net[path]
            if not address or address == shared.get(symbol):
                continue
            for entry in entries:
                place = entry.place
                if getattr(place, "table", None) in catalog.OWN_OF_NAMESPACES and (
                    place.symbol == symbol
                ):
                    name = f"{entry.name}-net{net['ns.inum']}"
                    yield entry._replace(name=name), kernel.view(place.struct, address)


def has(kernel, path):
    try:
        kernel.offset("net", path)
    except Missing:
        return False
    return True
