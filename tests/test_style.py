# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own scripts say of the series."""

import subprocess

import pytest

import gitcmd
import series
import source

PATCHES = series.patches()


@pytest.fixture(scope="module")
def mails(kernel, tmp_path_factory):
    """The patches as they are mailed, without a cover letter."""
    folder = tmp_path_factory.mktemp("mails")
    gitcmd.out("format-patch", "--signoff", "--no-renames", "-o", str(folder),
               f"base..{series.compose()}", repo=source.base_repo(),
               env=gitcmd.signature(source.PERSON, source.DATE))
    return sorted(folder.glob("*.patch"))


def test_a_mail_for_each_patch(mails):
    assert len(mails) == len(PATCHES)


@pytest.mark.parametrize("number", range(len(PATCHES)),
                         ids=[patch.name[:-6] for patch in PATCHES])
def test_checkpatch_is_silent(number, mails, kernel):
    done = subprocess.run(
        ["perl", "scripts/checkpatch.pl", "--strict", "--terse",
         "--no-summary", "--ignore", "NO_AUTHOR_SIGN_OFF,FROM_SIGN_OFF_MISMATCH",
         str(mails[number])], cwd=kernel.src, text=True, capture_output=True)
    assert done.stdout.strip() == "" and done.returncode == 0


def test_checkpatch_can_fail(mails, kernel, tmp_path):
    text = mails[1].read_text()
    bad = tmp_path / "bad.patch"
    bad.write_text(text.replace("\n+\t", "\n+        ", 1))
    done = subprocess.run(
        ["perl", "scripts/checkpatch.pl", "--strict", "--terse", str(bad)],
        cwd=kernel.src, text=True, capture_output=True)
    assert done.returncode != 0


def test_kernel_doc_is_silent(kernel):
    files = [name for patch in PATCHES for name in patch.brings
             if name.endswith((".c", ".h")) and not name.startswith("tools/")]
    done = subprocess.run(["perl", "scripts/kernel-doc", "-none", "-Wall",
                           *files], cwd=kernel.src, text=True,
                          capture_output=True)
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if "warning" in line.lower()
            or "error" in line.lower()] == []


@pytest.mark.parametrize("name", ["mm/boot_hash.c", "fs/proc/hashstats.c"])
def test_get_maintainer_knows_our_files(name, kernel):
    done = subprocess.run(["perl", "scripts/get_maintainer.pl", "--nogit",
                           "--nogit-fallback", "-f", name], cwd=kernel.src,
                          text=True, capture_output=True, check=True)
    assert "BOOT-SIZED HASH TABLES" in done.stdout
    assert "linux-mm@kvack.org" in done.stdout


def test_maintainers_file_is_in_order(kernel):
    done = subprocess.run(["perl", "scripts/get_maintainer.pl", "--self-test"],
                          cwd=kernel.src, text=True, capture_output=True)
    ours = [line for line in (done.stdout + done.stderr).splitlines()
            if "boot_hash" in line or "hashstats" in line
            or "boothash" in line]
    assert ours == []
