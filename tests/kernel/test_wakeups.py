# SPDX-License-Identifier: GPL-2.0
"""Wakeups under load: none is lost, and /proc/hashstats counts them.

The load is lib/wait_filter_stress.c. It fails if a wakeup is lost, so the guest
does not hang.
"""

import re

import pytest

import emulation
import sections
from guest import vm

TABLES = ("folio_wait", "bit_wait")
FIELDS = ("wakes", "entries-examined", "entries-matched", "functions-called", "foreign-per-wake")
WAITS = 100_000
ALONE_WAITS = 20_000
STRESS = "/sys/kernel/debug/wait_filter_stress"
PAIRS = re.compile(
    r"wait_filter_stress: (\d+) waits, (\d+) sleeps, (\d+) cut short by signals, "
    r"(\d+) by timeouts, (\d+) woken early$",
    re.M,
)
ALONE = re.compile(r"wait_filter_stress: (\d+) waits of one waiter, (\d+) sleeps$", re.M)
# Many keys in few queues, and few in many.
SIZES = ("hash_entries=bit_wait:2,folio_wait:2", "")

SCRIPT = (
    sections.SHELL
    + f"""
show never
echo {WAITS // 10} > {STRESS}
show off
echo on > /proc/hashstats
show on
echo {WAITS} > {STRESS}
echo off > /proc/hashstats
show load
echo {WAITS // 10} > {STRESS}
show off-later
echo reset > /proc/hashstats
show reset
"""
)


@pytest.fixture(scope="module", params=SIZES, ids=["two-queues", "default"])
def loaded(kernel, request):
    result = vm.run(kernel, SCRIPT, cpus=4, timeout=60, append=request.param)
    return sections.tables(result.output), result.console, bool(request.param)


def test_no_wakeup_is_missed(loaded):
    """Emulated processors take turns here, so each wait of one waiter sleeps."""
    _, console, _ = loaded
    pairs = [tuple(map(int, one)) for one in PAIRS.findall(console)]
    waits, sleeps, signals, timeouts, _ = pairs[1]
    assert waits >= WAITS
    assert sleeps > WAITS // 10
    assert signals > 100 and timeouts > 0
    alone = [tuple(map(int, one)) for one in ALONE.findall(console)]
    assert [waits for waits, _ in alone] == [WAITS // 10, WAITS, WAITS // 10]
    # A thread also sleeps once before it starts.
    assert all(0 < sleeps <= waits + 1 for waits, sleeps in alone)
    # The kernel said nothing else.
    assert len(pairs) == len(alone) == 3
    assert console.count("wait_filter_stress: ") == 6


def test_wakeups_while_the_waiter_is_counted(kernel):
    """The counter goes from 0 to 1 and back while the waker tests it."""
    job = f"echo {ALONE_WAITS} > {STRESS}"
    result = emulation.run_parallel(kernel, job, cpus=4, timeout=60)
    waits, sleeps = map(int, ALONE.search(result.console).groups())
    assert waits == ALONE_WAITS
    # In some waits the gate opens before the waiter sleeps.
    assert 0 < sleeps < waits


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_counted_while_off(loaded, name):
    files, _, _ = loaded
    for mark in ("never", "off", "reset"):
        assert not set(FIELDS) & files[mark][name].keys()
    assert all(files["load"][name][field] == files["off-later"][name][field] for field in FIELDS)


def test_only_wait_tables_count_wakes(loaded):
    files, _, _ = loaded
    for name, table in files["load"].items():
        there = {field in table for field in FIELDS}
        assert there == {name in TABLES}


@pytest.mark.parametrize("name", TABLES)
def test_no_function_is_called_for_another_key(loaded, name):
    """All functions that were called match, or are those of two unknown entries.

    The counts are the walk's own; lib/tests/wait_filter_kunit.c looks from outside.
    """
    files, _, _ = loaded
    table = files["load"][name]
    assert table["wakes"] > 1000
    assert table["entries-matched"] > 1000
    called, matched = table["functions-called"], table["entries-matched"]
    if name == "folio_wait":
        assert called == matched
    else:
        # Each of the two is in one queue and called once per wakeup of it.
        assert 0 < called - matched <= 2 * table["wakes"]


@pytest.mark.parametrize("name", TABLES)
def test_foreign_entries_are_examined_where_keys_collide(loaded, name):
    files, _, collide = loaded
    table = files["load"][name]
    passed_over = table["entries-examined"] - table["entries-matched"]
    assert table["foreign-per-wake"] == pytest.approx(passed_over / table["wakes"], abs=0.001)
    assert collide == (table["foreign-per-wake"] > 1)


def test_stress_refuses_what_is_no_number_of_waits(kernel):
    wrong = ["0", "-1", "many", "", "1000000001"]
    script = "".join(
        f"echo \"=== '{what}'\"\necho '{what}' > {STRESS} && echo taken\n" for what in wrong
    )
    result = vm.run(kernel, script + "true")
    said = sections.named(result.output)
    assert list(said) == [f"'{what}'" for what in wrong]
    for what, text in said.items():
        assert "Invalid argument" in text and "taken" not in text, what
    assert "wait_filter_stress" not in result.console
