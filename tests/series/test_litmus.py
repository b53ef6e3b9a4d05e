# SPDX-License-Identifier: GPL-2.0
"""Litmus tests: what herd7 finds, and that a wrong test is noticed."""

import pytest

from check import litmus
from common import Failure

RIGHT = "wake_up_var"
TWIN = "wake_up_var+no-mb"


@pytest.fixture(scope="module")
def command(visibly):
    """The words that start herd7; without it, the tests are skipped."""
    try:
        with visibly():
            return litmus.herd()
    except Failure as why:
        pytest.skip(f"no litmus test ran: {why}")


@pytest.fixture
def pair(tmp_path):
    """A right test and its twin, in a folder in which they can be changed."""
    for name in RIGHT, TWIN:
        text = (litmus.TESTS / f"{name}.litmus").read_text()
        (tmp_path / f"{name}.litmus").write_text(text)
    return tmp_path


def change(folder, name, old, new):
    path = folder / f"{name}.litmus"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_every_litmus_test_has_its_result(command):
    assert litmus.check(command, litmus.TESTS) == []


@pytest.mark.parametrize(
    "name,old,new,said",
    [
        (RIGHT, "\tsmp_mb();\n", "", "expected Never, herd7 says Sometimes"),
        (TWIN, "(0:r0=0", "(0:r0=5", "expected Sometimes, herd7 says Never"),
        (TWIN, "WRITE_ONCE(*var, 1)", "*var = 1", "herd7 found data-race"),
        (TWIN, "P1(", "P1", "herd7 ended with status"),
    ],
)
def test_wrong_test_is_noticed(command, pair, name, old, new, said):
    change(pair, name, old, new)
    (line,) = litmus.results(command, litmus.tests(pair))
    assert line.startswith(f"{name}: {said}")


@pytest.mark.parametrize(
    "name,old,new,said",
    [
        (RIGHT, "Result: Never", "Result: never", "found ['never']"),
        (TWIN, "Result: Sometimes", "Result: Never", f"must be Sometimes, as the twin of {RIGHT}"),
        (TWIN, "1:r1=0", "1:r1=1", f"the 'exists' clause differs from that of {RIGHT}"),
        (TWIN, f"C {TWIN}", f"C {RIGHT}", f"the first line must be 'C {TWIN}'"),
    ],
)
def test_wrong_form_is_noticed(pair, name, old, new, said):
    change(pair, name, old, new)
    (line,) = litmus.form(litmus.tests(pair))
    assert line.startswith(f"{name}: ")
    assert said in line


def test_each_right_test_has_a_twin(pair):
    (pair / f"{TWIN}.litmus").rename(pair / "other+twin.litmus")
    change(pair, "other+twin", f"C {TWIN}", "C other+twin")
    assert litmus.form(litmus.tests(pair)) == [
        "other+twin: there is no other.litmus of which it is the broken twin",
        f"{RIGHT}: has no broken twin {RIGHT}+*.litmus",
    ]
