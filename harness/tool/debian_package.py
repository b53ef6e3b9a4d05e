# SPDX-License-Identifier: GPL-2.0
"""The Debian package boothash-tools: hashstats, its manual, shell completion."""

import gzip
import hashlib
import tempfile
from pathlib import Path

from common import ROOT, run
from tool.install import (
    DOC,
    OWN,
    ZSH_PACKAGE,
    files,
    install_files,
    make_folder,
)

PACKAGE = "boothash-tools"
ANY_PYTHON, DEBIAN_PYTHON = "#!/usr/bin/env python3\n", "#!/usr/bin/python3\n"
CONTROL = """\
Package: {package}
Version: {version}
Architecture: all
Maintainer: {name} <{mail}>
Installed-Size: {kilobytes}
Depends: python3 (>= 3.9)
Suggests: python3-matplotlib, python3-libkdumpfile, prometheus-node-exporter
Section: admin
Priority: optional
Description: show and size hash tables of the running kernel
 hashstats shows the hash tables of the kernel that you run: names, inodes,
 mounts, futexes, page waits, sockets and others. For each table it shows the
 number of buckets and objects, the lengths of the chains, how the distribution
 compares with that of a random function, and a verdict.
 .
 It needs no special kernel: it reads /proc/kcore, and crash dumps too. Kernels
 from 6.1 to 7.3 with BTF and KALLSYMS_ALL will do, as Debian's have. On a kernel
 with the boothash patches it reads /proc/hashstats, which also counts lookups.
 .
 It draws, compares and records the tables, exports them to Prometheus, and
 computes the kernel command line with better sizes for the next boot.
"""
# Modules are compiled where they run, by the Python that is there.
AFTER_INSTALL = f"""\
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
	py3compile -p {PACKAGE} /{Path("usr") / OWN}
fi
"""
BEFORE_REMOVAL = f"""\
#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
	py3clean -p {PACKAGE}
fi
"""


def build(folder: Path, version: str, name: str, mail: str) -> Path:
    """Make the package in a folder; its path is returned."""
    path = folder / f"{PACKAGE}_{version}_all.deb"
    with tempfile.TemporaryDirectory() as temp:
        tree = Path(temp, "tree")
        make_folder(tree)
        install_files(tree / "usr", files(zsh=ZSH_PACKAGE))
        finish(tree)
        content = sorted(p for p in tree.rglob("*") if p.is_file() and not p.is_symlink())
        control(tree, content, version=version, name=name, mail=mail)
        run(["dpkg-deb", "--root-owner-group", "--build", tree, path], what="dpkg-deb")
    return path


def finish(tree: Path) -> None:
    """What Debian wants beside what `make install-tools` has."""
    manual = tree / "usr/share/man/man1/hashstats.1"
    packed = manual.with_name(manual.name + ".gz")
    packed.write_bytes(gzip.compress(manual.read_bytes(), mtime=0))
    manual.unlink()
    # Not the Python that comes first in somebody's PATH: it may lack matplotlib.
    program = tree / "usr" / OWN / "hashstats"
    program.write_text(program.read_text().replace(ANY_PYTHON, DEBIAN_PYTHON, 1))
    (tree / "usr" / DOC / "copyright").write_text((ROOT / "COPYING").read_text())


def control(tree: Path, content: list[Path], **fields: str) -> None:
    folder = tree / "DEBIAN"
    make_folder(folder)
    kilobytes = -(-sum(path.stat().st_size for path in content) // 1024)
    (folder / "control").write_text(CONTROL.format(package=PACKAGE, kilobytes=kilobytes, **fields))
    (folder / "md5sums").write_text(
        "".join(
            f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n"
            for path in content
        )
    )
    for name, text in (("postinst", AFTER_INSTALL), ("prerm", BEFORE_REMOVAL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
