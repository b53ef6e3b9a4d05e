# SPDX-License-Identifier: GPL-2.0
"""Kernels of user-mode Linux: what is built into them, and how they may end."""

import os
import re

import pytest

import common
from guest import uml
from series import gitcmd, source

BENCHES = sorted(
    path.parent.parent.name
    for path in common.ROOT.glob("bench/*/kernel/Kbuild")
    if "um_bench" in path.read_text()
)

CALL = "int call(int (*function)(void)) { return function() + 1; }\n"


@pytest.mark.parametrize("compiler", uml.FLAGS)
def test_compiler_is_checked(compiler, tmp_path):
    (tmp_path / "call.c").write_text(CALL)
    common.run(
        [
            "gcc",
            "-O2",
            "-fcf-protection=none",
            *uml.FLAGS[compiler].split(),
            "-c",
            "-o",
            tmp_path / "call.o",
            tmp_path / "call.c",
        ]
    )
    uml.check_calls(tmp_path / "call.o", compiler)
    (other,) = uml.FLAGS.keys() - {compiler}
    with pytest.raises(common.Failure, match=f"in a {other} kernel"):
        uml.check_calls(tmp_path / "call.o", other)


@pytest.mark.parametrize("bench", BENCHES)
def test_bench_is_built_in(bench):
    repo = source.base_repo()
    base = source.base_commit()
    commit = uml.with_bench(bench, base)
    assert commit == uml.with_bench(bench, base)
    changed = gitcmd.records("diff", "-z", "--name-only", base, commit, repo=repo)
    assert sorted(changed) == sorted(["Kbuild", *uml.bench_files(bench)])
    for file in uml.bench_files(bench):
        assert gitcmd.out("show", f"{commit}:{file}", repo=repo) == (
            common.ROOT / file
        ).read_text().rstrip("\n")


@pytest.mark.parametrize("bench", BENCHES)
def test_objects_are_those_of_all_sources(bench):
    folder = f"bench/{bench}/kernel"
    objects = re.findall(r"([\w./]+)\.o\b", (common.ROOT / folder / "Kbuild").read_text())
    assert {os.path.normpath(f"{folder}/{name}.c") for name in objects} == {
        file for file in uml.bench_files(bench) if file.endswith(".c")
    }


@pytest.fixture
def program(tmp_path):
    """Something that is run in a kernel's place."""

    def make(script):
        path = tmp_path / "vmlinux"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return path

    return make


def test_output_is_returned(program):
    text = uml.boot(program('echo "$@"; test -d "$TMPDIR"'), append=["a=b"])
    assert text.endswith("mem=4096M con=null con0=null,fd:1 a=b\n")


def test_without_a_mount_of_its_own(program, monkeypatch):
    monkeypatch.setattr(uml, "namespace", lambda: [])
    text = uml.boot(program('echo "$TMPDIR"'))
    assert text == "uml: small pages\n\n"


@pytest.mark.parametrize(
    "script, limit, reason",
    [
        ("sleep 60", 1, "did not end within 1 s"),
        (
            "echo Kernel panic - not syncing: why; exit 134",
            60,
            "ended with status 134: Kernel panic - not syncing: why",
        ),
        ("echo Kernel panic - not syncing: why", 60, "ended with status 0: Kernel"),
        ("echo last words; exit 3", 60, "ended with status 3: .*last words"),
    ],
)
def test_bad_end_is_one_line(script, limit, reason, program):
    with pytest.raises(common.Failure, match=reason):
        uml.boot(program(script), limit=limit)
