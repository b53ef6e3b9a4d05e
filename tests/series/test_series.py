# SPDX-License-Identifier: GPL-2.0
"""tree, export, mail and check-series, on a toy kernel."""

import re
import subprocess

import pytest

import common
from kernel import kconfig
from series import compose, paths
from toykernel import KERNEL, Toy, write_files

FIRST = "patches/toys/01-mm-add-the-first-file.patch"
SECOND = "patches/toys/02-mm-filemap.patch"


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


# --- tree ------------------------------------------------------------------


def test_tree_has_base_hunks_and_new_files(toy):
    toy.good("tree")
    assert "long line_40;" in (toy.src / "mm/filemap.c").read_text()
    assert (toy.src / "mm/first.c").read_text().endswith("int first;\n")
    assert (toy.src / "lib/Kconfig.boothash").is_file()
    assert (toy.src / "ignored.o").is_file()
    assert (toy.src / "scripts/tool.sh").stat().st_mode & 0o100
    assert (toy.src / "mm/link.c").is_symlink()
    assert toy.git("log", "--format=%s|%an") == (
        "mm: filemap: change two lines|A Developer\n"
        "mm: add the first file|A Developer\nLinux 6.12.9|boothash"
    )


def test_tree_message_has_no_brings_line(toy):
    toy.good("tree")
    assert toy.git("log", "-1", "--format=%B", "HEAD~") == (
        "mm: add the first file\n\nWhy it is here."
    )


def test_maintainers_are_merged_in_order(toy):
    toy.good("tree")
    text = (toy.src / "MAINTAINERS").read_text()
    heads = re.findall(r"^([A-Z ]+)\nS:", text, re.MULTILINE)
    assert heads == ["ALPHA DRIVER", "BETA TABLES", "ZETA DRIVER", "THE REST"]


def test_same_input_gives_same_commit(toy, tmp_path):
    toy.good("tree")
    (tmp_path / "other").mkdir()
    other = Toy(tmp_path / "other")
    other.good("tree")
    assert toy.git("rev-parse", "HEAD") == other.git("rev-parse", "HEAD")


def test_tree_touches_only_files_that_differ(toy):
    toy.good("tree")
    quiet = (toy.src / "mm/first.c").stat().st_mtime_ns
    edit(toy.repo / SECOND, "+long line_40", "+short line_40")
    toy.good("tree")
    assert "short line_40;" in (toy.src / "mm/filemap.c").read_text()
    assert (toy.src / "mm/first.c").stat().st_mtime_ns == quiet


def test_tree_without_identity_uses_a_local_one(toy):
    (toy.home / ".gitconfig").unlink()
    toy.good("tree")
    assert toy.git("log", "-1", "--format=%an <%ae>") == "boothash <boothash@localhost>"


def test_new_files_are_not_ignored(toy):
    """Debian's .gitignore hides every new file; ours must not."""
    toy.good("tree")
    toy.commit("mm: more", mm__more_dot_c="int more;\n")
    assert "mm/more.c" in toy.git("show", "--stat")


def test_interrupted_checkout_is_made_again(toy):
    toy.good("tree")
    (toy.src.parent / "src.complete").unlink()
    (toy.src / "mm/first.c").unlink()
    toy.good("tree")
    assert (toy.src / "mm/first.c").is_file()


def test_tree_of_another_repository_is_not_removed(toy):
    toy.good("tree")
    (toy.repo / "build/linux.git").rename(toy.repo / "build/old.git")
    (toy.src / ".git").write_text(f"gitdir: {toy.repo}/build/old.git/worktrees/src\n")
    assert "a work tree of another repository than" in toy.refused("tree")
    assert "a work tree of another repository than" in toy.refused("clean")


