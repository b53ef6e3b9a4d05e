# SPDX-License-Identifier: GPL-2.0
"""hashstats on Debian's own kernels: each table gets a known number of objects.

Without Debian's archive, these tests are skipped.
"""

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
from typing import NamedTuple

import pytest
from toyhashstats import hashstats

from common import ROOT, Failure, packages
from common import run as command
from guest import debian_kernel, stock

# The emulated machine, not the real one, decides how long they take.
pytestmark = pytest.mark.stage("guest")

FILL = ROOT / "tests/helpers/fill_tables.py"
COMPARE = ROOT / "tests/helpers/compare_tables.py"
CHURN = ROOT / "tests/helpers/churn_tables.py"
IN_MAKE_TEST = "6.12"
SERIES = [
    name if name == IN_MAKE_TEST else pytest.param(name, marks=pytest.mark.long)
    for name in debian_kernel.SUITES
]
TABLES = {
    "files": ("inode", "dentry"),
    "attributes": ("mbcache-ext4-ram0",),
    "quotas": ("dquot",),
    "mounts": ("mount", "mountpoint"),
    "timers": ("posix_timers",),
    "users": ("uid", "ucounts"),
    "cgroups": ("css_set",),
    "locks": ("blocked_locks",),
    "merged": ("ksm_mm",),
    "huge": ("khugepaged_mm",),
    "futexes": ("futex",),
    "sockets": (
        *("tcp-established", "tcp-bind", "tcp-bind2", "tcp_listen_portaddr_hash"),
        *("udp", "udp-hash2"),
    ),
    "groups": ("tcp_listen_portaddr_hash", "udp", "udp-hash2"),
    "namespace": ("tcp-established-net",),
    "waiting": ("dentry_lookup", "folio_wait"),
}
USERS = (2000, 60)  # the first one, and how many
SHOW = "PYTHONDONTWRITEBYTECODE=1 python3.11 /tool/hashstats"
LINES = """
# The process that fills the tables did without; these need not.
echo 0 > /proc/sys/kernel/kptr_restrict
echo "=== show"
{show} show 2>&1
echo "=== advise"
{show} advise 2>&1
for table in uid tcp-established; do
    echo "=== chains of $table"
    {show} chain $table --longest 1000 --json
done
# The variables of this file are 64 bytes off, as in another build of the kernel.
python3.11 -c "
for line in open('/proc/kallsyms'):
    address, kind, name = line.split(None, 2)
    address = int(address, 16) + 64 * (kind in 'bBdD')
    print('%016x' % address, kind, name, end='')
" > /tmp/wrong
echo "=== wrong symbols"
{show} show --source kcore --kallsyms /tmp/wrong 2>&1 || echo "status $?"
echo "=== lockdown"
mount -t securityfs none /sys/kernel/security
echo confidentiality > /sys/kernel/security/lockdown
{show} show 2>&1 || echo "status $?"
""".replace("{show}", SHOW)
SCRIPT = """
# No address for anybody: the kernel's own tables have them.
echo 2 > /proc/sys/kernel/kptr_restrict
python3.11 /fill_tables.py "sh -e /lines"
"""


def debian(series):
    try:
        return debian_kernel.kernel(series)
    except Failure as failure:
        pytest.skip(str(failure))


class Run(NamedTuple):
    phases: dict  # {phase: {table: [before, after, made]}}
    said: dict  # {part: lines}
    console: str


def fill(series):
    """The result of a guest that fills its tables."""
    files = {"/fill_tables.py": FILL, "/lines": LINES}
    with stock.guest(
        debian(series), SCRIPT, files=files, programs=["mkfs.ext4"], mem="1G"
    ) as guest:
        done = guest.finish()
    phases, said, part = {}, {}, ""
    for line in done.output.splitlines():
        if line.startswith("=== "):
            part = line[4:]
        elif part:
            said.setdefault(part, []).append(line)
        elif line.startswith("{"):
            phases |= json.loads(line)
    return Run(phases, said, done.console)


@pytest.fixture(scope="module")
def runs():
    return {}


@pytest.fixture(params=SERIES)
def run(request, runs):
    """One guest of each kernel for all tests."""
    if request.param not in runs:
        runs[request.param] = fill(request.param)
    return runs[request.param]


