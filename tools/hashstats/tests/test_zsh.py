# SPDX-License-Identifier: GPL-2.0
"""The completion of hashstats in a zsh that runs on a terminal."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from test_shipped import COMMANDS, SAMPLE, options
from toyhashstats import FOLDER

pytestmark = pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")

LIMIT = 30
# Completion adds its matches by compadd: write them to a file as well.
SETUP = """
PROMPT=
fpath=({folder} $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a found
    builtin compadd -A found "$@"
    (($#found)) && print -rl -- $found >> {matches}
    builtin compadd "$@"
}}
ended() {{ print -r -- ENDED >> {matches} }}
bindkey '^I' complete-word
bindkey '^U' kill-buffer
print READY > {matches}
"""


class Zsh:
    """A shell on a terminal of its own, in an empty folder."""

    def __init__(self, folder):
        self.matches = folder / "matches"
        functions = folder / "functions"
        functions.mkdir()
        shutil.copy(FOLDER / "completion.zsh", functions / "_hashstats")
        (folder / "setup").write_text(SETUP.format(folder=functions, matches=self.matches))
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["zsh", "-f", "-i"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            cwd=functions,
            env={"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder)},
        )
        os.close(slave)
        self.text = ""
        os.write(self.master, f"source {folder}/setup\n".encode())
        self.until("READY")

    def until(self, word):
        end = time.monotonic() + LIMIT
        while not (self.matches.exists() and word in self.matches.read_text()):
            assert time.monotonic() < end and self.process.poll() is None, self.text
            if select.select([self.master], [], [], 0.05)[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")

    def offered(self, *words):
        """What it offers for the last of these words."""
        self.matches.write_text("")
        line = " ".join(map(str, ("hashstats", *words)))
        # complete-word calls each of comppostfuncs once, at its end.
        keys = "\x15 comppostfuncs=(ended)\n"
        os.write(self.master, (keys + line + "\t").encode())
        self.until("ENDED")
        return {word for word in self.matches.read_text().split() if word != "ENDED"}

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def zsh(tmp_path):
    shell = Zsh(tmp_path)
    yield shell
    shell.close()


def test_commands(zsh):
    assert set(COMMANDS) <= zsh.offered("")
    assert {"record", "report"} <= zsh.offered("re")


def test_commands_behind_an_option(zsh):
    assert "advise" in zsh.offered("-f", SAMPLE, "adv")


def test_options(zsh):
    for command in COMMANDS:
        assert zsh.offered(command, "-") == options(command) | {"-h", "--help"}, command
    assert zsh.offered("-") == options("show") | {"-h", "--help", "-V", "--version"}


def test_tables(zsh):
    assert zsh.offered("hist", "-f", SAMPLE, "in") == {"inode"}
    assert "inode" in zsh.offered("-f", SAMPLE, "in")
    assert zsh.offered("show", "--sort", "no") == {"nodes"}


def test_files(zsh):
    assert zsh.offered("show", "-f", "_h") == {"_hashstats"}
    assert zsh.offered("diff", "_h") == {"_hashstats"}
