# SPDX-License-Identifier: GPL-2.0
"""Draw the curves of a crowd: crowd_picture.py FILE, rows as JSON on stdin."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
# Text that can be read and diffed, the same each time.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "boothash"
from matplotlib import pyplot  # noqa: E402  pylint: disable=wrong-import-position

COLOURS = {"base": "tab:red", "ours": "tab:blue"}
LABELS = {"base": "6.12", "ours": "this series"}
MARKS = "os^vDx+*"


def draw(rows, path):
    names = list(dict.fromkeys(row["table"] for row in rows))
    figure, panels = pyplot.subplots(2, (len(names) + 1) // 2,
                                     figsize=(14, 6.5), squeeze=False)
    for panel, name in zip(panels.flat, names):
        mine = [row for row in rows if row["table"] == name]
        for row, mark in zip(mine, MARKS):
            for kernel, colour in COLOURS.items():
                points = sorted((int(size), insns)
                                for size, insns in row[kernel].items())
                panel.plot(*zip(*points), mark + "-", color=colour, ms=4,
                           lw=0.9, label=f"{LABELS[kernel]}: {row['crowd']}, "
                           f"{row['operation']}")
        panel.set_title(name)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(bottom=10)
        panel.grid(which="major", lw=0.3)
        panel.legend(fontsize=5)
        panel.set_xlabel("objects")
    for panel in panels[:, 0]:
        panel.set_ylabel("instructions of the look-ups\nof one operation")
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Date": None}
                   if path.endswith(".svg") else None)


if __name__ == "__main__":
    draw(json.load(sys.stdin), sys.argv[1])
