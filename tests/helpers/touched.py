# SPDX-License-Identifier: GPL-2.0
"""Objects of patches that are compiled by themselves."""

import re

from kernel import build, kconfig
from series import gitcmd, source

CONFIG = (*build.BASE_GUEST, build.CONFIGS / "objects.config")
# What objects.config adds to the kernel of a guest.
ADDED = ("fs/gfs2/", "net/sunrpc/", "security/")


def objects(names, kernel):
    """Of the files that patches touch, the objects that the kernel or CONFIG has."""
    found = {name[:-2] + ".o" for name in names if name.endswith(".c")}
    return {name for name in found if name.startswith(ADDED) or (kernel.obj / name).exists()}


def wanted(names, commit, config):
    """Of these objects, those for which a configuration has the options of their Makefile."""
    options = kconfig.values(config.read_text())
    return {name for name in names if all(options.get(o, "n") != "n" for o in needs(name, commit))}


def needs(name, commit):
    """The options that the folder's Makefile names for an object."""
    folder, _, file = name.rpartition("/")
    # A folder without one is served by that above it.
    show = gitcmd.git("show", f"{commit}:{folder}/Makefile", repo=source.base_repo(), check=False)
    line = rf"^[\w-]+-\$\((CONFIG_\w+)\).*\b{re.escape(file)}"
    return re.findall(line, show.stdout, re.MULTILINE)
