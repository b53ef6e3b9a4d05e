# SPDX-License-Identifier: GPL-2.0
"""The tarball of kernel.org, from a server on this machine that may fail."""

import hashlib
import http.server
import threading

import pytest

from common import Failure
from series import kernel_org, source

NAME = "linux-6.12.117.tar.xz"
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
        kernel_org.tarball("6.12")
    assert not (tmp_path / NAME).exists()
    return str(caught.value)


def test_tarball_is_fetched_once(server, tmp_path, capsys):
    assert kernel_org.tarball("6.12").read_bytes() == DATA
    printed = capsys.readouterr().out
    assert f"no package of the kernel's source here: taking {NAME} from http://127" in printed
    assert kernel_org.tarball("6.12") == tmp_path / NAME
    assert server.asked == ["sha256sums.asc", NAME]
    assert [path.name for path in tmp_path.glob("linux*")] == [NAME]


def test_given_checksum_needs_no_list(server, monkeypatch):
    monkeypatch.setenv("KERNEL_SHA256", SUM.upper())
    kernel_org.tarball("6.12")
    assert server.asked == [NAME]


def test_kept_tarball_with_another_checksum_is_fetched_again(server, monkeypatch, tmp_path):
    (tmp_path / NAME).write_bytes(b"of another day")
    monkeypatch.setenv("KERNEL_SHA256", SUM)
    assert kernel_org.tarball("6.12").read_bytes() == DATA


def test_wrong_checksum(server, tmp_path):
    server.put(NAME, DATA[:-1] + b"?")
    said = refusal(tmp_path)
    assert f"sha256sums.asc says {SUM}; it is not used" in said
    assert not list(tmp_path.glob("linux*"))


def test_broken_download(server, tmp_path):
    server.put(NAME, DATA[:4000], len(DATA))
    assert "the download broke after 4000 of 9000 bytes; run make again" in refusal(tmp_path)
    server.put(NAME, DATA)
    assert kernel_org.tarball("6.12").read_bytes() == DATA


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


@pytest.mark.parametrize("base", ["6.12", "7.3"])
def test_machine_without_debians_source_takes_it(server, tmp_path, monkeypatch, base):
    name = f"linux-{kernel_org.VERSIONS[base]}.tar.xz"
    server.put(name, DATA)
    monkeypatch.setenv("KERNEL_SHA256", SUM)
    monkeypatch.setenv("BASE", base)
    monkeypatch.setattr(source.packages, "available", lambda package: False)
    monkeypatch.setattr(source.archive, "usable", lambda: False)
    monkeypatch.setattr(source.glob, "glob", lambda pattern: [])
    assert source.debian_tarball() == tmp_path / name


def test_each_base_has_a_version():
    assert list(kernel_org.VERSIONS) == [*reversed(source.topics.bases())]
    assert all(version.startswith(base + ".") for base, version in kernel_org.VERSIONS.items())
