# SPDX-License-Identifier: GPL-2.0
"""hashstats: what each subcommand makes of a copy of /proc/hashstats."""

import ast
import graphlib
import json
import os
import re
import struct
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from toyhashstats import (
    FOLDER,
    SAMPLES,
    TOOL,
    bare,
    environment,
    file,
    hashstats,
    queues,
    said,
    table,
)

AFTER = SAMPLES / "after.hashstats"
# Buckets, objects, lookups of the table dentry in AFTER.
OF_DENTRY = (1024, 706, 6919)
# Chains as chance has them: 1023 objects in 1024 buckets.
CHANCE = (377, 377, 188, 63, 15, 3, 1)
# 1024 buckets, 3200 objects, all chains alike.
FULL = (0, 0, 0, 896, 128)
# Half of 600 objects in chains of 15.
COLLIDING = (724, 280, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20)
WORDS = ["ok", "crowded", "oversized", "skewed", "idle"]


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A copy with the tables of AFTER and without counts."""
    path = tmp_path_factory.mktemp("copies") / "before.hashstats"
    tables = [table(name, *CHANCE) for name in ("dentry", "inode", "mbcache")]
    path.write_text(file(*tables, bare("page", 1024, lookups=0, hits=0), counting="off"))
    return path


def verdict_of(*paragraph):
    tables = json.loads(said("json", "-f", "-", text=file(*paragraph)))["tables"]
    return tables[-1]["verdict"]


def shown(text, *words, **env):
    """Name -> cells of the line that show has for it."""
    lines = said("show", "-f", "-", *words, text=text, **env).splitlines()
    return {line.split()[0]: line.split() for line in lines}


# --- verdicts -----------------------------------------------------------------


@pytest.mark.parametrize(
    "paragraph,word",
    [
        (table("dentry", *CHANCE), "ok"),
        (table("dentry", *FULL), "ok"),
        (table("dentry", 0, 0, 0, 0, 0, 1024), "crowded"),
        (table("dentry", *COLLIDING), "skewed"),
        (table("dentry", 1024), "idle"),
        (table("dentry", 1024, lookups=9, hits=0), "ok"),
        (table("dentry", 16384, lookups=9, hits=0), "oversized"),
        (table("dentry", 16000, 384), "oversized"),
        # advise never makes it smaller, so it is not oversized.
        (table("page", 16000, 384), "ok"),
        (table("dentry", 8100, 92), "ok"),
        (table("futex", 16000, 384), "ok"),
        # A hundred threads that wait for one futex, and too many for many.
        (table("futex", 992, *[0] * 15, 32), "ok"),
        (table("futex", 0, 0, 0, 0, 0, 1024), "crowded"),
        # Three that share a bucket are no reason for an alarm.
        (table("ucounts", 4095, 0, 0, 1), "ok"),
        (queues("folio_wait", 256, 1000, 900), "ok"),
        (queues("folio_wait", 256, 1000, 1100), "crowded"),
        # A few wakeups are no reason for an alarm.
        (queues("folio_wait", 256, 99, 990), "ok"),
        (bare("page", 1024, lookups=99, hits=0, stale=99), "ok"),
        # Waiters for one page are in one queue by intention.
        (table("bit_wait", 255, *[0] * 15, 1), "ok"),
        (bare("bit_wait", 256), "idle"),
        (bare("page", 0, sized_by="off"), "idle"),
        (bare("page", 1024, lookups=100, hits=80, stale=20), "ok"),
        (bare("page", 1024, lookups=100, hits=70, stale=30), "crowded"),
    ],
    ids=str,
)
def test_verdict(paragraph, word):
    assert verdict_of(paragraph) == word


def test_check_is_for_bad_states_only():
    for chains, status in (
        (CHANCE, 0),
        ((16000, 384), 0),
        (COLLIDING, 1),
        ((0, 0, 0, 0, 0, 0, 9), 1),
    ):
        text = file(table("dentry", *chains))
        for command in ("show", "json", "openmetrics", "hist", "advise", "report"):
            words = [command, "--check", "-f", "-"]
            words += ["dentry"] if command == "hist" else []
            assert hashstats(*words, text=text).returncode == status
        assert hashstats("show", "-f", "-", text=text).returncode == 0


def test_check_looks_at_what_was_named():
    text = file(table("dentry", *COLLIDING), table("inode", *CHANCE))
    assert hashstats("show", "--check", "inode", "-f", "-", text=text).returncode == 0


# --- show ---------------------------------------------------------------------


def test_show_has_a_line_a_table():
    lines = shown(file(table("dentry", *CHANCE, lookups=1000, hits=250), table("inode", *FULL)))
    assert lines["TABLE"][:3] == ["TABLE", "BUCKETS", "BYTES"]
    cells = "dentry 1024 8K 1023 1.00 63.2 63.2 6 1.500 1.499 25.0 ok"
    assert lines["dentry"] == cells.split()
    assert lines["inode"][-3:] == ["2.562", "-", "ok"]


def test_idle_tables_share_a_line():
    text = file(table("dentry", *CHANCE), table("uid", 16), table("dquot", 16))
    assert said("-f", "-", text=text).splitlines()[-1] == "2 idle, shown with --all: uid, dquot"
    for words in (["--all"], ["uid", "dquot", "dentry"]):
        assert said(*words, "-f", "-", text=text).count("\n") == 4


def test_bad_tables_come_first():
    text = file(
        table("a", *CHANCE), table("b", 0, 0, 0, 0, 0, 0, 9), table("c", *COLLIDING), table("d", 8)
    )
    assert list(shown(text, "--all")) == ["TABLE", "c", "b", "a", "d"]


@pytest.mark.parametrize(
    "column,names",
    [("table", "abc"), ("objects", "bac"), ("LONG", "cab"), ("bytes", "bac"), ("verdict", "cab")],
)
def test_sort(column, names):
    text = file(table("a", *CHANCE), table("b", *FULL, 9), table("c", 0, 0, 0, 0, 0, 0, 0, 9))
    assert list(shown(text, "--sort", column))[1:] == list(names)


@pytest.mark.parametrize(
    "counts", [{"lookups": 500, "hits": 400}, {"lookups": 0, "hits": 0, "cache-hits": 500}]
)
def test_counts_remain_when_counting_is_off(tmp_path, counts):
    path = tmp_path / "off"
    path.write_text(file(table("dentry", *CHANCE, **counts), counting="off"))
    for command in (["show"], ["advise"], ["report"]):
        text = said(*command, "-f", path)
        assert "the counts are those of before" in text and "no hit rates" not in text


def test_counting_that_is_off_is_told(tmp_path):
    """In show, advise and watch, and nowhere if it is on."""
    for counting in ("on", "off"):
        path = tmp_path / counting
        path.write_text(file(table("dentry", *CHANCE), counting=counting))
        for command in (["show"], ["advise"], ["watch", "--count", "1"], ["report"]):
            text = said(*command, "-f", path).lower()
            assert ("counting is off" in text) == (counting == "off")


@pytest.mark.parametrize("width", [20, 30, 60, 80, 100, 200])
def test_width_is_respected(width):
    for words in ([], ["--all"]):
        text = said(*words, "-f", AFTER, COLUMNS=str(width))
        assert "VERDICT" in text and max(map(len, text.splitlines())) <= max(width, 25)


@pytest.mark.parametrize("width", [70, 80])
def test_advice_keeps_the_names(width):
    assert re.search("^dentry ", said("advise", "-f", AFTER, COLUMNS=str(width)), re.M)


def test_percentages_go_before_a_letter_of_a_name():
    text = file(table("tcp_listen_portaddr_hash", *CHANCE), table("dentry", *CHANCE))
    head, line, _ = said("-f", "-", text=text, COLUMNS="80").splitlines()
    assert line.startswith("tcp_listen_portaddr_hash ") and "%" not in head
    assert "LONG" in head and "BYTES" in head


def test_names_are_elided_in_the_middle():
    """Rows of two tables are never the same text."""
    names = ("tcp_listen_portaddr_hash", "tcp_listen_portaddr_hash6")
    text = file(*(table(name, *CHANCE) for name in names))
    cells = [line.split()[0] for line in said("-f", "-", text=text, COLUMNS="40").splitlines()[1:]]
    assert all(".." in cell for cell in cells) and len(set(cells)) == 2


def test_no_verdict_without_counts():
    """Wait queues and page are judged by counts alone."""
    for counts, word in ({"lookups": 9, "hits": 9}, "-"), ({"lookups": 900, "hits": 900}, "ok"):
        assert shown(file(bare("page", 1024, **counts)))["page"][-1] == word


@pytest.mark.parametrize(
    "env,coloured",
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
    ids=str,
)
def test_colour_on_a_terminal(env, coloured):
    import pty

    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, TOOL, "-f", AFTER],
        stdout=slave,
        env=environment(**{"TERM": "xterm", **env}),
    )
    os.close(slave)
    text = b""
    assert done.wait(30) == 0  # what it wrote waits for us
    try:
        while more := os.read(master, 65536):
            text += more
    except OSError:
        pass  # the other end is closed
    os.close(master)
    assert (b"\x1b[" in text) == coloured


def test_reader_that_leaves():
    """No complaint in `hashstats json | head -1`."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {TOOL} json -f {AFTER} | head -n 1"],
        text=True,
        capture_output=True,
        env=environment(),
    )
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize("closed,status", [("<&-", 0), (">&-", 2), ("2>&-", 0)])
def test_closed_streams(closed, status):
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {TOOL} -f {AFTER} {closed}"],
        text=True,
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == status and "Traceback" not in done.stderr


