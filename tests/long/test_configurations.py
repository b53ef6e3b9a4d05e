# SPDX-License-Identifier: GPL-2.0
"""The series in unusual configurations, compiled by clang, and in random ones.

What the series touches is compiled.  SEED= chooses the random configurations.
"""

import re

import pytest

import touched
from kernel import build, variants
from kernel.configurations import CONFIGURATIONS, random_objects, seeds
from series import compose

pytestmark = pytest.mark.long

# Where a warning stands may differ between the series and the base.
PLACE = re.compile(r":\d+(:\d+)?(?=:)|\+0x[0-9a-f]+")


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_touched_objects_build_without_a_warning(name, tree):
    one = CONFIGURATIONS[name]
    config = one.objects("olddefconfig").config
    objects = touched.of_series(compose.compose(), config)
    assert len(objects) > 50
    assert not one.objects(*objects).warnings


def warnings(one):
    return {PLACE.sub("", line) for line in one.warnings}


def test_seeds_give_different_configurations(tree):
    first, second = (random_objects(seed, "olddefconfig").config for seed in seeds()[:2])
    assert first.read_text() != second.read_text()


@pytest.mark.parametrize("seed", seeds())
def test_random_configuration_adds_no_warning(seed, tree):
    config = random_objects(seed, "olddefconfig").config
    objects = touched.of_series(compose.compose(), config)
    assert objects
    found = warnings(random_objects(seed, *objects))
    if found:
        base = variants.base_commit()
        assert found <= warnings(
            build.build(
                f"random-{seed}-base",
                (),
                base,
                optional=(config,),
                targets=touched.existing(objects, base),
                tree="base",
            )
        )
