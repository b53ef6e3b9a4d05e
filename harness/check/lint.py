# SPDX-License-Identifier: GPL-2.0
"""make lint: what can be said of the scripts without running them."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import ROOT, Done, run
from common.packages import ensure_venv
from series import gitcmd

NO_PROSE = re.compile(r"^(results|tools/hashstats/tests/samples)/|\.(patch|svg|xz)$")
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


def commands() -> list[list[str]]:
    """Each tool and its words; a tool that would have no file is left out."""
    result = [
        ["ruff", "check", "--quiet"],
        ["ruff", "format", "--check", "--quiet"],
        ["mypy", "--no-error-summary"],
    ]
    if texts := prose():
        result.append(["codespell", *texts])
    if scripts := shell_scripts():
        result.append(["shellcheck", *scripts])
    return result


def lint() -> int:
    """1 if a tool finds something, after all of them have said what."""
    programs = ensure_venv() / "bin"

    def call(words: list[str]) -> Done:
        name, *rest = words
        return run([programs / name, *rest], check=False, cwd=ROOT)

    status = 0
    tools = commands()
    with ThreadPoolExecutor() as at_once:
        for (name, *_), done in zip(tools, at_once.map(call, tools)):
            if done.returncode:
                status = 1
                sys.stderr.write(f"{done.stdout}{done.stderr}boothash: make lint: {name} failed\n")
    return status
