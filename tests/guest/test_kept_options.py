# SPDX-License-Identifier: GPL-2.0
"""The options that make menuconfig keeps give the configuration that was chosen."""

from common import run
from kernel import build, kconfig, menu


def test_kept_options_give_the_chosen_configuration(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(menu, "ROOT", tmp_path)
    monkeypatch.setattr(build, "OWN", tmp_path / "guest.config")
    obj = tmp_path / "menuconfig/obj"
    before = menu.prepare(obj)
    # What a person does in the menu: a file system goes, another one comes.
    run([tree / "scripts/config", "--file", obj / ".config", "-d", "EXT4_FS", "-e", "XFS_FS"])
    build.make(tree, obj, "olddefconfig")
    chosen = (obj / ".config").read_text()
    menu.keep(before, chosen)
    menu.prepare(obj)
    result = kconfig.values((obj / ".config").read_text())
    assert result == kconfig.values(chosen)
    assert result["CONFIG_XFS_FS"] == "y" and result["CONFIG_EXT4_FS"] == "n"