def test_tree_for_a_guest_leaves_drivers_out(toy):
    toy.python(
        "from series import compose, worktree; commit = compose.compose();"
        "worktree.checkout('guest', commit); worktree.checkout('deb', commit, patterns=())"
    )
    guest, whole = (toy.version_dir / name / "src" for name in ("guest", "deb"))
    assert (guest / "mm/first.c").is_file() and (guest / "drivers/gpu/Kconfig").is_file()
    assert not (guest / "drivers/gpu/card.c").exists()
    assert (whole / "drivers/gpu/card.c").is_file()


# --- refusals of tree ------------------------------------------------------


def test_tree_refuses_uncommitted_changes(toy):
    toy.good("tree")
    (toy.src / "mm/filemap.c").write_text("edited\n")
    line = toy.refused("tree")
    assert "not committed (mm/filemap.c)" in line and "FORCE=1" in line


def test_tree_refuses_a_new_file(toy):
    toy.good("tree")
    (toy.src / "mm/new.c").write_text("edited\n")
    assert "not committed (mm/new.c)" in toy.refused("tree")


def test_tree_refuses_commits(toy):
    toy.good("tree")
    toy.commit("mm: work", mm__first_dot_c="work\n")
    line = toy.refused("tree")
    assert "commits that are not in the series" in line
    assert "make export" in line


def test_tree_force_drops_and_says_what(toy):
    toy.good("tree")
    toy.commit("mm: work", mm__first_dot_c="work\n")
    (toy.src / "mm/new.c").write_text("edited\n")
    head = toy.git("rev-parse", "HEAD")
    assert head in toy.good("tree", FORCE="1")
    assert "int first;" in (toy.src / "mm/first.c").read_text()
    assert not (toy.src / "mm/new.c").exists()


def test_hunk_that_does_not_apply_is_named(toy):
    edit(toy.repo / SECOND, "-int line_40;", "-int line_four;")
    line = toy.refused("tree")
    assert "02-mm-filemap.patch: hunk 2 of mm/filemap.c" in line
    assert "Linux 6.12.9" in line


def test_hunk_is_not_applied_with_fuzz(toy):
    edit(toy.kernel / "mm/filemap.c", "int line_9;", "char line_9;")
    assert "hunk 1 of mm/filemap.c" in toy.refused("tree")


def test_hunk_may_have_moved(toy):
    path = toy.kernel / "mm/filemap.c"
    path.write_text("int above;\n" * 5 + path.read_text())
    toy.good("tree")


def test_patch_for_a_missing_file_is_named(toy):
    path = toy.repo / SECOND
    path.write_text(path.read_text().replace("mm/filemap.c", "mm/gone.c"))
    assert "changes mm/gone.c, which is not in" in toy.refused("tree")


@pytest.mark.parametrize(
    "old,new,said",
    [
        ("Subject: [PATCH] ", "Subject: ", "first line must be"),
        ("Brings: mm/first.c", "Brings: mm/none.c", "there is no mm/none.c"),
        ("Brings: mm/first.c", "Brings: mm/filemap.c", "belongs into a hunk"),
        ("Brings: mm/first.c", "Brings: rust/first.c", "must be under one of"),
        ("Why it is here.", "diff -u is a tool.", "cut the mail in two"),
    ],
)
def test_bad_patch_file(toy, old, new, said):
    edit(toy.repo / FIRST, old, new)
    (toy.repo / "mm/filemap.c").write_text("ours\n")
    assert said in toy.refused("tree")


def test_file_brought_twice(toy):
    edit(toy.repo / SECOND, "---\n", "\nBrings: mm/first.c\n---\n")
    assert "brought by 01-mm-add-the-first-file.patch and by " in toy.refused("tree")


def test_missing_patch_is_named(toy):
    (toy.repo / SECOND).unlink()
    assert "patches/toys/series names 02-mm-filemap.patch, but there is no" in toy.refused("tree")


