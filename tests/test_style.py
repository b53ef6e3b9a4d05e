# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own scripts say of the series."""

import subprocess

import pytest

import gitcmd
import series
import source

PATCHES = series.patches()

# MAINTAINERS names all new files in the last patch; test_get_maintainer sees
# to it.  The author of a local tree is nobody.
IGNORED = ["FILE_PATH_CHANGES", "NO_AUTHOR_SIGN_OFF", "FROM_SIGN_OFF_MISMATCH"]
# What a patch justifies in its message.
JUSTIFIED = {
    "mm: size hash tables at boot by one policy":
        ["MACRO_ARG_PRECEDENCE", "MACRO_ARG_REUSE", "SPACING",
         "COMPLEX_MACRO"],
}


@pytest.fixture(scope="module")
def mails(kernel, tmp_path_factory):
    """The patches as they are mailed, without a cover letter."""
    folder = tmp_path_factory.mktemp("mails")
    gitcmd.out("format-patch", "--signoff", "--no-renames", "-o", str(folder),
               f"base..{series.compose()}", repo=source.base_repo(),
               env=gitcmd.signature(source.PERSON, source.DATE))
    return sorted(folder.glob("*.patch"))


def checkpatch(kernel, path, ignored):
    done = subprocess.run(
        ["perl", "scripts/checkpatch.pl", "--strict", "--terse",
         "--no-summary", "--ignore", ",".join(ignored), str(path)],
        cwd=kernel.src, text=True, capture_output=True)
    return done.stdout.strip()


def test_a_mail_for_each_patch(mails):
    assert len(mails) == len(PATCHES)


@pytest.mark.parametrize("number", range(len(PATCHES)),
                         ids=[patch.name[:-6] for patch in PATCHES])
def test_checkpatch_is_silent(number, mails, kernel):
    patch = PATCHES[number]
    justified = JUSTIFIED.get(patch.subject, [])
    assert not justified or "checkpatch" in patch.body
    assert checkpatch(kernel, mails[number], IGNORED + justified) == ""


def test_checkpatch_can_fail(mails, kernel, tmp_path):
    bad = tmp_path / "bad.patch"
    bad.write_text(mails[1].read_text().replace("\n+\t", "\n+        ", 1))
    assert "indent" in checkpatch(kernel, bad, IGNORED)


def test_kernel_doc_is_silent(kernel):
    files = [name for patch in PATCHES for name in patch.brings
             if name.endswith((".c", ".h")) and not name.startswith("tools/")]
    done = subprocess.run(["perl", "scripts/kernel-doc", "-none", "-Wall",
                           *files], cwd=kernel.src, text=True,
                          capture_output=True)
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if "warning" in line.lower()
            or "error" in line.lower()] == []


@pytest.mark.parametrize("name", [name for patch in PATCHES
                                  for name in patch.brings
                                  if name != "MAINTAINERS"])
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
