# SPDX-License-Identifier: GPL-2.0
"""A bootable disk with Debian 13: systemd, GRUB, Debian's kernel, and an agent.

mmdebstrap installs the packages. The machine itself runs grub-install, as an installer
does, in a first boot without GRUB. Guests share the disk and do not write to it. apt in
the machine needs no network: its lists, and the packages in LATER, are on the disk.
"""

import hashlib
import os
import shutil
import struct
from pathlib import Path

from common import BUILD, die, disk, lock, run, step
from common.archive import KEYRING, mirror
from common.packages import ensure_packages
from guest import debian_disk, machine_agent
from guest.accelerator import Accelerator
from guest.machine import Direct, Machine

FOLDER = BUILD / "machine"
IMAGE = FOLDER / "disk"
SUITE = "trixie"
KERNEL = "linux-image-cloud-amd64"
PACKAGES = (
    KERNEL,
    "dbus",
    "grub-pc",
    "initramfs-tools",
    "kmod",
    "procps",
    "prometheus-node-exporter",
    "python3",
    "systemd-sysv",
    "udev",
)
# What a load installs in the machine.
LATER = ("git", "postgresql")
SIZE = 6 << 30  # of the disk, of which the file has only what is used
START = 1 << 20  # of its one partition
UUID = "b007a5b0-0000-4000-8000-000000000002"
SOUND = "console=ttyS0 no_timer_check"  # see vm.py
COMMAND_LINE = f"root=UUID={UUID} {SOUND}"
BYTES = 4 * disk.GIB
AGENT = """\
[Unit]
Description=Runs what the host sends
# The port appears when its driver has been loaded.
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/sbin/agent /dev/virtio-ports/agent
Restart=on-failure
RestartSec=1

[Install]
WantedBy=multi-user.target
"""
# No menu on a screen that is not there.
GRUB = f"""\
GRUB_TIMEOUT=1
GRUB_TERMINAL=serial
GRUB_CMDLINE_LINUX="{SOUND}"
"""
# An emulated machine is slow to start.
PATIENCE = """\
[Manager]
DefaultTimeoutStartSec=10min
DefaultDeviceTimeoutSec=10min
"""
FILES = {
    "etc/fstab": f"UUID={UUID} / ext4 errors=remount-ro 0 1\n",
    "etc/hostname": "machine\n",
    "etc/default/grub.d/10-machine.cfg": GRUB,
    "etc/systemd/system.conf.d/patience.conf": PATIENCE,
    "etc/systemd/system/agent.service": AGENT,
    "usr/local/sbin/agent": Path(machine_agent.__file__).read_text(),
}
HOOKS = (
    'chmod +x "$1/usr/local/sbin/agent"',
    'chroot "$1" systemctl --quiet enable agent.service',
    f'chroot "$1" apt-get -y --download-only install {" ".join(LATER)}',
)


def image(accel: Accelerator) -> Path:
    """The disk, made when it is missing."""
    with lock(FOLDER / "lock"):
        stamp = FOLDER / "stamp"
        if not (stamp.is_file() and stamp.read_text() == key() and IMAGE.is_file()):
            stamp.unlink(missing_ok=True)
            make(accel)
            stamp.write_text(key())
    return IMAGE


def key() -> str:
    return hashlib.sha256(Path(__file__).read_bytes() + FILES.__repr__().encode()).hexdigest()


def make(accel: Accelerator) -> None:
    if os.geteuid():
        die("a Debian machine: only root can make a disk with files of several users")
    ensure_packages("disk")
    disk.require(FOLDER, BYTES, "the disk of a Debian machine")
    root = FOLDER / "root"
    with step(f"install Debian's {SUITE} on a disk"):
        bootstrap(root)
        write_disk(root)
    with step("start it and install GRUB") as now:
        direct = Direct(newest(root, "vmlinuz"), newest(root, "initrd.img"), COMMAND_LINE)
        with Machine(IMAGE, accel, direct=direct, kept=True) as machine:
            machine.booted()
            machine.run("grub-install /dev/vda 2>&1; update-grub 2>&1; sync")
            machine.power_off()
            now.note = machine.release
    shutil.rmtree(root)


def bootstrap(root: Path) -> None:
    """The folder of a Debian with the packages and our files."""
    log = FOLDER / "mmdebstrap.log"
    ours = FOLDER / "files"
    for name, text in FILES.items():
        path = ours / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.rmtree(root, ignore_errors=True)
    command = [
        "mmdebstrap",
        "--variant=important",
        # The packages in LATER stay in the cache, and apt finds them in its lists.
        "--skip=cleanup/apt",
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in debian_disk.LEFT_OUT),
        *(f"--aptopt={line}" for line in debian_disk.proxies()),
        f"--customize-hook=sync-in {ours} /",
        *(f"--customize-hook={line}" for line in HOOKS),
        SUITE,
        root,
        f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main",
    ]
    if run(command, log=log, check=False).returncode:
        die(f"mmdebstrap could not install Debian's {SUITE}; full log: {log}")


def newest(root: Path, name: str) -> Path:
    return max((root / "boot").glob(f"{name}-*"))


def write_disk(root: Path) -> None:
    """A disk with one partition, which has the files."""
    part = IMAGE.with_suffix(".new")
    part.unlink(missing_ok=True)
    with open(part, "wb") as handle:
        handle.truncate(SIZE)
    options = f"offset={START},root_owner=0:0"
    blocks = (SIZE - START) // 4096
    run(
        ["mkfs.ext4", "-q", "-b", "4096", "-d", root, "-U", UUID, "-E", options, part, blocks],
        what="mkfs.ext4 of the machine's disk",
    )
    with open(part, "r+b") as handle:
        handle.seek(446)
        handle.write(partition(START // 512, (SIZE - START) // 512))
        handle.seek(510)
        handle.write(b"\x55\xaa")
    part.replace(IMAGE)


def partition(start: int, sectors: int) -> bytes:
    """The entry of a bootable Linux partition; firmware takes sectors, not cylinders."""
    beyond = b"\xfe\xff\xff"
    return b"\x80" + beyond + b"\x83" + beyond + struct.pack("<II", start, sectors)
