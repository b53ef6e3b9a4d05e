# SPDX-License-Identifier: GPL-2.0
"""What is stored of long tests, and its rows."""

import re

from report import proof

X, Y = "tests/kernel/test_a.py::test_one[x]", "tests/kernel/test_a.py::test_one[y]"


def test_a_run_replaces_only_its_own_tests(tmp_path, monkeypatch):
    monkeypatch.setenv("BASE", "6.12")
    path = tmp_path / "tests.json"
    proof.store({X: ("passed", 60.0), Y: ("failed", 30.0)}, "0123456789abcdef", path)
    assert re.fullmatch(r"6.12  kernel/test_a.py  1 passed, 1 failed  [\d-]+", *proof.rows(path))
    proof.store({Y: ("passed", 90.0)}, "0123456789abcdef", path)
    assert proof.rows(path)[0].startswith("6.12  kernel/test_a.py  2 passed  ")
