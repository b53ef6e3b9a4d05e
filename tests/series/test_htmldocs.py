# SPDX-License-Identifier: GPL-2.0
"""The series' documents as HTML, by Sphinx with the kernel's extensions."""

import os
import shutil
import subprocess
import sys

import pytest

from common import ROOT

pytestmark = pytest.mark.stage("series")

DOCUMENTS = ROOT / "Documentation/admin-guide"
INDEX = "Contents\n========\n\n.. toctree::\n   :glob:\n\n   admin-guide/*\n"
# Of the machine, not of a document.
ABOUT_THE_MACHINE = ("Using alabaster theme", "WARNING: dot(1) not found")


@pytest.fixture
def html(tree, tmp_path):
    """A function that builds a document, or all; gives the folder and the warnings."""

    def build(documents):
        # An extension of 7.3 looks for MAINTAINERS beside a folder of this name.
        folder = tmp_path / "Documentation"
        (tmp_path / "MAINTAINERS").symlink_to(tree / "MAINTAINERS")
        shutil.copytree(documents, folder / "admin-guide")
        (folder / "index.rst").write_text(INDEX)
        done = subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", "-c", ".", folder, tmp_path / "html"],
            # Where the kernel's makefile runs it: kernel-doc is at ../scripts.
            cwd=tree / "Documentation",
            env=os.environ | {"srctree": str(tree), "BUILDDIR": str(tmp_path)},
            text=True,
            capture_output=True,
        )
        lines = (done.stdout + done.stderr).splitlines()
        return tmp_path / "html/admin-guide", [
            line for line in lines if not line.startswith(ABOUT_THE_MACHINE)
        ]

    return build


def test_documents_build_without_a_warning(html):
    made, warnings = html(DOCUMENTS)
    assert warnings == []
    for path in DOCUMENTS.glob("*.rst"):
        assert (made / f"{path.stem}.html").is_file()
    # From kernel-doc comments.
    assert "wake_up_filtered" in (made / "filtered-wakeups.html").read_text()


def test_fault_of_a_document_is_a_warning(html, tmp_path):
    documents = tmp_path / "faulty"
    documents.mkdir()
    (documents / "page.rst").write_text("Faulty page\n=====\n\n.. kernel-doc:: mm/none.c\n")
    _, warnings = html(documents)
    assert any("underline too short" in line for line in warnings)
    assert any("mm/none.c" in line for line in warnings)
