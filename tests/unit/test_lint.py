# SPDX-License-Identifier: GPL-2.0
"""make lint: silent when all is well; what each tool finds fails it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from check import lint

ROOT = Path(lint.ROOT)
GOOD = {
    "harness/common/__init__.py": "def one() -> int:\n    return 1\n",
    "tools/hashstats/hashstats_tool/__init__.py": "",
    "bench/__init__.py": "",
    **{f"tests/{folder}/test_one.py": "" for folder in ("bench", "guest", "kernel", "long")},
    "run": "#!/bin/sh\necho one\n",
}
BAD = {
    "harness/unused.py": "import os\n",
    "harness/form.py": "x = {1 :2}\n",
    "harness/common/untyped.py": "def two():\n    return 2\n",
    "tests/long/test_gone.py": "import common\n\nprint(common.two())\n",
    "tools/wrong.sh": '#!/bin/sh\n[ "$1" == one ]\n',
    "NOTES": "It is seperate.\n",  # codespell:ignore
    "unnamed": "#!/usr/bin/env bash\nls $1\n",
}
FOUND = (
    "F401",
    "harness/form.py",
    "no-untyped-def",
    "attr-defined",
    "SC3014",
    "SC2086",
    "==> separate",
)


@pytest.fixture
def status(tmp_path, monkeypatch, capfd):
    """Lint a repository of these files: its status and all it said."""
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    def check(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        for words in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return lint.lint(), "".join(capfd.readouterr())

    return check


def test_each_tool_is_heard(status):
    code, said = status(GOOD | BAD)
    assert code == 1
    assert not [word for word in FOUND if word not in said], said
    assert said.count("boothash: make lint: ") == 5
