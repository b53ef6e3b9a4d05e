# SPDX-License-Identifier: GPL-2.0
"""hashstats as it is installed: by make, by the Debian package, its manual and
its completion."""

import gzip
import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys

import pytest

from tool import debian_package
from tool import install as install_tools
from toykernel import ROOT

TOOL = ROOT / "tools/hashstats"
SAMPLE = TOOL / "samples/citi-5.hashstats"
COMMANDS = (
    "show",
    "hist",
    "watch",
    "diff",
    "copy",
    "json",
    "openmetrics",
    "advise",
    "record",
    "report",
    "on",
    "off",
    "reset",
)


def make(verb, **settings):
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [
            "make",
            "--no-print-directory",
            "-C",
            ROOT,
            verb,
            *(f"{name}={value}" for name, value in settings.items()),
        ],
        text=True,
        capture_output=True,
        env=env,
    )


def paths(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def works(program, sample):
    """The installed program reads the installed sample, from any folder."""
    done = subprocess.run(
        [program, "show", "-f", sample],
        cwd="/",
        text=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "skewed" in done.stdout


@pytest.fixture
def installed(tmp_path):
    done = make("install-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert done.returncode == 0, done.stderr
    return tmp_path / "opt/own"


def test_it_runs_where_it_is_installed(installed):
    works(
        installed / "bin/hashstats", installed / "share/doc/boothash-tools/samples/citi-1.hashstats"
    )


def test_it_runs_by_a_link_to_the_link(installed, tmp_path):
    link = tmp_path / "hs"
    link.symlink_to(installed / "bin/hashstats")
    works(link, installed / "share/doc/boothash-tools/samples/citi-1.hashstats")


def test_it_can_be_moved(installed, tmp_path):
    """The link in bin is relative, so that DESTDIR is only for the building."""
    moved = tmp_path / "moved"
    installed.rename(moved)
    works(moved / "bin/hashstats", moved / "share/doc/boothash-tools/samples/citi-1.hashstats")


def test_everything_is_there(installed):
    there = paths(installed)
    assert {
        "bin/hashstats",
        "share/hashstats/hashstats",
        "share/man/man1/hashstats.1",
        "share/bash-completion/completions/hashstats",
        "share/zsh/site-functions/_hashstats",
        "share/doc/boothash-tools/grafana.json",
        "share/doc/boothash-tools/alerts.yml",
        "lib/systemd/system/hashstats-metrics.timer",
        "lib/systemd/system/hashstats-record.timer",
    } <= there
    assert not [name for name in there if name.endswith(".pyc")]


def test_modes_do_not_follow_the_umask(tmp_path):
    old = os.umask(0o077)
    try:
        make("install-tools", PREFIX=tmp_path / "own").check_returncode()
    finally:
        os.umask(old)
    for path in (tmp_path / "own").rglob("*"):
        if path.is_symlink():
            continue
        program = path.is_dir() or path.name == "hashstats" and path.parent.name == "hashstats"
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if program else 0o644), path


def test_again_over_the_old(installed, tmp_path):
    before = paths(installed)
    (installed / "share/hashstats/hashstats").write_text("an older one")
    done = make("install-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert done.returncode == 0
    assert paths(installed) == before
    assert (installed / "bin/hashstats").is_symlink()
    works(
        installed / "bin/hashstats", installed / "share/doc/boothash-tools/samples/citi-1.hashstats"
    )


@pytest.mark.parametrize("kind", ["file", "link"])
def test_another_program_of_that_name_stays(tmp_path, kind):
    other = tmp_path / "bin/hashstats"
    other.parent.mkdir()
    if kind == "file":
        other.write_text("somebody else's")
    else:
        other.symlink_to("/opt/other/hashstats")
    done = make("install-tools", PREFIX=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"boothash: {other}: there already, and not the link to ../share")
    assert paths(tmp_path) == {"bin/hashstats"}
    done = make("uninstall-tools", PREFIX=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        f"  nothing to remove: hashstats is not installed below {tmp_path}\n",
    )
    assert paths(tmp_path) == {"bin/hashstats"}


def test_uninstall_keeps_a_program_that_replaced_the_link(installed, tmp_path):
    (installed / "bin/hashstats").unlink()
    (installed / "bin/hashstats").write_text("somebody else's")
    done = make("uninstall-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert (done.returncode, done.stdout) == (0, f"  removed: hashstats below {installed}\n")
    assert paths(installed) == {"bin/hashstats"}


def test_uninstall_leaves_nothing_of_ours(installed, tmp_path):
    (installed / "bin/other").write_text("somebody else's")
    cache = installed / "share/hashstats/__pycache__"
    cache.mkdir()
    (cache / "x.pyc").write_bytes(b"")
    done = make("uninstall-tools", DESTDIR=tmp_path, PREFIX="/opt/own")
    assert done.returncode == 0
    assert paths(installed) == {"bin/other"}
    assert not (installed / "share/hashstats").exists()
    assert not (installed / "share/doc/boothash-tools").exists()


def test_uninstall_of_nothing(tmp_path):
    assert make("uninstall-tools", PREFIX=tmp_path).returncode == 0


def test_prefix_must_be_absolute(tmp_path):
    done = make("install-tools", PREFIX="own")
    assert done.returncode == 2
    assert "boothash: PREFIX=own: not absolute" in done.stderr


def test_no_permission_is_one_line(tmp_path):
    """Root may write anywhere, but not into a file."""
    (tmp_path / "file").write_text("")
    done = make("install-tools", PREFIX=tmp_path / "file/own")
    assert done.returncode == 2
    first, *_ = done.stderr.splitlines()
    assert first.startswith(f"boothash: {tmp_path}/file") and "PREFIX=" in first


# --- the Debian package -------------------------------------------------------


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    return debian_package.build(folder, "6.12.999-1", "A Person", "person@example.org")


@pytest.fixture(scope="module")
def unpacked(package):
    folder = package.parent / "unpacked"
    subprocess.run(["dpkg-deb", "-R", package, folder], check=True)
    return folder


def field(package, name):
    return subprocess.run(
        ["dpkg-deb", "-f", package, name], text=True, capture_output=True, check=True
    ).stdout.strip()


def test_package_says_what_it_is(package):
    assert package.name == "boothash-tools_6.12.999-1_all.deb"
    assert field(package, "Package") == "boothash-tools"
    assert field(package, "Version") == "6.12.999-1"
    assert field(package, "Architecture") == "all"
    assert field(package, "Maintainer") == "A Person <person@example.org>"
    assert int(field(package, "Installed-Size")) > 50


def test_package_runs(unpacked):
    usr = unpacked / "usr"
    works(usr / "bin/hashstats", usr / "share/doc/boothash-tools/samples/citi-1.hashstats")


def test_package_has_what_debian_wants(unpacked):
    usr = unpacked / "usr/share"
    manual = gzip.decompress((usr / "man/man1/hashstats.1.gz").read_bytes())
    assert manual == (TOOL / "hashstats.1").read_bytes()
    assert "GPL-2.0" in (usr / "doc/boothash-tools/copyright").read_text()
    assert (usr / "zsh/vendor-completions/_hashstats").is_file()
    program = usr / "hashstats/hashstats"
    assert program.read_text().startswith("#!/usr/bin/python3\n# SPDX")
    assert os.access(program, os.X_OK)


def test_package_belongs_to_root(package):
    listed = subprocess.run(
        ["dpkg-deb", "-c", package], text=True, capture_output=True, check=True
    ).stdout
    for line in listed.splitlines():
        mode, owner, *_ = line.split()
        assert owner == "root/root"
        assert mode in ("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x", "lrwxrwxrwx")


def test_package_checksums(unpacked):
    listed = (unpacked / "DEBIAN/md5sums").read_text().splitlines()
    assert len(listed) == len(
        [p for p in (unpacked / "usr").rglob("*") if p.is_file() and not p.is_symlink()]
    )
    for line in listed:
        digest, name = line.split("  ")
        assert hashlib.md5((unpacked / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("script", ["postinst", "prerm"])
def test_package_scripts_are_shell(unpacked, script):
    subprocess.run(["sh", "-n", unpacked / "DEBIAN" / script], check=True)


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
    sys.path.insert(0, str(TOOL))
    from hashstats_tool import advise, watch

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


def test_unit_fails_if_date_does(tmp_path):
    done = recording_at(tmp_path, "UTC", "no-day 0:00")
    assert done.returncode != 0 and not done.stdout


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


def test_manual_has_the_usual_sections():
    sections = re.findall(r"^[A-Z][A-Z ]+$", shown_manual(), re.MULTILINE)
    assert {"EXIT STATUS", "EXAMPLES", "BUGS", "AUTHORS", "SEE ALSO"} <= {*sections}


def test_manual_has_every_command_and_option():
    manual = shown_manual()
    for command in COMMANDS:
        assert re.search(rf"^ +hashstats \[?{command}\b", manual, re.MULTILINE)
        for option in options(command):
            assert option in manual, (command, option)


def test_manual_has_the_bounds_of_the_verdicts():
    sys.path.insert(0, str(TOOL))
    from hashstats_tool import verdicts

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


def test_every_file_of_the_tool_is_installed():
    # What pip needs to install the same files is not for an installed tool.
    sources = {*install_tools.files().values(), TOOL / "pyproject.toml"}
    for path in TOOL.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path in sources, path
