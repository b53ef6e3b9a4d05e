# SPDX-License-Identifier: GPL-2.0
"""The packages of harness/ are layers: each imports only those below it."""

import ast
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "harness"
LAYERS = ("common", "tool", "series", "kernel", "guest", "bench", "report", "check")


def folder(package):
    return SCRIPTS.parent / package if package == "bench" else SCRIPTS / package


def imported(text):
    """Top-level packages that a source text imports, inside functions too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def going_up(package, text):
    """Layers above `package` that its text imports."""
    above = LAYERS[LAYERS.index(package) + 1 :]
    return sorted({name for name in imported(text) if name in above})


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_down(package):
    up = {
        path.name: going_up(package, path.read_text())
        for path in sorted(folder(package).rglob("*.py"))
    }
    assert not {name: found for name, found in up.items() if found}


def test_an_import_that_goes_up_is_seen():
    assert going_up("series", "from kernel import build") == ["kernel"]
    assert going_up("kernel", "def f():\n    import bench.lib.run\n") == ["bench"]
    assert going_up("guest", "import common, series.mail") == []


def test_only_the_entry_stands_outside_a_package():
    assert [path.name for path in SCRIPTS.glob("*.py")] == ["cli.py"]
    folders = {path.parent.name for path in SCRIPTS.glob("*/__init__.py")}
    assert folders == set(LAYERS) - {"bench"}
