# SPDX-License-Identifier: GPL-2.0
"""make zipapp: hashstats as one file that any Python 3.9 or newer runs."""

import zipfile

from common import BUILD
from tool.install import TOOL

PATH = BUILD / "hashstats.pyz"
START = b"#!/usr/bin/env python3\n"
MAIN = """\
import sys

from hashstats_tool.cli import main

sys.exit(main(sys.argv[1:]))
"""
# No file of it depends on when it was made.
DATE = (1980, 1, 1, 0, 0, 0)


def zipapp() -> None:
    """Write the program, its samples and its manual."""
    names = ["hashstats.1", *("hashstats_tool/schema.json", "samples/README")]
    names += [str(path.relative_to(TOOL)) for path in (TOOL / "samples").glob("*.hashstats")]
    names += [str(path.relative_to(TOOL)) for path in (TOOL / "hashstats_tool").rglob("*.py")]
    BUILD.mkdir(exist_ok=True)
    with PATH.open("wb") as file:
        file.write(START)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("__main__.py", DATE), MAIN)
            for name in sorted(names):
                info = zipfile.ZipInfo(name, DATE)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, (TOOL / name).read_bytes())
    PATH.chmod(0o755)
    print(f"  hashstats in one file: {PATH}")
