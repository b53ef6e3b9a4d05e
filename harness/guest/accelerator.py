# SPDX-License-Identifier: GPL-2.0
"""Choose KVM or emulation by booting something.

A /dev/kvm that opens proves little: nested set-ups are known that run
firmware and boot sectors and then fail on an instruction of a kernel.  So a
kernel is booted to user space on two processors.  The result holds until the
machine boots again or QEMU changes, and is kept in build/.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from common import BUILD, die, setting

Key = list[str | int | bool]

QEMU = "qemu-system-x86_64"
CACHE = BUILD / "accelerator.json"

# How much longer than with KVM a guest may take.
SLOWNESS = {"kvm": 1, "tcg": 10}


class Accelerator(NamedTuple):
    name: str
    reason: str

    def __str__(self) -> str:
        return f"accelerator: {self.name} ({self.reason})"

    def qemu(self, parallel: bool = False) -> str:
        """What QEMU's -accel takes.

        A static key that is switched rewrites instructions which other
        processors run.  QEMU 7.2 with a host thread for each processor may go
        on with a translation of the breakpoint that stands there in between,
        long after it has gone: the guest dies of `Oops: int3`, mainline's own
        keys included.  With one thread the processors take turns, at any
        instruction, and it does not happen.
        """
        if self.name == "tcg" and not parallel:
            return "tcg,thread=single"
        return self.name

    def limit(self, seconds: float) -> float:
        """A time limit, given for KVM, on this accelerator."""
        return seconds * SLOWNESS[self.name]


def key() -> Key:
    """What a remembered choice depends on."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    try:
        version = subprocess.run(
            [QEMU, "--version"], text=True, check=True, stdout=subprocess.PIPE
        ).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        die(f"{QEMU}: does not run; `make setup` installs it")
    return [boot, version, os.geteuid(), os.access("/dev/kvm", os.W_OK)]


def remembered(wanted: Key) -> Accelerator | None:
    try:
        saved = json.loads(CACHE.read_text())
        return Accelerator(*saved["choice"]) if saved["key"] == wanted else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def remember(wanted: Key, choice: Accelerator) -> None:
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    new = CACHE.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps({"key": wanted, "choice": choice}))
    new.replace(CACHE)


def forced() -> Accelerator | None:
    """ACCEL=kvm or ACCEL=tcg, which overrides the probe."""
    name = setting("ACCEL")
    if not name:
        return None
    if name not in SLOWNESS:
        die(f"ACCEL={name}: accepted: {' or '.join(SLOWNESS)}")
    return Accelerator(name, "ACCEL is set")


def choose(boots: Callable[[str], str | None]) -> Accelerator:
    """boots(name) boots a guest: None when it ran, else a reason not to.

    Emulation is tried as well before KVM is blamed for a kernel that boots
    nowhere; in that case nothing is remembered.
    """
    choice = forced()
    if choice:
        return choice
    wanted = key()
    choice = remembered(wanted)
    if choice:
        return choice
    problem: str | None
    if not os.path.exists("/dev/kvm"):
        problem = "there is no /dev/kvm"
    elif not os.access("/dev/kvm", os.R_OK | os.W_OK):
        problem = "this user may not open /dev/kvm"
    else:
        problem = boots("kvm")
        if problem and boots("tcg"):
            return Accelerator("tcg", "the kernel boots neither with kvm nor with tcg")
    choice = Accelerator("tcg", f"kvm: {problem}") if problem else Accelerator("kvm", "a guest ran")
    remember(wanted, choice)
    return choice
