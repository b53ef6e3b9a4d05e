# SPDX-License-Identifier: GPL-2.0
"""The machinery of the boot tests: a guest that fails is seen to fail."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from toyhashstats import SAMPLES

import common
from guest import accelerator, boot, hashstats_file, limits, vm, vng
from series import source


def fails(kernel, script, **options):
    with pytest.raises(vm.GuestError) as caught:
        vm.run(kernel, script, **options)
    return caught.value


def test_good_guest(kernel):
    script = "echo hello; nproc; cat /note"
    result = vm.run(kernel, script, mem="64M", cpus=2, files={"/note": "from outside\n"})
    assert result.status == 0
    assert result.output == "hello\n2\nfrom outside\n"
    assert f"Linux version {source.base_name()}." in result.console


def test_first_failing_command_ends_the_job(kernel):
    error = fails(kernel, "echo bad news; (exit 3); exit 0")
    assert error.kind == "status"
    assert error.reason == "the guest's job failed with status 3"
    assert "bad news" in error.details
    assert vm.run(kernel, "exit 3", check=False).status == 3


def test_panic(kernel):
    script = "echo 2 > /proc/sys/vm/panic_on_oom; tail /dev/zero"
    error = fails(kernel, script, mem="64M")
    assert error.kind == "panic"
    assert "Out of memory" in error.reason


def test_panic_before_user_space(kernel):
    error = fails(kernel, "true", append="rdinit=/none init=/none")
    assert error.kind == "panic"


def test_hang(kernel):
    accel = vm.accelerator(kernel)
    error = fails(kernel, "echo here; sleep 1000", timeout=2)
    assert error.kind == "hang"
    assert f"within {accel.limit(2):.0f} s" in error.reason
    assert "here" in error.details


def test_silent_end(kernel):
    error = fails(kernel, "echo almost; poweroff -f; sleep 1000")
    assert error.kind == "silent"


def test_complaint(kernel):
    script = "echo 'WARNING: something is odd' > /dev/kmsg"
    error = fails(kernel, script)
    assert error.kind == "complaint"
    assert "something is odd" in error.reason
    assert vm.run(kernel, script, complaints=True).complaints


def test_wrong_qemu_argument(kernel):
    error = fails(kernel, "true", qemu=["-nonsense"])
    assert error.kind == "qemu"
    assert "nonsense" in error.reason


def test_host_and_guest_take_turns(kernel):
    script = "echo one; wait-for-host; echo two; wait-for-host; echo three"
    with vm.Guest(kernel, script, gdb=True) as machine:
        machine.ready()
        assert machine.output == "one\nREADY\n"
        assert (machine.folder / "gdb.sock").is_socket()
        machine.go()
        machine.ready()
        machine.go()
        output = machine.finish().output
    assert output == "one\nREADY\ntwo\nREADY\nthree\n"
    assert not machine.folder.exists()


def test_disk_and_programs(kernel):
    script = (
        "mkfs.ext4 -q /dev/vda; mount /dev/vda /mnt\n"
        "fstree /mnt -p 2 -d 10 -f 20; df /mnt | tail -1"
    )
    result = vm.run(kernel, script, disk="64M", programs=["mkfs.ext4"])
    assert "create: 200" in result.output
    assert "/dev/vda" in result.output


ORPHAN = """
import os, sys
sys.path.insert(0, {scripts!r})
from guest import vm
machine = vm.Guest({kernel!r}, "wait-for-host").__enter__()
machine.ready()
print(machine.process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_no_guest_outlives_its_script(kernel):
    code = ORPHAN.format(scripts=str(common.ROOT / "harness"), kernel=str(kernel.vmlinux))
    done = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while running(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(int(done.stdout))


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def no_memory(tmp_path, monkeypatch):
    """An accelerator that nothing is remembered of, with a /dev/kvm."""
    monkeypatch.setattr(accelerator, "CACHE", tmp_path / "accelerator.json")
    monkeypatch.setattr(accelerator, "key", lambda: ["this boot"])
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    monkeypatch.delenv("ACCEL", raising=False)


def test_accelerator_kvm(no_memory):
    assert str(accelerator.choose(lambda name: None)) == "accelerator: kvm (a guest ran)"


def test_accelerator_that_runs_no_guest(no_memory):
    def boots(name):
        return "it hung" if name == "kvm" else None

    assert str(accelerator.choose(boots)) == "accelerator: tcg (kvm: it hung)"
    # Nothing is booted a second time.
    assert accelerator.choose(None).name == "tcg"


def test_accelerator_is_not_blamed_for_a_broken_kernel(no_memory):
    assert accelerator.choose(lambda name: "it panicked").name == "tcg"
    assert accelerator.choose(lambda name: None).name == "kvm"


def test_accelerator_forced(no_memory, monkeypatch):
    monkeypatch.setenv("ACCEL", "kvm")
    assert accelerator.choose(None).name == "kvm"
    monkeypatch.setenv("ACCEL", "hvf")
    with pytest.raises(common.Failure, match="ACCEL=hvf: accepted: kvm or tcg"):
        accelerator.choose(None)


@pytest.mark.parametrize("text", ["", "64", "63M", "0G", "-1G", "1T", "1.5G", "999999G", "64M "])
def test_bad_memory(text):
    with pytest.raises(common.Failure, match="accepted: a number with K, M"):
        limits.memory(text)


def test_good_memory():
    assert limits.memory("64M") == limits.memory("65536k") == 64 << 20


@pytest.mark.parametrize("text", ["", "0", "65", "-1", "two", "1.5"])
def test_bad_cpus(text):
    with pytest.raises(common.Failure, match="accepted: a number from 1 to 64"):
        limits.cpus(text)


def test_bad_append():
    with pytest.raises(common.Failure, match="APPEND="):
        vng.words("quiet 'half")


# --- what make boot prints -----------------------------------------------------


def test_warnings_of_the_series_are_found(kernel):
    """Each bad size, and nothing of a good one or of another program's."""
    result = vm.run(
        kernel,
        "echo '<4>mine: boot_hash: none' > /dev/kmsg",
        append="hash_entries=nosuch:3,inode:9q,dentry:4K",
    )
    found = boot.warnings(result.console)
    assert len(found) == 2
    assert any("ignoring 'nosuch'" in line for line in found)
    assert any("ignoring '9q'" in line for line in found)


def test_tables_before_and_after_and_a_histogram_are_shown(capfd, tmp_path):
    before, after = tmp_path / "before", SAMPLES / "after.hashstats"
    before.write_text(after.read_text().replace("counting: on", "counting: off"))
    assert boot.show(before, after) == 0
    shown = capfd.readouterr().out
    first, second, histogram = re.split(r"^(?:after|chain lengths) .*:$", shown, flags=re.M)
    assert "Counting is off" in first and "dentry" in first and "dentry" in second
    assert re.search(r"^ +0 +516 ", histogram, re.M) and str(after) in histogram
    assert "sum-pct" not in shown


def test_everything_is_shown_with_v(capfd, monkeypatch):
    monkeypatch.setenv("V", "1")
    after = SAMPLES / "after.hashstats"
    boot.show(after, after)
    assert after.read_text() in capfd.readouterr().out


def test_file_that_is_no_hashstats_fails(tmp_path, capfd):
    (tmp_path / "bad").write_text("word\n")
    assert boot.show(tmp_path / "bad", tmp_path / "bad") != 0
    assert "bad" in capfd.readouterr().err


TABLE = """\
version: 1
counting: off

name: small
buckets: 4
bytes: 32
sized-by: memory
objects: 3
used: 2
longest: 2
nodes-per-hit: 1.333
a-new-field: of any kind
size    buckets    objects sum-pct
   0 2 0 0
   1 1 1 33
   2 1 2 100
""" + "".join(f"{size:>4} 0 0 100\n" for size in hashstats_file.SIZES[3:])


def test_hashstats_file():
    tables = hashstats_file.parse(TABLE)
    assert tables.header == {"version": "1", "counting": "off"}
    assert tables["small"]["nodes-per-hit"] == 1.333
    assert tables["small"].rows[2] == ("2", 1, 2, 100)


@pytest.mark.parametrize(
    "old, new",
    [
        ("version: 1", "version: 2"),
        ("objects: 3", "objects: 4"),
        ("buckets: 4", "buckets: 5"),
        ("used: 2", "used: 3"),
        ("longest: 2", "longest: 3"),
        ("nodes-per-hit: 1.333", "nodes-per-hit: 1.300"),
        ("   2 1 2 100", "   2 1 3 100"),
        ("   2 1 2 100", "   2 1 2 98"),
        ("   2 1 2 100\n", ""),
        ("used: 2", "used: 2\nused: 2"),
        ("sized-by: memory\n", ""),
    ],
)
def test_hashstats_file_that_does_not_add_up(old, new):
    assert old in TABLE
    with pytest.raises(hashstats_file.BadFile):
        hashstats_file.parse(TABLE.replace(old, new, 1))
