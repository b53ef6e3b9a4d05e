# SPDX-License-Identifier: GPL-2.0
"""make boot, make shell: the patched kernel with the host's userland."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from common import ROOT, die, flag, lock, packages, setting
from guest import limits, vm, vng
from guest.accelerator import Accelerator
from kernel import build
from kernel.build import Build

SECONDS = 60  # time limit of a boot and its load with KVM

TOOL = ROOT / "tools/hashstats/hashstats"
# The table of which make boot shows a histogram: the load creates files.
SHOWN = "dentry"
# Of the boot log: lines of mm/boot_hash.c and mm/hashstats.c, which only warn.
WARNING = re.compile(r"^(?:\[[ 0-9.]+\] )?((?:boot_hash|hashstats): .*)", re.MULTILINE)

# A file system is made and really used. A RAM disk needs no driver, and its memory is
# taken only as it is written.
LOAD = """\
if [ ! -e /proc/hashstats ]; then
    echo "this kernel has no /proc/hashstats; it needs CONFIG_HASHSTATS=y" >&2
    exit 1
fi
tree=$(mktemp -d /run/tree.XXXXXX)
PATH=$PATH:/usr/sbin:/sbin:{programs}
echo "kernel: $(uname -r), processors: $(nproc)"
cat /proc/hashstats > {results}/before
mkfs.ext4 -q -m 0 -E nodiscard /dev/ram0 {disk}K
mount /dev/ram0 "$tree"
fstree "$tree" -p {processes} -d {dirs} -f 40
cat /proc/hashstats > {results}/after
umount "$tree"
"""


def options() -> tuple[int, int, str]:
    """The make variables of a guest; a bad one ends in one line."""
    return (
        limits.memory(setting("MEM")),
        limits.cpus(setting("CPUS")),
        setting("APPEND"),
    )


def load(mem: int, cpus: int) -> str:
    """The script for the guest, to measure for its memory."""
    # A file of the tree is at most one block of 4 KiB, its inode 256 bytes.
    disk = min(mem // 4, 512 << 20)
    dirs = min(200, disk // (40 * 8192))
    return LOAD.format(
        programs=vng.PROGRAMS, results=vng.RESULTS, disk=disk >> 10, processes=2 * cpus, dirs=dirs
    )


def prepare() -> tuple[Path, Build, Accelerator, int, int, str]:
    mem, cpus, append = options()
    vng.words(append)
    packages.ensure_packages("boot")
    venv = packages.ensure_venv()
    built = build.guest()
    accel = vm.accelerator(built)
    print(f"  {accel}", flush=True)
    return venv, built, accel, mem, cpus, append


def boot() -> int:
    with lock(vng.FOLDER / "lock"):
        return boot_once()


def boot_once() -> int:
    venv, built, accel, mem, cpus, append = prepare()
    cmd = vng.command(venv, built.vmlinux, accel, mem, cpus, append, load(mem, cpus))
    if flag("V"):
        print("  " + shlex.join(cmd), flush=True)
    before, after = vng.OUT / "before", vng.OUT / "after"
    for path in (before, after):
        path.unlink(missing_ok=True)
    try:
        seconds = vng.run(cmd, accel.limit(SECONDS))
    except vm.GuestError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        for line in warnings(vng.console()):
            print(f"  the kernel warned: {line}")
    print(f"  the guest powered off after {seconds:.1f} s", flush=True)
    return show(before, after)


def warnings(console: str) -> list[str]:
    """What the kernel said about parameters of the series."""
    return WARNING.findall(console)


def show(before: Path, after: Path) -> int:
    """Print what hashstats says of the guest's copies of /proc/hashstats."""
    if flag("V"):
        print(after.read_text())
    status = 0
    for title, words in (
        ("before the load:", ("show", "-f", before)),
        ("after the load:", ("show", "-f", after)),
        (f"chain lengths of {SHOWN} after the load:", ("hist", SHOWN, "-f", after)),
    ):
        print(f"\n{title}\n", flush=True)
        status = status or subprocess.call([sys.executable, "-B", TOOL, *words])
    print(f"\nthe guest's /proc/hashstats is in {before} and {after}; V=1 prints the second")
    return status


def shell() -> int:
    venv, built, accel, mem, cpus, append = prepare()
    if not sys.stdin.isatty():
        die("make shell: needs a terminal; `make boot` needs none")
    cmd = vng.command(venv, built.vmlinux, accel, mem, cpus, append)
    if flag("V"):
        print("  " + shlex.join(cmd))
    print(f"  fstree and readstats are in {vng.PROGRAMS}")
    print("  to leave: `exit` or Ctrl-D; a guest that hangs: Ctrl-A, then x", flush=True)
    # The terminal stays ours: no new session, Ctrl-C belongs to the guest.
    return subprocess.call(["setpriv", "--pdeathsig", "KILL", *cmd])
