# SPDX-License-Identifier: GPL-2.0
"""The kernels that tests and benchmarks compare: base and series, as they are
and with what a measurement adds to them."""

from typing import Any

from common import ROOT
from kernel import build
from kernel.kconfig import Fragment
from series import compose, extra_patch, gitcmd, source

BASE = build.BASE_GUEST
PATCHES = ROOT / "harness/bench/patches"
COUNT_WAKEUPS = tuple(PATCHES / f"count-wakeups{of}.patch" for of in ("", f"-{source.base_name()}"))
# Locks initialised at one place are one class to lockdep, so that an array of
# them is counted as one.
INODE_LOCK_CLASSES = PATCHES / "inode-lock-classes.patch"
LOCKSTAT = build.CONFIGS / "test/lockstat.config"
VMLINUX = ("vmlinux",)


def base_commit() -> str:
    return gitcmd.commit("base", source.base_repo())


def base(name: str = "", *fragments: Fragment, **options: Any) -> build.Build:
    """The base kernel, built, with more configuration under a name of its own."""
    flavour = f"base-{name}" if name else "base"
    return build.build(flavour, [*BASE, *fragments], base_commit(), **options)


def patched(
    name: str = "", *fragments: Fragment, commit: str | None = None, **options: Any
) -> build.Build:
    """The series, built, with more configuration under a name of its own."""
    if not name:
        return build.patched()
    return build.build(
        f"patched-{name}", [*build.GUEST, *fragments], commit or compose.compose(), **options
    )


def wakeups_commit() -> str:
    """The base with counters for its hashed wait queues."""
    return extra_patch.commit(base_commit(), f"Linux {source.version()}", *COUNT_WAKEUPS)


def base_counting_wakeups() -> build.Build:
    return build.build("base-counted", BASE, wakeups_commit())


def lock_classes_commit() -> str:
    """The series, with a lockdep class for each inode hash lock."""
    return extra_patch.commit(compose.compose(), "the series", INODE_LOCK_CLASSES)


def base_lockstat() -> build.Build:
    """The base kernel, which has one inode hash lock, counting locks."""
    return base("lockstat", LOCKSTAT, targets=VMLINUX)


def patched_lockstat() -> build.Build:
    return patched("lockstat", LOCKSTAT, commit=lock_classes_commit(), targets=VMLINUX)
