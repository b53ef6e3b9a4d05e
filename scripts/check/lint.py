# SPDX-License-Identifier: GPL-2.0
"""make lint: what can be said of the scripts without running them."""

import sys
from pathlib import Path

from common import ROOT, run
from common.packages import ensure_venv
from series import gitcmd

SHELLS = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash")


def is_shell(path: Path) -> bool:
    if path.suffix in (".sh", ".bash"):
        return True
    with path.open("rb") as file:
        return file.readline().strip() in SHELLS


def shell_scripts() -> list[str]:
    """Shell scripts that git tracks; a copy without git has none to check."""
    if not (ROOT / ".git").exists():
        return []
    names = gitcmd.records("ls-files", "-z", repo=ROOT)
    return [name for name in names if (ROOT / name).is_file() and is_shell(ROOT / name)]


def lint() -> int:
    """1 if a tool finds something, after all of them have said what."""
    programs = ensure_venv() / "bin"
    commands = [
        ["ruff", "check", "--quiet"],
        ["ruff", "format", "--check", "--quiet"],
        ["mypy", "--no-error-summary"],
    ]
    if scripts := shell_scripts():
        commands.append(["shellcheck", *scripts])
    status = 0
    for name, *words in commands:
        done = run([programs / name, *words], check=False, cwd=ROOT)
        if done.returncode:
            status = 1
            sys.stderr.write(f"{done.stdout}{done.stderr}boothash: make lint: {name} failed\n")
    return status
