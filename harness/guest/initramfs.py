# SPDX-License-Identifier: GPL-2.0
"""A small initramfs: cpio archives written without being root."""

import functools
import os
import re
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath, PurePosixPath

from common import ROOT, die, lock, run, write_if_changed
from common.archive import fetch_package
from series import compose, gitcmd, source

Inside = str | PurePath  # a path in the guest
Files = Mapping[Inside, Path | str | bytes]

PROGRAMS = ROOT / "harness/guest/programs.mk"
SELFTESTS = "tools/testing/selftests"
# What the programs of both share.
COMMON = ROOT / SELFTESTS / "boothash"
# What it takes to build the selftests, of the kernel's tree.
NEEDED = ("boothash", "kselftest.h", "kselftest_harness.h", "lib.mk")

# The release of Debian whose busybox guests of other architectures have.
SUITE = "bookworm"

# PID 1 of a guest.  The job's output and its verdict leave through two virtio
# ports, so that neither can be mistaken for console noise.  The ports appear
# a little after the kernel has started init.
INIT = r"""#!/bin/sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/ TERM=linux
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t tmpfs tmp /tmp
# A stock kernel may have its virtio drivers as modules.
for module in /modules/*.ko; do
    [ ! -e "$module" ] || insmod "$module"
done
port() {
    for entry in /sys/class/virtio-ports/*; do
        read -r name < "$entry/name" && [ "$name" = "$1" ] &&
            [ -c "/dev/${entry##*/}" ] && echo "/dev/${entry##*/}" && return
    done 2>/dev/null
}
turns=0
while [ -z "$(port status)" ] || [ -z "$(port control)" ]; do
    turns=$((turns + 1))
    [ $turns -lt 600 ] || { echo "init: no virtio ports"; reboot -f; }
    sleep 0.05
done
# The control port stays open: what arrives while it is closed is lost.
sh -e /job/script < /dev/null > "$(port output)" 2>&1 3<> "$(port control)"
status=$?
echo "status $status" > "$(port status)"
# Without ACPI there is no other end; QEMU runs with -no-reboot.
reboot -f
"""

# What a script finds as commands besides busybox and our tools.
HELPERS = {
    # Says READY to the host and waits until the host lets it go on.
    "/bin/wait-for-host": """#!/bin/sh
echo READY
# Nothing can be read before the host is connected.
until read -r go <&3; do sleep 0.05; done
""",
}


class Archive:
    """A newc cpio archive, built in memory."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.known: set[str] = set()
        self.size = 0

    def _entry(self, name: str, mode: int, data: bytes = b"") -> None:
        self.known.add(name)
        raw = name.encode() + b"\0"
        fields = (len(self.known), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields)
        for part in (head + raw, data):
            self.parts.append(part + bytes(-len(part) % 4))

    def directory(self, path: Inside) -> None:
        """Add a folder and what leads to it."""
        path = PurePosixPath(path)
        for part in (*reversed(path.parents), path):
            name = str(part).lstrip("/")
            if name and name not in self.known:
                self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, path: Inside, data: str | bytes, mode: int = 0o755) -> None:
        if isinstance(data, str):
            data = data.encode()
        self.directory(PurePosixPath(path).parent)
        self._entry(str(path).lstrip("/"), stat.S_IFREG | mode, data)

    def link(self, path: Inside, target: str) -> None:
        self.directory(PurePosixPath(path).parent)
        self._entry(str(path).lstrip("/"), stat.S_IFLNK | 0o777, target.encode())

    def bytes(self) -> bytes:
        self._entry("TRAILER!!!", 0)
        return b"".join(self.parts)


def busybox(architecture: str = "") -> Path:
    """The static busybox of the host, or of a Debian architecture."""
    if architecture:
        otherwise = "guests of this architecture cannot run"
        package = fetch_package("busybox-static", SUITE, otherwise, architecture)
        return next(package.glob("**/bin/busybox"))
    path = shutil.which("busybox")
    if not path:
        die("busybox: not found; `make setup` installs busybox-static")
    # No dynamic loader is named in a static program.
    if re.search(rb"/ld-linux[^\0]*\0", Path(path).read_bytes()):
        die(f"{path} is linked dynamically; a guest needs Debian's busybox-static")
    return Path(path)


@functools.cache
def selftests() -> Path:
    """Our selftests beside what they need of the kernel's; their folder."""
    repo, commit = source.base_repo(), compose.compose()
    folder = source.version_dir() / "selftests"
    wanted = [f"{SELFTESTS}/{name}" for name in NEEDED]
    for name in gitcmd.records("ls-tree", "-rz", "--name-only", commit, "--", *wanted, repo=repo):
        write_if_changed(folder / name, compose.blob(f"{commit}:{name}", repo))
    return folder / SELFTESTS / "boothash"


@functools.cache
def tools() -> Path:
    """Build our guest programs; return the folder that they are in."""
    out = source.version_dir() / "tools"  # the selftests differ between bases
    # Nothing of a make that may have called us.
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARCH")
    }
    # Two at once would read what the other one writes.
    with lock(source.version_dir() / "tools.lock"):
        run(["make", "-s", "-f", PROGRAMS, f"OUTPUT={out}"], env=env, what="building the programs")
        # Static: a guest may have no libraries.
        run(
            ["make", "-s", "-C", selftests(), f"OUTPUT={out}", "USERLDFLAGS=-static"],
            env=env,
            what="building the selftests",
        )
    return out


def libraries(program: Path) -> list[Path]:
    """The shared libraries that a program of the host loads."""
    listing = run(["ldd", program], check=False).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listing)]


def build(
    script: str,
    files: Files | None = None,
    programs: Iterable[str] = (),
    architecture: str = "",
) -> bytes:
    """The archive for one guest.

    script: what the guest runs with `sh -e`; files: guest path -> host path
    or content; programs: host programs that come with their libraries.  Of
    our tools those are there that one of the texts names: a guest may have
    little memory.  A guest of another Debian architecture has only busybox.
    """
    texts = [
        script,
        *(text for text in (files or {}).values() if isinstance(text, str)),
        *(
            path.read_text()
            for path in (files or {}).values()
            if isinstance(path, Path) and path.suffix == ".sh"
        ),
    ]
    archive = Archive()
    for folder in ("/dev", "/proc", "/sys", "/tmp", "/mnt", "/root"):
        archive.directory(folder)
    archive.file("/bin/busybox", busybox(architecture).read_bytes())
    # busybox sh knows its applets by itself; these serve #! lines and exec.
    for name in ("sh", "mount", "sleep", "cat", "env"):
        archive.link(f"/bin/{name}", "busybox")
    archive.file("/init", INIT)
    for path, text in HELPERS.items():
        archive.file(path, text)
    for tool in () if architecture else sorted(tools().iterdir()):
        if not any(re.search(rf"\b{tool.name}\b", text) for text in texts):
            continue
        archive.file(f"/bin/{tool.name}", tool.read_bytes())
    for program in programs:
        add_program(archive, program)
    for place, content in (files or {}).items():
        archive.file(place, content.read_bytes() if isinstance(content, Path) else content)
    archive.file("/job/script", script)
    return archive.bytes()


def add_program(archive: Archive, program: str) -> None:
    path = Path(shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") or program)
    if not path.is_file():
        die(f"{program}: not found; `make setup` installs what is needed")
    for item in (path, *libraries(path)):
        if str(item).lstrip("/") not in archive.known:
            archive.file(item, item.read_bytes())
