# SPDX-License-Identifier: GPL-2.0
"""A whole Debian machine in QEMU, told what to do through a port by its agent.

Unlike vm.Guest it boots from a disk, by GRUB, and may boot again.
"""

import contextlib
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, NoReturn

from guest import accelerator as accelerators
from guest import vm
from guest.accelerator import Accelerator
from guest.verdict import PANIC, SHOWN, GuestError, excerpt

BOOT_SECONDS = 60  # with KVM; emulation gets more
SCRIPT_SECONDS = 60
# QEMU 7.2 emulates cmpxchg16b wrongly at times; see stock.py.
PROCESSOR = {"kvm": "host", "tcg": "max,-cx16"}


class Direct(NamedTuple):
    """A kernel that QEMU starts instead of the boot loader."""

    kernel: Path
    initrd: Path
    append: str

    def options(self) -> list[str]:
        return ["-kernel", str(self.kernel), "-initrd", str(self.initrd), "-append", self.append]


class Machine:
    """A machine that runs; leave the with block and it is gone.

    disk    with a boot loader; changes last as long as the machine unless `kept`
    second  a disk that is only read, /dev/vdb
    """

    def __init__(
        self,
        disk: Path,
        accel: Accelerator,
        *,
        mem: str = "2G",
        cpus: int = 2,
        direct: Direct | None = None,
        kept: bool = False,
        second: Path | None = None,
    ) -> None:
        self.accel = accel
        self.folder = vm.new_folder()
        self.release = ""
        self.command = [
            *(*vm.DIES_WITH_US, accelerators.QEMU, *vm.BARE, "-M", "q35"),
            *("-accel", accel.qemu(), "-cpu", PROCESSOR[accel.name]),
            *("-m", mem, "-smp", str(cpus), "-serial", "file:console"),
            *("-device", "virtio-rng-pci", "-device", "virtio-serial-pci"),
            *("-chardev", "socket,id=agent,path=agent.sock,server=on,wait=on"),
            *("-device", "virtserialport,chardev=agent,name=agent"),
            *drive(disk, f"snapshot={'off' if kept else 'on'}"),
            *(drive(second, "readonly=on") if second else ()),
            *(direct.options() if direct else ()),
        ]
        self.process: subprocess.Popen[bytes]
        self.port: socket.socket
        self.received = b""

    def __enter__(self) -> "Machine":
        # The changes of a snapshot are kept in TMPDIR and go with the folder.
        self.process = vm.start(self.command, self.folder, TMPDIR=str(self.folder))
        try:
            self._connect()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.port.close()
        self._end()

    def _end(self) -> None:
        vm.kill(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connect(self) -> None:
        """QEMU waits for us before it starts the machine, so nothing is lost."""
        limit = time.monotonic() + 10
        while True:
            if self.process.poll() is not None or time.monotonic() > limit:
                raise GuestError("qemu", "qemu did not start", self._lines("qemu"))
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                self.port = vm.connect(self.folder, "agent.sock")
                return
            time.sleep(0.05)

    def _lines(self, name: str) -> list[str]:
        return vm.text_of(self.folder / name).splitlines()[-SHOWN:]

    @property
    def console(self) -> str:
        return vm.text_of(self.folder / "console")

    def _fail(self, kind: str, reason: str, details: Iterable[str] = ()) -> NoReturn:
        raise GuestError(kind, reason, [*details, "console:", *excerpt(self.console)])

    def _line(self, seconds: float, what: str) -> str:
        """The next line from the agent."""
        seconds = self.accel.limit(seconds)
        end = time.monotonic() + seconds
        while b"\n" not in self.received:
            if panic := PANIC.search(self.console):
                self._fail("panic", f"the machine panicked: {panic[1].strip()}")
            if time.monotonic() > end:
                self._fail("hang", f"{what} did not end within {seconds:.0f} s")
            self.port.settimeout(1)
            with contextlib.suppress(TimeoutError):
                data = self.port.recv(1 << 16)
                if not data:
                    self._fail("qemu", f"qemu ended during {what}", self._lines("qemu"))
                self.received += data
        line, _, self.received = self.received.partition(b"\n")
        return line.decode()

    def booted(self) -> str:
        """Wait for the agent of a new boot; the kernel's release is returned."""
        line = self._line(BOOT_SECONDS, "the boot")
        # The port may still have what an agent could not finish.
        match = re.search(r"ready (\S+)$", line)
        if not match:
            return self.booted()
        self.release = match[1]
        return self.release

    def run(self, script: str, seconds: float = SCRIPT_SECONDS, check: bool = True) -> str:
        """What a script prints, run by root with `sh -e`."""
        self.port.settimeout(None)
        self.port.sendall(script.encode().hex().encode() + b"\n")
        status, _, output = self._line(seconds, f"`{script.strip().splitlines()[0]}`").partition(
            " "
        )
        text = bytes.fromhex(output).decode(errors="replace")
        if check and status != "0":
            self._fail(
                "status", f"a script in the machine failed with status {status}", text.splitlines()
            )
        return text

    def reboot(self) -> str:
        """As an administrator does; the release of the kernel that runs then."""
        self.run("systemctl reboot --no-block")
        return self.booted()

    def power_off(self) -> None:
        self.run("systemctl poweroff --no-block")
        self.process.wait(self.accel.limit(BOOT_SECONDS))


def drive(path: Path, option: str) -> list[str]:
    # A comma ends a value for QEMU, two are one.
    plain = str(path.resolve()).replace(",", ",,")
    return ["-drive", f"file={plain},format=raw,if=virtio,cache=unsafe,{option}"]
