# SPDX-License-Identifier: GPL-2.0
"""Futexes that are not in the kernel's table: since 6.16 a process that has
threads has a table of its own, which is not walked but counted.
"""

from . import catalog
from .missing import Missing

MOST_TASKS = 1 << 22


def private_tables(kernel):
    """How many processes have a table of their own."""
    path = member(kernel)
    if not path:
        return 0
    start = kernel.view("task_struct", kernel.address("init_task"))
    head, inside = start.at("tasks"), kernel.offset("task_struct", "tasks")
    address = kernel.memory.word(head)
    found: set[int] = set()
    for _ in range(MOST_TASKS):
        if address == head:
            return len(found)
        memory = kernel.view("task_struct", address - inside).follow("mm")
        if memory and memory[path]:
            found.add(memory.address)
        address = kernel.memory.word(address)
    raise Missing("the list of processes has no end")


def member(kernel):
    """Where struct mm_struct has the table; None in older kernels."""
    for path in catalog.PRIVATE_FUTEXES:
        try:
            kernel.offset("mm_struct", path)
        except Missing:
            continue
        return path
    return None
