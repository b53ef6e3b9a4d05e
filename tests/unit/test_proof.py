# SPDX-License-Identifier: GPL-2.0
"""The page of long tests: what ran last, and what never ran."""

import json

import pytest

from report import proof
from series import topics

NAMES = {"6.12": ["tests/kernel/test_a.py::test_one[x]", "tests/kernel/test_a.py::test_one[y]"]}
COMMIT = "0123456789abcdef"
X, Y = NAMES["6.12"]


@pytest.fixture(name="path")
def stored_file(tmp_path, monkeypatch):
    monkeypatch.setenv("BASE", "6.12")
    return tmp_path / "tests.json"


def rows(path):
    text = proof.page(proof.read(path), NAMES)
    return [line.split() for line in text.splitlines() if line.startswith("kernel/")]


def test_page_is_written_from_what_is_stored():
    names = {base: proof.long_tests(base) for base in reversed(topics.bases())}
    assert all(names.values())
    assert proof.PAGE.read_text() == proof.page(proof.read(), names)


def test_what_never_ran_is_listed(path):
    assert rows(path) == [["kernel/test_a.py", "test_one", *"0002", "-", "-", "-"]]


def test_a_run_replaces_only_its_own_tests(path):
    proof.store({X: ("passed", 60.0), Y: ("failed", 30.0)}, COMMIT, path)
    proof.store({Y: ("passed", 90.0)}, COMMIT, path)
    date = json.loads(path.read_text())["6.12"][X]["date"]
    assert rows(path) == [
        ["kernel/test_a.py", "test_one", "2", "0", "0", "0", "2.5", date, "0123456789ab"]
    ]


def test_failure_and_what_did_not_run_are_counted_apart(path):
    proof.store({X: ("failed", 60.0)}, COMMIT, path)
    assert rows(path)[0][2:6] == ["0", "1", "0", "1"]


def test_cases_are_summed(path):
    proof.store({X: ("failed", 60.0)}, COMMIT, path)
    text = proof.page(proof.read(path), NAMES)
    assert "Of 2 cases, 1 have run: 0 passed, 1 failed, 0 skipped." in text


def test_cases_that_did_not_run_are_named(path):
    assert "Not run" not in proof.page(proof.read(path), NAMES)
    proof.store({X: ("passed", 60.0)}, COMMIT, path)
    assert "- Not run, kernel/test_a.py test_one: y.\n" in proof.page(proof.read(path), NAMES)