def test_full_disk():
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {TOOL} -f {AFTER} > /dev/full"],
        text=True,
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1


# --- hist ---------------------------------------------------------------------


def test_hist_puts_chance_beside():
    text = said("hist", "dentry", "-f", "-", text=file(table("dentry", *CHANCE)))
    rows = [line.split() for line in text.splitlines()[2:]]
    assert [row[:2] for row in rows] == [
        [str(size), str(count)] for size, count in enumerate(CHANCE)
    ]
    assert [float(row[2]) for row in rows[:3]] == [377.1, 376.7, 188.2]


def test_hist_bars_are_in_proportion():
    text = said(
        "hist", "dentry", "-f", "-", COLUMNS="120", text=file(table("dentry", 800, 400, 200))
    )
    bars = [line.count("█") for line in text.splitlines()[2:5]]
    assert bars[0] > 40 and abs(bars[0] - 2 * bars[1]) <= 3
    assert all("┃" in line for line in text.splitlines()[2:5])


def test_hist_of_several_copies(before):
    text = said("hist", "dentry", "inode", "-f", before, "-f", AFTER)
    assert [
        text.count(f"{name} in {path}") for name in ("dentry", "inode") for path in (before, AFTER)
    ] == [1, 1, 1, 1]


def drawing_python():
    """An interpreter with matplotlib; Debian's is for /usr/bin/python3."""
    for python in (sys.executable, "/usr/bin/python3"):
        if (
            os.path.exists(python)
            and not subprocess.run(
                [python, "-c", "import matplotlib.figure"], capture_output=True
            ).returncode
        ):
            return python
    pytest.skip("no matplotlib here")


