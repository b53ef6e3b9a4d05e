# SPDX-License-Identifier: GPL-2.0
"""make boot, make shell: the patched kernel with the host's userland."""

import shlex
import subprocess
import sys
from pathlib import Path

from common import die, lock, packages, setting
from guest import limits, vm, vng
from guest.accelerator import Accelerator
from kernel.build import Build

SECONDS = 60  # time limit of a boot and its load with KVM

# A file system is made and really used, then the tables are shown.  A RAM
# disk needs no driver and its memory is taken only as it is written.
LOAD = """\
if [ ! -e /proc/hashstats ]; then
    echo "this kernel has no /proc/hashstats; it needs CONFIG_HASHSTATS=y" >&2
    exit 1
fi
tree=$(mktemp -d /run/tree.XXXXXX)
PATH=$PATH:/usr/sbin:/sbin:{programs}
echo "kernel: $(uname -r), processors: $(nproc)"
mkfs.ext4 -q -m 0 -E nodiscard /dev/ram0 {disk}K
mount /dev/ram0 "$tree"
fstree "$tree" -p {processes} -d {dirs} -f 40
echo
cat /proc/hashstats
umount "$tree"
"""


def options() -> tuple[int, int, str]:
    """The make variables of a guest; a bad one ends in one line."""
    return (
        limits.memory(setting("MEM", "1G")),
        limits.cpus(setting("CPUS", "2")),
        setting("APPEND"),
    )


def load(mem: int, cpus: int) -> str:
    """The script for the guest, to measure for its memory."""
    # A file of the tree is at most one block of 4 KiB, its inode 256 bytes.
    disk = min(mem // 4, 512 << 20)
    dirs = min(200, disk // (40 * 8192))
    return LOAD.format(programs=vng.PROGRAMS, disk=disk >> 10, processes=2 * cpus, dirs=dirs)


def kernel() -> Build:
    """The patched kernel, built when it is not."""
    from kernel import build

    return build.patched()


def prepare() -> tuple[Path, Build, Accelerator, int, int, str]:
    mem, cpus, append = options()
    vng.words(append)
    packages.ensure_packages("boot")
    venv = packages.ensure_venv()
    built = kernel()
    accel = vm.accelerator(built)
    print(f"  {accel}", flush=True)
    return venv, built, accel, mem, cpus, append


def boot() -> int:
    with lock(vng.FOLDER / "lock"):
        return boot_once()


def boot_once() -> int:
    venv, built, accel, mem, cpus, append = prepare()
    cmd = vng.command(venv, built.bzimage, accel, mem, cpus, append, load(mem, cpus))
    print("  " + shlex.join(cmd), flush=True)
    try:
        seconds = vng.run(cmd, accel.limit(SECONDS))
    except vm.GuestError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"  the guest powered off after {seconds:.1f} s", flush=True)
    return 0


def shell() -> int:
    venv, built, accel, mem, cpus, append = prepare()
    if not sys.stdin.isatty():
        die("make shell: needs a terminal; `make boot` needs none")
    cmd = vng.command(venv, built.bzimage, accel, mem, cpus, append)
    print("  " + shlex.join(cmd))
    print(f"  fstree and readstats are in {vng.PROGRAMS}")
    print("  to leave: `exit` or Ctrl-D; a guest that hangs: Ctrl-A, then x", flush=True)
    # The terminal stays ours: no new session, Ctrl-C belongs to the guest.
    return subprocess.call(["setpriv", "--pdeathsig", "KILL", *cmd])
