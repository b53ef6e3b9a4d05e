# SPDX-License-Identifier: GPL-2.0
"""Draw the curves of a crowd."""

from matplotlib import pyplot

from bench.lib.pictures import drawing

# Kernel -> what it is called, colour, line.
SHOWN = {"base": ("6.12", "tab:red", "o-"), "ours": ("this series", "tab:blue", "s--")}


def draw(rows, path):
    names = list(dict.fromkeys(row["table"] for row in rows))
    figure, panels = pyplot.subplots(
        2, (len(names) + 1) // 2, figsize=(12, 6), squeeze=False, sharex=True, sharey=True
    )
    for panel, name in zip(panels.flat, names):
        for row in rows:
            if row["table"] == name:
                curves(panel, row)
        panel.set_title(name)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.minorticks_off()
        panel.grid(lw=0.3)
    for panel in panels[-1]:
        panel.set_xlabel("objects")
    for panel in panels[:, 0]:
        panel.set_ylabel("instructions of the lookups\nof one operation")
    handles, _ = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles[:2],
        [label for label, _, _ in SHOWN.values()],
        loc="upper center",
        ncol=2,
        frameon=False,
    )
    drawing.save(figure, path)


def curves(panel, row):
    """One kind of crowd and of operation on both kernels."""
    for kernel, (label, colour, line) in SHOWN.items():
        points = sorted((int(size), insns) for size, insns in row[kernel].items())
        panel.plot(*zip(*points), line, color=colour, ms=3, lw=0.9, label=label)


if __name__ == "__main__":
    drawing.main(draw)
