# SPDX-License-Identifier: GPL-2.0
"""Draw the picture of a benchmark: python3 -m bench.lib.drawing FILE, JSON on stdin.

{"panels": {title: {curve: [[x, y], ...]}}} are curves, drawn in `columns`; the axes
are named by `x` and `y`, and `logarithms` has the base of each axis, 0 for a linear one.
{"bars": [[label, {part: value}], ...]} are stacked bars.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
# SVG with text as text and without random names: equal data, equal file.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "boothash"

from matplotlib import pyplot  # noqa: E402, after the choice of Agg

LINES = ("o-", "s--", "^-", "D--", "v-", "x--", "*-", "+--", "h-", "p--", ".-")
PARTS = 18  # with a colour of their own, the largest
OTHER = "other"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("expected one argument, the file to write, and JSON on stdin")
    picture = json.load(sys.stdin)
    figure = bars(picture) if "bars" in picture else panels(picture)
    path = Path(sys.argv[1])
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")


def panels(picture: dict[str, Any]) -> Any:
    columns = picture["columns"]
    rows = math.ceil(len(picture["panels"]) / columns)
    figure, places = pyplot.subplots(
        rows, columns, squeeze=False, figsize=(3.8 * columns, 3.2 * rows + 0.8)
    )
    styles: dict[str, int] = {}
    for axes, (title, curves) in zip(places.flat, picture["panels"].items()):
        for name, points in curves.items():
            style = styles.setdefault(name, len(styles))
            axes.plot(
                *zip(*points), LINES[style % len(LINES)], color=f"C{style % 10}", ms=4, label=name
            )
        for base, scale in zip(picture["logarithms"], (axes.set_xscale, axes.set_yscale)):
            if base:
                scale("log", base=base)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(lw=0.3)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel(picture["x"], fontsize=8)
        axes.set_ylabel(picture["y"], fontsize=8)
    handles = {
        label: handle
        for axes in places.flat
        for handle, label in zip(*axes.get_legend_handles_labels())
    }
    figure.tight_layout()
    figure.legend(
        handles.values(), handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncol=4, fontsize=8
    )
    return figure


def bars(picture: dict[str, Any]) -> Any:
    sums: dict[str, float] = {}
    for _, parts in picture["bars"]:
        for name, value in parts.items():
            sums[name] = sums.get(name, 0) + value
    shown = sorted(sums, key=lambda name: (-sums[name], name))[:PARTS]
    colours = dict(zip(shown, pyplot.get_cmap("tab20").colors))
    figure, axes = pyplot.subplots(figsize=(10, 2 + 0.34 * len(picture["bars"])))
    labels = set()
    for place, (_, parts) in enumerate(picture["bars"]):
        left = 0.0
        rest = sum(value for name, value in parts.items() if name not in shown)
        for name in (*(name for name in shown if name in parts), OTHER):
            value = parts.get(name, rest)
            label = None if name in labels else name
            axes.barh(-place, value, left=left, color=colours.get(name, "lightgray"), label=label)
            labels.add(name)
            left += value
    axes.set_yticks(range(0, -len(picture["bars"]), -1), [label for label, _ in picture["bars"]])
    axes.grid(axis="x", lw=0.3)
    axes.set_xlabel(picture["x"])
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=7)
    return figure


if __name__ == "__main__":
    main()