def test_each_table_grows_by_what_was_made(run):
    wrong = {
        (phase, table): numbers
        for phase, tables in run.phases.items()
        if phase != "nothing"
        for table, numbers in tables.items()
        if numbers[1] - numbers[0] != numbers[2]
    }
    assert not wrong
    found = {
        phase: {re.sub(r"-net\d+$", "-net", name) for name in tables} - {"udp-hash4"}
        for phase, tables in run.phases.items()
        if phase != "nothing"
    }
    assert found == {phase: {*tables} for phase, tables in TABLES.items()}


def test_two_readings_of_an_idle_kernel_are_equal(run):
    """But for the handful of names that the kernel itself may look up meanwhile."""
    changed = {
        table: numbers
        for table, numbers in run.phases["nothing"].items()
        if numbers[0] != numbers[1]
    }
    assert changed.keys() <= {"dentry", "inode", "bit_wait"}, changed
    assert all(abs(after - before) <= 3 for before, after, _ in changed.values()), changed


def test_show_and_advise(run):
    head, *_ = run.said["show"]
    assert head.startswith("hashstats: note: /proc/kcore of Linux ")
    [row] = [line for line in run.said["show"] if line.startswith("css_set ")]
    assert row.endswith(" skewed")
    advice = "\n".join(run.said["advise"])
    assert "hash_entries=" not in advice
    assert "css_set" in advice


def objects_of(run, table):
    document = json.loads("\n".join(run.said[f"chains of {table}"]))
    return [one for chain in document["chains"] for one in chain["objects"]]


def test_chain_has_the_users_that_were_made(run):
    found = [int(one["uid"]) for one in objects_of(run, "uid")]
    assert len(found) == len(set(found)) and {*range(USERS[0], sum(USERS))} <= {*found}


def test_chain_has_both_ends_of_each_connection(run):
    """100 in this namespace, each the other's mirror."""
    found = [(one["local"], one["peer"]) for one in objects_of(run, "tcp-established")]
    assert len(found) == 100 and {(peer, local) for local, peer in found} == {*found}
    assert all(local.startswith("127.0.0.1:") for local, _ in found)


def test_symbols_of_another_build_are_refused(run):
    line, status = run.said["wrong symbols"]
    assert line.startswith("hashstats: /tmp/wrong: symbols of another kernel: ")
    assert status == "status 2"


def test_lockdown_is_told(run):
    assert run.said["lockdown"] == [
        "hashstats: /proc/kcore: the kernel is locked down (confidentiality), "
        "expected lockdown=integrity or none; accepted: -f FILE",
        "status 2",
    ]


# --- crash dumps -----------------------------------------------------------------

DUMP = """
echo 0 > /proc/sys/kernel/kptr_restrict
mkdir /tmp/mounts
for number in $(seq 30); do
    mkdir /tmp/mounts/$number
    mount -t ramfs none /tmp/mounts/$number
done
cat /proc/kallsyms > /tmp/kallsyms
{show} json > /tmp/live
wait-for-host
echo "=== live"
cat /tmp/live
echo "=== kallsyms"
cat /tmp/kallsyms
""".replace("{show}", SHOW)
# These do not depend on the process that reads.
CALM = ("mount", "mountpoint", "uid", "ucounts", "css_set", "posix_timers", "folio_wait")


def dumped(guest, path, *words):
    """Have QEMU write the guest's memory to a file, while the guest stands still."""
    folder = os.open(guest.folder, os.O_PATH)
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as monitor:
        # A socket's path may have 107 characters.
        monitor.connect(f"/proc/self/fd/{folder}/qmp.sock")
        lines = monitor.makefile("rw")
        lines.readline()
        protocol = f"file:{path}"
        for command in (
            {"execute": "qmp_capabilities"},
            {
                "execute": "dump-guest-memory",
                "arguments": {"paging": "paging" in words, "protocol": protocol}
                | ({"format": "kdump-zlib"} if "compressed" in words else {}),
            },
        ):
            lines.write(json.dumps(command))
            lines.flush()
            while "return" not in json.loads(lines.readline()):
                pass
    os.close(folder)


