# SPDX-License-Identifier: GPL-2.0
"""What makes a build differ from the one that stands, and what it leaves for the next."""

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
    assert build.Recipe((line,)).digests() != build.Recipe((), (line,)).digests()


@pytest.mark.parametrize(
    "warning,stand",
    [
        ([], ["a", "b", "c"]),
        (["../fs/b.c:1:1: warning: word"], ["a", "c"]),
        (["../include/linux/any.h:1:1: warning: word"], ["c"]),
        (["WARNING: modpost: vmlinux: word"], ["c"]),
    ],
)
def test_objects_with_a_warning_are_made_again(tmp_path, warning, stand):
    made = build.Build("toy", tmp_path / "src", tmp_path, tmp_path / "build.log", [])
    (tmp_path / "fs").mkdir()
    # make compiles an object whose command is not known.
    for name in "abc":
        (tmp_path / f"fs/.{name}.o.cmd").touch()
    made.log.write_text("\n".join(["  CC      fs/a.o", "  CC [M]  fs/b.o", *warning]))
    build.read_warnings(made)
    assert made.warnings == warning
    assert sorted((tmp_path / "fs").iterdir()) == [tmp_path / f"fs/.{name}.o.cmd" for name in stand]


def test_the_empty_segment_is_left_out(tmp_path):
    made = build.Build("toy", tmp_path / "src", tmp_path, tmp_path / "build.log", [])
    made.log.write_text(
        "objcopy: vmlinux.unstripped: warning: empty loadable segment detected\n"
        "objcopy: vmlinux: warning: word\n"
    )
    build.read_warnings(made)
    assert made.warnings == ["objcopy: vmlinux: warning: word"]