def test_unknown_suite_is_refused_before_the_build(toy):
    suite = 'static struct kunit_suite suite = {\n\t.name\t\t= "first",\n};\n'
    (toy.repo / "mm/first.c").write_text("/* SPDX-License-Identifier: GPL-2.0 */\n" + suite)
    write_files(toy.kernel, {"fs/ext4/a-test.c": suite.replace("first", "ext4_a")})
    line = toy.refused("kunit", SUITES="first third")
    assert line == "boothash: SUITES=first third: no suite 'third'; accepted: ext4_a first"
    assert not toy.src.exists()


# --- the base kernel -------------------------------------------------------


@pytest.mark.parametrize(
    "version,found",
    [
        ("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 170\n", "Linux 6.1.170"),
        ("VERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 0\n", "Linux 6.13.0"),
        ("all:\n\ttrue\n", "not a Linux source tree"),
    ],
)
def test_wrong_kernel(toy, version, found):
    (toy.kernel / "Makefile").write_text(version)
    line = toy.refused("tree")
    assert found in line
    assert "accepted: a tree or tarball of Linux 6.12.y" in line


def test_no_such_kernel(toy):
    assert "no such file or folder" in toy.refused("tree", KERNEL="/none")


def test_kernel_that_is_no_archive(toy, tmp_path):
    path = tmp_path / "linux.tar.xz"
    path.write_text("not an archive")
    assert "not a readable tar archive" in toy.refused("tree", KERNEL=str(path))


def test_kernel_that_was_built_in(toy):
    (toy.kernel / ".config").write_text("")
    assert "make mrproper" in toy.refused("tree")


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.xz"])
def test_tarball_gives_the_same_tree(toy, tmp_path, kind):
    toy.good("tree")
    tree = toy.git("rev-parse", "HEAD^{tree}")
    path = tmp_path / f"linux.{kind}"
    subprocess.run(["tar", "-caf", path, "-C", toy.kernel.parent, "linux"], check=True)
    (tmp_path / "other").mkdir()
    other = Toy(tmp_path / "other")
    other.good("tree", KERNEL=str(path))
    assert other.git("rev-parse", "HEAD^{tree}") == tree


def test_base_without_series(toy):
    line = toy.refused("tree", BASE="7.3")
    assert "BASE=7.3" in line and "accepted: 6.12" in line


def test_kernel_that_changed_is_read_again(toy):
    toy.good("tree")
    (toy.kernel / "mm/added.c").write_text("int added;\n")
    toy.good("tree")
    assert (toy.src / "mm/added.c").is_file()


# --- export ---------------------------------------------------------------


def test_export_after_tree_changes_nothing(toy):
    before = toy.stored()
    toy.good("tree")
    toy.good("export")
    assert toy.stored() == before


def test_export_twice_after_edits_is_stable(toy):
    toy.good("tree")
    toy.commit(
        "mm: add a second file\n\nReason.",
        mm__second_dot_c="int b;\n",
        mm__Makefile=KERNEL["mm/Makefile"] + "obj-y += first.o second.o\n",
    )
    toy.good("export")
    after = toy.stored()
    assert "int b;" in (toy.repo / "mm/second.c").read_text()
    third = (toy.repo / "patches/toys/03-mm-add-a-second-file.patch").read_text()
    assert third.startswith(
        "Subject: [PATCH] mm: add a second file\n\nReason.\n\nBrings: mm/second.c\n---\n"
    )
    assert "Signed-off-by" not in third and "\nindex " not in third
    toy.good("tree")
    toy.good("export")
    assert toy.stored() == after


def test_patches_build_a_new_file_up(toy):
    """A file that a later commit changes is in hunks; what is stored is the last state."""
    toy.good("tree")
    toy.commit("mm: more", mm__first_dot_c="int first, more;\n")
    toy.good("export")
    assert (toy.repo / "mm/first.c").read_text() == "int first, more;\n"
    first = (toy.repo / FIRST).read_text()
    assert "Brings: mm/first.c" not in first and "new file mode 100644\n--- /dev/null" in first
    assert "+int first, more;" in (toy.repo / "patches/toys/03-mm-more.patch").read_text()
    stored = toy.stored()
    toy.good("check-series")
    toy.good("tree")
    toy.good("export")
    assert toy.stored() == stored
    write_files(toy.repo, {"mm/first.c": "int first, less;\n"})
    assert "mm/first.c: differs from the mm/first.c that the patches build up" in toy.refused(
        "check-series"
    )
    assert "mm/first.c changed here" in toy.refused("export")


