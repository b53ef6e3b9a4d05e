# SPDX-License-Identifier: GPL-2.0
"""A kernel is configured again only when its configuration may change."""

import subprocess

import pytest

from kernel import kconfig
from toykernel import write_files

FILES = {
    "Makefile": "VERSION = 6\n",
    "mm/Kconfig": "config ONE\n",
    "mm/one.c": "int one;\n",
    "scripts/cc.sh": "true\n",
}


@pytest.fixture
def digest(tmp_path):
    """Digest of what a kernel of these files is configured from."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def commit(files):
        write_files(tmp_path, files)
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        done = subprocess.run(
            ["git", "write-tree"], cwd=tmp_path, check=True, text=True, stdout=subprocess.PIPE
        )
        return kconfig.sources(tmp_path, done.stdout.strip())

    return commit


def test_code_does_not_configure_again(digest):
    assert digest(FILES) == digest({"mm/one.c": "long one;\n", "mm/two.c": "int two;\n"})


@pytest.mark.parametrize(
    "name", ["Makefile", "mm/Kconfig", "lib/Kconfig.boothash", "scripts/cc.sh", "arch/x86/Makefile"]
)
def test_what_kconfig_reads_does(name, digest):
    assert digest(FILES) != digest({name: "another\n"})


def test_last_line_of_a_symbol_holds():
    texts = [
        "CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\n",
        "# CONFIG_A is not set\nCONFIG_C=4\n",
    ]
    assert kconfig.merged(texts) == "CONFIG_B=m\n# CONFIG_A is not set\nCONFIG_C=4\n"


def test_lines_of_one_base_follow_those_of_all(tmp_path, monkeypatch):
    (tmp_path / "guest.config").write_text("CONFIG_A=y\n")
    (tmp_path / "guest-6.12.config").write_text("CONFIG_B=y\n")
    for base, text in (("6.12", "CONFIG_A=y\nCONFIG_B=y\n"), ("7.3", "CONFIG_A=y\n")):
        monkeypatch.setenv("BASE", base)
        assert kconfig.text_of(tmp_path / "guest.config") == text
