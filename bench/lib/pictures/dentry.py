# SPDX-License-Identifier: GPL-2.0
"""Draw sizes of the dentry table."""

from matplotlib import pyplot, ticker

from bench.lib.pictures import drawing

# Curve -> what it is called, colour, line.
SHOWN = {
    "small hit": ("10,000 names alone: found", "tab:blue", "o-"),
    "small miss": ("not found", "tab:blue", "o--"),
    "among hit": ("10,000 among all names: found", "tab:red", "s-"),
    "among miss": ("not found", "tab:red", "s--"),
    "large hit": ("all names: found", "tab:green", "D-"),
    "large miss": ("not found", "tab:green", "D--"),
}
TITLES = {
    "hot": "nothing but lookups",
    "shared": "other memory is read in between",
    "cold": "out of all caches",
}


def draw(rows, path):
    columns = drawing.panels_of(rows)
    figure, panels = pyplot.subplots(
        1, len(columns), squeeze=False, figsize=(4 * len(columns), 4.5)
    )
    for row in rows:
        label, colour, line = SHOWN[row["curve"]]
        panel = panels[0][columns.index(row["panel"])]
        panel.plot(
            *zip(*((size / 1024, ns) for size, ns in row["points"])),
            line,
            color=colour,
            ms=4,
            lw=0.9,
            label=label,
        )
        panel.set_title(TITLES[row["panel"]], fontsize=9)
    for panel in panels.flat:
        panel.axvline(rows[0]["default"] / 1024, color="black", lw=0.8)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.xaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_minor_locator(ticker.NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
        panel.grid(lw=0.3)
        panel.set_xlabel("KiB of the dentry table; the line is the default")
    panels[0][0].set_ylabel("ns a lookup")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=3, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.9))
    drawing.save(figure, path)


if __name__ == "__main__":
    drawing.main(draw)
