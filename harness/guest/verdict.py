# SPDX-License-Identifier: GPL-2.0
"""The verdict on a guest, whatever ran it, from what it left behind."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

SHOWN = 30  # console lines shown with a failure

PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
# What a sound kernel never writes.
COMPLAINT = re.compile(
    r"WARNING: |BUG: |Oops: |INFO: task .* blocked for more"
    r"|rcu: INFO: .* (stall|detected)|soft lockup|UBSAN: |KASAN: |KCSAN: "
    r"|possible (circular|recursive) locking"
)


class GuestError(Exception):
    """A guest that failed.

    .kind is panic, hang, qemu, silent, complaint or status; .reason says it in
    one line; .details is the end of the console and of the job's output.
    """

    def __init__(self, kind: str, reason: str, details: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.details = list(details)

    def __str__(self) -> str:
        return "\n".join([self.reason, *("    | " + d for d in self.details)])


@dataclass
class End:
    """How a guest ended."""

    console: str  # the kernel's messages
    status: int | None  # of the job; None if the guest delivered none
    stopped: str = ""  # why the guest had to be stopped
    qemu: str = ""  # how QEMU failed


def complaints(console: str) -> list[str]:
    return [line for line in console.splitlines() if COMPLAINT.search(line)]


def excerpt(console: str) -> list[str]:
    """The console's last lines, after the complaints that stand above them."""
    lines = console.splitlines()
    above = complaints("\n".join(lines[:-SHOWN]))
    return [*above[:SHOWN], *lines[-SHOWN:]]


def problem(end: End, check: bool = True, may_complain: bool = False) -> tuple[str, str] | None:
    """(kind, reason) of a failure: the first cause, since others follow from it."""
    if panic := PANIC.search(end.console):
        return "panic", f"the guest panicked: {panic[1].strip()}"
    if end.stopped:
        return "hang", end.stopped
    if end.qemu:
        return "qemu", end.qemu
    if end.status is None:
        return "silent", "the guest ended silently: no status from its job"
    found = complaints(end.console)
    if found and not may_complain:
        return "complaint", f"the guest's kernel complained: {found[0]}"
    if end.status and check:
        return "status", f"the guest's job failed with status {end.status}"
    return None
