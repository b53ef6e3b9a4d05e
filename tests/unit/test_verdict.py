# SPDX-License-Identifier: GPL-2.0
"""The verdict on a guest, for small guests and for those with the host's files."""

import pytest

import emulation
from guest import verdict, vng
from guest.verdict import End

PANIC = "[ 1.0] Oops: 0002\n[ 1.1] Kernel panic - not syncing: Fatal exception \n"
COMPLAINT = "[ 1.0] WARNING: CPU: 0 PID: 1\n"


@pytest.mark.parametrize(
    "end, kind, words",
    [
        (End(PANIC, None, "it hung", "qemu died"), "panic", "panicked: Fatal exception"),
        (End(COMPLAINT, None, "it hung", "qemu died"), "hang", "it hung"),
        (End(COMPLAINT, None, "", "qemu died"), "qemu", "qemu died"),
        (End(COMPLAINT, None), "silent", "no status"),
        (End(COMPLAINT, 3), "complaint", "complained: [ 1.0] WARNING: CPU"),
        (End("", 3), "status", "status 3"),
    ],
)
def test_first_cause_is_told(end, kind, words):
    found, reason = verdict.problem(end)
    assert found == kind and words in reason


def test_good_ends():
    assert verdict.problem(End("", 0)) is None
    assert verdict.problem(End("", 3), check=False) is None
    assert verdict.problem(End(COMPLAINT, 0), may_complain=True) is None


@pytest.mark.parametrize(
    "console, status, kind, shown",
    [
        (PANIC, vng.NO_STATUS, "panic", PANIC.splitlines()),
        ("booting\r\n", None, "hang", ["booting"]),
        ("booting\n", vng.NO_STATUS, "silent", ["booting"]),
        (COMPLAINT, 0, "complaint", COMPLAINT.splitlines()),
        ("booting\n", 3, "status", []),
    ],
)
def test_guest_of_make_boot(tmp_path, monkeypatch, console, status, kind, shown):
    monkeypatch.setattr(vng, "CONSOLE", tmp_path / "console.log")
    vng.CONSOLE.write_text(console)
    with pytest.raises(verdict.GuestError, match="full console: .*console.log") as caught:
        vng.judge(status, 60)
    assert (caught.value.kind, caught.value.details) == (kind, shown)


def test_complaint_is_shown_however_long_its_trace_is():
    trace = [f"[ 1.0]  frame_{number}+0x0/0x10" for number in range(100)]
    oops = "[ 1.0] Oops: int3: 0000 [#1] SMP"
    lines = verdict.excerpt("\n".join(["booting", oops, *trace]))
    assert lines == [oops, *trace[-verdict.SHOWN :]]


@pytest.mark.parametrize("trace", [0, 100])
def test_breakpoint_that_is_gone_is_tried_again(monkeypatch, trace):
    """See tests/helpers/emulation.py."""
    console = "\n".join(["[ 1.0] Oops: int3: 0000 [#1] SMP", *["[ 1.0]  frame"] * trace])
    failures = [verdict.GuestError("panic", "panicked", verdict.excerpt(console))]

    def run(*args, **options):
        if failures:
            raise failures.pop()
        return "passed"

    monkeypatch.setattr(emulation.vm, "run", run)
    assert emulation.run_parallel("kernel", "true") == "passed"


@pytest.mark.parametrize("kind, line", [("panic", "Oops: 0002"), ("hang", "Oops: int3: 0000")])
def test_other_failures_are_not_tried_again(monkeypatch, kind, line):
    tries = []

    def run(*args, **options):
        tries.append(args)
        raise verdict.GuestError(kind, "failed", [line])

    monkeypatch.setattr(emulation.vm, "run", run)
    with pytest.raises(verdict.GuestError):
        emulation.run_parallel("kernel", "true")
    assert len(tries) == 1
