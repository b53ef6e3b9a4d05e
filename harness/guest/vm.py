# SPDX-License-Identifier: GPL-2.0
"""Small guests: a kernel, an initramfs, a job, and a verdict that is sure.

A job is a shell script.  What it prints and its exit status leave the guest
through virtio ports into files, exactly and apart from the console.  Only a
guest that delivers a status has ended well; one that panics, hangs, complains
or goes silently raises GuestError with one line of reason.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from common import BUILD, die
from guest import accelerator as accelerators
from guest import initramfs, limits
from guest.accelerator import Accelerator
from guest.verdict import SHOWN, End, GuestError, complaints, excerpt, problem
from kernel.architectures import X86_64, Architecture
from kernel.build import Build

Image = str | Path | Build  # a vmlinux or bzImage

SECONDS = 30  # time limit of a job with KVM
PROBE_SECONDS = 10  # KVM boots a guest in one or two

# The kernel ends QEMU when we die, however we die.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")
BARE = ("-nodefaults", "-no-user-config", "-display", "none")

# A guest that faulted has failed, whatever its job says.
SOUND = "oops=panic"
# While a busy host keeps emulated processors waiting, the guest's clock goes on.
# That is no lockup of the guest.
PATIENT = "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300"


@dataclass
class Result:
    status: int  # exit status of the job
    output: str  # what it printed, standard error included
    console: str  # the kernel's messages
    seconds: float  # from the start of QEMU to its end

    @property
    def complaints(self) -> list[str]:
        return complaints(self.console)


def verdict_options(accel: Accelerator) -> str:
    """Kernel options by which a guest reports its own faults, and no others."""
    return SOUND if accel.name == "kvm" else f"{SOUND} {PATIENT}"


def accelerator(kernel: Image) -> Accelerator:
    """What guests run with on this machine; probed with the given kernel."""

    def boots(name: str) -> str | None:
        trial = accelerators.Accelerator(name, "probe")
        try:
            run(kernel, "true", accel=trial, mem="128M", timeout=PROBE_SECONDS)
        except GuestError as error:
            if error.kind == "hang":
                return f"a guest did not run within {PROBE_SECONDS} s"
            return error.reason
        return None

    return accelerators.choose(boots)


def run(kernel: Image, script: str, **options: Any) -> Result:
    """Run a job in a guest of its own and return its Result; see Guest."""
    with Guest(kernel, script, **options) as guest:
        return guest.finish()


def new_folder() -> Path:
    """A folder for one guest; those of killed scripts are swept away."""
    base = BUILD / "guests"
    base.mkdir(parents=True, exist_ok=True)
    for old in base.glob("guest-*-*"):
        if not os.path.exists(f"/proc/{old.name.split('-')[1]}"):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"guest-{os.getpid()}-", dir=base))


def start(command: list[str], folder: Path, **environment: str) -> "subprocess.Popen[bytes]":
    """QEMU, in a folder that gets its messages and goes if it does not start."""
    with open(folder / "qemu", "wb") as messages:
        try:
            return subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
            )
        except FileNotFoundError as error:
            shutil.rmtree(folder, ignore_errors=True)
            die(f"{error.filename}: not found; `make setup` installs what is needed")


def connect(folder: Path, name: str) -> socket.socket:
    """A socket of a guest's folder. A path may have 107 characters; this one always fits."""
    handle = os.open(folder, os.O_PATH)
    try:
        port = socket.socket(socket.AF_UNIX)
        port.connect(f"/proc/self/fd/{handle}/{name}")
        return port
    finally:
        os.close(handle)


def text_of(path: Path) -> str:
    """What a guest has written so far; QEMU may not have made the file yet."""
    return path.read_text(errors="replace").replace("\r", "") if path.exists() else ""


def kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Guest:
    """A guest that runs; leave the with block and it is gone.

    kernel      path of a vmlinux or bzImage, or an object with .vmlinux
    script      run with `sh -e`; busybox and our guest programs are there
    mem, cpus   as `512M` and 2
    append      more kernel command line
    timeout     seconds with KVM; emulation gets more
    files       guest path -> host Path, text or bytes
    programs    host programs that come along with their libraries
    disk        size of an empty /dev/vda, as `256M`
    gdb         a gdb server waits in the socket `gdb.sock` of .folder
    qemu        more QEMU arguments
    parallel    True: emulated processors run at the same time; for kernels
                without CONFIG_JUMP_LABEL, see accelerator.py
    check       False: a job may exit with another status than 0
    complaints  True: the kernel may complain
    arch        the kernel's architecture and its machine
    """

    def __init__(
        self,
        kernel: Image,
        script: str,
        *,
        mem: str = "512M",
        cpus: int = 2,
        append: str = "",
        timeout: float = SECONDS,
        files: initramfs.Files | None = None,
        programs: Iterable[str] = (),
        disk: str | None = None,
        gdb: bool = False,
        qemu: Iterable[str] = (),
        parallel: bool = False,
        check: bool = True,
        complaints: bool = False,
        accel: Accelerator | None = None,
        arch: Architecture = X86_64,
    ) -> None:
        self.kernel = kernel.obj / arch.image if isinstance(kernel, Build) else Path(kernel)
        if not self.kernel.is_file():
            die(f"{self.kernel}: no such kernel image")
        self.arch = arch
        if arch.userland:
            accel = Accelerator("tcg", f"this machine does not run programs of {arch.userland}")
        self.accel = accel or accelerator(self.kernel)
        self.mem = limits.memory(mem, "mem")
        self.cpus = limits.cpus(str(cpus), "cpus")
        self.append = " ".join(
            (
                arch.console,
                "panic=-1",
                verdict_options(self.accel),
                "nokaslr" if gdb else "",
                append,
            )
        )
        self.limit = self.accel.limit(timeout)
        self.check, self.complaints = check, complaints
        self.parallel = parallel or arch.parallel
        self.folder = new_folder()
        self.pauses = 0
        self.process: subprocess.Popen[bytes]
        self._control: socket.socket | None = None
        self._write("initramfs", initramfs.build(script, files, programs, arch.userland))
        self.extra = list(qemu)
        if disk:
            with open(self.folder / "disk", "wb") as image:
                image.truncate(limits.size(disk))
            self.extra += ["-drive", "file=disk,format=raw,if=virtio,cache=unsafe"]
        if gdb:
            self.extra += ["-chardev", "socket,id=gdb,path=gdb.sock,server=on,wait=off"]
            self.extra += ["-gdb", "chardev:gdb"]

    def _write(self, name: str, data: bytes = b"") -> None:
        (self.folder / name).write_bytes(data)

    def _text(self, name: str) -> str:
        return text_of(self.folder / name)

    @property
    def console(self) -> str:
        return self._text("console")

    @property
    def output(self) -> str:
        return self._text("output")

    def command(self) -> list[str]:
        """The QEMU command line; relative names are in the guest's folder."""

        def port(name: str, backend: str) -> tuple[str, ...]:
            device = f"virtserialport,chardev={name},name={name}"
            return ("-chardev", f"{backend},id={name}", "-device", device)

        return [
            *DIES_WITH_US,
            *(self.arch.qemu, *BARE, "-no-reboot", "-M", self.arch.machine),
            *("-accel", self.accel.qemu(self.parallel)),
            *("-cpu", "host" if self.accel.name == "kvm" else self.arch.cpu),
            *("-m", f"{self.mem >> 10}K", "-smp", str(self.cpus)),
            *("-kernel", str(self.kernel.resolve()), "-initrd", "initramfs"),
            *("-append", self.append, "-serial", "file:console", "-device", self.arch.port),
            *port("output", "file,path=output"),
            *port("status", "file,path=status"),
            *port("control", "socket,path=control.sock,server=on,wait=off"),
            *self.extra,
        ]

    def __enter__(self) -> "Guest":
        self.start = time.monotonic()
        self.process = start(self.command(), self.folder)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        kill(self.process)
        if self._control:
            self._control.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _fail(self, kind: str, reason: str) -> NoReturn:
        output = self.output.splitlines()[-SHOWN:]
        details = ["console:", *excerpt(self.console)]
        if output:
            details += ["output of the job:", *output]
        raise GuestError(kind, reason, details)

    def _hangs(self) -> str | None:
        """Why a guest that still runs will never end, or None."""
        if "KVM internal error" in self._text("qemu"):
            return "kvm stopped the guest with an internal error"
        if time.monotonic() - self.start > self.limit:
            return f"the guest hung: it did not end within {self.limit:.0f} s ({self.accel.name})"
        return None

    def _wait(self, done: Callable[[], bool]) -> None:
        """Wait until done() holds or the guest has ended."""
        while not done() and self.process.poll() is None:
            reason = self._hangs()
            if reason:
                kill(self.process)
                self._verdict(reason)
            time.sleep(0.02)

    def ready(self) -> None:
        """Wait until the job calls `wait-for-host`; then it stands still."""
        self.pauses += 1
        self._wait(lambda: self._stops() >= self.pauses)
        if self._stops() < self.pauses:
            self._verdict()
            self._fail("silent", "the guest ended and never waited for the host")

    def _stops(self) -> int:
        return self.output.splitlines().count("READY")

    def go(self) -> None:
        """Let the job go on after `wait-for-host`."""
        if not self._control:
            self._control = connect(self.folder, "control.sock")
        self._control.sendall(b"go\n")

    def finish(self) -> Result:
        """Wait for the end of the guest and judge it."""
        self._wait(lambda: False)
        status = self._verdict()
        return Result(status, self.output, self.console, time.monotonic() - self.start)

    def _verdict(self, stopped: str = "") -> int:
        """The job's status; a guest that failed raises."""
        delivered = re.fullmatch(r"status (\d+)\n", self._text("status"))
        status = int(delivered[1]) if delivered else None
        end = End(self.console, status, stopped, self._qemu_failed())
        found = problem(end, self.check, self.complaints)
        if found:
            self._fail(*found)
        assert status is not None  # or the guest ended silently
        return status

    def _qemu_failed(self) -> str:
        if not self.process.returncode:
            return ""
        lines = self._text("qemu").splitlines() or ["no message"]
        return f"qemu ended with status {self.process.returncode}: {lines[-1]}"
