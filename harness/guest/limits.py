# SPDX-License-Identifier: GPL-2.0
"""What a guest may be given: memory and processors."""

import re

from common import ROOT, die

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SMALLEST = 64 << 20


def host_memory() -> int:
    with open("/proc/meminfo") as lines:
        return int(next(lines).split()[1]) << 10


def size(text: str) -> int | None:
    """Bytes of `512M`, or None."""
    match = re.fullmatch(r"([0-9]{1,15})([KMG])", text.upper())
    return match and int(match[1]) * UNITS[match[2]]


def memory(text: str, name: str = "MEM") -> int:
    """The memory of a guest in bytes; a bad value ends in one line."""
    value, most = size(text), host_memory()
    if not value or not SMALLEST <= value <= most:
        die(
            f"{name}={text}: accepted: a number with K, M or G, from 64M to "
            f"{most >> 20}M (what this machine has)"
        )
    return value


def most_cpus() -> int:
    config = (ROOT / "configs" / "guest.config").read_text()
    (most,) = re.findall(r"^CONFIG_NR_CPUS=(\d+)$", config, re.M)
    return int(most)


def cpus(text: str, name: str = "CPUS") -> int:
    """The processors of a guest; a bad value ends in one line."""
    most = most_cpus()
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= most:
        die(f"{name}={text}: accepted: a number from 1 to {most} (what the guest kernel supports)")
    return int(text)
