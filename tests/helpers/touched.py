# SPDX-License-Identifier: GPL-2.0
"""Objects of patches that are compiled by themselves."""

from kernel import build

CONFIG = (*build.BASE_GUEST, build.CONFIGS / "objects.config")
# What objects.config adds to the kernel of a guest.
ADDED = ("fs/gfs2/", "net/sunrpc/", "security/")


def objects(names, kernel):
    """Of the files that patches touch, the objects that the kernel or CONFIG has."""
    found = {name[:-2] + ".o" for name in names if name.endswith(".c")}
    return {name for name in found if name.startswith(ADDED) or (kernel.obj / name).exists()}