@pytest.fixture(scope="module")
def fonts(tmp_path_factory):
    """A folder with the list of fonts that matplotlib makes, with a warning if it takes long."""
    folder = str(tmp_path_factory.mktemp("fonts"))
    subprocess.run(
        [drawing_python(), "-c", "import matplotlib.font_manager"],
        env=os.environ | {"MPLCONFIGDIR": folder},
        capture_output=True,
        check=True,
    )
    return folder


def drawn(fonts, *words, **options):
    """A run that must succeed, by an interpreter with matplotlib."""
    done = hashstats(*words, python=drawing_python(), MPLCONFIGDIR=fonts, **options)
    assert (done.returncode, done.stderr) == (0, "")


def png_size(path):
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize(
    "words,panels",
    [(["dentry"], 1), (["dentry", "inode"], 2), (["dentry", "inode", "mbcache"], 3)],
    ids=str,
)
def test_hist_picture(words, panels, tmp_path, fonts, before):
    picture = tmp_path / "picture.png"
    drawn(fonts, "hist", *words, "-f", before, "-f", AFTER, "--png", picture)
    width, height = png_size(picture)
    assert width == min(panels, 2) * 768 and height == (panels + 1) // 2 * 456


def test_picture_as_svg(tmp_path, fonts):
    """Text that people may search, and no other file for the same figures."""
    made = []
    for name in ("a.svg", "b.svg"):
        drawn(fonts, "hist", "dentry", "-f", AFTER, "--png", tmp_path / name)
        made.append((tmp_path / name).read_text())
    assert made[0] == made[1]
    assert "<svg" in made[0] and f"{OF_DENTRY[1]} objects, {OF_DENTRY[0]} buckets" in made[0]


