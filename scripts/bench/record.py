# SPDX-License-Identifier: GPL-2.0
"""The result of a benchmark: one form for all, kept in build/bench/."""

import hashlib
import json
import os
import platform
import re
import shlex
import tempfile
import time
from pathlib import Path

from common import BUILD, ROOT, Failure, die, run
from common.packages import ensure_packages
from guest import limits
from guest.accelerator import QEMU
from kernel import build
from series import worktree

FOLDER = BUILD / "bench"


class Kept:
    """What a benchmark found, to be read."""

    def __init__(self, data):
        self.data = data

    def runs(self, kind):
        return [run for run in self.data["runs"] if run["kind"] == kind]


class Result(Kept):
    """Collects what a benchmark finds; save() writes it."""

    def __init__(self, name, size):
        self.name = name
        self.start = time.monotonic() - sum(build.COMPILING)
        super().__init__(
            {
                "benchmark": name,
                "size": size,
                "date": now(),
                "machine": machine(),
                "kernels": {},
                "commands": {},
                "runs": [],
                "figures": {},
            }
        )

    def machine(self, **values):
        self.data["machine"].update(values)

    def kernel(self, kernel):
        self.data["kernels"][kernel.flavour] = {
            "version": version(kernel),
            "commit": worktree.head(kernel.src),
            "config_sha256": digest(kernel.config),
            "vmlinux_sha256": digest(kernel.vmlinux),
        }

    def command(self, name, words):
        """The QEMU command of one kind of run, from the root of all this."""
        line = shlex.join(map(str, words)).replace(f"{ROOT}/", "")
        # Folders that are gone after it.
        line = re.sub(rf"{tempfile.gettempdir()}/\w+/", "", line)
        self.data["commands"].setdefault(name, line)

    def run(self, kind, **values):
        self.data["runs"].append({"kind": kind, **values})

    def figure(self, name, value):
        self.data["figures"][name] = round(value, 6)

    def save(self):
        """Write NAME.json, and a copy that no later run overwrites.

        The copy is in a folder of this machine, so that the results of
        several can be put together.
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


def as_text(data):
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


def machine_name(of):
    """A word for a machine: its processor, how many, and its memory.

    Hypervisors give one name to several generations of a processor.
    """
    cpu = re.sub(r"\((R|TM)\)|@.*|\bCPU\b", " ", of["cpu"], flags=re.I)
    cpu += f" {of.get('cpu_family', '')}"
    words = re.sub(r"[^a-z0-9.]+", "-", cpu.lower()).strip("-.")
    return f"{words}-{of['cores']}-{round(of['memory_bytes'] / 2**30)}g"


def kept(name, folder=None, size=None):
    """The results of a benchmark in a folder of one machine, oldest first."""
    folder = folder or FOLDER / machine_name(machine())
    found = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{name}-*.json"))]
    # Those of an older version name no size.
    return [
        one
        for one in found
        if one["benchmark"] == name and "size" in one and size in (None, one["size"])
    ]


def newest(name, folder=None, size=None):
    return (kept(name, folder, size) or [None])[-1]


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def machine():
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


def version(kernel):
    path = kernel.obj / "include/config/kernel.release"
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
        first, *rest = [
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths))
        ]
        print("  " + "  ".join([first, *rest]).rstrip())


def draw(name, pictures, rows):
    """A picture is an extra: without it there are still the tables."""
    try:
        ensure_packages("picture")
        for picture in pictures:
            picture.parent.mkdir(parents=True, exist_ok=True)
            # Debian's, which knows Debian's matplotlib.
            run(
                ["/usr/bin/python3", "-m", f"bench.pictures.{name}", picture],
                cwd=ROOT / "scripts",
                input=json.dumps(rows),
                what="drawing",
            )
    except Failure as failure:
        print(f"  no picture: {failure}")
        return
    names = ", ".join(str(picture.relative_to(ROOT)) for picture in pictures)
    print(f"\n  picture: {names}")
