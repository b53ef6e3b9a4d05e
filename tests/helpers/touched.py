# SPDX-License-Identifier: GPL-2.0
"""Objects of patches that are compiled by themselves."""

import functools
import os
import re

from kernel import build, kconfig
from series import compose, gitcmd, source

CONFIG = (*build.BASE_GUEST, build.CONFIGS / "test/objects.config")
# What objects.config adds to the kernel of a guest.
ADDED = ("fs/gfs2/", "net/sunrpc/", "security/")


def objects(names, kernel):
    """Of the files that patches touch, the objects that the kernel or CONFIG has."""
    found = {name[:-2] + ".o" for name in names if name.endswith(".c")}
    return {name for name in found if name.startswith(ADDED) or (kernel.obj / name).exists()}


def of_series(commit, config):
    """The objects that patches touch and for which a configuration has the options."""
    files = {name for patch in compose.patches() for name in (*patch.changes(), *patch.brings)}
    names = {f"{name[:-2]}.o" for name in files if name.endswith(".c")}
    return sorted(wanted({name for name in names if alone(name, commit)}, commit, config))


def wanted(names, commit, config):
    """Of these objects, those for which a configuration has the options of their Makefiles."""
    options = kconfig.values(config.read_text())
    return {name for name in names if all(options.get(o, "n") != "n" for o in needs(name, commit))}


def alone(name, commit):
    """A Makefile names the object; other files are included by one that has an object."""
    word, text = next(makefiles(name, commit))
    return re.search(word, text)


# An object in a block of its Makefile: ifeq ($(CONFIG_POSIX_TIMERS),y).
IN_A_BLOCK = {"kernel/time/posix-timers.o": {"CONFIG_POSIX_TIMERS"}}


def needs(name, commit):
    """The options that Makefiles name for an object, for what it is linked into or for a folder."""
    found = IN_A_BLOCK.get(name, set())
    for word, text in makefiles(name, commit):
        # obj-$(CONFIG_X) += name.o, or whole-objs += name.o where whole.o has the option.
        line = rf"^([\w-]+)-(?:y|objs|\$\((CONFIG_\w+)\))\s*[:+]?=.*{word}"
        for whole, option in re.findall(line, text, re.MULTILINE):
            found = found | {option} - {""}
            if whole not in ("obj", "lib"):
                found = found | needs(f"{os.path.dirname(name)}/{whole}.o", commit)
    return found


def makefiles(name, commit):
    """Each Makefile from the object up, behind what stands there for the object or its folder."""
    *folders, word = name.split("/")
    while True:
        if text := makefile("/".join(folders), commit):
            yield rf"[\s/]{re.escape(word)}(?=\s|$)", text
            word = ""
        if not folders:
            return
        # A folder without a Makefile is served by that above it.
        word = f"{folders.pop()}/{word}"


@functools.cache
def makefile(folder, commit):
    path = f"{folder}/Makefile" if folder else "Kbuild"
    shown = gitcmd.git("show", f"{commit}:{path}", repo=source.base_repo(), check=False)
    return joined(shown.stdout)


def joined(text):
    """A Makefile's text with each line whole."""
    return text.replace("\\\n", " ")


def existing(names, src):
    """Of these objects, those whose source is in a work tree."""
    return [name for name in names if (src / f"{name[:-2]}.c").is_file()]
