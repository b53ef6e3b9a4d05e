# SPDX-License-Identifier: GPL-2.0
"""make deb before and after the build: where it starts, what it needs, its packages."""

import gzip
import subprocess

import pytest

from common import Failure, disk
from kernel import deb, distribution, kconfig, pahole
from toykernel import write_files


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("CONFIG", "FLAVOUR", "BASE", "DEBUG"):
        monkeypatch.delenv(name, raising=False)


# --- where it starts ------------------------------------------------------------


def test_running_configuration_is_the_default(tmp_path, monkeypatch):
    path = tmp_path / "config.gz"
    path.write_bytes(gzip.compress(b"CONFIG_SMP=y\n"))
    monkeypatch.setattr(distribution, "running_config", lambda: path)
    assert distribution.start() == ("running", path, "CONFIG_SMP=y\n")


@pytest.mark.parametrize("flavour,ending", [("amd64", "-boothash"), ("cloud", "-boothash-cloud")])
def test_flavour_is_debians(tmp_path, monkeypatch, flavour, ending):
    fetched = []

    def fetch(*words):
        fetched.append(words[:2])
        return tmp_path

    name = f"usr/src/linux-config-7.3/config.amd64_none_{flavour}".replace("cloud", "cloud-amd64")
    write_files(tmp_path, {name + ".xz": ""})
    monkeypatch.setattr(distribution, "fetch_package", fetch)
    monkeypatch.setenv("FLAVOUR", flavour)
    monkeypatch.setenv("BASE", "7.3")
    chosen, path = distribution.chosen()
    assert (chosen, path) == (flavour, tmp_path / (name + ".xz"))
    assert fetched == [("linux-config-7.3", "trixie-backports")]
    assert distribution.Start(chosen, path, "").localversion == ending


@pytest.mark.parametrize(
    "settings,said",
    [
        ({"FLAVOUR": "rt"}, "FLAVOUR=rt: accepted: amd64, cloud"),
        ({"CONFIG": "/none"}, "CONFIG=/none: no such file; accepted: a kernel configuration"),
        ({"CONFIG": "/none", "FLAVOUR": "cloud"}, "give one of them"),
        ({"CONFIG": __file__}, "no CONFIG_ line in it"),
    ],
)
def test_bad_setting_is_one_line(settings, said, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Failure, match=said):
        distribution.start()


# --- what is set ----------------------------------------------------------------


def configured(tmp_path, monkeypatch, capsys, text):
    """(fragments, optional ones, printed) of a configuration that takes them all."""
    seen = []

    def configure(src, obj, fragments, optional, make, start):
        seen.extend([fragments, optional])
        obj.mkdir()
        (obj / ".config").write_text(start + "".join([*optional, *fragments]))

    monkeypatch.setattr(kconfig, "configure", configure)
    start = distribution.Start("cloud", tmp_path, text)
    deb.configure(tmp_path, tmp_path / "obj", start, [])
    return *seen, capsys.readouterr().out


def test_everything_advertised_is_required_and_printed(tmp_path, monkeypatch, capsys):
    [wanted], _, printed = configured(
        tmp_path, monkeypatch, capsys, 'CONFIG_DEBUG_INFO_BTF=y\nCONFIG_MODULE_SIG_KEY="a.pem"\n'
    )
    for name in ("HASHSTATS", "BUFFER_HASH", "PAGE_HASH"):
        assert f"CONFIG_{name}=y" in wanted
        assert f"  set: CONFIG_{name}=y (was n)\n" in printed
    assert "  set: CONFIG_DEBUG_INFO_BTF=y\n" in printed
    assert 'CONFIG_MODULE_SIG_KEY="certs/signing_key.pem" (was "a.pem")\n' in printed
    assert 'CONFIG_LOCALVERSION="-boothash-cloud"' in wanted


@pytest.mark.parametrize(
    "text,kept", [("CONFIG_DEBUG_INFO_DWARF5=y\n", True), ("CONFIG_DEBUG_INFO_NONE=y\n", False)]
)
def test_debug_information_keeps_its_kind(tmp_path, monkeypatch, capsys, text, kept):
    _, optional, _ = configured(tmp_path, monkeypatch, capsys, text)
    assert (deb.DWARF not in optional) == kept


# --- how much ---------------------------------------------------------------------


