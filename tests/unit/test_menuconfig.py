# SPDX-License-Identifier: GPL-2.0
"""What make menuconfig keeps, and what uses it."""

import subprocess

import pytest

from common import ROOT
from kernel import build, menu
from series import worktree

BEFORE = "CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=4\n# CONFIG_D is not set\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(menu, "ROOT", tmp_path)
    monkeypatch.setattr(build, "OWN", tmp_path / "guest.config")
    return build.OWN


def test_difference_is_what_was_changed():
    after = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=y\nCONFIG_E=y\n"
    assert menu.difference(BEFORE, after).splitlines() == [
        "# CONFIG_B is not set",
        "CONFIG_D=y",
        "CONFIG_E=y",
        "# CONFIG_C is not set",
    ]
    assert menu.difference(BEFORE, BEFORE + "# CONFIG_E is not set\n") == ""


def test_no_difference_keeps_no_file(own, capsys):
    menu.keep(BEFORE, BEFORE.replace("C=4", "C=5"))
    assert own.read_text().endswith("back.\nCONFIG_C=5\n")
    menu.keep(BEFORE, BEFORE)
    assert not own.exists()
    assert "no option differs" in capsys.readouterr().out


def test_kept_options_come_last_and_are_announced(own, monkeypatch, capsys):
    built = []
    monkeypatch.setattr(worktree, "tree", lambda: "commit")
    monkeypatch.setattr(build.disk, "require", lambda *words: None)
    monkeypatch.setattr(build, "build", lambda *words, **more: built.append((words[1], more)))
    build.guest()
    own.write_text("CONFIG_C=5\n")
    build.guest()
    build.patched()
    plain = (build.GUEST, {"optional": ()})
    assert built == [plain, ((own,), {"optional": build.GUEST}), plain]
    assert capsys.readouterr().out == "  guest.config changes 1 options; remove it to go back\n"


def test_without_a_terminal_it_is_one_line():
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, "menuconfig"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("boothash: make menuconfig: needs a terminal; ")
