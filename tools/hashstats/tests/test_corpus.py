# SPDX-License-Identifier: GPL-2.0
"""hashstats and input that no kernel prints: one line that helps, no traceback.

Each malformed input is one change to a good file.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from toyhashstats import TOOL, histogram

LONGEST_COMPLAINT = 400


def rows(*buckets):
    """The histogram of so many buckets with 0, 1, ... objects."""
    return [*histogram(buckets)]


GOOD = "\n".join(
    [
        "version: 1",
        "counting: on",
        "",
        "name: dentry",
        "buckets: 8",
        "bytes: 64",
        "sized-by: memory",
        "objects: 10",
        "used: 6",
        "used-expected: 5.895",
        "longest: 3",
        "capped: 0",
        "nodes-per-hit: 1.500",
        "nodes-per-hit-expected: 1.563",
        "variance-over-mean: 0.750",
        "walk-us: 120",
        "walk-longest-us: 7",
        "lookups: 1000",
        "hits: 900",
        "hit-rate: 0.900",
        "nodes-per-counted-hit: 1.400",
        "nodes-per-counted-miss: 1.200",
        *rows(2, 3, 2, 1),
        "",
        "name: mbcache",
        "buckets: 4",
        "bytes: 32",
        "sized-by: minimum",
        "objects: 4",
        "used: 3",
        "used-expected: 2.734",
        "longest: 2",
        "capped: 0",
        "nodes-per-hit: 1.250",
        "nodes-per-hit-expected: 1.375",
        "variance-over-mean: 0.500",
        "walk-us: 3",
        "walk-longest-us: 1",
        *rows(1, 2, 1),
        "",
        "name: folio_wait",
        "buckets: 256",
        "bytes: 6144",
        "sized-by: command line",
        "wakes: 100",
        "entries-examined: 150",
        "entries-matched: 120",
        "functions-called: 120",
        "foreign-per-wake: 0.300",
        "",
        "name: page",
        "buckets: 0",
        "bytes: 0",
        "sized-by: off",
        "",
    ]
)
LINES = GOOD.split("\n")


def where(start):
    """Number of the first line that begins so."""
    return next(n for n, line in enumerate(LINES, 1) if line.startswith(start))


def put(start, text):
    """Another line for the first that begins so; wrong is this line."""
    n = where(start)
    return "\n".join([*LINES[: n - 1], text, *LINES[n:]]), [n]


def value(label, text):
    return put(f"{label}: ", f"{label}: {text}")


def add(start, *text):
    """More lines behind the first that begins so; wrong is the last of them."""
    n = where(start)
    return "\n".join([*LINES[:n], *text, *LINES[n:]]), [n + len(text)]


def drop(start, count=1):
    """Without the first line that begins so; wrong is one of its paragraph."""
    n = where(start)
    first = max([0] + [k for k in range(1, n) if not LINES[k - 1]]) + 1
    last = next(k for k in range(n, len(LINES) + 1) if not LINES[k - 1])
    return ("\n".join([*LINES[: n - 1], *LINES[n - 1 + count :]]), [*range(first, last + 1)])


def row(size, buckets, objects, percent):
    return put(f"{size:>4} ", f"{size:>4} {buckets:>10} {objects:>10} {percent:>7}")


def swap(start, count=1):
    """The line that begins so and the next one change places."""
    n = where(start)
    return ("\n".join([*LINES[: n - 1], LINES[n], LINES[n - 1], *LINES[n + 1 :]]), [n, n + 1])


def cut(start, letters):
    """The file ends so many letters into the line that begins so."""
    n = where(start)
    return "\n".join([*LINES[: n - 1], LINES[n - 1][:letters]]), [n, n - 1]


SECOND = LINES[where("name: mbcache") - 1 : where("name: folio_wait") - 2]
MANY = "9" * 5000

MALFORMED = {
    # The first lines.
    "empty": ("", [1]),
    "one empty line": ("\n", [1]),
    "empty lines only": ("\n\n\n", [1]),
    "no version": drop("version"),
    "version is no number": value("version", "one"),
    "version is nothing": put("version", "version:"),
    "version 0": value("version", "0"),
    "version is negative": value("version", "-1"),
    "version is a fraction": value("version", "1.5"),
    "version of 5000 digits": value("version", MANY),
    "version twice": add("version", "version: 1"),
    "version is second": swap("version"),
    "space before version": put("version", " version: 1"),
    "another file": ("MemTotal:  1014820 kB\nMemFree:  771840 kB\n", [1]),
    "json": ('{"version": 1, "tables": []}\n', [1]),
    "html": ("<!DOCTYPE html>\n<html></html>\n", [1]),
    "counting neither on nor off": value("counting", "perhaps"),
    "counting twice": add("counting", "counting: off"),
    # Lines that are not `label: value`.
    "word alone": add("sized-by", "objects"),
    "no colon": put("objects", "objects 10"),
    "no space behind the colon": put("objects", "objects:10"),
    "no value": put("objects", "objects:"),
    "blank value": put("objects", "objects: "),
    "equals sign": put("objects", "objects = 10"),
    "capital label": put("objects", "Objects: 10"),
    "no label": put("objects", ": 10"),
    "indented label": put("objects", "\tobjects: 10"),
    "control character": value("sized-by", "mem\x07ory"),
    "escape sequence": put("objects", "\x1b[31mobjects\x1b[0m 10"),
    "carriage return in a line": put("objects", "objects: 10\rused: 6"),
    "vertical tab in a line": put("objects", "objects: 10\x0bused: 6"),
    "long label": put("objects", "x" * 5000 + ": 10"),
    "NUL in a label": put("objects", "obj\0ects: 10"),
    "NUL in a number": value("objects", "1\0"),
    "line of a million letters": put("objects", "x" * 1000000),
    # Numbers.
    "letters for a number": value("buckets", "eight"),
    "hexadecimal": value("buckets", "0x8"),
    "suffix": value("buckets", "8K"),
    "negative buckets": value("buckets", "-8"),
    "negative objects": value("objects", "-10"),
    "plus sign": value("objects", "+10"),
    "underscore in a number": value("objects", "1_0"),
    "comma in a number": value("objects", "1,0"),
    "exponent": value("objects", "1e1"),
    "digits of another script": value("objects", "\u0661\u0660"),
    "superscript": value("objects", "10\u00b2"),
    "fraction for a whole number": value("objects", "10.000"),
    "two numbers": value("objects", "10 11"),
    "beyond 64 bits": value("bytes", "18446744073709551616"),
    "lookups of 5000 digits": value("lookups", MANY),
    "nan": value("nodes-per-hit", "nan"),
    "infinity": value("nodes-per-hit", "inf"),
    "negative fraction": value("hit-rate", "-0.900"),
    "two points": value("hit-rate", "0.9.0"),
    "decimal comma": value("hit-rate", "0,900"),
    "word for a fraction": value("variance-over-mean", "low"),
    # Tables.
    "no empty line before a table": (
        "\n".join(LINES[: where("name: mbcache") - 2] + LINES[where("name: mbcache") - 1 :]),
        [where("name: mbcache") - 1],
    ),
    "table without a name": drop("name: dentry"),
    "name is not first": swap("name: dentry"),
    "empty name": put("name: dentry", "name:"),
    "no buckets": drop("buckets"),
    "no bytes": drop("bytes"),
    "no sized-by": drop("sized-by"),
    "label twice": add("objects", "objects: 10"),
    "label twice with another value": add("buckets", "buckets: 16"),
    "name twice in a table": add("buckets", "name: inode"),
    "table twice": ("\n".join([*LINES[:-1], "", *SECOND, ""]), [len(LINES) + 1, len(LINES) + 2]),
    "two tables of a name": put("name: page", "name: folio_wait"),
    "histogram without objects": drop("objects"),
    "histogram without used": drop("used"),
    "histogram without longest": drop("longest"),
    # Rows.
    "no head of the columns": drop("size "),
    "head of other columns": put("size ", "size buckets objects"),
    "head of the columns twice": add("size ", rows()[0]),
    "row 0 is missing": drop("   0"),
    "a row is missing": drop("   7"),
    "row >15 is missing": drop(" >15"),
    "rows are missing": drop("   3", 14),
    "no rows": drop("   0", 17),
    "row twice": add("   3", LINES[where("   3") - 1]),
    "rows in another order": swap("   1"),
    "row 16": put(" >15", "  16          0          0     100"),
    "row behind the last": add(" >15", "  17          0          0     100"),
    "label behind the rows": add(" >15", "colour: red"),
    "three columns": put("   1", "   1          3          3"),
    "five columns": put("   1", "   1          3          3      30       0"),
    "words in a row": put("   1", "   1      three      three      30"),
    "negative row": row(4, -1, -4, 100),
    "row of 5000 digits": row(4, MANY, 0, 100),
    "fraction in a row": row(1, "3.0", 3, 30),
    "row with a tail": put("   1", "   1          3          3     30%"),
    "size times buckets is not objects": row(1, 3, 4, 30),
    "objects without buckets": row(2, 0, 4, 70),
    "row >15 has too few objects": (
        re.sub(r" >15 .*", " >15          1         15     100", GOOD, count=1),
        [where(" >15")],
    ),
    "percentage beyond 100": row(3, 1, 3, 101),
    "percentage falls": row(2, 2, 4, 20),
    "percentage is wrong": row(1, 3, 3, 90),
    "last percentage is not 100": put(" >15", " >15          0          0      99"),
}


def elsewhere(result):
    """A sum that is wrong may be told at the sum or at what is summed."""
    return result[0], drop("objects")[1]


MALFORMED |= {
    name: elsewhere(result)
    for name, result in {
        "buckets do not add up": value("buckets", "9"),
        "objects do not add up": value("objects", "11"),
        "used is not what the rows say": value("used", "7"),
        "longest is shorter than a chain": value("longest", "2"),
        "longest is longer than any chain": value("longest", "4"),
        "more used than buckets": value("used", "80"),
        "row 0 does not add up": row(0, 3, 0, 0),
    }.items()
}

MALFORMED |= {
    "cut in the version": cut("version", 6),
    "cut behind the version": cut("version", 10),
    "cut in a label": cut("objects", 4),
    "cut in a number": cut("lookups", 11),
    "cut in a name": cut("name: dentry", 9),
    "cut in the head": cut("size ", 10),
    "cut in a row": cut("   2", 12),
    "cut in the last row": cut(" >15", 20),
    "ends within the rows": (
        "\n".join(LINES[: where("   9")]) + "\n",
        [where("   9"), where("   9") + 1],
    ),
    "ends within the labels": (
        "\n".join(LINES[: where("buckets")]) + "\n",
        [where("name: dentry"), where("buckets"), where("buckets") + 1],
    ),
}

BYTES = {
    "not UTF-8": (GOOD.replace("dentry", "d\xe9ntry").encode("latin-1"), where("name: dentry")),
    "UTF-16": (GOOD.encode("utf-16"), 1),
    "zeros": (bytes(4096), 1),
    "random bytes": (bytes((n * n * 7 + n) % 256 for n in range(4096)), 1),
    "zeros behind a good file": (GOOD.encode() + bytes(100), len(LINES)),
}


def hashstats(*words, wrapper=(), **kw):
    kw = {"input": b""} | kw
    env = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "200",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [*wrapper, sys.executable, TOOL, *words], capture_output=True, env=env, timeout=60, **kw
    )


def complaint(done):
    """The one line with which the tool refused."""
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert done.stdout == b""
    assert said.endswith("\n") and said.count("\n") == 1, said
    assert said.startswith("hashstats: ")
    assert said[:-1].isprintable(), said
    assert len(said) <= LONGEST_COMPLAINT
    return said


def numbered(said):
    """The number in it of the line that is wrong."""
    found = re.search(r"\bline (\d+)\b", said)
    assert found, said
    assert re.search(r"\bexpected\b|\baccepted\b", said), said
    return int(found[1])


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "saved"
        path.write_bytes(content)
        return str(path)

    return save


def test_the_good_file_is_good(saved):
    done = hashstats("show", "-f", saved(GOOD.encode()))
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name, saved):
    text, lines = MALFORMED[name]
    assert text != GOOD
    said = complaint(hashstats("show", "-f", saved(text.encode())))
    assert numbered(said) in lines, said


@pytest.mark.parametrize("name", BYTES)
def test_not_text(name, saved):
    content, line = BYTES[name]
    said = complaint(hashstats("show", "-f", saved(content)))
    assert numbered(said) == line


COMMANDS = {
    "show": ["show", "-f", "FILE"],
    "none": ["-f", "FILE"],
    "hist": ["hist", "dentry", "-f", "FILE"],
    "watch": ["watch", "-n", "1", "-f", "FILE"],
    "diff": ["diff", "FILE", "FILE"],
    "copy": ["copy", "-f", "FILE"],
    "json": ["json", "-f", "FILE"],
    "openmetrics": ["openmetrics", "-f", "FILE"],
    "advise": ["advise", "-f", "FILE"],
    "report": ["report", "-f", "FILE"],
}


@pytest.mark.parametrize("wrong", ["objects do not add up", "empty"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses(command, wrong, saved):
    path = saved(MALFORMED[wrong][0].encode())
    words = [path if word == "FILE" else word for word in COMMANDS[command]]
    numbered(complaint(hashstats(*words)))


def test_standard_input_is_closed():
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, TOOL, "show", "-f", "-"],
        capture_output=True,
    )
    complaint(done)


# --- input without an end ---------------------------------------------------------

ENDLESS = {
    "zeros": ("cat /dev/zero", 1),
    "line": ("printf 'version: 1\\ncounting: '; cat /dev/zero", 2),
    "short lines": ("yes", None),
    "copy of a recording": ("printf 'recording: 1\\n=== 1.000\\n'; yes x: y", None),
}
MEMORY = 1 << 30  # bytes of address space


@pytest.mark.parametrize("words", [["show", "-f"], ["report", "-f"], ["diff"]], ids=" ".join)
@pytest.mark.parametrize("name", ENDLESS)
def test_input_without_an_end(name, words, tmp_path):
    """A FIFO, so that no command can tell beforehand."""
    text, line = ENDLESS[name]
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", f"exec >{fifo}; {text}"], stderr=subprocess.DEVNULL):
        said = complaint(hashstats(*words, fifo, wrapper=["prlimit", f"--as={MEMORY}"]))
    if name == "copy of a recording" and words != ["report", "-f"]:
        assert "a recording, expected one copy" in said
    else:
        assert "expected the text of /proc/hashstats" in said
    assert line is None or numbered(said) == line


def test_a_bug_is_no_verdict(saved, main, monkeypatch, capsys):
    import hashstats_tool.show

    monkeypatch.setattr(hashstats_tool.show, "run", lambda options: 1 / 0)
    assert main(["--check", "-f", saved(GOOD.encode())]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


# --- what cannot be read at all -----------------------------------------------


def test_no_such_file(tmp_path):
    said = complaint(hashstats("show", "-f", str(tmp_path / "none")))
    assert str(tmp_path / "none") in said


def test_folder(tmp_path):
    assert str(tmp_path) in complaint(hashstats("show", "-f", str(tmp_path)))


def test_no_permission(tmp_path):
    """Root reads everything, but for what lets it do so."""
    path = tmp_path / "saved"
    path.write_text(GOOD)
    path.chmod(0)
    wrapper = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    said = complaint(hashstats("show", "-f", str(path), wrapper=wrapper))
    assert "ermi" in said


def test_read_error():
    """Opening it works, reading does not: nothing is mapped at address 0."""
    assert "/proc/self/mem" in complaint(hashstats("show", "-f", "/proc/self/mem"))


def test_odd_file_name(tmp_path):
    """A line break in the name of the file does not break the one line."""
    path = tmp_path / "a\nb\x1b[31m"
    path.write_text("")
    complaint(hashstats("show", "-f", str(path)))


def test_no_such_table(saved):
    said = complaint(hashstats("hist", "dentries", "-f", saved(GOOD.encode())))
    assert "dentries" in said and "dentry" in said.replace("dentries", "")


# --- what is skipped ----------------------------------------------------------

ACCEPTED = {
    "field of a table": add("buckets", "colour: dark blue"),
    "number of a table": add("buckets", "colour: 12"),
    "colons in a value": add("buckets", "colour: a: b: c"),
    "field of the file": add("counting", "colour: blue"),
    "name of a device": put("name: dentry", "name: fat-cciss!c0d0"),
    "long name": put("name: dentry", "name: " + "x" * 5000),
    "newer version": value("version", "2"),
    "much newer version": value("version", "4096"),
}
SILENT = {
    "counting is off": value("counting", "off")[0],
    "no counted lookups": "\n".join(
        line for line in LINES if not re.match("lookups|hit|nodes-per-counted", line)
    ),
    "no time of the walk": "\n".join(line for line in LINES if not line.startswith("walk")),
    "one table": "\n".join(LINES[: where("name: mbcache") - 2]) + "\n",
    "numbers of 64 bits": re.sub(
        "^bytes: 6144", "bytes: 18446744073709551615", GOOD, flags=re.MULTILINE
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_skipped_with_a_note(name, saved):
    text, [line] = ACCEPTED[name]
    done = hashstats("json", "-f", saved(text.encode()))
    said = done.stderr.decode()
    assert done.returncode == 0, said
    assert said.startswith("hashstats: ") and said.count("\n") == 1, said
    if "colour" in text:
        assert re.search(rf"\bline {line}: colour\b", said), said
    elif "name" in name:
        assert f"line {line}: the name " in said and said.endswith("; table skipped\n"), said
        assert len(json.loads(done.stdout)["tables"]) == 3
    else:
        assert "version" in said


def test_notes_are_short(saved):
    """What a kernel's memory had and did not have is free text."""
    text, _ = add("counting", *(f"{label}: {'x' * 5000}" for label in ("kernel", "not-read")))
    done = hashstats("show", "-f", saved(text.encode()))
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 0 and len(lines) == 2
    assert all(len(line) < 450 and line.endswith("..") for line in lines), lines


