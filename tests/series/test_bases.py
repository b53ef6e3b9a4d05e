# SPDX-License-Identifier: GPL-2.0
"""The series on every base: all patches in order, and each topic on what it needs."""

import pytest

import otherbase
from series import topics


@pytest.mark.parametrize("base", topics.bases())
def test_patches_apply(base):
    """All in order, and those of a topic to what it needs."""
    said = otherbase.make("check-series", base)
    assert f"{len(topics.of_base(base))} patches and " in said
