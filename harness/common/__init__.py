# SPDX-License-Identifier: GPL-2.0
"""What every script shares: places, one-line errors, progress, commands."""

import contextlib
import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from common.failure import Failure as Failure
from common.failure import die as die
from common.settings import flag as flag
from common.settings import setting as setting

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"

StrPath = str | os.PathLike[str]
Done = subprocess.CompletedProcess[str]

HEARTBEAT = 15  # seconds between two signs of life of a long step
TAIL = 30  # log lines shown when a command fails
FULL = 1 << 20  # a disk with fewer bytes free is full
DISK_FULL = f"the disk of {BUILD} is full; free some and run make again, it goes on from there"


class Step:
    """What a running step says of itself; `note` is a text or a function."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.note: str | Callable[[], str] = ""
        self.start = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def line(self) -> str:
        note = self.note() if callable(self.note) else self.note
        seconds = self.seconds()
        shown = f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
        return f"  {self.title} ... {shown}" + (f", {note}" if note else "")

    def _beat(self) -> None:
        while not self._over.wait(HEARTBEAT):
            print(self.line(), flush=True)

    def begin(self) -> "Step":
        self._thread.start()
        return self

    def end(self) -> None:
        self._over.set()
        self._thread.join()


@contextlib.contextmanager
def step(title: str) -> Iterator[Step]:
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


def tail(path: StrPath) -> list[str]:
    """The last lines of a log."""
    return Path(path).read_text(errors="replace").splitlines()[-TAIL:]


def run(
    cmd: Iterable[object], log: StrPath | None = None, what: str = "", check: bool = True, **kw: Any
) -> Done:
    """Run a command without a shell and return the CompletedProcess.

    With log= all output goes there, and its end is shown when the command
    fails; without, output is captured as text.  check=False leaves the
    judgement to the caller.
    """
    words = [str(word) for word in cmd]
    kw.setdefault("stdin", None if "input" in kw else subprocess.DEVNULL)
    if kw["stdin"] is None:
        del kw["stdin"]
    try:
        if log:
            done = _run_logged(words, Path(log), kw)
        else:
            done = subprocess.run(
                words, text=True, errors="surrogateescape", capture_output=True, **kw
            )
    except FileNotFoundError as error:
        missing = error.filename or words[0]
        die(f"{missing}: not found; `make setup` installs what is needed")
    if check and done.returncode:
        _failed(words, done, log, what)
    return done


def _run_logged(cmd: list[str], log: Path, kw: dict[str, Any]) -> Done:
    """With V=1 the output is shown as well as logged."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", errors="replace", buffering=1) as out:
        print("+ " + shlex.join(cmd), file=out, flush=True)
        if not flag("V"):
            return subprocess.run(cmd, text=True, stdout=out, stderr=subprocess.STDOUT, **kw)
        with subprocess.Popen(
            cmd, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw
        ) as process:
            assert process.stdout
            for line in process.stdout:
                out.write(line)
                sys.stdout.write(line)
        return subprocess.CompletedProcess(cmd, process.returncode)


def _failed(cmd: list[str], done: Done, log: StrPath | None, what: str) -> NoReturn:
    lines = tail(log) if log else (done.stderr or done.stdout or "").splitlines()
    if any("No space left on device" in line for line in lines) or disk_is_full():
        die(f"{what or shlex.join(cmd[:4])}: {DISK_FULL}")
    for line in lines[-TAIL:]:
        print("    | " + line, file=sys.stderr)
    where = f"; full log: {log}" if log else ""
    die(f"{what or shlex.join(cmd[:4])} failed with status {done.returncode}{where}")


def disk_is_full() -> bool:
    """Then a command may have failed without being able to log why."""
    return BUILD.is_dir() and shutil.disk_usage(BUILD).free < FULL


@contextlib.contextmanager
def lock(path: StrPath) -> Iterator[None]:
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


def write_if_changed(path: StrPath, text: str | bytes) -> bool:
    """Write a file only when its content differs: keeps time stamps quiet."""
    path = Path(path)
    data = text if isinstance(text, bytes) else text.encode()
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True
