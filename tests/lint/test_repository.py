# SPDX-License-Identifier: GPL-2.0
"""make lint on this repository: the first test of all."""

from check import lint


def test_lint_is_silent(capfd):
    status = lint.lint()
    said = "".join(capfd.readouterr())
    assert (status, said) == (0, ""), said
