# SPDX-License-Identifier: GPL-2.0
"""hashstats watch on a terminal, over a slow line, and in a pipe."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from toyhashstats import TOOL, environment, file, hashstats, table

LIMIT = 30
ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
FEW = table("dentry", 1000, 24, lookups=100, hits=50)
MANY = table("dentry", 0, 0, 0, 0, 0, 1024, lookups=900, hits=250)


class Watched:
    """The tool on a terminal of its own."""

    def __init__(self, *words, lines=24, columns=100, wrapper=(), term="xterm"):
        self.master, slave = pty.openpty()
        self.resize(lines, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, TOOL, "watch", *map(str, words)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=environment(TERM=term),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode()

    def until(self, pattern, start=0):
        """Where the pattern ends in what was written from a place on."""
        end = time.monotonic() + LIMIT
        while not (found := re.compile(pattern).search(self.text, start)):
            assert time.monotonic() < end, self.text
            self.read(0.1)
        return found.end()

    def press(self, keys):
        os.write(self.master, keys)

    def hang_up(self):
        os.close(self.master)
        self.master = os.open(os.devnull, os.O_RDONLY)

    def ended(self):
        """The exit status; the terminal must be as it was."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text
            self.read(0.05)
        self.read(0.1)
        assert self.text.count(ENTERED) == self.text.count(LEFT)
        assert termios.tcgetattr(self.slave) == self.before
        return self.process.returncode


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved"
    path.write_text(file(FEW))
    return path


def change(path, text):
    """Another file at once, as the kernel's is never half of one."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


@pytest.mark.parametrize("key", [b"q", b"Q", b"\x04"], ids=repr)
def test_key_leaves(saved, key):
    with Watched("-n", "60", "-f", saved) as watched:
        watched.until("dentry")
        watched.press(b"x")  # means nothing
        watched.press(key)
        assert watched.ended() == 0


def test_dumb_terminal_gets_no_escape_sequences(saved):
    with Watched("-n", "0.1", "--count", "2", "-f", saved, term="dumb") as watched:
        assert watched.ended() == 0
        assert watched.text.count("dentry") == 2 and "\x1b" not in watched.text


@pytest.mark.parametrize("number,status", [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_signal_leaves_the_terminal_as_it_was(saved, number, status):
    with Watched("-n", "60", "-f", saved) as watched:
        watched.until("dentry")
        watched.process.send_signal(number)
        assert watched.ended() == status


@pytest.mark.parametrize("keys", ["/dev/tty", "/dev/null"])
def test_terminal_that_hangs_up(saved, tmp_path, keys):
    said = tmp_path / "said"
    log = ("bash", "-c", f'exec "$@" < {keys} 2> {said}', "bash")
    with Watched("-n", "60", "-f", saved, wrapper=log) as watched:
        watched.until("dentry")
        watched.hang_up()
        assert (watched.process.wait(LIMIT), said.read_text()) == (130, "")


def test_control_z(saved):
    # The shell gives the tool a process group of its own, as an interactive one does.
    job = ("bash", "-c", 'set -m; "$@"; stty -a; fg', "bash")
    with Watched("-n", "60", "-f", saved, wrapper=job) as watched:
        start = watched.until("dentry")
        watched.press(b"\x1a")
        start = watched.until(re.escape(LEFT), start)
        start = watched.until("[ ;]icanon", start)
        watched.until("dentry", watched.until(re.escape(ENTERED), start))
        watched.press(b"q")
        assert watched.ended() == 0


def test_control_c(saved):
    with Watched("-n", "60", "-f", saved) as watched:
        watched.until("dentry")
        watched.press(b"\x03")
        assert watched.ended() == 130


def test_changes_are_shown(saved):
    with Watched("-n", "0.2", "-f", saved) as watched:
        start = watched.until("dentry")
        change(saved, file(MANY))
        at = watched.until(r"crowded, was ok", start)
        line = watched.text[watched.text.rindex("dentry", 0, at) : at]
        assert "+5096" in line and " 25.0 " in line  # 200 hits of 800
        watched.press(b"q")
        assert watched.ended() == 0


def test_window_that_changes(saved):
    with Watched("-n", "60", "-f", saved, columns=100) as watched:
        start = watched.until("dentry.*ok")
        assert "LOAD" in watched.text
        watched.resize(24, 30)
        watched.process.send_signal(signal.SIGWINCH)
        watched.until("dentry.*ok", start)
        assert "LOAD" not in watched.text[start:]
        watched.press(b"q")
        assert watched.ended() == 0


def test_file_that_breaks(saved):
    with Watched("-n", "0.2", "-f", saved) as watched:
        watched.until("dentry")
        change(saved, "version: 1\n")
        assert watched.ended() == 2
        assert "saved, line 1: " in watched.text[watched.text.index(LEFT) :]


def test_count(saved):
    with Watched("-n", "0.1", "--count", "3", "-f", saved) as watched:
        assert watched.ended() == 0
        assert watched.text.count("dentry") == 3


def test_check_judges_the_last_view(saved):
    change(saved, file(MANY))
    with Watched("--check", "--count", "1", "-f", saved) as watched:
        assert watched.ended() == 1


def test_in_a_pipe_it_appends(saved):
    done = hashstats("watch", "-n", "0.1", "--count", "3", "-f", saved)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("TABLE") == 3 and "\x1b" not in done.stdout
    assert len(done.stdout.split("\n\n")) == 3


def test_reader_that_leaves(saved):
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {TOOL} watch -n 0.1 -f {saved} | head -n 5"],
        text=True,
        timeout=LIMIT,
        capture_output=True,
        env=environment(),
    )
    assert done.stderr == "" and done.stdout.count("\n") == 5


@pytest.mark.parametrize(
    "words", [["-f", "-"], ["-n", "0"], ["-n", "nan"], ["--count", "0"]], ids=" ".join
)
def test_refused(words):
    done = hashstats("watch", *words)
    assert done.returncode == 2 and "accepted" in done.stderr
