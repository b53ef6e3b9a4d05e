# SPDX-License-Identifier: GPL-2.0
"""What the series touches builds in unusual configurations, without a warning."""

import pytest

import touched
from kernel.configurations import CONFIGURATIONS
from series import compose

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_touched_objects_build_without_a_warning(name, tree):
    one = CONFIGURATIONS[name]
    config = one.objects("olddefconfig").config
    objects = touched.of_series(compose.compose(), config)
    assert len(objects) > 50
    assert not one.objects(*objects).warnings
