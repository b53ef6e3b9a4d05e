# SPDX-License-Identifier: GPL-2.0
"""The order of the tests: what is cheap comes before a kernel is built."""

from types import SimpleNamespace

import conftest
import pytest


def item(path, fixtures=(), **marks):
    """A test as pytest collects it, as far as its stage depends on it."""
    marks = {name: SimpleNamespace(args=args) for name, args in marks.items()}
    return SimpleNamespace(
        path=conftest.TESTS / path, fixturenames=fixtures, get_closest_marker=marks.get
    )


UNIT = item("unit/test_layers.py")
HOST = item("bench/test_bench_herd.py", ["result"])
GUEST = item("guest/test_guest.py", ["kernel"])
PATCH = item("kernel/test_patches.py", ["base_objects"], stage=["patches"])
KERNEL = item("kernel/test_churn.py", ["kernel"])
BENCH = item("bench/test_bench_herd.py", ["kernel", "tmp_path"])
LONG = item("kernel/test_churn.py", ["kernel"], long=[])


def test_cheapest_come_first():
    order = [UNIT, HOST, GUEST, PATCH, KERNEL, BENCH, LONG]
    items = order[::-1]
    conftest.pytest_collection_modifyitems(items)
    assert items == order


def test_every_folder_is_a_stage():
    folders = {
        path.relative_to(conftest.TESTS).parts[0] for path in conftest.TESTS.rglob("test_*.py")
    }
    assert folders <= set(conftest.STAGES)


@pytest.mark.parametrize("fixture", ["tree", "tmp_path"])
def test_without_a_kernel_a_guest_folder_is_cheap(fixture):
    assert conftest.stage(item("kernel/test_xarray.py", [fixture])) == "host"


def test_workers_take_whole_files_but_for_stages():
    one, two = "tests/bench/one.py", "tests/bench/two.py"
    scopes = conftest.scopes([f"{one}::a", f"{one}::b[x::y]", f"{two}::a", f"{one}::c"])
    first, second, third, fourth = scopes.values()
    assert first == second and len({first, third, fourth}) == 3
