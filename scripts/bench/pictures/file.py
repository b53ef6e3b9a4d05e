# SPDX-License-Identifier: GPL-2.0
"""How every picture of a benchmark is drawn and written."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
# A drawing that can be mailed: text as text, the same each time.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "boothash"


def save(figure, path, **options):
    """By the name's ending: PNG, or SVG without a date or trailing blanks."""
    path = Path(path)
    if path.suffix != ".svg":
        figure.savefig(path, dpi=110, **options)
        return
    figure.savefig(path, metadata={"Date": None}, **options)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
