# SPDX-License-Identifier: GPL-2.0
"""Draw transfers of cache lines, stacked by object, the base above the series."""

import re

from matplotlib import pyplot

from bench.lib.pictures import drawing

# Objects with a colour of their own: the largest of all bars.
SHOWN = 18
OTHER = "other"
LABEL_MAX = 48


def short(name):
    """Two fields say what a line is."""
    match = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    if match:
        fields = match[2].removesuffix("...").split(", ")
        name = f"{match[1]}{' '.join(fields[:2])}{match[3]}"
    return name if len(name) <= LABEL_MAX else name[: LABEL_MAX - 3] + "..."


def largest(rows):
    most: dict[str, float] = {}
    for row in rows:
        for name, value in row["objects"].items():
            most[short(name)] = most.get(short(name), 0) + value
    return sorted(most, key=lambda name: (-most[name], name))[:SHOWN]


def draw(rows, path):
    names = largest(rows)
    colours = dict(zip(names, pyplot.get_cmap("tab20").colors))
    figure, axes = pyplot.subplots(figsize=(10, 2 + 0.34 * len(rows)))
    labels = set()
    for place, row in enumerate(rows):
        left = 0
        for name, value in pieces(row, names):
            axes.barh(
                -place - 0.35 * (place // 2),
                value,
                left=left,
                color=colours.get(name, "lightgray"),
                label=None if name in labels else name,
                edgecolor="white",
                linewidth=0.4,
            )
            labels.add(name)
            left += value
    places = [-place - 0.35 * (place // 2) for place in range(len(rows))]
    axes.set_yticks(places, [f"{row['operation']}, {row['side']}" for row in rows])
    axes.grid(axis="x", lw=0.3)
    axes.set_axisbelow(True)
    axes.set_xlabel("cache lines fetched from another CPU, for each operation (16 CPUs)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=7)
    drawing.save(figure, path, bbox_inches="tight")


def pieces(row, names):
    """(object, transfers): the objects with a colour first, what is left last."""
    found: dict[str, float] = {}
    for name, value in row["objects"].items():
        found[short(name)] = found.get(short(name), 0) + value
    shown = [(name, found[name]) for name in names if name in found]
    left = row["transfers"] - sum(value for _, value in shown)
    return [*shown, *([(OTHER, left)] if left > 0 else [])]


if __name__ == "__main__":
    drawing.main(draw)
