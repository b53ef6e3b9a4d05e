# SPDX-License-Identifier: GPL-2.0
"""Bad copies, recordings and names, and each command of the tool.

hypothesis makes odd tables that add up, recordings of them, and damages these and
files of a kernel. The tool prints one line that helps, or succeeds. What it prints
then is what its reader takes: text without control characters of the file, JSON,
metrics, a recording, a picture.
"""

import itertools
import json
import re
import shutil
import struct
import time
import zlib
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from prometheus_client import parser as classic
from prometheus_client.openmetrics import parser

from any_copy import HUGE, LABELS, text_of, whole_copy
from tool_server import Tool
from toyhashstats import FOLDER, SAMPLES

pytestmark = pytest.mark.long

SECONDS = 600
LONGEST_LINE = 1000  # that the tool prints on standard error
DRAWS = "/usr/bin/python3"  # Debian's python3-matplotlib is for this one

# --- what is read ---------------------------------------------------------------

SEEDS = [
    path.read_bytes()
    for path in [*SAMPLES.glob("*.hashstats"), *FOLDER.glob("samples/*.hashstats")]
]
ODD_WORDS = (
    "",
    " ",
    "-",
    "--help",
    "../x",
    "a/b",
    "%s{}\\",
    "<b>&\"'",
    "$x^$",
    "\u65e5\u672c",
    "\u0661",
    "\xb2",
    "\x1b[31m",
    "\x9b2J",
    "\x07",
    "\x00",
    "\r",
    "\x7f",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\U000e0041",
    "a" * 5000,
)
ODD_NUMBERS = (
    *("-1", "0", "1", "00", "0.000", "1.5", "1e3", "0x10", "1_0", "nan", "inf"),
    *(str(n) for n in (HUGE, HUGE + 1, 1 << 63, 1 << 32, 15, 16, 17, 100, 101)),
    f"{HUGE}.999",
    "9" * 5000,
)
# Some make the tool treat a table otherwise.
NAMES = st.one_of(
    st.sampled_from(
        [
            *("dentry", "inode", "folio_wait", "bit_wait", "page", "futex", "blocked_locks"),
            *("mbcache", "mbcache-ext4-vda", "tcp-bind", "udp", "fat-loop0", "dentry_lookup"),
            *("posix_timers", "-x", "--all", "-"),
        ]
    ),
    st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True),
)
ABOVE = st.one_of(st.sampled_from(["source", "kernel", "hash-entries", "not-read"]), LABELS)
ANY_COPY = whole_copy(NAMES, ABOVE).map(lambda copy: text_of(copy).encode())
HOSTS = st.one_of(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=255),
    st.sampled_from(ODD_WORDS),
)


@st.composite
def any_recording(draw, copies=ANY_COPY):
    host = draw(HOSTS)
    result = b"recording: 1\n" + (f"host: {host}\n".encode() if host else b"")
    seconds = draw(st.sampled_from([0, 1764000000, 999999999998]))
    for data in draw(st.lists(copies, min_size=1, max_size=4)):
        result += b"=== %.3f\n%s" % (seconds, data)
        seconds += draw(st.sampled_from([0.001, 1, 60, 86400, 1e8]))
    return result


def change_line(data, place, change):
    lines = data.split(b"\n")
    place %= len(lines)
    lines[place : place + 1] = change(lines[place], lines[(place * 7 + 3) % len(lines)])
    return b"\n".join(lines)


def put(data, pattern, place, text):
    """Text instead of one of the matches."""
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    match = found[place % len(found)]
    return data[: match.start()] + text + data[match.end() :]


NUMBERS = st.one_of(
    st.sampled_from(ODD_NUMBERS).map(str.encode), st.integers(0, HUGE).map(lambda n: b"%d" % n)
)
TEXTS = st.one_of(st.sampled_from(ODD_WORDS).map(str.encode), st.binary(max_size=10))


def instead_of(pattern):
    return lambda data, place, text: put(data, pattern, place, text)


def of_line(change):
    return lambda data, place, _: change_line(data, place, change)


# What puts something else at a place, and what that is.
DAMAGE = (
    (lambda data, place, _: data[: place % (len(data) + 1)], st.none()),
    (lambda data, place, _: data[place % (len(data) + 1) :], st.none()),
    (of_line(lambda line, other: []), st.none()),
    (of_line(lambda line, other: [line, line]), st.none()),
    (of_line(lambda line, other: [other, line]), st.none()),
    (of_line(lambda line, other: [line, b""]), st.none()),
    (instead_of(rb"(?s)."), st.binary(min_size=1, max_size=1)),
    (instead_of(rb""), TEXTS),
    (instead_of(rb"[0-9.]+"), NUMBERS),
    (instead_of(rb"(?<=[a-z]: )[0-9.]+"), NUMBERS),
    (instead_of(rb"(?<=: ).*"), TEXTS),
    (instead_of(rb"(?<=name: ).*"), TEXTS),
    (instead_of(rb"(?<=sized-by: ).*"), TEXTS),
    (instead_of(rb"[^ ]+(?=: )"), TEXTS),
    (instead_of(rb"(?<==== ).*"), NUMBERS),
    (instead_of(rb"(?<=version: )1"), NUMBERS),
)


