# SPDX-License-Identifier: GPL-2.0
"""The result of a benchmark: one form for all, kept in build/bench-BASE/."""

import hashlib
import json
import os
import platform
import re
import shlex
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.lib.benchmark import Benchmark
from common import BUILD, ROOT, Failure, die, run
from common.packages import ensure_packages
from guest import limits
from guest.accelerator import QEMU
from kernel import build
from series import source, worktree

# Of each base by itself.
FOLDER = BUILD / f"bench-{source.base_name()}"


class Kept:
    """What a benchmark found, to be read."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def runs(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        """The runs of a kind that have these values."""
        return [
            run
            for run in self.data["runs"]
            if run["kind"] == kind and all(run[name] == value for name, value in wanted.items())
        ]


class Result(Kept):
    """Collects what a benchmark finds; save() writes it."""

    def __init__(self, name: str, size: str, benchmark: Benchmark) -> None:
        self.name, self.benchmark = name, benchmark
        self.start = time.monotonic() - sum(build.COMPILING)
        super().__init__(
            {
                "benchmark": name,
                "size": size,
                "base": source.base_name(),
                "date": now(),
                "machine": machine(),
                "kernels": {},
                "commands": {},
                "runs": [],
                "figures": {},
            }
        )

    def machine(self, **values: Any) -> None:
        self.data["machine"].update(values)

    def kernel(self, kernel: build.Build) -> None:
        self.data["kernels"][kernel.flavour] = {
            "version": version(kernel),
            "commit": worktree.head(kernel.src),
            "config_sha256": digest(kernel.config),
            "vmlinux_sha256": digest(kernel.vmlinux),
        }

    def command(self, name: str, words: Iterable[Any]) -> None:
        """The command of one kind of run; paths are relative to the repository."""
        line = shlex.join(map(str, words)).replace(f"{ROOT}/", "")
        # A temporary folder is gone after the run.
        line = re.sub(rf"{tempfile.gettempdir()}/\w+/", "", line)
        self.data["commands"].setdefault(name, line)

    def run(self, kind: str, **values: Any) -> None:
        self.data["runs"].append({"kind": kind, **values})

    def figure(
        self,
        name: str,
        value: float,
        mainline: float | None = None,
        series: float | None = None,
        control: float | None = None,
    ) -> None:
        """Note a figure: its value, and what the value was computed from.

        control is the ratio of mainline to itself in the same run.
        """
        of = {"value": value, "mainline": mainline, "series": series, "control": control}
        self.data["figures"][name] = {
            "unit": self.benchmark.figure(name).unit,
            **{key: round(one, 6) for key, one in of.items() if one is not None},
        }

    def compare(
        self, name: str, mainline: float, series: float, again: float | None = None
    ) -> None:
        """Note the ratio of the series to mainline; `again` is mainline once more."""
        control = None if again is None else again / mainline
        self.figure(name, series / mainline, mainline, series, control)

    def value(self, name: str) -> float:
        """A figure that is there already."""
        return float(self.data["figures"][name]["value"])

    def save(self) -> Path:
        """Write NAME.json, and a copy that no later run overwrites.

        The copy is in a folder of this machine, so that the results of
        several machines can be collected.
        """
        check(self.data)
        self.data["seconds"] = round(time.monotonic() - sum(build.COMPILING) - self.start, 1)
        text = as_text(self.data)
        copies = FOLDER / machine_name(self.data["machine"])
        copies.mkdir(parents=True, exist_ok=True)
        stamp = re.sub(r"[-:]", "", self.data["date"])
        with open(copies / f"{self.name}-{stamp}.json", "x") as copy:
            copy.write(text)
        last = FOLDER / f"{self.name}.json"
        part = last.with_suffix(".new")
        part.write_text(text)
        part.replace(last)
        return last


def as_text(data: dict[str, Any]) -> str:
    """JSON with a line for each run, and for each entry of the other parts."""
    parts = []
    for name, value in data.items():
        text = json.dumps(value)
        if value and isinstance(value, list):
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        elif value and isinstance(value, dict):
            entries = [json.dumps({key: one})[1:-1] for key, one in value.items()]
            text = "{\n  " + ",\n  ".join(entries) + "\n }"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def machine_name(of: dict[str, Any]) -> str:
    """A word for a machine: its processor, their number, and its memory.

    The family is in it, since a hypervisor may use one name for several
    generations of a processor.
    """
    cpu = re.sub(r"\((R|TM)\)|@.*|\bCPU\b", " ", of["cpu"], flags=re.I)
    cpu += f" {of.get('cpu_family', '')}"
    words = re.sub(r"[^a-z0-9.]+", "-", cpu.lower()).strip("-.")
    return f"{words}-{of['cores']}-{round(of['memory_bytes'] / 2**30)}g"


def kept(name: str, folder: Path | None = None, size: str | None = None) -> list[dict[str, Any]]:
    """The results of a benchmark in a folder of one machine, oldest first."""
    folder = folder or FOLDER / machine_name(machine())
    found = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{name}-*.json"))]
    # Results of older versions have no size.
    return [
        one
        for one in found
        if one["benchmark"] == name and "size" in one and size in (None, one["size"])
    ]


def newest(name: str, folder: Path | None = None, size: str | None = None) -> dict[str, Any] | None:
    found = kept(name, folder, size)
    return found[-1] if found else None


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def machine() -> dict[str, Any]:
    info = Path("/proc/cpuinfo").read_text()
    model, *family = (
        re.search(rf"^{name}\s*: (.*)", info, re.M)
        for name in ("model name", "cpu family", "model")
    )
    return {
        "cpu": model[1] if model else platform.machine(),
        "cpu_family": ".".join(one[1] for one in family if one),
        "cores": os.cpu_count(),
        "memory_bytes": limits.host_memory(),
        "linux": platform.release().partition("-")[0],
        "load_average": os.getloadavg()[0],
        "qemu": run([QEMU, "--version"]).stdout.split("\n")[0],
    }


def version(kernel: build.Build) -> str:
    path = kernel.obj / "include/config/kernel.release"
    return path.read_text().strip()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(data: dict[str, Any]) -> None:
    """Refuse a result without what its readers need."""
    for name in ("machine", "kernels", "commands", "runs", "figures"):
        if not data.get(name):
            die(f"the result of the benchmark lacks {name}")
    for name, figure in data["figures"].items():
        value = figure["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            die(f"figure {name} is {value!r}, not a number")


def table(rows: Iterable[Sequence[Any]], head: Sequence[Any]) -> None:
    """Print rows in columns, aligned to the right except the first."""
    lines = [[shown(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def figure_table(figures: dict[str, dict[str, Any]]) -> None:
    """All figures of a run; columns that no figure fills are left out."""
    names = ["mainline", "series", "value", "control", "unit"]
    names = [name for name in names if any(name in figure for figure in figures.values())]
    rows = [(name, *map(figure.get, names)) for name, figure in figures.items()]
    table(rows, ("figure", *names))


def draw(name: str, **picture: Any) -> None:
    """Draw a picture (drawing.py).  A failure is reported and does not end the benchmark."""
    path = FOLDER / f"{name}.svg"
    try:
        ensure_packages("picture")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Debian's matplotlib is a module of Debian's Python only.
        words = ["/usr/bin/python3", "-m", "bench.lib.drawing", path]
        run(words, cwd=ROOT, input=json.dumps(picture), what="drawing")
    except Failure as failure:
        print(f"  no picture: {failure}")
        return
    print(f"  picture: {os.path.relpath(path, ROOT)}")
