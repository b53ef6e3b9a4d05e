# SPDX-License-Identifier: GPL-2.0
"""hashstats as it is installed: by make and by the Debian package."""

import gzip
import hashlib
import os
import shutil
import stat
import subprocess

import pytest

from tool import debian_package
from tool import install as install_tools
from toykernel import ROOT

TOOL = ROOT / "tools/hashstats"
pytestmark = pytest.mark.stage("tool")


def make(verb, **settings):
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [
            "make",
            "--no-print-directory",
            "-C",
            ROOT,
            verb,
            *(f"{name}={value}" for name, value in settings.items()),
        ],
        text=True,
        capture_output=True,
        env=env,
    )


def paths(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def works(program, sample):
    """The installed program reads the installed sample, from any folder."""
    done = subprocess.run(
        [program, "show", "-f", sample],
        cwd="/",
        text=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "skewed" in done.stdout


@pytest.fixture
def installed(tmp_path):
    done = make("install-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert done.returncode == 0, done.stderr
    return tmp_path / "opt/own"


def test_it_can_be_moved(installed, tmp_path):
    """The link in bin is relative, so that DESTDIR is only for the building."""
    moved = tmp_path / "moved"
    installed.rename(moved)
    works(moved / "bin/hashstats", moved / "share/doc/boothash-tools/samples/citi-1.hashstats")


def test_everything_is_there(installed):
    there = paths(installed)
    assert {
        "bin/hashstats",
        "share/hashstats/hashstats",
        "share/man/man1/hashstats.1",
        "share/bash-completion/completions/hashstats",
        "share/zsh/site-functions/_hashstats",
        "share/doc/boothash-tools/grafana.json",
        "share/doc/boothash-tools/alerts.yml",
        "lib/systemd/system/hashstats-metrics.timer",
        "lib/systemd/system/hashstats-record.timer",
    } <= there
    assert not [name for name in there if name.endswith(".pyc")]


def test_modes_do_not_follow_the_umask(tmp_path):
    old = os.umask(0o077)
    try:
        make("install-tools", PREFIX=tmp_path / "own").check_returncode()
    finally:
        os.umask(old)
    for path in (tmp_path / "own").rglob("*"):
        if path.is_symlink():
            continue
        program = path.is_dir() or path.name == "hashstats" and path.parent.name == "hashstats"
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if program else 0o644), path


def test_again_over_the_old(installed, tmp_path):
    before = paths(installed)
    (installed / "share/hashstats/hashstats").write_text("an older one")
    done = make("install-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert done.returncode == 0
    assert paths(installed) == before
    assert (installed / "bin/hashstats").is_symlink()
    works(
        installed / "bin/hashstats", installed / "share/doc/boothash-tools/samples/citi-1.hashstats"
    )


@pytest.mark.parametrize("kind", ["file", "link"])
def test_another_program_of_that_name_stays(tmp_path, kind):
    other = tmp_path / "bin/hashstats"
    other.parent.mkdir()
    if kind == "file":
        other.write_text("somebody else's")
    else:
        other.symlink_to("/opt/other/hashstats")
    done = make("install-tools", PREFIX=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"boothash: {other}: there already, and not the link to ../share")
    assert paths(tmp_path) == {"bin/hashstats"}
    done = make("uninstall-tools", PREFIX=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        f"  nothing to remove: hashstats is not installed below {tmp_path}\n",
    )
    assert paths(tmp_path) == {"bin/hashstats"}


def test_uninstall_keeps_a_program_that_replaced_the_link(installed, tmp_path):
    (installed / "bin/hashstats").unlink()
    (installed / "bin/hashstats").write_text("somebody else's")
    done = make("uninstall-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert (done.returncode, done.stdout) == (0, f"  removed: hashstats below {installed}\n")
    assert paths(installed) == {"bin/hashstats"}


def test_uninstall_leaves_nothing_of_ours(installed, tmp_path):
    (installed / "bin/other").write_text("somebody else's")
    cache = installed / "share/hashstats/__pycache__"
    cache.mkdir()
    (cache / "x.pyc").write_bytes(b"")
    done = make("uninstall-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert done.returncode == 0
    assert paths(installed) == {"bin/other"}
    assert not (installed / "share/hashstats").exists()
    assert not (installed / "share/doc/boothash-tools").exists()


def test_no_permission_is_one_line(tmp_path):
    """Root may write anywhere, but not into a file."""
    (tmp_path / "file").write_text("")
    done = make("install-tools", PREFIX=tmp_path / "file/own")
    assert done.returncode == 2
    first, *_ = done.stderr.splitlines()
    assert first.startswith(f"boothash: {tmp_path}/file") and "PREFIX=" in first


# --- the Debian package -------------------------------------------------------


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    return debian_package.build(folder, "6.12.999-1", "A Person", "person@example.org")


@pytest.fixture(scope="module")
def unpacked(package):
    folder = package.parent / "unpacked"
    subprocess.run(["dpkg-deb", "-R", package, folder], check=True)
    return folder


def field(package, name):
    return subprocess.run(
        ["dpkg-deb", "-f", package, name], text=True, capture_output=True, check=True
    ).stdout.strip()


def test_package_says_what_it_is(package):
    assert package.name == "boothash-tools_6.12.999-1_all.deb"
    assert field(package, "Package") == "boothash-tools"
    assert field(package, "Version") == "6.12.999-1"
    assert field(package, "Architecture") == "all"
    assert field(package, "Maintainer") == "A Person <person@example.org>"
    assert int(field(package, "Installed-Size")) > 50


def test_package_has_what_debian_wants(unpacked):
    usr = unpacked / "usr/share"
    manual = gzip.decompress((usr / "man/man1/hashstats.1.gz").read_bytes())
    assert manual == (TOOL / "hashstats.1").read_bytes()
    assert "GPL-2.0" in (usr / "doc/boothash-tools/copyright").read_text()
    assert (usr / "zsh/vendor-completions/_hashstats").is_file()
    program = usr / "hashstats/hashstats"
    assert program.read_text().startswith("#!/usr/bin/python3\n# SPDX")
    assert os.access(program, os.X_OK)


def test_package_belongs_to_root(package):
    listed = subprocess.run(
        ["dpkg-deb", "-c", package], text=True, capture_output=True, check=True
    ).stdout
    for line in listed.splitlines():
        mode, owner, *_ = line.split()
        assert owner == "root/root"
        assert mode in ("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x", "lrwxrwxrwx")


def test_package_checksums(unpacked):
    listed = (unpacked / "DEBIAN/md5sums").read_text().splitlines()
    assert len(listed) == len(
        [p for p in (unpacked / "usr").rglob("*") if p.is_file() and not p.is_symlink()]
    )
    for line in listed:
        digest, name = line.split("  ")
        assert hashlib.md5((unpacked / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("script", ["postinst", "prerm"])
def test_package_scripts_are_shell(unpacked, script):
    subprocess.run(["sh", "-n", unpacked / "DEBIAN" / script], check=True)


def test_every_file_of_the_tool_is_installed():
    # What pip needs to install the same files is not for an installed tool.
    others = ("pyproject.toml", "README")
    sources = {*install_tools.files().values(), *(TOOL / name for name in others)}
    for path in TOOL.rglob("*"):
        if path.is_file() and not {"__pycache__", "tests"} & {*path.parts}:
            assert path in sources, path


def test_zipapp_is_the_whole_tool(tmp_path):
    """One file, which runs from any folder and by any path."""
    done = make("zipapp")
    assert done.returncode == 0, done.stderr
    shutil.copy(ROOT / "build/hashstats.pyz", tmp_path / "hs")
    for words in (["./hs"], [tmp_path / "hs"]):
        said = subprocess.run(
            [*words, "demo"], cwd=tmp_path, text=True, capture_output=True, check=True
        )
        assert said.stdout.count("$ hashstats ") == 4 and "skewed" in said.stdout
        said = subprocess.run([*words, "help", "man"], cwd=tmp_path, text=True, capture_output=True)
        assert said.stdout == (TOOL / "hashstats.1").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["hs"]
