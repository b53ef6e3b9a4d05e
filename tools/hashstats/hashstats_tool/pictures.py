# SPDX-License-Identifier: GPL-2.0
"""Pictures, with matplotlib; all else works without it."""

import io
import os

from . import spread
from .errors import Complaint
from .tables import SIZES

COLOURS = ("#3b6fb6", "#d9822b", "#4a9b5f", "#8a5fae", "#a0522d", "#5f8f9f")
CHANCE = "#b2182b"
ACROSS = 2  # panels side by side
PANEL = (6.4, 3.8)  # inches
DPI = 120
SEEN = 0.5  # expected buckets that are worth a mark
FEWEST = 6  # rows of a histogram, or bars look like walls


def needed():
    """Says so before any work when matplotlib is missing."""
    try:
        import matplotlib.figure
    except ImportError:
        raise Complaint(
            "--png needs matplotlib; expected: apt-get install python3-matplotlib"
        ) from None
    return matplotlib.figure.Figure


def panels(count):
    """A figure, and its axes in the order of reading."""
    figure_class = needed()
    across = min(count, ACROSS)
    down = -(-count // across)
    figure = figure_class(figsize=(PANEL[0] * across, PANEL[1] * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).flatten()
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, axes


def plain(text):
    """A name as it is; matplotlib takes dollars for formulas."""
    return text.replace("$", r"\$")


def save(figure, path):
    """As PNG, or as SVG if its name ends so."""
    import matplotlib

    from . import outputs

    stream = io.BytesIO()
    if path.endswith(".svg"):
        # Text as text, and the same file for the same figures.
        matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "hashstats"}
        figure.savefig(stream, format="svg", metadata={"Date": None})
        picture = stream.getvalue().replace(b" \n", b"\n")
    else:
        figure.savefig(stream, format="png", dpi=DPI)
        picture = stream.getvalue()
    with outputs.create(path) as file:
        file.write(picture)


def histograms(shown, path, log=False):
    """A panel a table; copies of one table are bars side by side.

    shown	pairs of the file and the judged table, all with a histogram
    """
    groups: dict[str, list] = {}
    for file, one in shown:
        groups.setdefault(one.title, []).append((file, one))
    figure, axes = panels(len(groups))
    for axis, (title, copies) in zip(axes, groups.items()):
        histogram(axis, title, copies, log)
    save(figure, path)


def histogram(axis, title, copies, log):
    rows = max(rows_of(one) for _, one in copies)
    width = 0.8 / len(copies)
    for number, (file, one) in enumerate(copies):
        table = one.table
        colour = COLOURS[number % len(COLOURS)]
        places = [size - 0.4 + width * (number + 0.5) for size in range(rows)]
        label = said(one)
        if len(copies) > 1:
            label = f"{one.verdict} in {plain(os.path.basename(file))}: {label}"
        axis.bar(
            places, [row.buckets for row in table.rows[:rows]], width, color=colour, label=label
        )
        chance = [
            (place, count)
            for place, count in zip(places, spread.poisson(table.buckets, table.objects))
            if count >= SEEN
        ]
        axis.hlines(
            [count for _, count in chance],
            [place - width / 2 for place, _ in chance],
            [place + width / 2 for place, _ in chance],
            color=CHANCE,
            linewidth=2,
            label="by chance (Poisson)" if number == len(copies) - 1 else None,
        )
    only = f": {copies[0][1].verdict}" if len(copies) == 1 else ""
    axis.set_title(plain(title) + only)
    axis.set_xticks(range(rows), SIZES[:rows])
    axis.set_xlabel("objects in a bucket")
    axis.set_ylabel("buckets")
    if log:
        axis.set_yscale("symlog", linthresh=1)
        axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
    # Below, where no bar is behind it.
    axis.legend(loc="upper left", bbox_to_anchor=(0, -0.2), fontsize="small", edgecolor="none")


def rows_of(judged):
    """Rows up to the last that is there or would be."""
    table = judged.table
    chance = spread.poisson(table.buckets, table.objects)
    last = max(size for size, row in enumerate(table.rows) if row.buckets or chance[size] >= SEEN)
    return max(last + 1, FEWEST)


def said(judged):
    table = judged.table
    text = f"{table.objects} objects, {table.buckets} buckets"
    if judged.nodes is not None and judged.ideal is not None:
        text += f"\n{judged.nodes:.2f} nodes a lookup, {judged.ideal:.2f} by chance"
    return text


def heat_maps(maps, path):
    """A panel a table: chain length against time, objects as colour.

    maps	pairs of the title and the Heat
    """
    figure, axes = panels(len(maps))
    for axis, (title, heat) in zip(axes, maps):
        heat_map(figure, axis, title, heat)
    save(figure, path)


def heat_map(figure, axis, title, heat):
    from matplotlib.colors import LogNorm

    most = max(max(sample) for sample in heat.cells)
    rows = max(
        (size for sample in heat.cells for size, count in enumerate(sample, 1) if count), default=1
    )
    # Edges of the cells: a sample stands for the time until the next one.
    starts = [second - heat.seconds[0] for second in heat.seconds]
    step = starts[-1] - starts[-2] if len(starts) > 1 else 1
    edges = [*starts, starts[-1] + step]
    cells = [[sample[size] or float("nan") for sample in heat.cells] for size in range(rows)]
    mesh = axis.pcolormesh(
        edges,
        [size + 0.5 for size in range(rows + 1)],
        cells,
        norm=LogNorm(1, max(most, 2)),
        cmap="viridis",
    )
    axis.set_title(plain(title))
    axis.set_yticks(range(1, rows + 1), SIZES[1 : rows + 1])
    axis.set_xlabel("seconds")
    axis.set_ylabel("objects in a bucket")
    figure.colorbar(mesh, ax=axis, label="objects in such buckets")
