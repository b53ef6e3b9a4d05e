# SPDX-License-Identifier: GPL-2.0
"""Configure a kernel from fragments and prove that every line survived."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from common import ROOT, Done, die, step
from series import gitcmd, source

Fragment = Path | str  # a file, or lines of one

SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")
START = re.compile(r"^# base: (\w+)$", re.MULTILINE)
# What kconfig reads, and what it runs to know the compiler.
READ = re.compile(r"(^|/)Kconfig|^scripts/|^Makefile$|^arch/\w+/Makefile|config$")
STARTS = ("tinyconfig", "defconfig", "allnoconfig", "randconfig")


def sources(repo: Path, commit: str) -> str:
    """Digest of the files of a kernel that its configuration depends on."""
    entries = gitcmd.records("ls-tree", "-rz", commit, repo=repo)
    read = [entry for entry in entries if READ.search(entry.partition("\t")[2])]
    return hashlib.sha256("\0".join(read).encode()).hexdigest()


def text_of(fragment: Fragment) -> str:
    """A fragment is a file, or lines of one in a str.

    Lines of NAME.config that only one base has are in NAME-BASE.config.
    """
    if not isinstance(fragment, Path):
        return fragment
    if not fragment.is_file():
        die(f"{fragment}: no such configuration fragment")
    own = fragment.with_stem(f"{fragment.stem}-{source.base_name()}")
    return fragment.read_text() + (own.read_text() if own.is_file() else "")


def name_of(fragment: Fragment) -> str:
    if not isinstance(fragment, Path):
        return "the configuration asked for"
    inside = fragment.is_relative_to(ROOT)
    return str(fragment.relative_to(ROOT) if inside else fragment)


def values(text: str) -> dict[str, str]:
    """{symbol: value}; 'n' for a symbol that is off."""
    found = {}
    for line in text.splitlines():
        if match := SET.match(line):
            found[match[1]] = match[2]
        elif match := UNSET.match(line):
            found[match[1]] = "n"
    return found


def start_target(fragments: Iterable[Fragment]) -> str:
    """The make target to start from: a line `# base: defconfig` asks for it."""
    named = [m for f in fragments for m in START.findall(text_of(f))]
    for name in named:
        if name not in STARTS:
            die(f"`# base: {name}` in a configuration fragment: accepted: {', '.join(STARTS)}")
    return named[-1] if named else STARTS[0]


def configure(
    src: Path,
    obj: Path,
    fragments: Sequence[Fragment],
    optional: Sequence[Fragment],
    make: Callable[..., Done],
    start: str | None = None,
) -> None:
    """Write obj/.config.  `start` is a text to begin with, else tinyconfig."""
    obj.mkdir(parents=True, exist_ok=True)
    log = obj.parent / "config.log"
    with step(f"configure {obj.parent.name} kernel"):
        if start is None:
            make(src, obj, start_target(fragments), log=log)
            start = (obj / ".config").read_text()
        (obj / ".config").write_text(merged([start, *map(text_of, [*optional, *fragments])]))
        make(src, obj, "olddefconfig", log=log)
    check((obj / ".config").read_text(), fragments)


def merged(texts: Iterable[str]) -> str:
    """One line for each symbol, its last: of the options of a choice, the last one holds."""
    result: dict[str, str] = {}
    for text in texts:
        for symbol, value in values(text).items():
            result.pop(symbol, None)
            result[symbol] = value
    return "".join(map(line, result.items()))


def line(option: tuple[str, str]) -> str:
    symbol, value = option
    return f"# {symbol} is not set\n" if value == "n" else f"{symbol}={value}\n"


def check(result: str, fragments: Iterable[Fragment]) -> None:
    """Name the lines that the kernel's configuration did not take."""
    got, wanted = values(result), {}
    for fragment in fragments:
        for symbol, value in values(text_of(fragment)).items():
            wanted[symbol] = (value, name_of(fragment))
    lost = [
        f"{symbol}={value} (from {where})"
        for symbol, (value, where) in wanted.items()
        if got.get(symbol, "n") != value
    ]
    if lost:
        die(
            f"the kernel's configuration lost {', '.join(lost)}: no such "
            f"option, or something that it depends on is off"
        )
