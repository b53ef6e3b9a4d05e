# SPDX-License-Identifier: GPL-2.0
"""A kernel tree of a few files and a copy of this repository's tools, so that
the series verbs can be tried in seconds and cannot harm the real tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPDX = "# SPDX-License-Identifier: GPL-2.0\n"

MAINTAINERS = """\
List of maintainers
===================

Maintainers List
----------------

.. note:: keep the entries in alphabetical order.

ALPHA DRIVER
S:\tMaintained
F:\tmm/alpha.c

ZETA DRIVER
S:\tMaintained
F:\tmm/zeta.c

THE REST
S:\tBuried
F:\t*
"""
KERNEL = {
    "Makefile": SPDX + "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n",
    "MAINTAINERS": MAINTAINERS,
    ".gitignore": "*.o\n/*\n!/debian/\n",
    "drivers/gpu/Kconfig": SPDX + "config CARD\n\tbool\n",
    "drivers/gpu/card.c": "int card;\n",
    "mm/Makefile": SPDX + "obj-y += filemap.o\n",
    "mm/filemap.c": "".join(f"int line_{n};\n" for n in range(60)),
    "lib/Kconfig.debug": SPDX + 'menu "Kernel hacking"\nendmenu\n',
    "scripts/tool.sh": "#!/bin/sh\n",
    # As the kernel's: a line for each, people with a name.
    "scripts/get_maintainer.pl": r"""
-f $_ || $_ =~ /^--/ or die "$_ is not there" for @ARGV;
open(my $own, '<', 'MAINTAINERS') or die;
print "A Maintainer <one\@example.org>\n" if grep { /BETA/ } <$own>;
print "list\@example.org\n";
""",
    "ignored.o": "kept although .gitignore names it\n",
}
PATCH = """\
Subject: [PATCH] mm: add the first file

Why it is here.

Brings: MAINTAINERS
Brings: lib/Kconfig.boothash
Brings: mm/first.c
---

diff --git a/mm/Makefile b/mm/Makefile
--- a/mm/Makefile
+++ b/mm/Makefile
@@ -1,2 +1,3 @@
 # SPDX-License-Identifier: GPL-2.0
 obj-y += filemap.o
+obj-y += first.o
"""
SECOND = """\
Subject: [PATCH] mm: filemap: change two lines
---

diff --git a/mm/filemap.c b/mm/filemap.c
--- a/mm/filemap.c
+++ b/mm/filemap.c
@@ -8,7 +8,7 @@ int line_6;
 int line_7;
 int line_8;
 int line_9;
-int line_10;
+long line_10;
 int line_11;
 int line_12;
 int line_13;
@@ -38,7 +38,7 @@ int line_36;
 int line_37;
 int line_38;
 int line_39;
-int line_40;
+long line_40;
 int line_41;
 int line_42;
 int line_43;
"""
REPOSITORY = {
    "patches/bases": SPDX + "6.12 6.12.117 trixie 1.22\n",
    "patches/topics": SPDX + "toys:\n",
    "patches/toys/series": SPDX + "01-mm-add-the-first-file.patch\n02-mm-filemap.patch\n",
    "patches/toys/01-mm-add-the-first-file.patch": PATCH,
    "patches/toys/02-mm-filemap.patch": SECOND,
    "patches/toys/cover-letter": "Subject: two toys\n\nThe cover's text.\n",
    "mm/first.c": "/* SPDX-License-Identifier: GPL-2.0 */\nint first;\n",
    "Kconfig": SPDX + "config FIRST\n\tbool\n",
    "MAINTAINERS": SPDX + "\nBETA TABLES\nS:\tMaintained\nF:\tmm/first.c\n",
}


def write_files(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Toy:
    def __init__(self, folder):
        self.repo = folder / "repo"
        self.kernel = folder / "linux"
        self.newer = folder / "linux-newer"
        self.home = folder / "home"
        self.home.mkdir()
        write_files(self.kernel, KERNEL)
        (self.kernel / "scripts/tool.sh").chmod(0o755)
        (self.kernel / "mm/link.c").symlink_to("filemap.c")
        shutil.copytree(
            ROOT / "harness", self.repo / "harness", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copy(ROOT / "Makefile", self.repo)
        write_files(self.repo, REPOSITORY)
        self.identity("A Developer", "dev@example.org")

    def identity(self, name, mail):
        (self.home / ".gitconfig").write_text(
            f"[user]\n\tname = {name}\n\temail = {mail}\n"
            # Settings that must not leak into what is stored.
            "[diff]\n\tnoprefix = true\n\tcontext = 9\n"
            "[format]\n\tsubjectPrefix = ODD\n"
        )

    def environment(self, **more):
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KERNEL": str(self.kernel),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return env | more

    def series(self, verb, **more):
        """Run a verb of the Makefile."""
        return subprocess.run(
            [sys.executable, "harness/cli.py", verb],
            cwd=self.repo,
            env=self.environment(**more),
            text=True,
            capture_output=True,
        )

    def python(self, code):
        """Run Python with the repository's modules."""
        words = [sys.executable, "-c", code]
        folder = self.repo / "harness"
        subprocess.run(words, cwd=folder, env=self.environment(), check=True)

    def good(self, verb, **more):
        done = self.series(verb, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, verb, **more):
        """The one line with which a verb fails; nothing else may be said."""
        done = self.series(verb, **more)
        assert done.returncode == 2, done.stdout + done.stderr
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("boothash: "), lines
        return lines[0]

    @property
    def version_dir(self):
        return next((self.repo / "build").glob("6.12.9-kernel-*"))

    @property
    def src(self):
        return self.version_dir / "patched/src"

    @property
    def tag(self):
        """Of the base, in the repository."""
        return f"v{self.version_dir.name}"

    @property
    def branch(self):
        return f"boothash-{self.version_dir.name}"

    def git(self, *args):
        done = subprocess.run(
            ["git", *args], cwd=self.src, text=True, env=self.environment(), capture_output=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, subject, **files):
        """Commit files (path with __ for /, . as _dot_) in the work tree."""
        for name, text in files.items():
            path = self.src / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-s", "-m", subject)

    def stored(self):
        """Everything that export may write, with content and mode."""
        files = [
            p
            for p in self.repo.rglob("*")
            if p.is_file() and p.relative_to(self.repo).parts[0] not in ("build", "harness")
        ]
        return {str(p.relative_to(self.repo)): (p.read_bytes(), p.stat().st_mode) for p in files}
