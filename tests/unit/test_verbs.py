# SPDX-License-Identifier: GPL-2.0
"""make help names every verb, and each verb's script is there."""

import re
import subprocess

from toykernel import ROOT, Toy

MAKEFILE = (ROOT / "Makefile").read_text()
# What help has no line for: two former names, and what serves the others.
HIDDEN = {"help", "python", "refresh", "series"}


def verbs():
    lists = re.findall(r"^([a-z][a-z \\\n-]*):(?!=)", MAKEFILE, re.MULTILINE)
    names = {name for one in lists for name in one.replace("\\", "").split()}
    return names - HIDDEN


def test_make_alone_is_help_and_lists_every_verb():
    said = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT], text=True, capture_output=True, check=True
    ).stdout
    listed = set(re.findall(r"^  make ([a-z-]+)", said, re.MULTILINE))
    assert listed == verbs()


def test_help_names_every_variable():
    exported = re.search(r"^export (KERNEL .*)$", MAKEFILE, re.MULTILINE)[1]
    for name in exported.split():
        assert re.search(rf'echo "  .*\b{name}=', MAKEFILE), name


def test_clean_refuses_to_drop_work(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    toy.commit("mm: work", mm__first_dot_c="work\n")
    done = subprocess.run(
        ["make", "clean"], cwd=toy.repo, text=True, env=toy.environment(), capture_output=True
    )
    assert done.returncode == 2 and "make export" in done.stderr
    assert toy.src.is_dir()


def test_clean_keeps_what_is_slow_to_get(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    for name in ("venv", "ccache", "downloads"):
        (toy.repo / "build" / name).mkdir()
    subprocess.run(
        ["make", "clean"], cwd=toy.repo, env=toy.environment(), capture_output=True, check=True
    )
    assert {p.name for p in (toy.repo / "build").iterdir()} == {"venv", "ccache", "downloads"}


def test_distclean_removes_all(tmp_path):
    toy = Toy(tmp_path)
    toy.good("tree")
    subprocess.run(
        ["make", "distclean"], cwd=toy.repo, env=toy.environment(), capture_output=True, check=True
    )
    assert not (toy.repo / "build").exists()
