# SPDX-License-Identifier: GPL-2.0
"""What comes with hashstats: units of systemd, the manual, completion."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from hashstats_tool import advise, cli, verdicts, watch
from toyhashstats import FOLDER as TOOL
from toyhashstats import hashstats, said

SAMPLE = TOOL / "samples/citi-5.hashstats"
COMMANDS = tuple(cli.MODULES)

# --- systemd ------------------------------------------------------------------

UNITS = sorted((TOOL / "systemd").iterdir())


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_units_are_accepted(tmp_path):
    """systemd looks for the program where a package or make puts it."""
    for unit in UNITS:
        text = unit.read_text().replace("=hashstats ", f"={TOOL}/hashstats ")
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--man=no", "verify", *sorted(tmp_path.iterdir())],
        text=True,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def command_of(unit):
    """The command that a unit runs, as a list of words."""
    text = (TOOL / "systemd" / unit).read_text().replace("\\\n", " ")
    [line] = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    return shlex.split(line.replace("%%", "%"))


def run_unit(unit, tmp_path, **env):
    (tmp_path / "hashstats").symlink_to(TOOL / "hashstats")
    words = [
        word.replace("/var/lib/prometheus/node-exporter", str(tmp_path))
        for word in command_of(unit)
    ]
    words = [word.replace("-t $left", f"-t 0.1 -f {SAMPLE}") for word in words]
    if unit == "hashstats-metrics.service":
        words += ["-f", str(SAMPLE)]
    return subprocess.run(
        words,
        text=True,
        capture_output=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1", **env},
    )


def test_unit_for_the_node_exporter(tmp_path):
    done = run_unit("hashstats-metrics.service", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (tmp_path / "hashstats.prom").read_text()
    assert "# TYPE hashstats_table_lookups_total counter" in text and "# EOF" not in text


def set_clock(folder, left):
    """Put a `date` there that says how many seconds are left of this day."""
    program = folder / "date"
    program.write_text(
        f"""#!/bin/sh
case "$*" in
*tomorrow*) echo $((1000000 + {left})) ;;
+%s) echo 1000000 ;;
*) PATH={os.environ["PATH"]} exec date "$@" ;;
esac
"""
    )
    program.chmod(0o755)


def test_unit_that_records(tmp_path):
    set_clock(tmp_path, left=3600)
    done = run_unit("hashstats-record.service", tmp_path, STATE_DIRECTORY=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [recording] = tmp_path.glob("day-[1-7].rec")
    assert recording.read_text().startswith("recording: 1\n")


def recorded_seconds(tmp_path, left):
    """How long a recording lasts that begins when so many seconds of the day are left."""
    set_clock(tmp_path, left)
    program = tmp_path / "hashstats"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        command_of("hashstats-record.service"),
        text=True,
        capture_output=True,
        check=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "STATE_DIRECTORY": str(tmp_path)},
    )
    said = re.search(r"-n 60 -t (\d+) ", done.stdout)
    return int(said[1]) if said else 0


@pytest.mark.parametrize("hours", [23, 24, 25])
def test_recorded_day_is_a_day_for_advise(hours, tmp_path):
    """Also the days on which the clocks are changed."""
    left = recorded_seconds(tmp_path, 3600 * hours)
    assert left - 60 >= advise.DAY
    watch.seconds(str(left), "-t")  # record accepts it


@pytest.mark.parametrize("left", [1, 200, 400, 3600, 86400])
def test_recording_ends_before_the_next_one_starts(left, tmp_path):
    assert recorded_seconds(tmp_path, left) < left


def recording_at(tmp_path, zone, now):
    """The unit's command in a time zone, with a `date` that takes `now` for the time."""
    for name, body in (
        (
            "date",
            f"""case $2 in
tomorrow*) set -- -d "{now.split()[0]} ${{2#tomorrow }} tomorrow" "$3" ;;
*) set -- -d "{now}" "$1" ;;
esac
PATH={os.environ["PATH"]} exec date "$@"
""",
        ),
        ("hashstats", 'echo "$@"\n'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}")
        (tmp_path / name).chmod(0o755)
    return subprocess.run(
        command_of("hashstats-record.service"),
        text=True,
        capture_output=True,
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "STATE_DIRECTORY": str(tmp_path),
            "TZ": zone,
        },
    )


@pytest.mark.parametrize(
    "zone, now, hours",
    [
        ("UTC", "2026-04-24 0:00", 24),
        ("Europe/Berlin", "2026-03-29 0:00", 23),
        # The day before this one ends where the clocks go from 0:00 to 1:00.
        ("Africa/Cairo", "2026-04-23 0:00", 24),
        ("Africa/Cairo", "2026-04-24 1:00", 23),
        ("America/Havana", "2026-03-08 1:00", 23),
    ],
)
def test_unit_knows_the_end_of_this_day(zone, now, hours, tmp_path):
    done = recording_at(tmp_path, zone, now)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"-t {3600 * hours - 300} " in done.stdout


