# SPDX-License-Identifier: GPL-2.0
"""What every script shares: places, one-line errors, progress, commands."""

import contextlib
import fcntl
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"

HEARTBEAT = 15  # seconds between two signs of life of a long step
TAIL = 30  # log lines shown when a command fails


class Failure(SystemExit):
    """Ends the script with status 2; the message has been made one line."""

    def __init__(self, message):
        super().__init__(2)
        self.message = " ".join(str(message).split())

    def __str__(self):
        return self.message


def die(message):
    """End with one clear line. Tests catch it as Failure."""
    raise Failure(message)


def setting(name, default=""):
    """A make variable (KERNEL, MEM, ...): make hands them over as environment."""
    return os.environ.get(name, "").strip() or default


def flag(name):
    """A yes/no make variable (FORCE, QUICK, V)."""
    value = setting(name, "0").lower()
    if value in ("1", "y", "yes"):
        return True
    if value in ("0", "n", "no"):
        return False
    die(f"{name}={value}: not a switch; accepted: 1 or 0")


class Step:
    """What a running step says of itself; `note` is a text or a function."""

    def __init__(self, title):
        self.title = title
        self.note = ""
        self.start = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def seconds(self):
        return time.monotonic() - self.start

    def line(self):
        note = self.note() if callable(self.note) else self.note
        seconds = self.seconds()
        shown = f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
        return f"  {self.title} ... {shown}" + (f", {note}" if note else "")

    def _beat(self):
        while not self._over.wait(HEARTBEAT):
            print(self.line(), flush=True)

    def begin(self):
        self._thread.start()
        return self

    def end(self):
        self._over.set()
        self._thread.join()


@contextlib.contextmanager
def step(title):
    """Say what is going on: a heartbeat while it runs, one line at its end."""
    if sys.stdout.isatty():
        print(f"  {title} ...", end="\r", flush=True)
    current = Step(title).begin()
    try:
        yield current
    except BaseException:
        current.end()
        print(current.line() + ", failed", flush=True)
        raise
    current.end()
    print(current.line(), flush=True)


def tail(path, lines=TAIL):
    """The last lines of a log."""
    return Path(path).read_text(errors="replace").splitlines()[-lines:]


def run(cmd, log=None, what="", check=True, **kw):
    """Run a command without a shell and return the CompletedProcess.

    With log= all output goes there, and its end is shown when the command
    fails; without, output is captured as text.  check=False leaves the
    judgement to the caller.
    """
    cmd = [str(word) for word in cmd]
    kw.setdefault("stdin", None if "input" in kw else subprocess.DEVNULL)
    if kw["stdin"] is None:
        del kw["stdin"]
    try:
        if log:
            done = _run_logged(cmd, Path(log), kw)
        else:
            done = subprocess.run(
                cmd, text=True, errors="surrogateescape", capture_output=True, **kw
            )
    except FileNotFoundError as error:
        missing = error.filename or cmd[0]
        die(f"{missing}: not found; `make setup` installs what is needed")
    if check and done.returncode:
        _failed(cmd, done, log, what)
    return done


def _run_logged(cmd, log, kw):
    """With V=1 the output is shown as well as logged."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", errors="replace", buffering=1) as out:
        print("+ " + shlex.join(cmd), file=out, flush=True)
        if not flag("V"):
            return subprocess.run(cmd, text=True, stdout=out, stderr=subprocess.STDOUT, **kw)
        with subprocess.Popen(
            cmd, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw
        ) as process:
            for line in process.stdout:
                out.write(line)
                sys.stdout.write(line)
        return subprocess.CompletedProcess(cmd, process.returncode)


def _failed(cmd, done, log, what):
    lines = tail(log) if log else (done.stderr or done.stdout or "").splitlines()
    for line in lines[-TAIL:]:
        print("    | " + line, file=sys.stderr)
    where = f"; full log: {log}" if log else ""
    die(f"{what or shlex.join(cmd[:4])} failed with status {done.returncode}{where}")


@contextlib.contextmanager
def lock(path):
    """Only one script at a time works in a build folder."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"  waiting for another make in {path.parent}", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def write_if_changed(path, text):
    """Write a file only when its content differs: keeps time stamps quiet."""
    path = Path(path)
    data = text if isinstance(text, bytes) else text.encode()
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True