@st.composite
def damaged(draw, content):
    """Half of the files stay as they are."""
    data = draw(content)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 3]))):
        change, texts = draw(st.sampled_from(DAMAGE))
        data = change(data, draw(st.integers(0, 1 << 20)), draw(texts))
    return data


COPIES = damaged(st.one_of(st.sampled_from(SEEDS), ANY_COPY))
ANYTHING = st.one_of(
    COPIES,
    damaged(any_recording(st.one_of(st.sampled_from(SEEDS), ANY_COPY))),
    st.tuples(st.sampled_from([b"\x7fELF\2\1", b"KDUMP   ", b"makedumpfile\0"]), COPIES).map(
        b"".join
    ),
)

# --- what the tool does with it --------------------------------------------------

# What the tool itself sends to a terminal.
CONTROL = re.compile(r"\x1b\[(?:[0-9;]*m|\?1049[hl]|\?25[hl]|[HKJ])|\r\n|\n")
# These have printed something already when they find what is wrong.
PRINTS_FIRST = ("watch", "record", "--png")


def complaint(done):
    """The line that says why the tool ended, if it did; all others are notes."""
    lines = done.err.splitlines(keepends=True)
    for line in lines:
        assert line.endswith("\n") and line[:-1].isprintable(), line
        assert line.startswith("hashstats: ") and len(line) <= LONGEST_LINE, line
    said = [line for line in lines if not line.startswith("hashstats: note: ")]
    assert len(said) == (done.status == 2) and said == lines[len(lines) - len(said) :], done.err
    return said[0] if said else None


def check(words, done, terminal=False):
    assert done.traceback is None, done.traceback
    assert "Traceback (most" not in done.err, done.err
    assert done.status in ((0, 1, 2) if "--check" in words else (0, 2)), (words, done.status)
    text = done.out.decode()
    assert (CONTROL.sub("", text) if terminal else text.replace("\n", "")).isprintable(), text
    # Without a table, --check complains behind the output.
    if complaint(done) and not {*PRINTS_FIRST} & {*words} and "no table was read" not in done.err:
        assert text == ""


def not_json(word):
    raise AssertionError(f"{word} is no JSON")


def check_output(words, done, data):
    """What programs read can be read."""
    text = done.out.decode()
    if done.status == 2:
        return
    if words[0] == "json" or "--json" in words or "-j" in words:
        json.loads(text, parse_constant=not_json)
    elif words[0] == "openmetrics":
        reader = classic if "--classic" in words else parser
        list(reader.text_string_to_metric_families(text))
    elif words[0] == "copy":
        assert done.out == data


def some(values):
    return st.one_of(st.none(), st.sampled_from(values))


@st.composite
def options(draw, **flags):
    """Words of some of the options; a flag is an option and what may stand behind it."""
    result = []
    for name, values in flags.items():
        option = "--" + name.replace("_", "-")
        value = draw(st.booleans() if values is True else some(values))
        if value:
            result += [option] if values is True else [option, value]
    return result


SORTS = ("verdict", "table", "buckets", "bytes", "objects", "load", "long", "nodes")
ADVICE = options(
    target=("1.000001", "1.5", "999999"),
    budget=("0", "1", "64K", "1.5M", "999999999999999T", "0.000001%", "100%"),
    memory=("0", "1", "4K", "1G", "999999999999999T"),
    shrink=True,
    all=True,
    json=True,
)


@st.composite
def calls(draw, folder, names):
    """A call of each command that reads, and what it writes to."""
    file, other = folder / "file", folder / "other"
    tables = draw(st.lists(st.sampled_from(names), max_size=3))
    check_option = draw(options(check=True))
    return [
        ["copy", "-f", file],
        ["show", "-f", file, *draw(options(all=True, sort=SORTS, json=True)), *tables],
        ["hist", "-f", file, *draw(options(log=True)), *(tables or names[:1])],
        ["hist", "-f", file, "-f", other, *(tables or names[:1])],
        ["watch", "-f", file, "-n", "0.1", "--count", "2", *draw(options(all=True)), *tables],
        ["diff", file, other, *draw(options(all=True)), *tables],
        ["diff", other, file],
        ["json", "-f", file, *draw(options(compact=True))],
        ["openmetrics", "-f", file, *draw(options(classic=True))],
        ["advise", "-f", file, *draw(ADVICE), *tables],
        ["advise", "-f", file, "--apply-grub", "--yes", "--grub-file", folder / "grub"],
        ["record", "-f", file, "-n", "0.1", "-t", "0.2", "-o", folder / "made", *tables],
        ["report", "-f", file, *draw(options(all=True)), *tables],
    ], check_option


def names_in(data):
    """Names of tables; what begins with a hyphen is an option."""
    found = re.findall(rb"^name: ([^-\s]\S*)$", data, re.MULTILINE)
    return [name.decode(errors="replace") for name in found[:8]] or ["dentry"]


