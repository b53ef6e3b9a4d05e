# SPDX-License-Identifier: GPL-2.0
"""make lint: what can be said of the scripts without running them."""

import re
import sys
from pathlib import Path

from common import ROOT, run
from common.packages import ensure_venv
from series import gitcmd

NO_PROSE = re.compile(r"^(results|tests/samples)/|\.(patch|svg|xz)$")
SHELLS = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash")


def is_shell(path: Path) -> bool:
    if path.suffix in (".sh", ".bash"):
        return True
    with path.open("rb") as file:
        return file.readline().strip() in SHELLS


def tracked() -> list[str]:
    """Files that git tracks; a copy without git has none to check."""
    if not (ROOT / ".git").exists():
        return []
    names = gitcmd.records("ls-files", "-z", repo=ROOT)
    return [name for name in names if (ROOT / name).is_file()]


def shell_scripts() -> list[str]:
    return [name for name in tracked() if is_shell(ROOT / name)]


def prose() -> list[str]:
    """Files that we wrote; checkpatch reads the lines that patches add."""
    return [name for name in tracked() if not NO_PROSE.search(name)]


def lint() -> int:
    """1 if a tool finds something, after all of them have said what."""
    programs = ensure_venv() / "bin"
    commands = [
        ["ruff", "check", "--quiet"],
        ["ruff", "format", "--check", "--quiet"],
        ["mypy", "--no-error-summary"],
    ]
    if texts := prose():
        commands.append(["codespell", *texts])
    if scripts := shell_scripts():
        commands.append(["shellcheck", *scripts])
    status = 0
    for name, *words in commands:
        done = run([programs / name, *words], check=False, cwd=ROOT)
        if done.returncode:
            status = 1
            sys.stderr.write(f"{done.stdout}{done.stderr}boothash: make lint: {name} failed\n")
    return status
