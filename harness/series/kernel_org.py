# SPDX-License-Identifier: GPL-2.0
"""The stable tarball of kernel.org, for machines whose apt has no package of the source.

Its SHA-256 is that of KERNEL_SHA256= or of patches/bases, else that of the list which
kernel.org publishes with it.  The signature of the list is not checked: that takes a
key of kernel.org.
"""

import hashlib
import http.client
import re
import urllib.request
from pathlib import Path
from typing import IO, NoReturn

from common import BUILD, Step, die, lock, setting, step
from series.bases import Base

FOLDER = BUILD / "downloads"
URL = "https://cdn.kernel.org/pub/linux/kernel/v{major}.x"
LIST = "sha256sums.asc"
SECONDS = 30  # without a byte
CHUNK = 1 << 20


def path(base: Base) -> Path:
    """Where the tarball of a base is kept."""
    return FOLDER / base.tarball


def tarball(base: Base) -> Path:
    """The path of the source of a base, fetched only when needed."""
    pinned = given_checksum() or base.sha256
    folder = setting("KERNEL_URL", URL.format(major=base.name.partition(".")[0])).rstrip("/")
    with lock(FOLDER / "kernel.org.lock"):
        kept = path(base)
        if not kept.is_file() or (pinned and checksum(kept) != pinned):
            fetch(folder, kept, pinned)
    return kept


def given_checksum() -> str:
    pinned = setting("KERNEL_SHA256").lower()
    if pinned and not re.fullmatch("[0-9a-f]{64}", pinned):
        die(f"KERNEL_SHA256={pinned}: accepted: the 64 hexadecimal digits of a SHA-256")
    return pinned


def fetch(folder: str, path: Path, pinned: str) -> None:
    name = path.name
    wanted = pinned or listed_checksum(f"{folder}/{LIST}", name)
    print(f"  no package of the kernel's source here: taking {name} from {folder}")
    part = path.with_suffix(".part")
    with step(f"fetch {name}") as progress:
        download(f"{folder}/{name}", part, progress)
    found = checksum(part)
    if found != wanted:
        part.unlink()
        origin = "the given checksum" if pinned else f"{folder}/{LIST}"
        die(f"{folder}/{name}: its SHA-256 is {found}, {origin} says {wanted}; it is not used")
    part.rename(path)


def checksum(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def listed_checksum(url: str, name: str) -> str:
    try:
        with opened(url) as response:
            text = response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        unreachable(url, error)
    match = re.search(rf"^([0-9a-f]{{64}})  {re.escape(name)}$", text, re.MULTILINE)
    if not match:
        die(f"{url} does not name {name}; give its checksum as KERNEL_SHA256=")
    return match[1]


def opened(url: str) -> http.client.HTTPResponse:
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(url, timeout=SECONDS)
    except ValueError:
        die(f"KERNEL_URL={url}: accepted: a folder, such as {URL.format(major=6)}")
    return response


def unreachable(url: str, error: Exception) -> NoReturn:
    why = getattr(error, "reason", error)
    die(
        f"{url} cannot be had ({why}); KERNEL_URL= names another folder with {LIST}, KERNEL= a "
        f"tree or tarball on this machine, and http_proxy a proxy"
    )


def download(url: str, path: Path, progress: Step) -> None:
    try:
        with opened(url) as response, open(path, "wb") as out:
            whole = int(response.headers.get("Content-Length", 0))
            copy(response, out, whole, progress)
            done = out.tell()
    except (OSError, http.client.HTTPException) as error:
        unreachable(url, error)
    if done < whole:
        path.unlink()
        die(f"{url}: the download broke after {done} of {whole} bytes; run make again")


def copy(response: IO[bytes], out: IO[bytes], whole: int, progress: Step) -> None:
    while data := response.read(CHUNK):
        out.write(data)
        progress.note = f"{out.tell() >> 20} of {whole >> 20} MiB"
