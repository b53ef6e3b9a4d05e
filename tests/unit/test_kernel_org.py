# SPDX-License-Identifier: GPL-2.0
"""The tarball of kernel.org, from a server on this machine that may fail."""

import hashlib
import http.server
import os
import threading

import pytest

from common import Failure, archive
from series import bases, kernel_org, source

OLD, NEW = (bases.Base(name, f"{name}.9", "sid", 122) for name in ("6.12", "7.3"))
NAME = OLD.tarball
DATA = b"a tarball" * 1000
SUM = hashlib.sha256(DATA).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """{path: (data, length that is announced)}; `asked` are the paths so far."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.asked = []

    def put(self, name, data, length=None):
        self.files["/" + name] = (data, len(data) if length is None else length)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path[1:])
        if self.path not in self.server.files:
            self.send_error(404)
            return
        data, length = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    with Server() as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        one.put(NAME, DATA)
        one.put("sha256sums.asc", f"-----BEGIN\n{'0' * 64}  x{NAME}\n{SUM}  {NAME}\n".encode())
        monkeypatch.setattr(kernel_org, "FOLDER", tmp_path)
        monkeypatch.setenv("KERNEL_URL", f"http://127.0.0.1:{one.server_port}/")
        monkeypatch.delenv("KERNEL_SHA256", raising=False)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield one
        one.shutdown()


def refusal(tmp_path):
    """The line with which fetching ends; nothing may be taken for the tarball later."""
    with pytest.raises(Failure) as caught:
        kernel_org.tarball(OLD)
    assert not (tmp_path / NAME).exists()
    return str(caught.value)


def test_tarball_is_fetched_once(server, tmp_path, capsys):
    assert kernel_org.tarball(OLD).read_bytes() == DATA
    printed = capsys.readouterr().out
    assert f"no package of the kernel's source here: taking {NAME} from http://127" in printed
    assert kernel_org.tarball(OLD) == tmp_path / NAME
    assert server.asked == ["sha256sums.asc", NAME]
    assert [path.name for path in tmp_path.glob("linux*")] == [NAME]


def test_given_checksum_needs_no_list(server, monkeypatch):
    monkeypatch.setenv("KERNEL_SHA256", SUM.upper())
    kernel_org.tarball(OLD)
    assert server.asked == [NAME]


def test_kept_tarball_with_another_checksum_is_fetched_again(server, monkeypatch, tmp_path):
    (tmp_path / NAME).write_bytes(b"of another day")
    monkeypatch.setenv("KERNEL_SHA256", SUM)
    assert kernel_org.tarball(OLD).read_bytes() == DATA


def test_wrong_checksum(server, tmp_path):
    server.put(NAME, DATA[:-1] + b"?")
    said = refusal(tmp_path)
    assert f"sha256sums.asc says {SUM}; it is not used" in said
    assert not list(tmp_path.glob("linux*"))


def test_broken_download(server, tmp_path):
    server.put(NAME, DATA[:4000], len(DATA))
    assert "the download broke after 4000 of 9000 bytes; run make again" in refusal(tmp_path)
    server.put(NAME, DATA)
    assert kernel_org.tarball(OLD).read_bytes() == DATA


def test_list_without_the_tarball(server, tmp_path):
    server.put("sha256sums.asc", b"nothing of it\n")
    assert f"does not name {NAME}; give its checksum as KERNEL_SHA256=" in refusal(tmp_path)
    assert server.asked == ["sha256sums.asc"]


def test_server_has_no_such_file(server, tmp_path):
    server.files.clear()
    assert "cannot be had (Not Found); KERNEL_URL= names another folder" in refusal(tmp_path)


def test_no_network(server, tmp_path, monkeypatch):
    server.shutdown()
    server.server_close()
    assert "cannot be had ([Errno 111] Connection refused)" in refusal(tmp_path)


def test_proxy_without_network(server, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("KERNEL_URL", "http://kernel.example")
    assert "http_proxy a proxy" in refusal(tmp_path)


@pytest.mark.parametrize(
    "name,value", [("KERNEL_SHA256", "123"), ("KERNEL_URL", "cdn.kernel.org/pub")]
)
def test_bad_setting(server, tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    said = refusal(tmp_path)
    assert said.startswith(f"{name}={value}") and "accepted: " in said


# --- the base that a machine gets ----------------------------------------------------


@pytest.fixture
def machine(server, tmp_path, monkeypatch):
    """A machine whose archive of Debian has no package of a kernel's source."""

    def package(name, suite, *_):
        raise Failure(f"{name} of Debian's {suite} cannot be fetched")

    monkeypatch.setattr(bases, "table", lambda: (NEW, OLD))
    monkeypatch.setattr(archive, "FOLDER", tmp_path)
    monkeypatch.setattr(archive, "fetch_package", package)
    monkeypatch.setattr(source.glob, "glob", lambda pattern: [])
    for name in ("BASE", "KERNEL"):
        monkeypatch.setenv(name, "")
    return server


