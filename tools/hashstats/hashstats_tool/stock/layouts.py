# SPDX-License-Identifier: GPL-2.0
"""Which form of a table this kernel has.

A vendor may have taken a newer form into an older kernel. So the types of the kernel
decide where they can tell two forms apart, and its version only where they cannot.
"""

from . import catalog
from .missing import Missing


def entries(kernel):
    """([entry for each table], notes about those that the version alone would miss)."""
    forms: dict[str, list] = {}
    for entry in catalog.TABLES:
        forms.setdefault(entry.name, []).append(entry)
    chosen, notes = [], []
    for name, several in forms.items():
        told = [one for one in several if one.needs and all(true(kernel, n) for n in one.needs)]
        dated = [one for one in several if one.holds(kernel.version)]
        entry = next(iter([one for one in dated if one in told] or told or dated), None)
        if entry is None:
            continue
        chosen.append(entry)
        if entry not in dated:
            notes.append(f"{name} {span(entry)}")
    return chosen, notes


def span(entry):
    """The versions of mainline that have this form."""
    if entry.until == catalog.NOW:
        return f"as since Linux {'.'.join(map(str, entry.since))}"
    return f"as up to Linux {'.'.join(map(str, entry.until))}"


def true(kernel, need):
    """Whether a condition of the catalog holds for this kernel."""
    if isinstance(need, catalog.Symbol):
        return bool(kernel.symbols.all(need.name))
    if isinstance(need, catalog.Not):
        return not true(kernel, need.need)
    types = kernel.types
    try:
        if not isinstance(need.struct, str):
            types.unnamed(need.struct)
            return True
        number = types.struct(need.struct)
        if not need.member:
            return True
        _, found = types.plain(types.member(number, need.member)[1])
        return not need.type or found.name == need.type
    except Missing:
        return False
