# SPDX-License-Identifier: GPL-2.0
"""What the series touches builds for other architectures, without a warning.

These stand for what x86-64 has not: 32 bits, a weak order of memory, big-endian
bytes.  tests/long/test_architectures.py boots their kernels.
"""

import pytest

import touched
from kernel.architectures import FOREIGN
from series import compose

pytestmark = pytest.mark.stage("kernel")

# Without the rest of the kernel, there is nothing to link or to boot.
NAMES = ("i386", "arm64", "s390x")


@pytest.mark.parametrize("name", NAMES)
def test_touched_objects_build_without_a_warning(name, tree):
    made = FOREIGN[name].objects("olddefconfig")
    objects = touched.of_series(compose.compose(), made.config)
    assert len(objects) > 50
    assert not FOREIGN[name].objects(*objects).warnings
