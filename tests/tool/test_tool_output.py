# SPDX-License-Identifier: GPL-2.0
"""hashstats and a place for its output that does not take it."""

import os
import subprocess
import sys

import pytest
import test_tool_corpus as corpus

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
    done = call(command, '"$@" | true')
    assert (done.returncode, done.stderr) == (0, b"")


@every_command
def test_closed_standard_error(command, call):
    done = call(command, '"$@" 2>&-')
    assert done.returncode == 0 and done.stdout


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