def test_new_file_that_one_commit_makes_is_brought_whole(toy):
    before = toy.stored()
    toy.good("tree")
    toy.commit("mm: more", mm__first_dot_c="int first, more;\n")
    toy.good("export")
    toy.git("reset", "--hard", "-q", "HEAD~")
    toy.good("export")
    assert toy.stored() == before


def test_export_refuses_a_fixup(toy):
    toy.good("tree")
    toy.commit("fixup! mm: add the first file", mm__first_dot_c="int first, more;\n")
    assert f"squash it first: git rebase -i --autosquash {toy.tag}" in toy.refused("export")


def test_export_renumbers_and_keeps_names(toy):
    toy.good("tree")
    toy.git("-c", "sequence.editor=sed -i '1{h;d};2{G}'", "rebase", "-i", toy.tag)
    toy.good("export")
    names = sorted(p.name for p in (toy.repo / "patches/toys").glob("*.patch"))
    assert names == ["01-mm-filemap.patch", "02-mm-add-the-first-file.patch"]
    assert (toy.repo / "patches/toys/series").read_text().splitlines()[1:] == names
    toy.good("check-series")


def test_export_removes_what_a_dropped_patch_brought(toy):
    toy.good("tree")
    toy.git("reset", "--hard", "-q", "HEAD~2")
    said = toy.good("export")
    assert "removed: mm/first.c" in said
    assert not (toy.repo / "mm/first.c").exists()
    assert not list((toy.repo / "patches/toys").glob("*.patch"))


def test_export_keeps_the_executable_bit(toy):
    toy.good("tree")
    path = toy.src / "tools/run.sh"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    toy.commit("tools: add a script")
    toy.good("export")
    assert (toy.repo / "tools/run.sh").stat().st_mode & 0o100
    toy.good("tree")


def test_export_moves_a_renamed_file(toy):
    toy.good("tree")
    toy.git("mv", "mm/first.c", "mm/renamed.c")
    toy.commit("mm: rename")
    assert "mm/first.c: `mm: add the first file` has it, and a later" in toy.refused("export")
    toy.git("reset", "--soft", "HEAD~3")
    toy.git("commit", "-q", "-m", "mm: add the renamed file")
    toy.good("export")
    assert (toy.repo / "mm/renamed.c").is_file()
    assert not (toy.repo / "mm/first.c").exists()
    toy.good("check-series")


def test_export_takes_new_sections(toy):
    toy.good("tree")
    edit(toy.src / "MAINTAINERS", "BETA TABLES\nS:\tMaintained\n", "BETA TABLES\nS:\tSupported\n")
    toy.commit("MAINTAINERS: better")
    assert "left out: `MAINTAINERS: better`" in toy.good("export")
    assert "S:\tSupported" in (toy.repo / "MAINTAINERS").read_text()
    assert (toy.repo / "MAINTAINERS").read_text().startswith("# SPDX")


def test_export_keeps_a_change_to_another_section(toy):
    toy.good("tree")
    edit(toy.src / "MAINTAINERS", "mm/alpha.c", "mm/beta.c")
    toy.commit("MAINTAINERS: alpha moved")
    toy.good("export")
    assert (
        "+F:\tmm/beta.c" in (toy.repo / "patches/toys/03-maintainers-alpha-moved.patch").read_text()
    )
    toy.good("check-series")


def test_export_refuses_uncommitted_changes(toy):
    toy.good("tree")
    (toy.src / "mm/filemap.c").write_text("edited\n")
    assert "not committed (mm/filemap.c)" in toy.refused("export")


