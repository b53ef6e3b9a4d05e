# SPDX-License-Identifier: GPL-2.0
"""The kernels that tests and benchmarks compare: base and series, as they are
and with what a measurement adds to them."""

from typing import Any

from kernel import build
from kernel.kconfig import Fragment
from series import compose, source

BASE = build.BASE_GUEST
VMLINUX = ("vmlinux",)


def base_commit() -> str:
    return source.base_commit()


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
