# SPDX-License-Identifier: GPL-2.0
"""The result of a benchmark: one form for all, kept in build/bench/."""

import hashlib
import json
import os
import platform
import re
import shlex
import time
from pathlib import Path

import limits
import worktree
from accelerator import QEMU
from common import BUILD, ROOT, Failure, die, run
from setup import ensure_packages

FOLDER = BUILD / "bench"


class Result:
    """Collects what a benchmark found; save() writes it."""

    def __init__(self, name, quick):
        self.name = name
        self.data = {"benchmark": name, "quick": quick, "date": now(),
                     "machine": machine(), "kernels": {}, "commands": {},
                     "runs": [], "figures": {}}

    def machine(self, **values):
        self.data["machine"].update(values)

    def kernel(self, build):
        self.data["kernels"][build.flavour] = {
            "version": version(build), "commit": worktree.head(build.src),
            "config_sha256": digest(build.config),
            "vmlinux_sha256": digest(build.vmlinux)}

    def command(self, name, words):
        """The QEMU command of one kind of run."""
        self.data["commands"].setdefault(name, shlex.join(map(str, words)))

    def run(self, kind, **values):
        self.data["runs"].append({"kind": kind, **values})

    def runs(self, kind):
        return [run for run in self.data["runs"] if run["kind"] == kind]

    def figure(self, name, value):
        self.data["figures"][name] = round(value, 6)

    def save(self):
        """Write NAME.json, and a dated copy that no later run overwrites."""
        check(self.data)
        text = json.dumps(self.data, indent=1) + "\n"
        FOLDER.mkdir(parents=True, exist_ok=True)
        newest = FOLDER / f"{self.name}.json"
        stamp = re.sub(r"[-:]", "", self.data["date"])
        with open(FOLDER / f"{self.name}-{stamp}.json", "x") as copy:
            copy.write(text)
        part = newest.with_suffix(".new")
        part.write_text(text)
        part.replace(newest)
        return newest


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def machine():
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)", info, re.M)
    return {"cpu": model[1] if model else platform.machine(),
            "cores": os.cpu_count(), "memory_bytes": limits.host_memory(),
            "linux": platform.release(), "load_average": os.getloadavg()[0],
            "qemu": run([QEMU, "--version"]).stdout.split("\n")[0]}


def version(build):
    path = build.obj / "include/config/kernel.release"
    return path.read_text().strip()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(data):
    """What whoever reads a result relies on."""
    for name in ("machine", "kernels", "commands", "runs", "figures"):
        if not data.get(name):
            die(f"the result of the benchmark lacks {name}")
    for name, value in data["figures"].items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            die(f"figure {name} is {value!r}, not a number")


def table(rows, head):
    """Print rows in columns, numbers to the right."""
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        first, *rest = [cell.ljust(width) if n == 0 else cell.rjust(width)
                        for n, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "  ".join([first, *rest]).rstrip())


def draw(script, pictures, rows):
    """A picture is an extra: without it there are still the tables."""
    try:
        ensure_packages("picture")
        for picture in pictures:
            picture.parent.mkdir(parents=True, exist_ok=True)
            # Debian's, which knows Debian's matplotlib.
            run(["/usr/bin/python3", ROOT / "scripts" / script, picture],
                input=json.dumps(rows), what="drawing")
    except Failure as failure:
        print(f"  no picture: {failure}")
        return
    names = ", ".join(str(picture.relative_to(ROOT)) for picture in pictures)
    print(f"\n  picture: {names}")