@pytest.mark.parametrize("name", SILENT)
def test_accepted_in_silence(name, saved):
    text = SILENT[name]
    assert text != GOOD
    done = hashstats("show", "-f", saved(text.encode()))
    assert (done.returncode, done.stderr) == (0, b"")


# --- recordings -----------------------------------------------------------------

COPY = GOOD.rstrip("\n") + "\n"
RECORDING = f"recording: 1\n=== 1764000000.000\n{COPY}=== 1764000001.000\n{COPY}"

BAD_RECORDINGS = {
    "newer recording": (RECORDING.replace("recording: 1", "recording: 2"), 1),
    "recording of nothing": ("recording: 1\n", (1, 2)),
    "recording without a time": ("recording: 1\n" + COPY, 2),
    "time is no number": (RECORDING.replace("=== 1764000000.000", "=== today"), 2),
    "time is negative": (RECORDING.replace("=== 17", "=== -17", 1), 2),
    "each copy is wrong": (RECORDING.replace("objects: 10", "objects: ten"), 2 + where("objects")),
    "only copy is cut off": (
        f"recording: 1\n=== 1764000000.000\n{COPY[:300]}",
        2 + COPY[:300].count("\n") + 1,
    ),
}


@pytest.mark.parametrize("command", ["report", "advise"])
@pytest.mark.parametrize("name", BAD_RECORDINGS)
def test_bad_recording(name, command, saved):
    text, lines = BAD_RECORDINGS[name]
    said = complaint(hashstats(command, "-f", saved(text.encode())))
    assert numbered(said) in (lines if isinstance(lines, tuple) else (lines,)), said