@pytest.mark.parametrize("debug,modules,needed", [("0", 0, 3), ("0", 1280, 8), ("1", 1280, 12)])
def test_disk_follows_the_number_of_modules(tmp_path, monkeypatch, debug, modules, needed):
    def require(folder, bytes_, what):
        raise Failure(f"{what} needs {bytes_ / disk.GIB:.0f} GiB")

    monkeypatch.setattr(disk, "require", require)
    monkeypatch.setenv("DEBUG", debug)
    lines = [f"CONFIG_{number}=m" for number in range(modules)]
    write_files(tmp_path, {"obj/.config": "\n".join(lines)})
    with pytest.raises(Failure, match=f"needs {needed} GiB"):
        deb.compile_all(tmp_path / "src", tmp_path / "obj", [])


def test_what_is_built_already_needs_no_disk(tmp_path):
    (tmp_path / "object.o").write_bytes(bytes(100_000))
    assert disk.used(tmp_path) >= 100_000


def test_symbols_without_versions_are_not_packaged(tmp_path):
    """An interrupted compiler leaves them, and modules that need them do not load."""
    versions = tmp_path / "Module.symvers"
    versions.write_text("0x4b5c0a94\tkfree\tvmlinux\tEXPORT_SYMBOL\t\n")
    deb.require_versions(tmp_path, {"CONFIG_MODVERSIONS": "y"})
    with versions.open("a") as file:
        file.write("0x00000000\tsecurity_file_ioctl\tvmlinux\tEXPORT_SYMBOL_GPL\t\n")
    deb.require_versions(tmp_path, {})
    with pytest.raises(Failure, match="without a version: 1, security_file_ioctl first"):
        deb.require_versions(tmp_path, {"CONFIG_MODVERSIONS": "y"})


# --- the packages -------------------------------------------------------------------


def test_packages_of_an_earlier_build_go(tmp_path, monkeypatch):
    monkeypatch.setattr(deb, "RESULT", tmp_path / "deb")
    new = []
    for number in (1, 2):
        built = []
        for name in ("linux-image-6.12.9-boothash", "linux-image-6.12.9-boothash-cloud"):
            path = tmp_path / f"{name}_6.12.9-{number}_amd64.deb"
            path.touch()
            built.append(path)
        new = deb.publish(built[: 3 - number])
    assert {path.name for path in (tmp_path / "deb").iterdir()} == {
        "linux-image-6.12.9-boothash_6.12.9-2_amd64.deb",
        "linux-image-6.12.9-boothash-cloud_6.12.9-1_amd64.deb",
    }
    assert [path.exists() for path in new] == [True]


def test_rebuilt_package_is_newer(monkeypatch):
    monkeypatch.setattr(deb.source, "version", lambda: "6.12.9")
    monkeypatch.setattr(deb, "revision", lambda: 10)
    # The first packages were all of revision 1.
    for older in ("6.12.9-1", "6.12.9-9", "6.12.8-99999"):
        subprocess.run(["dpkg", "--compare-versions", deb.version(), "gt", older], check=True)


def test_report_installs_the_kernel_and_not_its_debug_information(tmp_path, capsys):
    paths = [
        tmp_path / f"{name}_6.12.9-2_amd64.deb"
        for name in (
            "boothash-tools",
            "linux-image-6.12.9-boothash-dbg",
            "linux-image-6.12.9-boothash",
        )
    ]
    for path in paths:
        path.touch()
    deb.report(paths)
    printed = capsys.readouterr().out
    assert f"apt install {paths[2]} {paths[0]}\n" in printed
    assert "apt remove linux-image-6.12.9-boothash boothash-tools\n" in printed


# --- BTF --------------------------------------------------------------------------------


@pytest.mark.parametrize("text,number", [("v1.24", 124), ("v1.30\n", 130), ("v2.1", 201), ("", 0)])
def test_version_of_pahole(tmp_path, text, number):
    program = tmp_path / "pahole"
    program.write_text(f"#!/bin/sh\necho {text}\n")
    program.chmod(0o755)
    assert pahole.version(program) == number


def test_old_pahole_is_replaced_for_the_base_that_needs_more(tmp_path, monkeypatch):
    monkeypatch.setattr(pahole, "ensure_packages", lambda *groups: None)
    monkeypatch.setattr(pahole, "version", lambda program: 124)
    monkeypatch.setattr(pahole, "newer", lambda: tmp_path)
    monkeypatch.setenv("BASE", "6.12")
    assert pahole.words() == []
    monkeypatch.setenv("BASE", "7.3")
    assert pahole.words() == [f"PAHOLE={tmp_path}"]
