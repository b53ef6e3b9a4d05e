# SPDX-License-Identifier: GPL-2.0
"""results/figures.csv: one line for each figure of a benchmark on a base.

`make figures` compares the newest runs in build/ with the stored figures;
with KEEP=1, it stores the figures of these runs.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from common import BUILD, ROOT, Failure, die, flag

STORED = ROOT / "results/figures.csv"
COLUMNS = [
    "benchmark",
    "figure",
    "base",
    "value",
    "unit",
    "mainline",
    "series",
    "control",
    "runs",
    "topics",
    "size",
    "loadavg",
    "date",
    "machine",
    "commit",
]
KEY = ("benchmark", "figure", "base")
NEEDED = (*KEY, "value", "date", "commit")
# Ratios of a rate: above 1 is a gain.
RATES = re.compile(r"throughput|rate_|ops_ratio|readers_ratio|random_read_hash|per_cpu_second")
# The kernel that has the series, by the name of its build.
PATCHED = re.compile(r"patched|ours")

Row = dict[str, str]


def key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def read(path: Path = STORED) -> list[Row]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(rows: Iterable[Row], path: Path = STORED) -> None:
    """Sorted, so that a new run changes few lines."""
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=key))


def text(number: float | None) -> str:
    return "" if number is None else f"{number:.8g}"


def rows_of(run: dict[str, Any], machine: str) -> list[Row]:
    """The rows of a run, as a benchmark leaves it in build/.

    A figure NAME_base is mainline's part of the figure NAME.
    """
    shared = {
        "benchmark": run["benchmark"],
        "base": run.get("base") or base_of(run),
        "runs": str(rounds(run)),
        "topics": run.get("topics", "all"),
        "size": run["size"],
        "loadavg": f"{run['machine']['load_average']:.1f}",
        "date": run.get("date", "")[:10],
        "machine": machine,
        "commit": run.get("commit") or commit_of(run),
    }
    figures = run["figures"]
    rows = []
    for name, found in figures.items():
        if name.removesuffix("_base") in figures.keys() - {name}:
            continue
        more = parts(found)
        if f"{name}_base" in figures:
            more = {
                "mainline": parts(figures[f"{name}_base"])["value"],
                "series": more["value"],
            } | more
        row = dict.fromkeys(COLUMNS, "") | shared | {"figure": name, "unit": more.get("unit", "")}
        row |= {one: text(more.get(one)) for one in ("value", "mainline", "series", "control")}
        check(row)
        rows.append(row)
    return rows


def parts(found: float | dict[str, Any]) -> dict[str, Any]:
    """A figure is a number, or a value with its unit and what it was computed from."""
    return found if isinstance(found, dict) else {"value": found}


def check(row: Row) -> None:
    missing = [name for name in NEEDED if not row[name]]
    if missing:
        die(
            f"bench-{row['benchmark']}, figure {row['figure']}: the run does not say its "
            f"{', '.join(missing)}; not stored"
        )


def base_of(run: dict[str, Any]) -> str:
    """The version of the run's kernels without its last number."""
    found = (one.get("version", "") for one in run["kernels"].values())
    return next((".".join(version.split(".")[:2]) for version in found if version), "")


def commit_of(run: dict[str, Any]) -> str:
    """Of the patched kernel; of a program that needs no kernel, its digest."""
    kernels = run["kernels"]
    found = [one["commit"] for name, one in kernels.items() if PATCHED.search(name)]
    found += [one["sha256"] for one in kernels.values() if "sha256" in one]
    return found[0][:12] if found else ""


def rounds(run: dict[str, Any]) -> int:
    """How often the benchmark repeated what it repeats most."""
    names = ("round", "draw", "repeat")
    return max(1, *(len({one[name] for one in run["runs"] if name in one}) for name in names))


def newest(folder: Path = BUILD) -> dict[tuple[str, ...], Row]:
    """The rows of the newest run of each benchmark and base."""
    found: dict[tuple[str, ...], Row] = {}
    # A copy of each run is in a folder that is named after the machine.
    paths = [*folder.glob("bench/*/*.json"), *folder.glob("bench-*/*/*.json")]
    for path in sorted(paths, key=lambda one: one.stem.rpartition("-")[2]):
        try:
            found |= {
                key(row): row for row in rows_of(json.loads(path.read_text()), path.parent.name)
            }
        except Failure as failure:
            print(f"  {path.relative_to(folder)}: {failure}")
    return found


def ratio(row: Row) -> float | None:
    """The series divided by mainline; above 1 the series takes more."""
    if row["mainline"] and row["series"] and float(row["mainline"]):
        value = float(row["series"]) / float(row["mainline"])
    elif row["unit"] == "ratio" or "ratio" in row["figure"]:
        value = float(row["value"])
    else:
        return None
    return 1 / value if value and RATES.search(row["figure"]) else value


def verdict(new: Row, old: Row) -> str:
    """Gain or loss, if both runs show it by more than mainline differs from itself."""
    ratios, controls = [ratio(new), ratio(old)], [one["control"] for one in (new, old)]
    if None in ratios or not any(controls):
        return "no control"
    noise = max(abs(math.log(float(one))) for one in controls if one)
    if all(one < math.exp(-noise) for one in ratios if one is not None):
        return "gain"
    if all(one > math.exp(noise) for one in ratios if one is not None):
        return "loss"
    return "noise"


def figures() -> None:
    """make figures"""
    new, stored = newest(), {key(row): row for row in read()}
    if not new:
        die("build/ has no run of a benchmark; run `make bench-NAME` first")
    verdicts = {one: verdict(new[one], stored[one]) for one in sorted(new.keys() & stored.keys())}
    print(f"  {'benchmark, figure, base':64} {'stored':>11} {'new':>11}")
    for one, said in verdicts.items():
        if said in ("gain", "loss") or flag("V"):
            before, after = stored[one]["value"], new[one]["value"]
            print(f"  {' '.join(one):64} {before:>11} {after:>11}  {said}")
    for said in ("gain", "loss", "noise", "no control"):
        print(f"  {said}: {list(verdicts.values()).count(said)} figures")
    print(f"  not stored: {len(new.keys() - stored.keys())} figures")
    if flag("KEEP"):
        for one in verdicts:
            new[one]["unit"] = new[one]["unit"] or stored[one]["unit"]
        write((stored | new).values())
        ran = {(benchmark, base) for benchmark, _, base in new}
        stay = sum((one[0], one[2]) in ran for one in stored.keys() - new.keys())
        print(f"\n  {STORED.relative_to(ROOT)}: {len(new)} figures stored")
        if stay:
            print(f"  {stay} figures of older runs of these benchmarks stay: no run has them")
