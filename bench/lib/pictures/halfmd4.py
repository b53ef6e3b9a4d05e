# SPDX-License-Identifier: GPL-2.0
"""Draw half-MD4 of names."""

from matplotlib import pyplot

from bench.lib.pictures import drawing

# Curve -> what it is called, colour, line.
SHOWN = {
    "base": ("6.12: byte by byte", "tab:red", "o--"),
    "ours": ("this series: word by word", "tab:blue", "o-"),
}
TITLES = {
    "": "half-MD4 of names one after the other",
    "chain_": "each waits for the hash of the last",
    "retpoline_": "with retpolines, one after the other",
    "tea_": "TEA, one after the other",
}


def draw(rows, path):
    columns = drawing.panels_of(rows)
    figure, panels = pyplot.subplots(
        1, len(columns), squeeze=False, sharey=True, figsize=(3.5 * len(columns), 3.8)
    )
    for row in rows:
        label, colour, line = SHOWN[row["curve"]]
        panel = panels[0][columns.index(row["panel"])]
        panel.plot(*zip(*row["points"]), line, color=colour, ms=4, lw=0.9, label=label)
        panel.set_title(TITLES[row["panel"]], fontsize=9)
    for panel in panels.flat:
        panel.set_xscale("log", base=2)
        panel.set_yscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.grid(lw=0.3)
        panel.set_xlabel("bytes of a name")
    panels[0][0].set_ylabel("ns a name")
    panels[0][0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    drawing.save(figure, path)


if __name__ == "__main__":
    drawing.main(draw)
