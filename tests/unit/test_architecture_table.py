# SPDX-License-Identifier: GPL-2.0
"""The table of architectures, and what ARCH= means."""

import pytest

from common import Failure, packages
from kernel import architectures
from kernel.architectures import FOREIGN


def names(arch):
    return [one.name for one in architectures.named(arch)]


def test_arch_is_a_row_or_what_the_kernel_calls_so():
    assert names("") == list(FOREIGN)
    assert names("arm64") == ["arm64", "arm64-64k"]
    assert names("arm64-64k") == ["arm64-64k"]
    assert names("s390") == names("s390x") == ["s390x"]
    assert names("arm") == ["arm"]


def test_unknown_arch_is_refused():
    with pytest.raises(Failure, match="ARCH=sparc: accepted: i386 i386-pae arm64 arm64-64k"):
        names("sparc")


@pytest.mark.parametrize("one", FOREIGN.values(), ids=FOREIGN)
def test_packages_of_a_row_are_known(one):
    for group in filter(None, (one.packages, one.qemu and one.emulator)):
        assert group in packages.GROUPS and group in packages.PROGRAMS
    if one.compiler:
        assert f"{one.compiler}gcc" in packages.PROGRAMS[one.packages]
    if one.qemu:
        assert one.qemu in packages.PROGRAMS[one.emulator]
        assert one.userland and one.machine and one.console