def serve(server, base):
    sums = f"{SUM}  {base.tarball}\n".encode() + server.files["/sha256sums.asc"][0]
    server.put(base.tarball, DATA)
    server.put("sha256sums.asc", sums)


def test_newest_base_is_taken_of_kernel_org(machine, tmp_path, capsys):
    serve(machine, NEW)
    assert source.current() == NEW
    assert source.tarball(NEW) == tmp_path / NEW.tarball
    assert "using Linux" not in capsys.readouterr().out


def test_machine_without_the_newest_base_takes_the_older(machine, tmp_path, capsys):
    """One line says so, and why; programs that are started know it."""
    assert source.current() == source.current() == OLD
    said = [line for line in capsys.readouterr().out.splitlines() if "using Linux" in line]
    assert said == [
        "  using Linux 6.12: Linux 7.3 cannot be had: linux-source-7.3 of Debian's sid cannot be "
        f"fetched; {os.environ['KERNEL_URL']}sha256sums.asc does not name {NEW.tarball}; give its "
        "checksum as KERNEL_SHA256="
    ]
    assert os.environ["BASE"] == "6.12"


def test_package_of_the_newest_base_comes_first(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "fetch_package", lambda name, *_: tmp_path / name)
    assert source.current() == NEW
    assert not machine.asked


def test_base_that_is_asked_for_is_not_replaced(machine, monkeypatch):
    monkeypatch.setenv("BASE", "7.3")
    assert source.current() == NEW
    with pytest.raises(Failure, match="^Linux 7.3 cannot be had: "):
        source.tarball(NEW)


def test_machine_without_any_base_is_told_of_the_newest(machine):
    machine.files.clear()
    with pytest.raises(Failure, match="^Linux 7.3 cannot be had: "):
        source.current()


def test_bad_row_of_a_base(monkeypatch, tmp_path):
    monkeypatch.setattr(bases, "PATCHES", tmp_path)
    (tmp_path / "bases").write_text("7.3 6.12.9 sid 1.26\n")
    with pytest.raises(Failure, match="patches/bases: `7.3 6.12.9 sid 1.26`: expected a version, "):
        bases.table.__wrapped__()


# --- the address of Debian's archive ------------------------------------------------


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """apt-get of a machine; `update` is what it knows only then."""

    def write(now, update=""):
        program = tmp_path / "apt-get"
        program.write_text(
            f"#!/bin/sh\ncase $1 in indextargets) cat {tmp_path}/known;; "
            f"*) echo '{update}' > {tmp_path}/known;; esac\n"
        )
        program.chmod(0o755)
        (tmp_path / "known").write_text(now)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("MIRROR", "")
    monkeypatch.setattr(archive.packages, "may_install", lambda: True)
    monkeypatch.setattr(archive.packages, "apt", lambda *words: ["apt-get", *words])
    monkeypatch.setattr(archive.packages, "UPDATE_LOG", tmp_path / "log")
    return write


def test_archive_is_that_of_the_machine(apt):
    apt("http://one.example/debian/\nhttp://two.example/debian/\n")
    assert archive.mirror.__wrapped__() == "http://one.example/debian"


def test_archive_is_known_after_an_update(apt):
    apt("", "http://one.example/debian/")
    assert archive.mirror.__wrapped__() == "http://one.example/debian"


def test_archive_that_is_given(apt, monkeypatch):
    monkeypatch.setenv("MIRROR", "http://mine.example/debian")
    assert archive.mirror.__wrapped__() == "http://mine.example/debian"


def test_machine_without_sources_of_debian(apt):
    apt("")
    with pytest.raises(Failure, match="no sources of Debian's archive on this machine; give MIRR"):
        archive.mirror.__wrapped__()
