# SPDX-License-Identifier: GPL-2.0
"""Guests with the host's own userland: virtme-ng, the host's files over 9p."""

import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from common import BUILD, Step, die, write_if_changed
from guest import accelerator as accelerators
from guest import initramfs, vm
from guest.accelerator import Accelerator
from guest.verdict import End, GuestError, excerpt, problem
from kernel.architectures import NO_TIMER_CHECK

FOLDER = BUILD / "boot"
CONSOLE = FOLDER / "console.log"
OUT = FOLDER / "out"  # what the script leaves in RESULTS
# Where the guest finds our programs and its script: the host's /tmp and /run
# are hidden in it, and our repository may be there.
PROGRAMS = "/run/boothash/bin"
JOB = "/run/boothash/job"
RESULTS = "/run/boothash/out"
NO_STATUS = 255  # virtme-run's own, when the guest left none


def wrapper(accel: Accelerator) -> Path:
    """A QEMU that the kernel ends together with virtme-run."""
    # virtme-run names KVM itself, and nothing for emulation.
    more = f" -accel {accel.qemu()}" if accel.name == "tcg" else ""
    path = FOLDER / "qemu"
    write_if_changed(
        path,
        f'#!/bin/sh\nexec setpriv --pdeathsig KILL {shutil.which(accelerators.QEMU)} "$@"{more}\n',
    )
    path.chmod(0o755)
    return path


def job(script: str) -> Path:
    """The folder that the guest finds its script in."""
    folder = FOLDER / "job"
    write_if_changed(folder / "script", script)
    return folder


def words(text: str, name: str = "APPEND") -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        die(f"{name}={text}: {error}; accepted: kernel parameters, quoted as for a shell")


def command(
    venv: Path,
    image: Path,
    accel: Accelerator,
    mem: int,
    cpus: int,
    append: str,
    script: str | None = None,
) -> list[str]:
    """The virtme-run command line; with no script it gives a prompt."""
    cmd = [
        *(str(venv / "bin/virtme-run"), "--kimg", str(image), "--mods=none"),
        *("--qemu-bin", str(wrapper(accel)), "--memory", f"{mem >> 10}K", "--cpus", str(cpus)),
        *("--force-9p", "--disable-microvm", f"--rodir={PROGRAMS}={initramfs.tools()}"),
    ]
    if accel.name == "tcg":
        cmd.append("--disable-kvm")
    if script:
        OUT.mkdir(parents=True, exist_ok=True)
        cmd += [
            f"--rodir={JOB}={job(script)}",
            f"--rwdir={RESULTS}={OUT}",
            "--show-boot-console",
            "--script-sh",
            f"sh -e {JOB}/script 2>&1",
        ]
    else:
        for folder in ("/etc", "/home", "/var"):
            cmd.append(f"--overlay-rwdir={folder}")
    for word in (*words(vm.verdict_options(accel)), NO_TIMER_CHECK, *words(append)):
        cmd += ["-a", word]
    return cmd


def run(cmd: list[str], limit: float) -> float:
    """Run the script in a guest, show what it prints, judge its end."""
    start = time.monotonic()
    progress = Step("boot the guest").begin()
    with open(CONSOLE, "wb") as log:
        process = subprocess.Popen(
            [*vm.DIES_WITH_US, *cmd],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    reader = threading.Thread(target=to_screen, args=(process.stdout, progress))
    reader.start()
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        vm.kill(process)
        reader.join()
        progress.end()
    judge(status, limit)
    return time.monotonic() - start


def to_screen(stream: IO[bytes], progress: Step) -> None:
    """Show what the script prints; its first line ends the boot."""
    for number, line in enumerate(stream):
        if not number:
            progress.end()
            print(progress.line())
        sys.stdout.write(line.decode(errors="replace").replace("\r", ""))
        sys.stdout.flush()


def console() -> str:
    """The kernel's messages of the last run."""
    return CONSOLE.read_text(errors="replace").replace("\r", "")


def judge(status: int | None, limit: float) -> None:
    """Raise for a guest that failed; None: it did not end by itself."""
    stopped = f"the guest hung: it did not end within {limit:.0f} s" if status is None else ""
    found = problem(End(console(), None if status == NO_STATUS else status, stopped))
    if found:
        kind, reason = found
        # A job's own words are on the screen already.
        details = [] if kind == "status" else excerpt(console())
        raise GuestError(kind, f"{reason}; full console: {CONSOLE}", details)
