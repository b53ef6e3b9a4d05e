# SPDX-License-Identifier: GPL-2.0
"""hashstats many times in one process, which is faster than a process each.

Run as a program, this is the process: it reads a request per line, calls the tool
and prints what the tool did. It ends in the middle of a request that takes too long.

Requests and answers are JSON, and the bytes in them Latin-1.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import types
import warnings

PATIENCE = 20  # seconds that a request may take
FIRST_SECOND = 1764000000.0


class Tool:
    """A process that runs the tool of a folder."""

    def __init__(self, folder, python=sys.executable, patience=PATIENCE):
        self.words = [python, "-B", __file__, str(folder), str(patience)]
        self.process = None

    def run(self, *words, text=b"", later=None, terminal=False, columns=None):
        """.status, .out, .err and .traceback of a call of the tool.

        text	standard input
        later	a path and the bytes that it gets when the tool first sleeps
        """
        if not self.process:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        request = {
            "words": words,
            "text": text.decode("latin-1"),
            "later": later and (later[0], later[1].decode("latin-1")),
            "terminal": terminal,
            "columns": columns,
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status = self.close()
            raise AssertionError(f"hashstats {words} did not end by itself, status {status}")
        answer = types.SimpleNamespace(**json.loads(line))
        answer.out = answer.out.encode("latin-1")
        return answer

    def close(self):
        """The status of the process."""
        if not self.process:
            return None
        self.process.stdin.close()
        self.process.stdout.close()
        status, self.process = self.process.wait(), None
        return status


class Output(io.TextIOWrapper):
    """Standard output as a terminal or as none."""

    terminal = False

    def isatty(self):
        return self.terminal


class Clock:
    """Sleeping takes no time, and the file that is read may change meanwhile."""

    strftime = staticmethod(time.strftime)

    def __init__(self, later):
        self.now = FIRST_SECOND
        self.later = later

    def monotonic(self):
        return self.now

    time = monotonic

    def sleep(self, seconds):
        self.now += seconds
        if self.later:
            path, content = self.later
            with open(path, "wb") as file:
                file.write(content.encode("latin-1"))
            self.later = None


def answer(tool, request):
    clock = Clock(request["later"])
    tool.record.time = tool.watch.time = clock
    tool.sources.told.clear()
    os.environ.pop("COLUMNS", None)
    if request["columns"]:
        os.environ["COLUMNS"] = request["columns"]
    written = io.BytesIO()
    output = Output(written, encoding="utf-8", write_through=True)
    output.terminal = request["terminal"]
    errors = io.StringIO()
    trace = status = None
    old = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(request["text"].encode("latin-1")))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = tool.main(request["words"])
        except SystemExit as end:
            status = end.code
        except BaseException:
            trace = traceback.format_exc()
    sys.stdin = old
    output.flush()
    return {
        "status": status,
        "out": written.getvalue().decode("latin-1"),
        "err": errors.getvalue(),
        "traceback": trace,
    }


def serve(folder, patience):
    sys.path.insert(0, folder)
    from hashstats_tool import cli, record, sources, watch

    tool = types.SimpleNamespace(main=cli.main, record=record, sources=sources, watch=watch)
    warnings.simplefilter("always")
    # Not by an exception, which the tool might catch.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    requests, answers = sys.stdin, sys.stdout
    for line in requests:
        signal.alarm(int(patience))
        done = answer(tool, json.loads(line))
        signal.alarm(0)
        print(json.dumps(done), file=answers, flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
