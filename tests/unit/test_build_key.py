# SPDX-License-Identifier: GPL-2.0
"""What makes a build differ from the one that stands."""

import pytest

from kernel import build
from kernel.architectures import FOREIGN
from kernel.configurations import CLANG, WITH_CLANG


@pytest.fixture(autouse=True)
def version_is_name(monkeypatch):
    monkeypatch.setattr(build, "compiler", lambda program="gcc": program)


def test_a_build_depends_on_its_own_compiler():
    assert build.compiler_of(FOREIGN["i386"].flags) == "gcc"
    assert build.compiler_of(FOREIGN["s390x"].flags) == "s390x-linux-gnu-gcc"
    assert build.compiler_of(WITH_CLANG) == f"clang-{CLANG}"
    assert build.compiler_of([f"CC=clang-{CLANG}"]) == f"clang-{CLANG}"


def test_a_required_line_is_not_an_optional_one():
    line = "CONFIG_NUMA=y\n"
    assert build.build_key([line], [], "", [], []) != build.build_key([], [line], "", [], [])
