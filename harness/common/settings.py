# SPDX-License-Identifier: GPL-2.0
"""The variables of make, each declared once, and what a user has set them to.

Make hands its command line's variables to its commands in their environment.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from common.failure import die


class Variable(NamedTuple):
    """What `make help` prints of it, its default, and whether it is 1 or 0."""

    shown: str
    help: str
    default: str = ""
    switch: bool = False


# In the order of `make help`.
VARIABLES = {
    "KERNEL": Variable(
        "KERNEL=PATH",
        "another tree or tarball of BASE (else Debian's linux-source-BASE or, where its "
        "archive has none, the tarball of kernel.org)",
    ),
    "KERNEL_URL": Variable("KERNEL_URL=", "folder to fetch that tarball from, with sha256sums.asc"),
    "KERNEL_SHA256": Variable("KERNEL_SHA256=", "its checksum, instead of the one in that list"),
    "MIRROR": Variable("MIRROR=URL", "Debian's archive (else that of the machine's apt sources)"),
    "BASE": Variable(
        "BASE=6.12",
        "the kernel version to use, one of patches/bases (else the newest whose source can be had)",
    ),
    "TOPIC": Variable("TOPIC=NAME", "only this topic of patches/topics"),
    "MEM": Variable("MEM=1G", "memory of the guest", "1G"),
    "CPUS": Variable("CPUS=2", "processors of the guest", "2"),
    "SUITES": Variable("SUITES='...'", "only these suites, such as 'boot_hash mbcache'"),
    "APPEND": Variable("APPEND='...'", "more words for the guest's kernel command line"),
    "QUICK": Variable("QUICK=1", "a minute for each benchmark", switch=True),
    "LONG": Variable("LONG=1", "hours for each benchmark", switch=True),
    "FORCE": Variable(
        "FORCE=1",
        "drop commits that are not in the series; export: overwrite files that were changed here",
        switch=True,
    ),
    "CONFIG": Variable("CONFIG=PATH", "kernel configuration to start from"),
    "FLAVOUR": Variable(
        "FLAVOUR=cloud",
        "Debian's configuration to start from, cloud or amd64 (else that of the running kernel)",
    ),
    "DEBUG": Variable("DEBUG=1", "packages of debug information too", switch=True),
    "PREFIX": Variable("PREFIX=/usr/local", "below this folder", "/usr/local"),
    "DESTDIR": Variable("DESTDIR=", "put before PREFIX"),
    "KEEP": Variable(
        "KEEP=1",
        "store them in results/figures.csv; test-long: store in build/ which tests passed",
        switch=True,
    ),
    "TESTS": Variable("TESTS='...'", "only these files, or words for pytest"),
    "ARCH": Variable("ARCH=arm64", "only this architecture, such as i386, s390x, arm64-64k"),
    "SEED": Variable("SEED=1", "seed of the first random configuration", "1"),
    "LTP": Variable("LTP=/opt/ltp", "an installed LTP to run, too"),
    "PYTHON": Variable("PYTHON=python3", "Python that runs the harness, version 3.11 or newer"),
    "V": Variable("V=1", "show the output of what runs", switch=True),
    # Forces what is found out otherwise: nobody needs it, and help leaves it out.
    "ACCEL": Variable("", "kvm or tcg"),
}
# Of make itself, or of the network.
OTHERS = ("SHELL", "MAKEFLAGS")


@dataclass(frozen=True)
class Settings:
    """What a user has set; without a value, a variable has its default."""

    given: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        """The value of a variable."""
        declared = VARIABLES[name]
        return self.given.get(name, "").strip() or default or declared.default

    def flag(self, name: str) -> bool:
        """The value of a variable that is yes or no."""
        value = self.text(name, "0").lower()
        if value in ("1", "y", "yes"):
            return True
        if value in ("0", "n", "no"):
            return False
        die(f"{name}={value}: not a switch; accepted: 1 or 0")

    def check(self, names: Iterable[str]) -> None:
        """Refuse names that are no variables, and switches that are neither 1 nor 0."""
        unknown = [
            name
            for name in names
            if name not in VARIABLES and name not in OTHERS and not name.endswith("_proxy")
        ]
        if unknown:
            accepted = [name for name, one in VARIABLES.items() if one.shown]
            die(f"{' '.join(unknown)}: no such variable; accepted: {' '.join(accepted)}")
        for name, one in VARIABLES.items():
            # Many environments have a DEBUG for other programs; only deb reads it.
            if one.switch and name != "DEBUG":
                self.flag(name)


SETTINGS = Settings(os.environ)
setting = SETTINGS.text
flag = SETTINGS.flag
