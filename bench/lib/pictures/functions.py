# SPDX-License-Identifier: GPL-2.0
"""Draw the paper's situations."""

import math

from matplotlib import pyplot

from bench.lib.pictures import drawing

# Function -> what it is called, colour, mark.
SHOWN = {
    "original": ("Linux 2.2", "tab:red", "s"),
    "mult": ("multiplicative, CITI TR 00-1", "tab:green", "^"),
    "mult-11": ("multiplicative, CITI TR 00-1", "tab:green", "^"),
    "pair": ("hash_pair()", "tab:blue", "o"),
}

LINEAR = 64  # longer chains are shown on a log scale
TICKS = (0, 4, 8, 12, 16, 32, 64, 128, 256, 512, 1024)


def poisson(mean, length):
    return math.exp(length * math.log(mean) - mean - math.lgamma(length + 1))


def scale_lengths(axes, most):
    axes.set_xlim(-0.5, 1.05 * most)
    if most <= LINEAR:
        return
    axes.set_xscale("symlog", linthresh=16)
    ticks = [tick for tick in TICKS if tick <= 1.05 * most]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


def draw_panel(axes, panel):
    mean = panel["number"] / panel["buckets"]
    most = max(length for chains in panel["series"].values() for length, _ in chains)
    axes.plot(
        range(most + 1),
        [panel["buckets"] * poisson(mean, length) for length in range(most + 1)],
        color="black",
        lw=1,
        label="chance (Poisson)",
    )
    for function, chains in panel["series"].items():
        label, colour, mark = SHOWN[function]
        axes.plot(*zip(*chains), mark, ms=4, color=colour, label=label, alpha=0.8)
    axes.set_yscale("log")
    axes.set_ylim(0.7, 8 * panel["buckets"])
    scale_lengths(axes, most)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(lw=0.3)
    axes.set_xlabel(
        f"{panel['objects']} in a bucket" + (", log scale from 16 on" if most > LINEAR else "")
    )
    axes.set_ylabel("buckets (log scale)")
    axes.set_title(
        f"{panel['title']}: {panel['number']:,} in {panel['buckets']:,} buckets", fontsize=10
    )
    axes.legend(fontsize=8)


def draw(panels, path):
    figure, places = pyplot.subplots(2, 2, figsize=(11, 8))
    for axes, panel in zip(places.flat, panels):
        draw_panel(axes, panel)
    figure.suptitle("How full the buckets are: situations of CITI TR 00-1, rebuilt")
    figure.tight_layout()
    drawing.save(figure, path)


if __name__ == "__main__":
    drawing.main(draw)
