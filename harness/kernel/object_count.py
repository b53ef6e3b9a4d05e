# SPDX-License-Identifier: GPL-2.0
"""About how many objects a configuration compiles, read from the kernel's Makefiles.

Kbuild cannot tell before it has built. Conditionals and variables are not
evaluated, so the number is some percent off.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

# A list of objects or folders: obj-y, lib-$(CONFIG_X), and NAME-objs or NAME-y of NAME.o.
LIST = re.compile(r"^\s*([\w.-]+)-(y|m|objs|\$\(CONFIG_\w+\))\s*[:+]?=\s*(.*)$")
WHERE_KBUILD_STARTS = ("", "arch/x86")
# Programs that the build runs, and the part that unpacks the kernel.
TOOLS = 170
KINDS = ("obj", "lib", "libs", "core", "drivers", "subdir")


def estimate(src: Path, config: dict[str, str]) -> int:
    """Objects of a tree on x86, with the values of its configuration."""
    seen: set[Path] = set()
    objects = sum(of_folder(src / name, src, config, seen) for name in WHERE_KBUILD_STARTS)
    # Each module has one that says what it is.
    modules = sum(value == "m" for value in config.values())
    return objects + modules + TOOLS


def of_folder(folder: Path, src: Path, config: dict[str, str], seen: set[Path]) -> int:
    if folder in seen:
        return 0
    seen.add(folder)
    wanted: list[str] = []
    parts: dict[str, list[str]] = defaultdict(list)
    for name, words in lists(folder, config):
        (wanted if name in KINDS else parts[name]).extend(words)
    inside = sum(
        of_folder(src / word if (src / word).is_dir() else folder / word, src, config, seen)
        for word in wanted
        if word.endswith("/")
    )
    return inside + len(with_parts(wanted, parts))


def lists(folder: Path, config: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    for file in ("Kbuild", "Makefile"):
        path = folder / file
        if not path.is_file():
            continue
        for line in path.read_text(errors="replace").replace("\\\n", " ").splitlines():
            match = LIST.match(line.partition("#")[0])
            if not match:
                continue
            name, when, words = match.groups()
            if when[0] != "$" or config.get(when[2:-1], "n") in ("y", "m"):
                yield name, words.split()


def with_parts(wanted: list[str], parts: dict[str, list[str]]) -> set[str]:
    """Objects, and those that they are linked from."""
    found: set[str] = set()
    left = [word for word in wanted if word.endswith(".o")]
    while left:
        word = left.pop()
        if word not in found:
            found.add(word)
            left += [one for one in parts[word[:-2]] if one.endswith(".o")]
    return found
