# SPDX-License-Identifier: GPL-2.0
"""Each patch builds on other architectures: what it touches, without a warning."""

import re

import pytest

from common.packages import ensure_packages
from kernel import build, kconfig
from series import compose, gitcmd, source

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


def wanted(file, commit, config):
    """Whether the configuration has the option that the folder's Makefile names for it."""
    folder, _, name = file.rpartition("/")
    # A folder without one is served by that above it.
    show = gitcmd.git("show", f"{commit}:{folder}/Makefile", repo=source.base_repo(), check=False)
    makefile = show.stdout
    options = re.findall(
        rf"^[\w-]+-\$\((CONFIG_\w+)\).*\b{re.escape(name)}", makefile, re.MULTILINE
    )
    return all(config.get(option, "n") != "n" for option in options)


@pytest.mark.parametrize("number", range(len(PATCHES)), ids=[one.name[:-6] for one in PATCHES])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_objects_of_patch_build_without_a_warning(name, number, kernel):
    """Options that an architecture lacks are left out."""
    if name == "arm64":
        ensure_packages("arm64")
    patch, commit = PATCHES[number], compose.commits(compose.compose())[number]
    touched = {
        file[:-2] + ".o" for file in {*patch.changes(), *patch.brings} if file.endswith(".c")
    }
    common = {"optional": CONFIGS, "flags": ARCHITECTURES[name]}
    config = build.build(name, (), commit, targets=["prepare"], **common).config
    options = kconfig.values(config.read_text())
    targets = sorted(
        file for file in touched if (kernel.obj / file).exists() and wanted(file, commit, options)
    )
    if targets:
        assert not build.build(name, (), commit, targets=targets, **common).warnings
