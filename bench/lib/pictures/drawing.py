# SPDX-License-Identifier: GPL-2.0
"""What the pictures of benchmarks share; import it before pyplot is used."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
# SVG with text as text and without random names: equal data, equal file.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "boothash"


def main(draw: Callable[[Any, Path], None]) -> None:
    """python3 -m bench.lib.pictures.NAME FILE, with the data as JSON on stdin."""
    if len(sys.argv) != 2:
        sys.exit("expected one argument, the file to write, and JSON on stdin")
    draw(json.load(sys.stdin), Path(sys.argv[1]))


def panels_of(rows: list[dict[str, Any]]) -> list[str]:
    """The panels that the rows name, in their order."""
    return list(dict.fromkeys(row["panel"] for row in rows))


def save(figure: Any, path: Path, **options: Any) -> None:
    """Write PNG, or SVG without a date or trailing blanks, by the suffix."""
    if path.suffix != ".svg":
        figure.savefig(path, dpi=110, **options)
        return
    figure.savefig(path, metadata={"Date": None}, **options)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