def test_export_refuses_to_write_over_edits_here(toy):
    toy.good("tree")
    (toy.repo / "mm/first.c").write_text("edited here\n")
    toy.commit("mm: work", mm__first_dot_c="edited there\n")
    before = toy.stored()
    assert "mm/first.c changed here" in toy.refused("export")
    assert toy.stored() == before
    toy.good("export", FORCE="1")
    assert (toy.repo / "mm/first.c").read_text() == "edited there\n"


def test_export_refuses_to_write_over_a_stranger(toy):
    toy.good("tree")
    (toy.repo / "mm/own.c").write_text("here\n")
    toy.commit("mm: own", mm__own_dot_c="there\n")
    assert "mm/own.c: is here already" in toy.refused("export")


def test_export_refuses_a_place_with_no_room(toy):
    toy.good("tree")
    toy.commit("scripts: new", scripts__new_dot_py="x\n")
    assert "scripts/new.py: a new file of the kernel must be under" in toy.refused("export")


def test_export_before_tree(toy):
    assert "make tree" in toy.refused("export")


# --- the mailed set --------------------------------------------------------


def test_mailed_set_is_the_composed_tree(toy):
    toy.good("tree")
    said = toy.good("mail").splitlines()[-2]
    tree = toy.git("rev-parse", "HEAD^{tree}")
    assert said == f"toys: 2 patches, tree {tree} identical"
    files = sorted((toy.version_dir / "mail/toys").iterdir())
    assert len(files) == 3
    cover = files[0].read_text()
    assert "[PATCH 0/2] two toys" in cover and "The cover's text." in cover
    assert "5 files changed" in cover
    first = files[1].read_text()
    assert "Signed-off-by: A Developer <dev@example.org>" in first
    assert "+++ b/mm/first.c" in first and "BETA TABLES" in first
    assert "Brings:" not in first


def test_recipients_are_those_of_the_kernel(toy):
    toy.good("mail")
    cover = (toy.version_dir / "mail/toys/0000-cover-letter.patch").read_text()
    assert "\nTo: A Maintainer <one@example.org>\nCc: list@example.org\nDate: " in cover


def test_branch_for_b4(toy):
    """The cover letter, then the patches signed off; b4's notes are kept."""
    toy.good("tree")
    toy.good("mail")
    assert toy.git("rev-parse", "b4/boothash-toys^{tree}") == toy.git("rev-parse", "HEAD^{tree}")
    log = toy.git("log", "--reverse", "--format=%s", f"{toy.tag}..b4/boothash-toys").splitlines()
    assert log == ["two toys", "mm: add the first file", "mm: filemap: change two lines"]
    cover = toy.git("log", "-1", "--format=%ce%n%B", "b4/boothash-toys~2")
    assert cover.startswith("dev@example.org\ntwo toys\n\nThe cover's text.\n\nTo: A Main")
    assert not toy.git("diff", toy.tag, "b4/boothash-toys~2")
    assert "Signed-off-by: A Developer" in toy.git("log", "-1", "--format=%b", "b4/boothash-toys")
    # As b4 does after it has sent a version.
    toy.git("checkout", "-q", "b4/boothash-toys~2")
    toy.git(
        "commit",
        "-q",
        "--amend",
        "--allow-empty",
        "-m",
        cover.replace('"revision": 1', '"revision": 2'),
    )
    toy.git("branch", "-f", "b4/boothash-toys")
    toy.git("checkout", "-q", toy.branch)
    toy.good("mail")
    assert '"revision": 2' in toy.git("log", "-1", "--format=%B", "b4/boothash-toys~2")


def test_branch_for_b4_is_not_moved_under_a_developer(toy):
    toy.good("tree")
    toy.good("mail")
    toy.git("checkout", "-q", "b4/boothash-toys")
    assert f"run `git checkout {toy.branch}` there" in toy.refused("mail")


def test_mail_needs_an_identity(toy):
    (toy.home / ".gitconfig").unlink()
    assert "user.name" in toy.refused("mail")