OURS = settings(
    max_examples=20,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def fuzz(test, strategy, seconds, ours=OURS):
    """Call a test with new examples; the number of calls."""
    end, count = time.monotonic() + seconds, itertools.count()

    def counted(example):
        next(count)
        test(example)

    for number in itertools.count():
        if time.monotonic() > end:
            return next(count)
        seed(number)(ours(given(strategy)(counted)))()


@pytest.fixture
def start():
    """Start the tool."""
    started = []

    def start(**options):
        started.append(Tool(FOLDER, **options))
        return started[-1]

    yield start
    for tool in started:
        tool.close()


def check_calls(tool, folder):
    """A test of all commands with a drawn file."""

    def test(drawn):
        data = drawn.draw(ANYTHING)
        later = drawn.draw(st.one_of(st.none(), COPIES))
        (folder / "other").write_bytes(drawn.draw(st.one_of(st.sampled_from(SEEDS), COPIES)))
        found, check_option = drawn.draw(calls(folder, names_in(data)))
        terminal = drawn.draw(st.booleans())
        columns = drawn.draw(some(["1", "20", "47", "80", "500"]))

        def run(words, data, later):
            (folder / "file").write_bytes(data)
            words = [str(word) for word in [words[0], *check_option, *words[1:]]]
            if terminal and words[0] == "watch":
                # A terminal is waited for by select(), which takes time.
                words[words.index("--count") + 1] = "1"
            done = tool.run(
                *words,
                later=None if later is None else (str(folder / "file"), later),
                terminal=terminal,
                columns=columns,
            )
            check(words, done, terminal)
            check_output(words, done, data)
            if words[0] == "record" and done.status != 2:
                made = ["report", "-f", str(folder / "made")]
                done = tool.run(*made)
                check(made, done)
                assert done.status == 0, done.err
            return done

        # The reader refuses a file in the same way for all, so a few will do.
        refused = data.startswith(b"recording: ") or run(found[0], data, later).status == 2
        if refused:
            found = drawn.draw(st.lists(st.sampled_from(found), max_size=4))
        for words in found:
            done = run(words, data, later)
            if words[0] in ("copy", "json", "openmetrics"):
                # What one command accepts, all accept.
                assert (done.status == 2) == refused, done.err

    return test


def test_each_command_survives_any_file(start, tmp_path):
    count = fuzz(check_calls(start(), tmp_path), st.data(), SECONDS)
    print(f"{count} files")
    assert count > SECONDS / 10


# --- pictures ---------------------------------------------------------------------

FILE_NAMES = st.one_of(
    st.sampled_from(
        ["a", "_$x^$", "<b>&\"'", "\u65e5\u672c", "\x1b[31m", "\n", "a" * 200, "\udcff"]
    ),
    st.text(
        st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=60
    ),
)
ELEMENTS = {
    *("RDF", "Work", "Agent", "creator", "date", "format", "title", "type", "metadata"),
    *("svg", "g", "defs", "use", "clipPath", "style", "path", "rect", "image", "text", "tspan"),
}


def check_png(data):
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, kinds = 8, b"", []
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        [sum_of] = struct.unpack_from(">I", data, at + 8 + size)
        assert zlib.crc32(data[at + 4 : at + 8 + size]) == sum_of
        kinds.append(kind)
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    width, height = struct.unpack_from(">II", data, 16)
    assert len(zlib.decompress(packed)) == height * (4 * width + 1)


def check_svg(data):
    """Text of a file is text in the picture, and no more."""
    elements = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(data).iter()}
    assert "svg" in elements and elements <= ELEMENTS, elements - ELEMENTS


def check_pictures(tool, folder):
    def test(drawn):
        copies = st.one_of(st.sampled_from(SEEDS), ANY_COPY)
        data = drawn.draw(copies)
        files = []
        for number in range(drawn.draw(st.integers(1, 3))):
            path = folder / str(number) / drawn.draw(FILE_NAMES)
            shutil.rmtree(path.parent, ignore_errors=True)
            path.parent.mkdir()
            path.write_bytes(data if not number else drawn.draw(copies))
            files.append(path)
        names = names_in(data)
        tables = drawn.draw(st.lists(st.sampled_from(names), max_size=3)) or names[:1]
        recorded = folder / "recording"
        recorded.write_bytes(drawn.draw(any_recording(copies)))
        log = drawn.draw(options(log=True))
        for ending, check_picture in (("png", check_png), ("svg", check_svg)):
            picture = folder / f"picture.{ending}"
            for words in (
                ["hist", *(f"-f{file}" for file in files), *log, "--png", picture, *tables],
                ["report", "-f", recorded, "--png", picture],
            ):
                picture.unlink(missing_ok=True)
                words = [str(word) for word in words]
                done = tool.run(*words)
                check(words, done)
                assert picture.exists() == (done.status == 0), done.err
                if picture.exists():
                    check_picture(picture.read_bytes())

    return test


def test_pictures_are_whole(start, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    count = fuzz(check_pictures(start(python=DRAWS), tmp_path), st.data(), SECONDS)
    print(f"{count} sets of pictures")
    assert count > SECONDS / 50