@pytest.mark.parametrize(
    "words", [["hist", "dentry"], ["report"], ["record", "-t", "9"]], ids=" ".join
)
def test_without_matplotlib(words, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError\n")
    done = hashstats(*words, "-f", AFTER, "--png", tmp_path / "a.png", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "python3-matplotlib" in done.stderr


# --- diff ---------------------------------------------------------------------


def test_diff_tells_what_changed():
    before = file(
        table("dentry", *CHANCE, lookups=100, hits=50), table("inode", *CHANCE), table("mount", 16)
    )
    after = file(
        table("dentry", 0, 0, 0, 0, 0, 0, 1024, lookups=300, hits=200),
        table("inode", *CHANCE),
        table("uid", 16),
    )
    text = diffed(before, after, "--all")
    assert re.search(r"verdict +ok +-> +crowded", text)
    assert re.search(r"objects +1023 +-> +6144 +\+5121 \(\+500.6 %\)", text)
    assert re.search(r"hit-rate between +0.750", text)
    assert "mount: gone" in text and "uid: new" in text
    assert "1 table unchanged" in text


def test_diff_of_wakeups():
    text = diffed(
        file(queues("bit_wait", 256, 100, 10)), file(queues("bit_wait", 256, 200, 310)), "--all"
    )
    assert re.search(r"foreign-per-wake between +3.000", text)


DIFFERENT = (
    file(table("dentry", *CHANCE), table("inode", *CHANCE), table("uid", 16), table("mount", 8)),
    file(table("dentry", 0, 0, 0, 0, 0, 0, 0, 1024), table("inode", *FULL), table("uid", 16)),
)


def test_diff_in_short():
    """A line for each table that changed."""
    _, dentry, inode, mount, rest = diffed(*DIFFERENT).splitlines()
    assert re.fullmatch(
        r"dentry +1024 +1023 -> 7168 +6 -> 7 +1.500 -> 4.000 +ok -> crowded", dentry
    )
    assert re.fullmatch(r"inode +1024 .* ok", inode) and mount.split() == ["mount", "gone"]
    assert rest == "1 table unchanged"


def test_diff_of_some_tables():
    text = diffed(*DIFFERENT, "inode", "uid")
    assert re.search(r"^  objects +1023 +-> +3200", text, re.MULTILINE)
    assert "dentry" not in text and "mount" not in text and "1 table unchanged" in text


def test_diff_with_this_machine_takes_tables(tmp_path):
    """A table of BEFORE is no AFTER, so the kernel's file is asked for."""
    path = tmp_path / "before"
    path.write_text(DIFFERENT[0])
    assert "/proc/hashstats" in hashstats("diff", path, "dentry").stderr
    assert "No such" not in hashstats("diff", path, "./dentry").stderr
    assert said("diff", path, "-f", "-", "inode", text=DIFFERENT[1]).startswith("inode\n")


def diffed(before, after, *words):
    with open(os.memfd_create("before"), "w") as saved:
        saved.write(before)
        saved.flush()
        path = f"/proc/{os.getpid()}/fd/{saved.fileno()}"
        return said("diff", path, "-", *words, text=after)


# --- json, openmetrics --------------------------------------------------------


def test_json_is_as_the_schema_tells():
    schema = json.loads((FOLDER / "hashstats_tool/schema.json").read_text())
    document = json.loads(said("json", "-f", AFTER))
    assert document.keys() == schema["properties"].keys()
    promised = schema["$defs"]["table"]["properties"]
    for entry in document["tables"]:
        assert entry.keys() == promised.keys()
        assert entry["verdict"] in promised["verdict"]["enum"]
        assert entry["kind"] in promised["kind"]["enum"]
        for row in entry["histogram"] or []:
            assert row.keys() == promised["histogram"]["items"]["properties"].keys()


def test_advice_is_as_the_schema_tells():
    schema = json.loads((FOLDER / "hashstats_tool/schema.json").read_text())
    promised = schema["$defs"]["advice"]["properties"]
    document = json.loads(said("advise", "--json", "-f", AFTER))
    assert document.keys() == promised.keys()
    for entry in document["tables"]:
        assert entry.keys() == promised["tables"]["items"]["properties"].keys()


def test_json_says_what_the_file_says():
    entry = json.loads(said("json", "dentry", "-f", AFTER))["tables"][0]
    assert (entry["buckets"], entry["objects"], entry["lookups"]) == OF_DENTRY
    assert entry["nodes"] == entry["nodes_per_hit"]
    assert sum(row["buckets"] for row in entry["histogram"]) == 1024
    expected = sum(row["buckets_expected"] for row in entry["histogram"])
    assert abs(expected - 1024) < 0.01


# --- advise -------------------------------------------------------------------


def advised(text, *words):
    result = json.loads(said("advise", "--json", "-f", "-", *words, text=text))
    result["tables"] = {entry["name"]: entry for entry in result["tables"]}
    return result


def test_advise_smallest_that_meets_the_target():
    # 1 + 6143 / 2m <= 1.5 from m = 6143, so 8192; predicted as chance has it.
    text = file(table("dentry", 0, 0, 0, 0, 0, 0, 1024))
    result = advised(text)
    assert result["line"] == "hash_entries=dentry:8K"
    entry = result["tables"]["dentry"]
    assert (entry["buckets_new"], entry["action"]) == (8192, "grow")
    assert round(entry["nodes_predicted"], 4) == round(1 + 6143 / 16384, 4)
    assert advised(text, "--target", "1.1")["line"] == "hash_entries=dentry:32K"


def test_advise_exact_target_is_met():
    # 4097 objects in 4096 buckets: 1 + 4096 / 8192 is 1.5.
    text = file(table("dentry", 0, 0, 1, *[0] * 12, 273))
    assert advised(text)["tables"]["dentry"]["buckets_new"] == 4096
    # One more is too many.
    text = file(table("dentry", 0, 0, 0, 1, *[0] * 11, 273))
    assert advised(text)["tables"]["dentry"]["buckets_new"] == 8192


LARGE = file(table("inode", 65536 - 500, 500))


def test_advise_to_shrink_but_not_below_what_is_small():
    result = advised(LARGE, "--shrink")
    entry = result["tables"]["inode"]
    assert (entry["action"], entry["buckets_new"]) == ("shrink", 8192)
    assert result["bytes"] == 512 << 10 and result["bytes_new"] == 64 << 10


def test_one_reading_shrinks_nothing():
    """A machine may be idle just now; the user is told what --shrink would do."""
    assert advised(LARGE)["line"] == ""
    assert "keep (8192 with --shrink)" in said("advise", "-f", "-", text=LARGE)


@pytest.mark.parametrize("hours,action", [(1, "keep"), (21, "keep"), (23, "shrink")])
def test_recording_of_a_day_shrinks(hours, action):
    text = recording(LARGE, LARGE, step=3600 * hours)
    assert advised(text)["tables"]["inode"]["action"] == action


def test_what_is_oversized_can_be_shrunk():
    """show and advise do not contradict each other."""
    names = ("dentry", "inode", "page", "futex", "folio_wait", "buffer", "mbcache")
    text = file(*(table(name, 65536 - 500, 500, lookups=500, hits=400) for name in names))
    verdicts = {name: cells[-1] for name, cells in shown(text).items()}
    for name, entry in advised(text, "--shrink")["tables"].items():
        assert (verdicts[name] == "oversized") == (entry["action"] == "shrink"), name


def test_advise_leaves_tables_of_mounts():
    for name, changes in (("inode", True), ("fat-sda1", False), ("exfat-sdb", False)):
        result = advised(file(table(name, 0, 0, 0, 0, 0, 0, 1024)))
        assert (result["tables"][name]["action"] != "keep") is changes
        assert bool(result["line"]) is changes


def test_advise_of_a_skewed_table():
    text = file(table("buffer", *COLLIDING))
    entry = advised(text)["tables"]["buffer"]
    assert entry["action"] == "keep" and "size will not help" in entry["advice"]
    assert entry["nodes_predicted"] == entry["nodes"]
    assert advised(text)["line"] == ""


def test_advise_for_queues_by_their_counters():
    # 4 others a wakeup in 256 queues: an eighth of it in eight times as many.
    entry = advised(file(queues("folio_wait", 256, 1000, 4000)))["tables"]["folio_wait"]
    assert (entry["buckets_new"], entry["nodes_predicted"]) == (2048, 1.5)
    assert advised(file(queues("folio_wait", 4096, 1000, 1)))["line"] == ""
    assert advised(file(queues("folio_wait", 256, 99, 990)))["line"] == ""


@pytest.mark.parametrize(
    "paragraph,buckets,rough",
    [
        (queues("bit_wait", 2, 1000, 7000), 32, True),
        (queues("bit_wait", 256, 1000, 4000), 2048, False),
        (table("dentry", *[0] * 15, 1), 16, True),
        (table("dentry", *[0] * 15, 16), 256, False),
        # What is not changed is not predicted.
        (queues("bit_wait", 32, 1000, 100), 32, False),
    ],
    ids=str,
)
def test_advise_marks_what_luck_may_change(paragraph, buckets, rough):
    text = file(paragraph)
    [entry] = advised(text)["tables"].values()
    assert (entry["buckets_new"], entry["rough"]) == (buckets, rough)
    assert ("~" in said("advise", "-f", "-", text=text)) == rough


def test_advise_keeps_what_the_command_line_said():
    text = file(
        table("dentry", *CHANCE, sized_by="command line"),
        table("inode", 0, 0, 0, 0, 1024),
        table("page", 1000, 24),
    )
    assert advised(text, "inode")["line"] == ("hash_entries=dentry:1K,inode:4K,page:auto")
    assert list(advised(text, "inode")["tables"]) == ["inode"]


def test_advise_within_a_budget():
    text = file(
        table("dentry", 0, 0, 0, 0, 1024, lookups=10**6, hits=10**6),
        table("inode", 0, 0, 0, 0, 1024, lookups=10, hits=10),
    )
    free = advised(text)
    assert free["bytes_new"] == 2 * 4096 * 8
    tight = advised(text, "--budget", "40K")
    assert tight["bytes_new"] <= 40 << 10
    assert tight["tables"]["dentry"]["buckets_new"] == 4096  # where it matters
    assert tight["tables"]["inode"]["buckets_new"] == 1024
    same = advised(text, "--budget", "1%", "--memory", str(4000 << 10))
    assert same["bytes_new"] == tight["bytes_new"]


def test_advise_budget_that_cannot_be_met():
    done = hashstats(
        "advise", "--budget", "1K", "-f", "-", text=file(table("dentry", 0, 0, 0, 0, 1024))
    )
    assert done.returncode == 2 and "4096 or more" in done.stderr


def test_advise_at_most_what_the_kernel_gives():
    text = file(table("dentry", *[0] * 16, 65536))
    entry = advised(text, "--memory", "16M")["tables"]["dentry"]
    assert entry["buckets_new"] == (1 << 20) // 8
    assert "as far as the kernel allows" in entry["advice"]


@pytest.mark.parametrize(
    "name,most", [("tcp-established", 512 << 10), ("tcp-bind", 64 << 10), ("udp", 64 << 10)]
)
def test_advise_knows_the_limits_of_network_tables(name, most):
    text = file(table(name, *[0] * 16, 65536 // 2))
    entry = advised(text, "--target", "1.01")["tables"][name]
    assert entry["buckets_new"] == most and "as far as the kernel allows" in entry["advice"]


@pytest.mark.parametrize("name,smaller", [("tcp-established", False), ("unix", True)])
def test_advise_does_not_shrink_what_limits_others(name, smaller):
    entry = advised(file(table(name, 65535, 1)), "--shrink")["tables"][name]
    assert entry["action"] == ("shrink" if smaller else "keep")
    assert (entry["buckets_new"] < entry["buckets"]) == smaller


def unpatched(*paragraphs):
    """What the tool copies from the memory of a kernel without our patches."""
    return file(*paragraphs, counting="off\nhash-entries: no")


def test_thash_entries_exceeds_the_automatic_limit():
    text = unpatched(table("tcp-established", *[0] * 16, 65536 // 2))
    entry = advised(text, "--target", "1.01")["tables"]["tcp-established"]
    assert entry["buckets_new"] > 512 << 10 and entry["advice"] == "grow"


def test_advice_says_which_tables_need_hash_entries():
    """What the series sizes by memory grows by itself."""
    names = ("uid", "posix_timers", "futex")
    text = unpatched(*(table(name, *[0] * 16, 64, sized_by="fixed") for name in names))
    found = {name: entry["advice"] for name, entry in advised(text)["tables"].items()}
    assert "; with boothash 1." in found["uid"]
    assert "; with boothash 1." in found["posix_timers"]
    assert "boothash" not in found["futex"]
    # Not fixed: Linux 6.15 and later.
    text = unpatched(table("posix_timers", *[0] * 16, 64, sized_by="memory"))
    [entry] = advised(text)["tables"].values()
    assert "; with boothash's hash_entries= 1." in entry["advice"]


def test_advise_stays_below_a_quarter_of_memory_for_all_tables():
    """Each table may have 1/16, all together 1/4."""
    names = [f"table{number}" for number in range(8)]
    text = file(*(table(name, *[0] * 16, 16384) for name in names))
    result = advised(text, "--memory", "32M")
    assert result["bytes_new"] == 8 << 20
    assert {entry["buckets_new"] for entry in result["tables"].values()} == {(1 << 20) // 8}
    assert all("as far as" in entry["advice"] for entry in result["tables"].values())
    # More than that today is the kernel's own choice.
    assert advised(text, "--memory", "2M")["line"] == ""


CROWDED = file(table("dentry", 0, 0, 0, 0, 0, 0, 1024))


@pytest.mark.parametrize("target", ["1.0000001", "1e300", "1000000", "1.5."])
def test_target_has_few_digits(target):
    done = hashstats("advise", "-f", AFTER, "--target", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert "up to six digits before and six after the point" in done.stderr


@pytest.mark.parametrize("memory", ["0", "1", "64"])
def test_memory_of_no_machine(memory):
    done = hashstats("advise", "-f", AFTER, "--memory", memory)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--memory {memory}; accepted: 1M or more" in done.stderr


def test_grub_shows_and_writes_only_if_sure(tmp_path):
    path = tmp_path / "hashstats.cfg"
    words = ["advise", "-f", "-", "--apply-grub", "--grub-file", path]
    text = said(*words, text=CROWDED)
    line = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT hash_entries=dentry:8K"'
    assert line in text and "--yes" in text and not path.exists()
    text = said(*words, "--yes", text=CROWDED)
    assert line in text and "update-grub" in text
    ran = subprocess.run(
        [
            "sh",
            "-c",
            'GRUB_CMDLINE_LINUX_DEFAULT=quiet; . "$0"; echo "$GRUB_CMDLINE_LINUX_DEFAULT"',
            path,
        ],
        text=True,
        capture_output=True,
        check=True,
    )
    assert ran.stdout == "quiet hash_entries=dentry:8K\n"


def test_grub_keeps_sizes_of_other_tables(tmp_path):
    """A second advice before the reboot does not know the sizes of the first."""
    path = tmp_path / "hashstats.cfg"
    words = ["advise", "-f", "-", "--apply-grub", "--grub-file", path, "--yes"]
    said(*words, text=file(table("inode", *FULL), table("dentry", 0, 0, 8)))
    assert "hash_entries=inode:4K,dentry:16" in path.read_text()
    text = said(*words, text=CROWDED)
    assert "Kept from the existing file: inode:4K.\n" in text
    assert 'DEFAULT hash_entries=inode:4K,dentry:8K"' in path.read_text()
    path.write_text('#mhash_entries=1\nA="b ihash_entries=64 dhash_entries=32 c"\n')
    assert "Kept from the existing file: ihash_entries=64.\n" in said(*words, text=CROWDED)
    assert 'DEFAULT ihash_entries=64 hash_entries=dentry:8K"' in path.read_text()


def test_grub_without_a_change(tmp_path):
    path = tmp_path / "hashstats.cfg"
    text = said(
        *("advise", "-f", "-", "--apply-grub", "--yes", "--grub-file", path),
        text=file(table("dentry", 1024)),
    )
    assert "Nothing to apply." in text and not path.exists()


# --- record, report -----------------------------------------------------------


def recording(*copies, step=10):
    return "recording: 1\n" + "".join(
        f"=== {1764000000 + step * number}.000\n{copy}" for number, copy in enumerate(copies)
    )


GROWING = recording(
    file(table("dentry", 1024), table("inode", *CHANCE)),
    file(table("dentry", *FULL), table("inode", *CHANCE)),
    file(table("dentry", 1000, 24), table("inode", *CHANCE)),
)


def test_report_shows_peaks():
    first, _, dentry, inode, *_ = said("report", "-f", "-", text=GROWING).splitlines()
    assert first.startswith("3 readings in 20 s from 20")
    assert dentry.split()[1:5] == ["1024", "3200", "10s", "4"]
    assert inode.split()[1:5] == ["1024", "1023", "0s", "6"]


def test_report_heat_map():
    text = said("report", "dentry", "-f", "-", text=GROWING)
    rows = {line[:5].strip(): line[6:] for line in text.splitlines()[5:]}
    # Four columns a sample: chains of 3 and 4 at the second, of 1 at the third.
    assert rows["4"] == "    ████" or rows["4"] == "    ▓▓▓▓"
    assert rows["3"] == "    ████"
    assert rows["1"].startswith("        ") and rows["1"].strip()


def test_heat_map_leaves_out_when_the_table_was_missing():
    with_dentry, without = file(table("dentry", *FULL), table("inode", 8)), file(table("inode", 8))
    copies = [with_dentry] * 5 + [without] * 50 + [with_dentry] * 5
    text = said("report", "dentry", "-f", "-", text=recording(*copies, step=60))
    assert f"    4 {'█' * 5}{' ' * 50}{'█' * 5}\n".replace("█", "▓") in text.replace("█", "▓")
    assert re.search(r"\n      0 {53}3540 s\n", text)
    text = said("report", "dentry", "-f", "-", text=recording(*copies[5:], step=60))
    assert f"    4 {' ' * 50}" in text and text.count(" 3240 s\n") == 1


def test_report_picture(tmp_path, fonts):
    path = tmp_path / "heat.png"
    drawn(fonts, "report", "dentry", "inode", "-f", "-", "--png", path, text=GROWING)
    assert png_size(path) == (2 * 768, 456)


def test_heat_picture_has_host_time_and_verdict(tmp_path, fonts):
    path = tmp_path / "heat.svg"
    text = GROWING.replace("recording: 1\n", "recording: 1\nhost: db7\n").replace(
        file(table("dentry", *FULL), table("inode", *CHANCE)),
        file(table("dentry", 0, 0, 0, 0, 0, 0, 1024), table("inode", *CHANCE)),
    )
    drawn(fonts, "report", "dentry", "inode", "-f", "-", "--png", path, text=text, TZ="UTC")
    picture = path.read_text()
    assert "db7, 3 readings in 20 s from 2025-11-24 16:00:00" in picture
    assert "dentry: crowded" in picture and "inode: ok" in picture


@pytest.mark.parametrize("name", ["a.jpg", "png", "a", "a.svgz"])
@pytest.mark.parametrize(
    "words", [["hist", "dentry"], ["report"], ["record", "-t", "9"]], ids=" ".join
)
def test_picture_with_another_suffix_is_refused(words, name, tmp_path):
    done = hashstats(*words, "-f", AFTER, "--png", tmp_path / name)
    assert done.returncode == 2 and ".png or .svg" in done.stderr
    assert os.listdir(tmp_path) == []


CITI = [(FOLDER / f"samples/citi-{number}.hashstats").read_text() for number in (4, 3, 1)]


def test_worst_verdict_of_a_recording_is_kept():
    """The last copy is skewed, and has a few objects less than the one before."""
    text = recording(*CITI)
    done = hashstats("report", "--check", "-f", "-", text=text)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2].split()[-1] == "skewed"
    done = hashstats("advise", "--check", "-f", "-", text=text)
    assert done.returncode == 1
    assert "keys collide" in done.stdout and "hash_entries" not in done.stdout


def test_size_follows_the_peak_though_the_worst_is_elsewhere():
    """Fewer objects were crowded by bad luck, in a table of the same size."""
    fuller, crowded = (0, 0, 512, 512), (0, 729, 0, 0, 0, 0, 295)
    text = recording(file(table("dentry", *fuller)), file(table("dentry", *crowded)))
    entry = advised(text)["tables"]["dentry"]
    assert (entry["objects"], entry["verdict"]) == (2560, "crowded")


@pytest.mark.parametrize(
    "name", ["\x1b[31m", "\n", "\ufffe", "\udcff", "\u65e5\u672c", "a" * 200], ids=ascii
)
def test_svg_of_a_name_that_it_cannot_hold(name, tmp_path, fonts):
    """Control characters, no UTF-8, letters that the font lacks, too many letters."""
    path, picture = tmp_path / name, tmp_path / "a.svg"
    path.write_text(file(table("dentry", 8, 1)))
    drawn(fonts, "hist", "dentry", "-f", path, "-f", path, "--png", picture)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_peak_of_queues_has_enough_wakeups():
    text = recording(
        file(queues("folio_wait", 256, 2, 20)),
        file(queues("folio_wait", 256, 1000, 2000)),
        file(queues("folio_wait", 256, 9000, 9000)),
    )
    assert advised(text)["tables"]["folio_wait"]["nodes"] == 3


def test_record_keeps_copies(tmp_path):
    path = tmp_path / "saved"
    text = said("record", "-n", "0.1", "-t", "0.3", "-o", path, "-f", AFTER)
    # A busy machine misses some of the four.
    number = re.match(r"([1-4]) reading|one reading", text)[1] or "1"
    assert path.read_text().count(AFTER.read_text()) == int(number)
    assert said("report", "-f", path).startswith(text.partition(" ")[0])


def test_record_has_a_default_file(tmp_path):
    done = subprocess.run(
        [sys.executable, TOOL, "record", "-n", "0.1", "-t", "0.1", "-f", AFTER],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        env=environment(),
    )
    [name] = os.listdir(tmp_path)
    assert re.fullmatch(r"hashstats-\d{8}-\d{6}\.rec", name)
    assert done.stdout.endswith(f"\nKept in {name}. To see it again:\nhashstats report -f {name}\n")
    assert said("report", "-f", tmp_path / name).startswith("2 readings")


def test_records_of_one_second_have_files_of_their_own(tmp_path, monkeypatch, capsys):
    from hashstats_tool import cli, record

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(record.time, "strftime", lambda *_: "hashstats-20261122-120000")
    for name in ("hashstats-20261122-120000.rec", "hashstats-20261122-120000-2.rec"):
        assert cli.main(["record", "-n", "0.1", "-t", "0.1", "-f", str(AFTER)]) == 0
        assert capsys.readouterr().out.endswith(f"hashstats report -f {name}\n")
        assert said("report", "-f", name).startswith("2 readings")
    assert len(os.listdir(tmp_path)) == 2


def test_record_checks_names_and_picture_first(tmp_path):
    """Before it records anything; it leaves no file."""
    (tmp_path / "folder.png").mkdir()
    for words, what in (
        (["nope"], "no table 'nope'"),
        (["--png", tmp_path / "folder.png"], "folder.png: Is a directory"),
        (["--png", tmp_path / "none/a.png"], "a.png: No such file"),
    ):
        done = hashstats(
            "record", *words, "-f", AFTER, "-n", "0.1", "-t", "0.1", "-o", tmp_path / "saved"
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert what in done.stderr
    assert os.listdir(tmp_path) == ["folder.png"]


def long_record(source, path):
    """hashstats record for ten minutes, started."""
    return subprocess.Popen(
        [sys.executable, TOOL, "record", "-n", "0.1", "-t", "600", "-o", path, "-f", source],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )


def test_record_that_fails_later_says_what_it_kept(tmp_path):
    source, path = tmp_path / "source", tmp_path / "saved"
    source.write_text(CROWDED)
    process = long_record(source, path)
    wait_for(lambda: path.exists() and "===" in path.read_text())
    source.unlink()
    text, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.count("\n")) == (2, 1)
    assert text.endswith(f"Kept in {path}. To see it again:\nhashstats report -f {path}\n")


@pytest.mark.parametrize(
    "name", ["my day.rec", "-o.rec", "it's $HOME.rec", b"\xff\n'.rec"], ids=repr
)
def test_line_of_record_can_be_pasted(name, tmp_path):
    words = ["record", "-n", "1", "-t", "0.1", "-f", AFTER, b"-o" + os.fsencode(name)]
    done = subprocess.run(
        [sys.executable, TOOL, *words], cwd=tmp_path, capture_output=True, env=environment()
    )
    assert done.returncode == 0 and os.listdir(os.fsencode(tmp_path)) == [os.fsencode(name)]
    line = done.stdout.rpartition(b"\nhashstats report")[2]
    again = subprocess.run(
        ["bash", "-c", b'"$0" "$1" report' + line, sys.executable, TOOL],
        cwd=tmp_path,
        capture_output=True,
        env=environment(),
    )
    assert (again.returncode, again.stderr) == (0, b"") and b"dentry" in again.stdout


@pytest.mark.parametrize(
    "words", [["record", "-t", "0.1", "-o"], ["openmetrics", "-o"]], ids=" ".join
)
def test_dash_is_no_file_to_write(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = hashstats(*words, "-", "-f", AFTER)
    assert (done.returncode, done.stdout) == (2, "") and "accepted: ./- " in done.stderr
    assert os.listdir(tmp_path) == []


def test_host_of_a_recording_is_one_word(monkeypatch):
    from types import SimpleNamespace

    from hashstats_tool import recording as recordings
    from hashstats_tool import sources

    host = SimpleNamespace(nodename="my d\udcff\n")
    monkeypatch.setattr(sources.os, "uname", lambda: host)
    assert recordings.head(sources.this_host()) == b"recording: 1\nhost: my?d??\n"


def test_record_does_not_write_what_it_reads(tmp_path):
    path = tmp_path / "saved"
    path.write_text(CROWDED)
    done = hashstats("record", "-o", path, "-f", path)
    assert done.returncode == 2 and path.read_text() == CROWDED


class SlowClock:
    """The time on a machine where a reading takes some seconds."""

    def __init__(self, reading):
        self.reading, self.now = reading, 1000.0

    def time(self):
        return self.now

    monotonic = time

    def sleep(self, seconds):
        self.now += seconds

    def read(self, path):
        self.now += self.reading
        return CROWDED.encode()


@pytest.mark.parametrize(
    "reading,begun",
    [(0, [0, 10, 20, 30]), (4, [0, 10, 20, 30]), (15, [0, 20]), (10, [0, 10, 20, 30])],
)
def test_slow_readings_make_no_recording_longer(reading, begun, monkeypatch):
    from hashstats_tool import record, sources

    clock = SlowClock(reading)
    monkeypatch.setattr(record, "time", clock)
    monkeypatch.setattr(sources, "read", clock.read)
    seconds = [now - 1000 for now, _, _ in record.samples("", pause=10, duration=30)]
    assert seconds == begun


def test_record_ends_early_and_reports(tmp_path):
    import signal

    path = tmp_path / "saved"
    process = long_record(AFTER, path)
    wait_for(lambda: path.exists() and path.read_text().count("===") > 2)
    process.send_signal(signal.SIGINT)
    text, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "") and "readings in" in text


def wait_for(truth):
    import time

    end = time.monotonic() + 30
    while not truth():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_long_recording_takes_no_more_memory(tmp_path):
    """Copies are read one by one, and what is kept of them has a bound."""
    most = []
    for copies in (600, 3000):
        path = tmp_path / str(copies)
        path.write_text(recording(*[file(table("dentry", *CHANCE))] * copies))
        most.append(peak_memory(path))
    assert path.stat().st_size > 2 << 20
    assert most[1] - most[0] < 256 << 10


def peak_memory(path):
    """Bytes that Python's own objects take while a recording is looked at."""
    script = (
        "import sys, tracemalloc; sys.path.insert(0, sys.argv[1])\n"
        "from hashstats_tool import peaks, recording\n"
        "tracemalloc.start()\n"
        "peaks.of(recording.load(sys.argv[2]))\n"
        "print(tracemalloc.get_traced_memory()[1])\n"
    )
    return int(
        subprocess.run(
            [sys.executable, "-c", script, FOLDER, path],
            text=True,
            capture_output=True,
            check=True,
            env=environment(),
        ).stdout
    )


# --- how fast, how small ------------------------------------------------------


def test_standard_library_alone():
    """Nothing is imported that Debian's python3 lacks, matplotlib apart."""
    names = set()
    for path in (FOLDER / "hashstats_tool").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {one.name.partition(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.partition(".")[0])
    assert names - set(sys.stdlib_module_names) == {"matplotlib"}


def test_imports_make_no_circle():
    """Inside functions, too."""
    package = FOLDER / "hashstats_tool"
    graph = {}
    for path in package.rglob("*.py"):
        here = ("hashstats_tool", *path.relative_to(package).with_suffix("").parts)
        found = graph.setdefault(".".join(here), set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*here[: -node.level], *(node.module or "").split(".")]
                base = [word for word in base if word]
                names = [[*base, name.name] for name in node.names]
                files = [one for one in names if FOLDER.joinpath(*one).with_suffix(".py").exists()]
                found |= {".".join(one) for one in files or [base]}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError
    assert "hashstats_tool.stock.reader" in graph["hashstats_tool.sources"]


def test_columns_without_a_figure_are_left_out():
    """As HIT% on other kernels. PREDICTED is what advise is for."""
    text = file(table("dentry", *FULL), table("inode", 0, 0, 0, 0, 0, 1024))
    assert "HIT%" not in said("-f", "-", text=text)
    assert "HIT%" in said("-f", AFTER)
    for width in (40, 60, 80):
        assert "PREDICTED" in said("advise", "-f", AFTER, COLUMNS=str(width))


def test_buckets_do_not_look_like_bytes():
    _, row, *_ = said("advise", "-f", "-", text=CROWDED).splitlines()
    assert row.split()[2:7] == ["1024", "8K", "3.500", "8192", "64K"]


def test_hist_lists_the_tables():
    text = said("hist", "-f", "-", text=file(table("dentry", *CHANCE), table("uid", 8)))
    assert text.splitlines()[1:] == ["  dentry  1023  objects"]
