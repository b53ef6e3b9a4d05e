# SPDX-License-Identifier: GPL-2.0
"""Draw the spread study."""

from matplotlib import pyplot

from bench.lib.pictures import drawing

# Function -> what it is called, colour, mark, place above the line.
SHOWN = {
    "mainline": ("6.12, fs/inode.c", "tab:red", "s", 0.25),
    "fold": ("fold_hash() of fs/namei.c", "tab:gray", "^", 0.0),
    "pair": ("hash_pair()", "tab:blue", "o", -0.25),
}


def draw(rows, path):
    names = list(dict.fromkeys(row["pattern"] for row in rows))
    height = 2 + 0.28 * len(names)
    figure, axes = pyplot.subplots(figsize=(9, height))
    for function, (label, colour, mark, above) in SHOWN.items():
        mine = [row for row in rows if row["function"] == function]
        places = [len(names) - names.index(row["pattern"]) + above for row in mine]
        axes.hlines(
            places, [row["median"] for row in mine], [row["worst"] for row in mine], color=colour
        )
        axes.plot(
            [row["median"] for row in mine],
            places,
            mark,
            ms=4,
            color=colour,
            label=f"{label}: median",
        )
        axes.plot(
            [row["worst"] for row in mine], places, "|", ms=8, color=colour, label=f"{label}: worst"
        )
    axes.axvline(1, color="black", lw=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(names), 0, -1), names)
    axes.set_ylim(0.4, len(names) + 0.6)
    axes.grid(axis="x", which="both", lw=0.3)
    axes.set_xlabel("nodes of a successful lookup / those of a random function (ratio, log scale)")
    axes.set_ylabel("keys that are hashed with the super block's address")
    axes.set_title("Spread over the inode table, all super blocks and sizes")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1 + 0.5 / height), ncol=3, fontsize=8)
    drawing.save(figure, path, bbox_inches="tight")


if __name__ == "__main__":
    drawing.main(draw)
