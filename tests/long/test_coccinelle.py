# SPDX-License-Identifier: GPL-2.0
"""The kernel's semantic patches find nothing in the new files of the series.

Sparse reads the same files in tests/kernel/test_patches.py.  Debian has no smatch.
"""

import re

import pytest

from common import run
from common.packages import ensure_packages
from series import compose

pytestmark = pytest.mark.long


def reports(tree, files):
    """What `make coccicheck MODE=report` says of some files."""
    ensure_packages("coccinelle")
    found = []
    for rule in sorted((tree / "scripts/coccinelle").rglob("*.cocci")):
        text = rule.read_text()
        # Two rules are in OCaml, and need its compiler.
        if re.search(r"^virtual .*\breport\b", text, re.MULTILINE) and "script:ocaml" not in text:
            options = re.search(r"^// Options:(.*)", text, re.MULTILINE)
            words = ["spatch", "--very-quiet", "--no-show-diff", "-D", "report"]
            words += ["--cocci-file", rule]
            includes = ["-I", tree / "include", *(options[1].split() if options else ())]
            found += run([*words, *includes, *files], cwd=tree).stdout.splitlines()
    return found


def test_our_files_have_no_reports(tree):
    names = [name for patch in compose.patches() for name in patch.brings]
    files = [name for name in names if name.endswith(".c") and not name.startswith("tools/")]
    assert files
    assert reports(tree, files) == []
