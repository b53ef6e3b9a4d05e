# SPDX-License-Identifier: GPL-2.0
"""Pictures, with matplotlib; everything else works without it."""

import io
import os
import warnings

from . import outputs, spread
from .errors import Complaint, quoted
from .tables import LONG, SIZES
from .terminal import elided

# Okabe and Ito's, which colour-blind readers can tell apart; the dark ones first.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
RANDOM = "black"
FORMATS = (".png", ".svg")
ACROSS = 2  # panels side by side
PANEL = (6.4, 3.8)  # inches
DPI = 120
MOST_PANELS = 256  # a picture has fewer than 2^16 rows of pixels
LONGEST_NAME, LONGEST_TITLE = 60, 100  # letters that fit
SEEN = 0.5  # expected buckets that get a mark
FEWEST = 6  # rows of a histogram: bars need not be wider
# Units of time for an axis, from so many seconds on.
UNITS = ((2 * 86400, "days", 86400), (2 * 3600, "hours", 3600), (180, "minutes", 60))


def needed(path):
    """Refuse a path or a missing matplotlib before any work."""
    if not path.lower().endswith(FORMATS):
        raise Complaint(f"--png {quoted(path)}; accepted: a name that ends in .png or .svg")
    outputs.check(path)
    figure_class()


def figure_class():
    try:
        import matplotlib.figure
    except ImportError:
        raise Complaint(
            "--png needs matplotlib; expected: apt-get install python3-matplotlib"
        ) from None
    return matplotlib.figure.Figure


def panels(count):
    """A figure, and its axes in the order of reading."""
    if count > MOST_PANELS:
        raise Complaint(f"{count} tables in a picture; accepted: up to {MOST_PANELS}")
    across = min(count, ACROSS)
    down = -(-count // across)
    figure = figure_class()(figsize=(PANEL[0] * across, PANEL[1] * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).flatten()
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, axes


def plain(text, longest=LONGEST_NAME):
    """A name as text of a picture; matplotlib takes dollars for formulas.

    SVG has no control characters, not even as references.
    """
    if not text.isprintable():
        text = ascii(text)
    return elided(text, longest).replace("$", r"\$")


def save(figure, path):
    """As PNG, or as SVG if its name says so."""
    with warnings.catch_warnings():
        # A letter that the font lacks becomes a box.
        warnings.simplefilter("ignore")
        picture = as_svg(figure) if path.lower().endswith(".svg") else as_png(figure)
    try:
        with outputs.create(path) as file:
            file.write(picture)
    except OSError as error:
        raise outputs.refused(path, error) from None


def as_svg(figure):
    import matplotlib

    stream = io.BytesIO()
    # Text stays text, and the same figures give the same file.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "hashstats"}
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue().replace(b" \n", b"\n")


def as_png(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DPI)
    return stream.getvalue()


def histograms(shown, path, log=False):
    """A panel per table; several copies of one table are bars side by side.

    shown	pairs of the file and the judged table, all with a histogram
    """
    groups: dict[str, list] = {}
    for file, one in shown:
        groups.setdefault(one.name, []).append((file, one))
    figure, axes = panels(len(groups))
    for axis, (name, copies) in zip(axes, groups.items()):
        histogram(axis, name, copies, log)
    save(figure, path)


def histogram(axis, name, copies, log):
    rows = max(rows_of(one) for _, one in copies)
    width = 0.8 / len(copies)
    for number, (file, one) in enumerate(copies):
        table = one.table
        places = [size - 0.4 + width * (number + 0.5) for size in range(rows)]
        label = legend(one)
        if len(copies) > 1:
            label = f"{plain(os.path.basename(file))}, {one.verdict}: {label}"
        axis.bar(
            places,
            [row.buckets for row in table.rows[:rows]],
            width,
            color=COLOURS[number % len(COLOURS)],
            label=label,
        )
        expected = [
            (place, count)
            for place, count in zip(places, spread.poisson(table.buckets, table.objects))
            if count >= SEEN
        ]
        axis.hlines(
            [count for _, count in expected],
            [place - width / 2 for place, _ in expected],
            [place + width / 2 for place, _ in expected],
            color=RANDOM,
            linewidth=2,
            label="buckets with a random function" if number == len(copies) - 1 else None,
        )
    only = f": {copies[0][1].verdict}" if len(copies) == 1 else ""
    axis.set_title(plain(name) + only)
    axis.set_xticks(range(rows), SIZES[:rows])
    axis.set_xlabel("objects in a bucket")
    axis.set_ylabel("buckets, logarithmic" if log else "buckets")
    if log:
        axis.set_yscale("symlog", linthresh=1)
        axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
    # Below, where no bar is behind it.
    axis.legend(loc="upper left", bbox_to_anchor=(0, -0.2), fontsize="small", edgecolor="none")


def rows_of(judged):
    """Rows up to the last that has buckets, or would have some."""
    table = judged.table
    expected = spread.poisson(table.buckets, table.objects)
    last = max(size for size, row in enumerate(table.rows) if row.buckets or expected[size] >= SEEN)
    return max(last + 1, FEWEST)


def legend(judged):
    table = judged.table
    text = f"{table.objects} objects, {table.buckets} buckets"
    if judged.nodes is not None and judged.ideal is not None:
        text += f"\n{judged.nodes:.2f} nodes per lookup ({judged.ideal:.2f} with a random function)"
    return text


def heat_maps(peaks, seen, title, path):
    """A panel per table: chain length against time, objects as colour."""
    figure, axes = panels(len(peaks))
    figure.suptitle(plain(title, LONGEST_TITLE), fontsize="medium")
    for axis, peak in zip(axes, peaks):
        heat_map(figure, axis, f"{peak.name}: {peak.judged.verdict}", peak.heat, seen)
    save(figure, path)


def heat_map(figure, axis, title, heat, seen):
    from matplotlib.colors import LogNorm

    most = max(max(sample) for sample in heat.cells)
    rows = max(
        (size for sample in heat.cells for size, count in enumerate(sample, 1) if count), default=1
    )
    unit, length = unit_of(seen.duration)
    edges, samples, blank = [seen.first], [], [0] * LONG
    for begin, end, sample in [*heat.spans(seen.step), (seen.last, seen.last, None)]:
        # The table was missing.
        if begin > edges[-1]:
            edges.append(begin)
            samples.append(blank)
        if sample:
            edges.append(end)
            samples.append(sample)
    cells = [[sample[size] or float("nan") for sample in samples] for size in range(rows)]
    mesh = axis.pcolormesh(
        [(second - seen.first) / length for second in edges],
        [size + 0.5 for size in range(rows + 1)],
        cells,
        norm=LogNorm(1, max(most, 2)),
        cmap="viridis",
    )
    axis.set_title(plain(title))
    axis.set_yticks(range(1, rows + 1), SIZES[1 : rows + 1])
    axis.set_xlabel(unit)
    axis.set_ylabel("objects in a bucket")
    figure.colorbar(mesh, ax=axis, label="objects in such buckets")


def unit_of(seconds):
    """A unit of time, and how many seconds it has."""
    for least, name, length in UNITS:
        if seconds >= least:
            return name, length
    return "seconds", 1