def test_mail_needs_a_cover_letter(toy):
    (toy.repo / "patches/toys/cover-letter").unlink()
    assert "cover-letter: not there" in toy.refused("mail")


# --- check -----------------------------------------------------------------


def test_check_says_what_it_saw(toy):
    assert "2 patches and 3 new files in order, on Linux 6.12.9" in toy.good("check-series")


@pytest.mark.parametrize(
    "name,said",
    [
        ("fs/stray.c", "fs/stray.c: no patch brings it"),
        ("patches/toys/03-stray.patch", "no base takes it"),
        ("patches/toys/notes", "neither a patch nor"),
    ],
)
def test_check_finds_strays(toy, name, said):
    write_files(toy.repo, {name: "x\n"})
    assert said in toy.refused("check-series")


@pytest.mark.parametrize(
    "name,old,new",
    [
        ("mm/first.c", "int first;", "int first; "),
        (SECOND, "+long line_40;", "+long line_40;\t"),
    ],
)
def test_check_finds_bad_white_space(toy, name, old, new):
    edit(toy.repo / name, old, new)
    toy.good("tree")
    toy.refused("check-series")


# --- topics and bases -------------------------------------------------------

LATER = """\
Subject: [PATCH] mm: filemap: change another line
---

diff --git a/mm/filemap.c b/mm/filemap.c
--- a/mm/filemap.c
+++ b/mm/filemap.c
@@ -24,5 +24,5 @@ int line_22;
 int line_23;
 int line_24;
-int line_25;
+long line_25;
 int line_26;
 int line_27;
"""
NEWER = KERNEL["mm/filemap.c"].replace("int line_9;", "char line_9;")


@pytest.fixture
def topics(toy):
    """A second topic, which needs nothing, and a second base."""
    write_files(
        toy.repo,
        {
            "patches/bases": "7.3 7.3.4 sid 1.26\n6.12 6.12.9 sid 1.22\n",
            "patches/topics": "toys:\nlater:\n",
            "patches/later/series": "01-later.patch\n",
            "patches/later/01-later.patch": LATER,
            "patches/later/cover-letter": "Subject: one line\n\nText.\n",
        },
    )
    write_files(
        toy.newer,
        KERNEL
        | {
            "Makefile": "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n",
            "mm/filemap.c": NEWER,
        },
    )
    return toy


def newer(toy):
    return {"BASE": "7.3", "KERNEL": str(toy.newer)}


def test_topic_is_mailed_alone(topics):
    said = topics.good("mail", TOPIC="later")
    assert "later: 1 patches, tree " in said and "toys" not in said
    (mail,) = (topics.version_dir / "mail/later").glob("0001-*")
    assert "long line_25" in mail.read_text()


def test_unknown_topic(topics):
    assert "TOPIC=none: no such topic; accepted: toys later" in topics.refused("mail", TOPIC="none")


def test_topic_on_another_says_so(topics):
    write_files(topics.repo, {"patches/topics": "toys:\nlater: toys\n"})
    said = topics.good("mail", TOPIC="later")
    assert "later: 1 patches, tree " in said
    cover = (topics.version_dir / "mail/later/0000-cover-letter.patch").read_text()
    assert "This set applies on top of: toys." in cover


def test_patch_needs_another_text_for_a_base(topics):
    """Export keeps what serves both bases once, and the rest for each."""
    before = topics.stored()
    assert "hunk 1 of mm/filemap.c" in topics.refused("tree", **newer(topics))
    own = SECOND.replace(".patch", ".6.12.patch")
    write_files(topics.repo, {own: (topics.repo / SECOND).read_text()})
    edit(topics.repo / SECOND, " int line_9;", " char line_9;")
    for base in ({}, newer(topics)):
        topics.good("check-series", **base)
        topics.good("tree", **base)
        topics.good("export", **base)
    assert topics.stored().keys() == before.keys() | {own}
    # The other base had the same text all the time: no file of its own is left.
    (topics.newer / "mm/filemap.c").write_text(KERNEL["mm/filemap.c"])
    edit(topics.repo / SECOND, " char line_9;", " int line_9;")
    assert f"{own}: {SECOND} serves 6.12 as well" in topics.refused("check-series")
    topics.good("tree")
    topics.good("export")
    assert topics.stored().keys() == before.keys()


