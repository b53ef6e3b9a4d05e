# SPDX-License-Identifier: GPL-2.0
"""Each patch builds on other architectures: what it touches, without a warning."""

import pytest

from common.packages import ensure_packages
from kernel import build
from series import compose

pytestmark = pytest.mark.long

PATCHES = compose.patches()
CONFIGS = (*build.BASE_GUEST, build.CONFIGS / "boothash.config")
# {name: words for make}; each stands for what it has not: 64 bits, a strict
# order of memory, a real machine.
ARCHITECTURES = {
    "i386": ("ARCH=i386",),
    "arm64": (
        "ARCH=arm64",
        "CROSS_COMPILE=aarch64-linux-gnu-",
        "CC=ccache aarch64-linux-gnu-gcc",
    ),
    "um": ("ARCH=um", "SUBARCH=x86_64"),
}


@pytest.mark.parametrize("number", range(len(PATCHES)), ids=[one.name[:-6] for one in PATCHES])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_objects_of_patch_build_without_a_warning(name, number, kernel):
    """Options that an architecture lacks are left out."""
    if name == "arm64":
        ensure_packages("arm64")
    patch = PATCHES[number]
    touched = {
        file[:-2] + ".o" for file in {*patch.changes(), *patch.brings} if file.endswith(".c")
    }
    targets = sorted(file for file in touched if (kernel.obj / file).exists())
    built = build.build(
        name,
        (),
        compose.commits(compose.compose())[number],
        optional=CONFIGS,
        flags=ARCHITECTURES[name],
        targets=targets or ["prepare"],
    )
    assert not built.warnings
