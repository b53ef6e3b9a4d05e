# SPDX-License-Identifier: GPL-2.0
"""make install-tools and make uninstall-tools: hashstats below PREFIX.

The program and its modules lie in one folder of their own; what is in bin is a
link to it, since the program looks for its modules beside itself.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from common import ROOT, die, setting

Files = dict[Path, Path]  # place below the prefix, file here

TOOL = ROOT / "tools" / "hashstats"
OWN = Path("share/hashstats")
DOC = Path("share/doc/boothash-tools")
LINK = Path("bin/hashstats")
LINKED = "../share/hashstats/hashstats"
# Debian's zsh reads the one folder for packages, the other for the rest.
ZSH_LOCAL = Path("share/zsh/site-functions")
ZSH_PACKAGE = Path("share/zsh/vendor-completions")
SYSTEMD = Path("lib/systemd/system")


def files(zsh: Path = ZSH_LOCAL) -> Files:
    """Where each file of ours goes, relative to the prefix."""
    result = {OWN / "hashstats": TOOL / "hashstats"}
    for path in sorted((TOOL / "hashstats_tool").rglob("*")):
        if path.is_file() and path.parent.name != "__pycache__":
            result[OWN / path.relative_to(TOOL)] = path
    result[Path("share/man/man1/hashstats.1")] = TOOL / "hashstats.1"
    result[Path("share/bash-completion/completions/hashstats")] = TOOL / "completion.bash"
    result[zsh / "_hashstats"] = TOOL / "completion.zsh"
    for path in sorted((TOOL / "systemd").iterdir()):
        result[SYSTEMD / path.name] = path
    for path in (TOOL / "grafana.json", TOOL / "alerts.yml", *sorted((TOOL / "samples").iterdir())):
        result[DOC / path.relative_to(TOOL)] = path
    return result


def install_files(root: Path, wanted: Files) -> None:
    """Copy everything below root, over an older hashstats but over no other program."""
    link = root / LINK
    if os.path.lexists(link) and not is_ours(link):
        die(
            f"{link}: there already, and not the link to {LINKED} that make install-tools "
            "makes; move it away, or set PREFIX= to another folder"
        )
    for target, source in wanted.items():
        path = root / target
        make_folder(path.parent)
        path.unlink(missing_ok=True)
        shutil.copyfile(source, path)
        path.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    make_folder(link.parent)
    link.unlink(missing_ok=True)
    link.symlink_to(LINKED)


def is_ours(link: Path) -> bool:
    return os.path.islink(link) and os.readlink(link) == LINKED


def make_folder(path: Path) -> None:
    """As mkdir -p, but open to all users whatever the umask."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir()
        path.chmod(0o755)


def uninstall_files(root: Path, wanted: Files) -> None:
    """Remove what install_files() made, and folders that only we have."""
    for target in there(root, wanted):
        (root / target).unlink()
    for folder in (OWN, DOC):
        # The bytecode that Python kept beside the modules.
        for cache in (root / folder).rglob("__pycache__"):
            shutil.rmtree(cache)
        remove_empty(root / folder)


def there(root: Path, wanted: Files) -> list[Path]:
    """Which files of install_files() are below root."""
    link = [LINK] if is_ours(root / LINK) else []
    return link + [target for target in wanted if os.path.lexists(root / target)]


def remove_empty(folder: Path) -> None:
    if folder.is_dir():
        for inner in [*folder.iterdir()]:
            if inner.is_dir() and not inner.is_symlink():
                remove_empty(inner)
        if not any(folder.iterdir()):
            folder.rmdir()


def place() -> Path:
    """The folder to write to, from the settings of make."""
    prefix = setting("PREFIX")
    if not prefix.startswith("/"):
        die(f"PREFIX={prefix}: not absolute; accepted: a folder like /usr/local")
    return Path(setting("DESTDIR") + prefix)


def allowed(function: Callable[[Path, Files], None], root: Path) -> None:
    try:
        function(root, files())
    except OSError as error:
        die(
            f"{error.filename or root}: {error.strerror}; run it with sudo, or "
            f"set PREFIX= to a folder of yours"
        )


def install() -> None:
    root = place()
    allowed(install_files, root)
    print(f"  installed: {root / LINK}")


def uninstall() -> None:
    root = place()
    if not there(root, files()):
        print(f"  nothing to remove: hashstats is not installed below {root}")
        return
    allowed(uninstall_files, root)
    print(f"  removed: hashstats below {root}")
