# SPDX-License-Identifier: GPL-2.0
"""The packages of the harness are layers: each knows only those below it.

The tool knows none of them.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Package: the folders that only it and those above it may name.
LAYERS = {
    "common": ["harness/common"],
    "tool": ["harness/tool"],
    "series": ["harness/series"],
    "kernel": ["harness/kernel"],
    "guest": ["harness/guest"],
    "bench": ["bench"],
    "report": ["harness/report", "results"],
    "check": ["harness/check"],
}
TOOL = "tools/hashstats"
# The start files, which know the folder of what they start.
ENTRIES = ("harness/cli.py", f"{TOOL}/hashstats")
# It builds kernels of user-mode Linux from folders of bench/, as its callers name them.
NAMES_BENCH = "guest/uml.py"


def files(package):
    return [path for name in LAYERS[package] for path in sorted((ROOT / name).rglob("*.py"))]


def above(package):
    return list(LAYERS)[list(LAYERS).index(package) + 1 :]


def imported(text):
    """Packages that a source text imports, inside functions too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def paths(text):
    """Strings that name a place from the root: "a/b/..." or ROOT / "a" / "b"."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "/" in node.value:
            yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            words = ast.unparse(node).split(" / ")
            yield "/".join(word.strip("'\"") for word in words[1:])


def going_up(package, text):
    """What a text of a package imports or names of the layers above it."""
    found = {name for name in imported(text) if name in above(package)}
    for layer in above(package):
        places = "|".join(map(re.escape, LAYERS[layer]))
        found |= {path for path in paths(text) if re.fullmatch(rf"({places})(/\S*)?", path)}
    return sorted(found)


def changes_path(text):
    return re.search(r"\bsys\.path\.(append|insert|extend)\b|\bsys\.path\s*[+=]", text)


@pytest.mark.parametrize("package", LAYERS)
def test_a_layer_knows_those_below_it(package):
    up = {
        f"{package}/{path.name}": going_up(package, path.read_text())
        for path in files(package)
        if f"{package}/{path.name}" != NAMES_BENCH
    }
    assert not {name: found for name, found in up.items() if found}


def test_the_tool_imports_nothing_of_the_harness():
    for path in (ROOT / TOOL).glob("hashstats_tool/**/*.py"):
        assert not set(imported(path.read_text())) & LAYERS.keys(), path


def test_the_harness_runs_the_tool_and_does_not_import_it():
    for path in (path for package in LAYERS for path in files(package)):
        assert "hashstats_tool" not in imported(path.read_text()), path


def test_only_start_files_change_where_python_looks():
    sources = [path for folder in ("harness", "bench", TOOL) for path in (ROOT / folder).rglob("*")]
    changed = {
        str(path.relative_to(ROOT))
        for path in sources
        if path.is_file()
        and (path.suffix == ".py" or path.name == "hashstats")
        and "tests" not in path.parts
        and changes_path(path.read_text())
    }
    assert changed <= set(ENTRIES)


def test_what_goes_up_is_seen():
    assert going_up("series", "from kernel import build") == ["kernel"]
    assert going_up("kernel", "def f():\n    import bench.run\n") == ["bench"]
    assert going_up("kernel", 'PATCHES = ROOT / "bench/patches"') == ["bench/patches"]
    assert going_up("guest", 'CHECK = ROOT / "harness" / "check"') == ["harness/check"]
    assert going_up("guest", "import common, series.mail\nname = 'bench'") == []
    assert changes_path("import sys\nsys.path.append('x')\n")


def test_only_the_entry_stands_outside_a_package():
    assert [path.name for path in (ROOT / "harness").glob("*.py")] == ["cli.py"]
    folders = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert folders <= LAYERS.keys()