@pytest.mark.parametrize("tail", [b"", bytes(1 << 20)], ids=["end", "zeros"])
@pytest.mark.parametrize("command", ["report", "advise"])
def test_last_copy_that_was_cut_off_is_skipped(command, tail, saved):
    """What was recorded before a crash counts; file systems may leave zeros."""
    done = hashstats(command, "-f", saved(RECORDING[:-30].encode() + tail))
    said = done.stderr.decode()
    assert done.returncode == 0 and done.stdout
    assert said.count("\n") == 1 and "last copy" in said


@pytest.mark.parametrize("command", ["show", "json", "openmetrics"])
def test_recording_where_one_copy_is_wanted(command, saved):
    said = complaint(hashstats(command, "-f", saved(RECORDING.encode())))
    assert "recording" in said and "report" in said


# --- well formed, and yet odd ----------------------------------------------------

# --- no line is needed without the tool saying so -----------------------------

EVERY_LABEL = GOOD.replace(
    "name: page\nbuckets: 0\nbytes: 0\nsized-by: off\n",
    """\
name: page
buckets: 8
bytes: 64
sized-by: command line
lookups: 50
hits: 30
hit-rate: 0.600
nodes-per-counted-hit: 1.000
nodes-per-counted-miss: 0.250
stale: 5
cache-hits: 150
cache-hit-rate: 0.750
""",
)
# The same some time later: each counter grew.
LATER = re.sub(
    r"(?m)^(lookups|hits|wakes|entries-\w+|functions-called|stale"
    r"|cache-hits): (\d+)$",
    lambda match: f"{match[1]}: {2 * int(match[2])}",
    EVERY_LABEL,
)


def without(text, line):
    lines = text.split("\n")
    return "\n".join([*lines[:line], *lines[line + 1 :]])


@pytest.fixture(scope="module")
def main():
    from hashstats_tool.cli import main

    return main


@pytest.mark.parametrize(
    "command", ["show", "hist", "diff", "json", "openmetrics", "advise", "watch"]
)
def test_without_any_one_line(command, main, tmp_path, capsys):
    """Each line of a file is left out once: a result or a complaint comes."""
    whole, less = tmp_path / "whole", tmp_path / "less"
    whole.write_text(EVERY_LABEL)
    words = {
        "diff": ["diff", str(whole), str(less)],
        "hist": ["hist", "dentry", "-f", str(less)],
        "watch": ["watch", "-n", "1", "--count", "1", "-f", str(less)],
    }
    statuses = set()
    for line in range(LATER.count("\n")):
        less.write_text(without(LATER, line))
        status = main(words.get(command, [command, "-f", str(less)]))
        said = capsys.readouterr().err
        assert status in (0, 2), (line, said)
        assert said.count("\n") <= 1, said
        statuses.add(status)
    assert statuses == {0, 2}