# --- the manual ---------------------------------------------------------------

MANUAL = TOOL / "hashstats.1"


def test_manual_is_clean():
    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-z", MANUAL], text=True, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def shown_manual():
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-P-cbou", MANUAL], text=True, capture_output=True, check=True
    )
    # Words that are parted at the end of a line are one word.
    return re.sub(r"-\n +", "-", done.stdout)


def test_manual_has_every_command_and_option():
    manual = shown_manual()
    for command in COMMANDS:
        assert re.search(rf"^ +hashstats \[?{command}\b", manual, re.MULTILINE)
        for option in options(command):
            assert option in manual, (command, option)


def test_manual_has_the_bounds_of_the_verdicts():
    told = re.search(r"\nVERDICTS\n(.*?)\n[A-Z]", shown_manual(), re.DOTALL)[1]
    told = " ".join(told.split())
    for word in verdicts.WORDS:
        assert f" {word} " in f" {told}"
    for bound in (
        f"at least IDEAL + {verdicts.SKEWED_BEYOND}",
        f"more than {verdicts.SKEWED_TIMES} times",
        f"at least {verdicts.SKEWED_PAIRS} more pairs",
        f"more than {verdicts.CROWDED_NODES} nodes",
        f"more than {verdicts.CROWDED_FOREIGN:.0f} waiter",
        f"more than {100 * verdicts.CROWDED_STALE:.0f} %",
        f"fewer than {verdicts.ENOUGH} counted wakeups",
        f"more than {verdicts.OVERSIZED_BYTES >> 10} KiB",
        f"one object per {1 / verdicts.OVERSIZED_LOAD:.0f} buckets",
    ):
        assert bound in told, bound


def options(command):
    """Options that the program itself names for a subcommand."""
    said = subprocess.run(
        [TOOL / "hashstats", command, "--help"], text=True, capture_output=True, check=True
    ).stdout
    found = set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", said))
    assert "-h" in found
    return found - {"-h", "--help"}


# --- completion ---------------------------------------------------------------


def completed(*words):
    """What bash offers for the last of these words."""
    script = f"""
        source {TOOL}/completion.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _hashstats
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-u", "-c", script, "bash", "hashstats", *words],
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_completion_of_commands():
    assert set(COMMANDS) <= completed("")
    assert completed("re") == {"record", "report", "reset"}


@pytest.mark.parametrize("command", COMMANDS)
def test_completion_knows_the_options_of(command):
    assert completed(command, "-") - {"-h", "--help"} == options(command)


def test_completion_without_a_command_is_that_of_show():
    assert completed("-") == completed("show", "-") | {"-V", "--version"}
    assert completed("-f", SAMPLE, "-") == completed("show", "-")


def test_completion_of_a_command_behind_an_option():
    assert completed("-f", SAMPLE, "adv") == {"advise"}
    assert completed("-f", SAMPLE, "advise", "--sh") == {"--shrink"}
    assert completed("--sort", "no") == {"nodes"}


def test_completion_of_tables():
    assert completed("hist", "-f", SAMPLE, "in") == {"inode"}
    assert completed("show", "-f", SAMPLE, "") == {"inode"}
    assert {"inode", "show"} <= completed("-f", SAMPLE, "")
    assert completed("hist", "-f", "/none", "in") == set()


def test_completion_leaves_files_to_bash():
    assert completed("show", "-f", "") == set()
    assert completed("diff", "") == set()


# --- one file, and older Pythons --------------------------------------------------


def test_demo_needs_nothing_else():
    text = said("demo")
    assert text.count("\n$ hashstats ") == 4
    assert "skewed" in text and "hash_entries=inode:16K" in text


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.13"])
def test_each_python_runs_all_modules(version, tmp_path):
    places = map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    python = next(places, None) or shutil.which(f"python{version}")
    if not python:
        pytest.skip(f"no Python {version} here")
    words = "import sys, importlib, pkgutil; sys.path.insert(0, sys.argv[1]); import hashstats_tool"
    words += "\nfor one in pkgutil.walk_packages(hashstats_tool.__path__, 'hashstats_tool.'):"
    words += "\n    importlib.import_module(one.name)"
    subprocess.run([python, "-B", "-c", words, TOOL], check=True)
    done = hashstats("demo", python=python)
    assert (done.returncode, done.stdout) == (0, said("demo"))
