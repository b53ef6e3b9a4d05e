# SPDX-License-Identifier: GPL-2.0
"""Draw the indices of pages.

The first row, but for its last panel, is Figures 1 to 3 of "Examining Linux
2.6 Page-Cache Performance" (2005) on today's code.
"""

from matplotlib import pyplot, ticker

from bench.lib.pictures import drawing

# Curve -> what it is called, colour, line.
SHOWN = {
    "xarray base": ("XArray of 6.12", "tab:red", "o--"),
    "xarray ours": ("XArray of this series", "tab:blue", "o-"),
    "xarray_4": ("XArray, 16 slots a node", "tab:cyan", "v-"),
    "xarray_7": ("XArray, 128 slots", "tab:cyan", "^-"),
    "xarray_8": ("XArray, 256 slots", "tab:cyan", "s-"),
    "extendible": ("extendible hash", "tab:green", "D-"),
    "threaded_rbtree": ("threaded red-black tree", "tab:brown", "x-"),
    "treap": ("treap", "tab:orange", "+-"),
    "chained": ("hash chains, golden ratio", "tab:purple", "*-"),
    "rhashtable": ("rhashtable", "tab:pink", "h-"),
    "base": ("filemap_get_entry() of 6.12", "tab:red", "o--"),
    "ours": ("of this series", "tab:blue", "o-"),
    "page_hash": ("with the page hash", "black", "*-"),
}


def draw(rows, path):
    columns = drawing.panels_of(rows)
    orders = list(dict.fromkeys(row["order"] for row in rows))
    figure, panels = pyplot.subplots(
        len(orders),
        len(columns),
        figsize=(4 * len(columns), 3 * len(orders) + 1),
        squeeze=False,
        sharex="col",
    )
    for row in rows:
        label, colour, line = SHOWN.get(row["curve"], (row["curve"], "tab:pink", "p-"))
        panel = panels[orders.index(row["order"])][columns.index(row["panel"])]
        panel.plot(
            *zip(*((2**bits, ns) for bits, ns in row["points"])),
            line,
            color=colour,
            ms=4,
            lw=0.9,
            label=label,
        )
        panel.set_title(f"{row['order']}: {row['panel']}", fontsize=9)
    for panel in panels.flat:
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_minor_locator(ticker.NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
        panel.grid(lw=0.3)
    for panel in panels[-1]:
        panel.set_xlabel("pages")
    for panel in panels[:, 0]:
        panel.set_ylabel("ns an operation")
    legends(figure, panels)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    drawing.save(figure, path)


def legends(figure, panels):
    """One for the structures, one for the files, which are other curves."""
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", ncol=5, frameon=False, fontsize=8)
    handles, labels = panels[0][-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncol=1, frameon=False, fontsize=8)


if __name__ == "__main__":
    drawing.main(draw)
