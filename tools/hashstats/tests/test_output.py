# SPDX-License-Identifier: GPL-2.0
"""hashstats and a place for its output that does not take it."""

import os
import stat
import subprocess
import sys

import pytest

import test_corpus as corpus
from toyhashstats import file, said, table

COMMANDS = {
    "show": ["show", "-f", "FILE"],
    "hist": ["hist", "mbcache", "-f", "FILE"],
    "watch": ["watch", "--count", "1", "-f", "FILE"],
    "diff": ["diff", "FILE", "OTHER"],
    "copy": ["copy", "-f", "FILE"],
    "json": ["json", "-f", "FILE"],
    "openmetrics": ["openmetrics", "-f", "FILE"],
    "advise": ["advise", "-f", "FILE"],
    "report": ["report", "-f", "FILE"],
}
every_command = pytest.mark.parametrize("command", COMMANDS)


@pytest.fixture
def call(tmp_path):
    """Run a subcommand by a line of shell that has "$@" for it."""
    places = {"FILE": tmp_path / "file", "OTHER": tmp_path / "other"}
    places["FILE"].write_text(corpus.GOOD.replace("sized-by: minimum", "sized-by: minim\u00fcm"))
    places["OTHER"].write_text(corpus.GOOD)

    def run(command, line='"$@"', **env):
        words = [str(places.get(word, word)) for word in COMMANDS[command]]
        return subprocess.run(
            ["sh", "-c", line, "sh", sys.executable, "-B", corpus.TOOL, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | env,
        )

    return run


@every_command
def test_full_device_is_one_line(command, call):
    corpus.complaint(call(command, '"$@" > /dev/full'))


@every_command
def test_closed_output_is_one_line(command, call):
    corpus.complaint(call(command, '"$@" >&-'))


@every_command
def test_who_reads_may_leave(command, call):
    done = call(command, '{ "$@"; echo $? >&2; } | true')
    assert done.stderr == b"0\n"


@every_command
def test_closed_standard_error(command, call):
    done = call(command, '"$@" 2>&-')
    assert done.returncode == 0 and done.stdout


@pytest.mark.parametrize("place", ["a full device", "a pipe that nobody reads"])
def test_standard_error_that_takes_nothing(place):
    """Status 1 would mean a crowded table."""
    if place == "a full device":
        error = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, error = os.pipe()
        os.close(reader)
    done = subprocess.run(
        [sys.executable, corpus.TOOL, "show", "-f", "/none"], stdout=subprocess.PIPE, stderr=error
    )
    os.close(error)
    assert (done.returncode, done.stdout) == (2, b"")


def test_full_disk_ends_a_recording_with_a_report(tmp_path):
    """The message names the file, and the samples until then count."""
    copy, new = tmp_path / "copy", tmp_path / "new"
    copy.write_text(corpus.GOOD)
    done = corpus.hashstats(
        *("record", "-n", "0.1", "-t", "60", "-o", str(new), "-f", str(copy)),
        wrapper=["prlimit", f"--fsize={len(corpus.GOOD) * 5 // 2}"],
    )
    assert done.returncode == 2
    assert done.stderr.decode() == f"hashstats: {new}: File too large\n"
    assert done.stdout.startswith(b"2 readings in ")
    assert done.stdout.endswith(f"hashstats report -f {new}\n".encode())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@every_command
def test_any_encoding_of_the_terminal(command, encoding, call):
    """A sign that it does not have is no reason to end."""
    done = call(command, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"mbcache" in done.stdout


def test_openmetrics_are_utf_8_whatever_the_terminal(call):
    done = call("openmetrics", PYTHONIOENCODING="latin-1")
    assert 'sized_by="minim\u00fcm"' in done.stdout.decode()


# --- a file that is named ---------------------------------------------------------

CROWDED = file(table("dentry", 0, 0, 0, 0, 0, 0, 0, 1024))
# Commands whose next word is a file that they replace.
REPLACING = {
    "openmetrics": ["openmetrics", "-f", "-", "-o"],
    "grub": ["advise", "-f", "-", "--apply-grub", "--yes", "--grub-file"],
}
every_replacing = pytest.mark.parametrize("words", REPLACING.values(), ids=REPLACING)


@every_replacing
def test_link_stays_and_its_target_is_replaced(words, tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there/target", tmp_path / "link"
    link.symlink_to("there/target")
    for _ in range(2):  # without a target, then with one
        said(*words, link, text=CROWDED)
        assert link.is_symlink() and "hash" in target.read_text()
        target.write_text("old")
    assert os.listdir(tmp_path / "there") == ["target"]


@every_replacing
def test_fifo_is_written_to(words, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        said(*words, fifo, text=CROWDED)
        assert b"hash" in os.read(reader, 1 << 20)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
