# SPDX-License-Identifier: GPL-2.0
"""Where a file is in this repository and where it is in the kernel."""

from pathlib import Path

from common import ROOT, die
from series import gitcmd

# Folders which mean the same in both.
FOLDERS = (
    *("arch", "block", "crypto", "Documentation", "drivers", "fs", "include", "init", "io_uring"),
    *("ipc", "kernel", "lib", "mm", "net", "samples", "security", "sound", "tools", "virt"),
)
# The tests of a tool stay here: no patch brings them.
HERE_ONLY = "tools/hashstats/tests/"
MAINTAINERS = "MAINTAINERS"
MAPPED = {"lib/Kconfig.boothash": "Kconfig", MAINTAINERS: MAINTAINERS}


def in_repository(path: str) -> Path:
    """The file here of a path in the kernel."""
    if path in MAPPED:
        return ROOT / MAPPED[path]
    if path.partition("/")[0] in FOLDERS and "/" in path:
        return ROOT / path
    die(f"{path}: a new file of the kernel must be under one of {' '.join(FOLDERS)}")


def kernel_files() -> set[str]:
    """Kernel paths of every file here that some patch must bring."""
    if (ROOT / ".git").exists():
        listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = gitcmd.records(*listing, "--", *FOLDERS, repo=ROOT)
    else:
        names = [
            str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*")
        ]
    files = {name for name in names if not name.startswith(HERE_ONLY) and (ROOT / name).is_file()}
    return files | {kernel for kernel, here in MAPPED.items() if (ROOT / here).is_file()}