def rearranged(flat):
    """QEMU writes a stream; the file that it is of."""
    path = flat.with_suffix(".kdump")
    command(["sh", "-c", 'makedumpfile -R "$1" < "$2"', "sh", path, flat])
    return path


@pytest.mark.long
@pytest.mark.parametrize("series", debian_kernel.SUITES)
def test_a_dump_has_what_the_running_kernel_had(series, tmp_path):
    """By virtual and by physical address, compressed, with symbols in a file and in the dump."""
    packages.ensure_packages("dump")
    ports = ["-qmp", "unix:qmp.sock,server=on,wait=off"]
    with stock.guest(debian(series), DUMP, mem="512M", qemu=ports) as guest:
        guest.ready()
        for name in ("paging", "physical", "compressed"):
            dumped(guest, tmp_path / name, name)
        guest.go()
        said = guest.finish().output.split("=== ")
    live = {table["name"]: table for table in json.loads(said[1].removeprefix("live\n"))["tables"]}
    (tmp_path / "kallsyms").write_text(said[2].removeprefix("kallsyms\n"))
    for words in (
        ("-f", tmp_path / "paging", "--kallsyms", tmp_path / "kallsyms"),
        ("-f", tmp_path / "paging"),
        ("--core", tmp_path / "physical"),
        ("-f", rearranged(tmp_path / "compressed")),
    ):
        # Debian's Python has libkdumpfile.
        done = hashstats("json", *words, python="/usr/bin/python3")
        assert done.returncode == 0, done.stderr
        found = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
        assert found.keys() == live.keys()
        for name in CALM:
            assert found[name]["histogram"] == live[name]["histogram"], (name, words)
        for table in found.values():
            assert not table["torn"]


# --- a machine that is busy ----------------------------------------------------------

CHURN_SECONDS = 600


@pytest.mark.long
def test_busy_tables_are_read_without_harm(visibly):
    """Ten minutes of readings while four processes make and remove files."""
    script = f"python3.11 /churn_tables.py {CHURN_SECONDS}"
    with stock.guest(
        debian(IN_MAKE_TEST),
        script,
        files={"/churn_tables.py": CHURN},
        mem="1G",
        timeout=CHURN_SECONDS / 10 + 60,
    ) as guest:
        done = guest.finish()
    result = json.loads(done.output.splitlines()[-1])
    # A busy emulator takes a minute for one.
    assert result["readings"] >= 3
    # What was counted, but for what came or went while it was counted.
    assert not result["impossible"], result
    quiet = done.console.split("Run /init as init process")[-1]
    assert not [line for line in quiet.splitlines() if "kcore" in line or "fault" in line]


# --- our kernel -----------------------------------------------------------------------


def types_of(kernel, folder):
    """BTF of our structures. The kernel is built without it; one of its objects will do."""
    packages.ensure_packages("types")
    obj, path = kernel.vmlinux.parent, folder / "types.o"
    saved = (obj / "mm/.hashstats.o.cmd").read_text().splitlines()[0].partition(" := ")[2]
    words = [word for word in shlex.split(saved) if not word.startswith("-Wp,-MMD")]
    words[words.index("-o") + 1] = path
    subprocess.run([*words, "-g", "-fno-eliminate-unused-debug-types"], cwd=obj, check=True)
    result = folder / "types"
    subprocess.run(["pahole", "-J", f"--btf_encode_detached={result}", path], check=True)
    return result


def test_memory_has_what_our_kernel_says(kernel, tmp_path):
    """Each table, by the register of the kernel, is equal to /proc/hashstats."""
    script = """
fstree /tmp -p 2 -d 20 -f 40
python3.11 /compare_tables.py
"""
    files = {
        "/compare_tables.py": COMPARE,
        "/types": types_of(kernel, tmp_path),
        "/System.map": kernel.vmlinux.with_name("System.map"),
    }
    with stock.guest(kernel, script, files=files, mem="512M") as guest:
        names, different, named = json.loads(guest.finish().output.splitlines()[-1])
    assert {"dentry", "inode", "mbcache", "page", "tcp-established"} <= {*names}
    assert not different
    assert named == [["mbcache", "uid"]] * 2
