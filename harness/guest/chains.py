# SPDX-License-Identifier: GPL-2.0
"""Hash tables of a stopped guest, read by gdb from outside."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from common import die
from guest import vm
from kernel.build import Build

SCRIPT = Path(__file__).parent / "gdb_tables.py"
SECONDS = 600
WORDS = (
    *("gdb", "-nx", "-batch", "-ex", "set tcp connect-timeout 60"),
    *("-ex", "target remote gdb.sock", "-x", str(SCRIPT), "-ex", "detach"),
)


def lengths(
    guest: vm.Guest, kernel: Build, tables: Mapping[str, int | str]
) -> dict[str, dict[int, int]]:
    """{symbol: {chain length: buckets}} of a guest started with gdb=True.

    `tables` has the number of buckets of each symbol, or the symbol of its shift.
    """
    result = guest.folder / "lengths.json"
    asked = {"map": str(kernel.obj / "System.map"), "tables": tables, "result": result.name}
    # The path of a socket must be short, so gdb starts in its folder.
    done = subprocess.run(
        WORDS,
        cwd=guest.folder,
        env=os.environ | {"CHAINS": json.dumps(asked)},
        stdin=subprocess.DEVNULL,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
    )
    if not result.is_file():
        die(f"gdb did not read {', '.join(tables)}: {done.stdout.strip()}")
    found = json.loads(result.read_text())
    result.unlink()
    return {
        symbol: {int(length): buckets for length, buckets in of.items()}
        for symbol, of in found.items()
    }
