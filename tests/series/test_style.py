# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own scripts say of the series."""

import re
import subprocess

import pytest

from series import compose, gitcmd, source

PATCHES = compose.patches()

# A patch of its own names all new files in MAINTAINERS; test_get_maintainer sees
# to it.  The author of a local tree is nobody.
# The base has no history, so the commits that messages quote are not in it.
IGNORED = [
    "FILE_PATH_CHANGES",
    "NO_AUTHOR_SIGN_OFF",
    "FROM_SIGN_OFF_MISMATCH",
    "UNKNOWN_COMMIT_ID",
]
# What a patch justifies in its message.
JUSTIFIED = {
    "mm: size all large system hash tables from one parameter": ["UNDOCUMENTED_SETUP"],
    "XArray: read the shift of the first node only": ["AVOID_BUG"],
    "fs/buffer: add an optional lockless hash table of buffers": ["CAMELCASE"],
    "ext4: shorten the dependency chain of half-MD4's majority": ["MACRO_ARG_REUSE"],
    "mm/filemap: call wake functions of matching folio waiters only": ["WAITQUEUE_ACTIVE"],
    "tools/hashstats: show, compare and size hash tables": ["EXECUTE_PERMISSIONS"],
}


@pytest.fixture(scope="module")
def mails(tmp_path_factory):
    """The patches as they are mailed, without a cover letter."""
    folder = tmp_path_factory.mktemp("mails")
    gitcmd.out(
        "format-patch",
        "--signoff",
        "--no-renames",
        "-o",
        str(folder),
        f"{source.linux().tag}..{compose.compose()}",
        repo=source.base_repo(),
        env=gitcmd.signature(source.PERSON, source.DATE),
    )
    return sorted(folder.glob("*.patch"))


def checkpatch(tree, path, ignored):
    done = subprocess.run(
        [
            "perl",
            "scripts/checkpatch.pl",
            "--strict",
            "--terse",
            "--no-summary",
            "--ignore",
            ",".join(ignored),
            str(path),
        ],
        cwd=tree,
        text=True,
        capture_output=True,
    )
    return done.stdout.strip()


def test_a_mail_for_each_patch(mails):
    assert len(mails) == len(PATCHES)


@pytest.mark.parametrize("number", range(len(PATCHES)), ids=[patch.name[:-6] for patch in PATCHES])
def test_checkpatch_is_silent(number, mails, tree):
    patch = PATCHES[number]
    justified = JUSTIFIED.get(patch.subject, [])
    assert not justified or "checkpatch" in patch.body
    assert checkpatch(tree, mails[number], IGNORED + justified) == ""


def test_checkpatch_can_fail(mails, tree, tmp_path):
    bad = tmp_path / "bad.patch"
    text = mails[4].read_text()
    bad.write_text(re.sub(r"\n\+\t(?=\w)", "\n+        ", text))
    assert "indent" in checkpatch(tree, bad, IGNORED)


def test_kernel_doc_is_silent(tree):
    files = [
        name
        for patch in PATCHES
        for name in patch.brings
        if name.endswith((".c", ".h")) and not name.startswith("tools/")
    ]
    done = subprocess.run(
        ["perl", "scripts/kernel-doc", "-none", "-Wall", *files],
        cwd=tree,
        text=True,
        capture_output=True,
    )
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if "warning" in line.lower() or "error" in line.lower()] == []


def unmaintained(tree, files):
    """Those of the files that our section of MAINTAINERS does not name."""
    done = subprocess.run(
        ["perl", "scripts/get_maintainer.pl", "--nogit", "--nogit-fallback", "--sections", "-f"]
        + files,
        cwd=tree,
        text=True,
        capture_output=True,
        check=True,
    )
    # For each file the sections that name it; the last of them names all files.
    *of_files, _ = re.split(r"^THE REST\n", done.stdout, flags=re.MULTILINE)
    assert len(of_files) == len(files)
    ours = re.compile(r"^BOOT-SIZED HASH TABLES\n(.+\n)*L:\tlinux-mm@kvack.org\n", re.MULTILINE)
    return [name for name, sections in zip(files, of_files) if not ours.search(sections)]


def test_get_maintainer_knows_our_files(tree):
    files = [name for patch in PATCHES for name in patch.brings if name != "MAINTAINERS"]
    assert unmaintained(tree, files) == []


def test_get_maintainer_can_fail(tree):
    assert unmaintained(tree, ["mm/slub.c", "mm/boot_hash.c"]) == ["mm/slub.c"]


def test_maintainers_section_is_in_order(tree):
    text = (tree / "MAINTAINERS").read_text()
    titles = re.findall(r"\n\n([A-Z0-9][^\n]*)\n[A-Z]:\t", text)
    at = titles.index("BOOT-SIZED HASH TABLES")
    assert titles[at - 1].upper() < titles[at] < titles[at + 1].upper()