def test_new_commit_is_of_one_base_until_the_other_has_it(topics):
    for subject, name in ("mm: a third\n\nTopic: later", "third"), ("mm: a fourth", "fourth"):
        topics.good("tree")
        topics.commit(subject, **{f"mm__{name}_dot_c": f"int {name};\n"})
        topics.good("export")
    assert (topics.repo / "patches/later/series").read_text().splitlines() == [
        "01-later.patch",
        "02-mm-a-third.patch 6.12",
        "03-mm-a-fourth.patch 6.12",
    ]
    assert (topics.repo / "patches/later/02-mm-a-third.6.12.patch").is_file()
    (topics.newer / "mm/filemap.c").write_text(KERNEL["mm/filemap.c"])
    assert "3 patches and 3 new files" in topics.good("check-series", **newer(topics))


def test_commit_out_of_order_is_named(topics):
    topics.good("tree")
    topics.commit("mm: late\n\nTopic: toys", mm__late_dot_c="int late;\n")
    assert "`mm: late` of the topic toys stands behind commits of later" in topics.refused("export")


def test_which_patches_apply_to_another_kernel(topics):
    """Those that do not are left out, and those behind them are tried."""
    kernel = str(topics.newer)
    (topics.newer / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 9\nSUBLEVEL = 1\n")
    said = topics.series("check-bases", KERNEL=kernel)
    assert said.returncode == 1
    assert f"{SECOND}: hunk 1 of mm/filemap.c (line 8) does not apply to Linux 7.9.1" in said.stdout
    assert "patches/later/01-later.patch: applies\n" in said.stdout
    assert "2 of 3 patches apply to Linux 7.9.1" in said.stdout
    write_files(topics.newer, {"mm/filemap.c": KERNEL["mm/filemap.c"]})
    assert "3 of 3 patches apply to Linux 7.9.1" in topics.good("check-bases", KERNEL=kernel)


def test_patch_that_mainline_has_is_named(topics):
    text = KERNEL["mm/filemap.c"].replace("int line_25;", "long line_25;")
    write_files(topics.newer, {"mm/filemap.c": text})
    said = topics.series("check-bases", KERNEL=str(topics.newer))
    assert "01-later.patch: is in this kernel already" in said.stdout


def test_check_bases_takes_any_version(topics):
    line = topics.refused("check-bases", KERNEL="/nowhere")
    assert line.endswith(
        "KERNEL=/nowhere: no such file or folder; accepted: a tree or tarball of Linux"
    )


def test_check_bases_asks_for_a_kernel(topics):
    assert "KERNEL=PATH names the kernel to try" in topics.refused("check-bases", KERNEL="")


# --- what is mailed -----------------------------------------------------------


def test_tests_are_mailed_and_benchmarks_are_not():
    brought = {name for patch in compose.patches() for name in patch.brings}
    tests = "tools/testing/selftests/boothash"
    assert {name for name in brought if name.startswith("tools/testing/selftests/")} == {
        f"{tests}/{path.name}" for path in (common.ROOT / tests).iterdir()
    }
    assert not [name for name in brought if "bench" in name]
    with pytest.raises(common.Failure, match="bench/Makefile: a new file of the kernel must"):
        paths.in_repository("bench/Makefile")


# --- configuration fragments ------------------------------------------------


def test_lost_symbol_is_named():
    result = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_S="x"\n'
    kconfig.check(result, ['CONFIG_A=y\nCONFIG_B=n\nCONFIG_S="x"\n', "# CONFIG_NONE is not set\n"])
    with pytest.raises(common.Failure, match="CONFIG_B=y"):
        kconfig.check(result, ["CONFIG_B=y\n"])
