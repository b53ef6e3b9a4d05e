# SPDX-License-Identifier: GPL-2.0
"""What comes and goes with processes: tools/testing/selftests/boothash/crowd_stress.c.

Its eight tables are filled and emptied at once.  The program checks by itself
what must hold; a guest whose kernel complains fails, and in the end the tables
must have as few objects as before.
"""

import re

import pytest

import brokenprogram
import sections
from emulation import check_races
from guest import hashstats_file, vm
from series import source

TABLES = (
    "uid",
    "ucounts",
    "dquot",
    "posix_timers" if source.base_name() == "6.12" else "posixtimers",
    "css_set",
    "blocked_locks",
    "ksm_mm",
    "khugepaged_mm",
)
# All objects of a table in two buckets.
TWO_BUCKETS = "hash_entries=" + ",".join(f"{name}:2" for name in TABLES)
# Merging and making huge goes on all the time.
PREPARE = """
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /quota
mkfs.ext4 -q -O quota,project -E quotatype=usrquota:prjquota /dev/ram0 64M
echo 20 > /sys/kernel/mm/ksm/sleep_millisecs
echo 1 > /sys/kernel/mm/ksm/run
for which in scan alloc; do
    echo 50 > /sys/kernel/mm/transparent_hugepage/khugepaged/${{which}}_sleep_millisecs
done
quotas() {{
    mount -o usrquota,prjquota /dev/ram0 /quota
}}
all() {{
    crowd_stress /tmp -q /quota:/dev/ram0 -g /sys/fs/cgroup "$@"
}}
"""
SCRIPT = (
    PREPARE
    + """
ours() {{
    objects '{tables}' $1
}}
echo on > /proc/hashstats
ours > /tmp/before
quotas
# At its end this loop has read the whole file at least once.
(until [ -e /tmp/end ]; do
    cat /proc/hashstats > /tmp/stats
    ours /tmp/stats >> /tmp/seen
    echo merged $(cat /sys/kernel/mm/ksm/pages_sharing) >> /tmp/seen
    sleep 0.1
done) &
reader=$!
all -t {seconds} -p {processes}
touch /tmp/end
wait $reader
umount /quota
gone() {{
    ours > /tmp/after && cmp -s /tmp/before /tmp/after
}}
retry gone
for name in stats before seen after; do
    echo "=== $name"
    cat /tmp/$name
done
e2fsck -fn /dev/ram0 > /tmp/fsck 2>&1 || {{ cat /tmp/fsck; exit 1; }}
"""
)
MACHINE = {"mem": "2G", "cpus": 4, "programs": ("mkfs.ext4", "e2fsck")}
KINDS = (
    *("users", "timers", "execs", "locks", "deadlocks", "interrupted", "cgroups", "hierarchies"),
    *("rebinds", "namespaces", "quota changes", "quota mounts", "memories"),
)
LINE = re.compile(
    "^# " + ", ".join(rf"(\d+) {kind}" for kind in KINDS) + r"\nok 1 crowd_stress$", re.MULTILINE
)
# Who takes the locks of the tables or walks them.
OURS = re.compile(
    r"boot_hash|hashstats|hash_key|find_user|alloc_uid|free_uid|free_user|"
    r"uid_hash|find_ucounts|(get|put)_ucounts|ucounts_|find_dquot|"
    r"dquot_hash|posix_timers_find|posix_timer_(by_id|add|unhash)|"
    r"hash_bucket|find_existing_css_set|css_set_|blocked_head|posix_locks_deadlock|"
    r"locks_\w+_blocked|mm_slot_|(ksm|khugepaged)_mm_bucket"
)


def numbers(text):
    """{name: [number, ...]} of lines of both."""
    result = {}
    for line in text.splitlines():
        name, number = line.split()
        result.setdefault(name, []).append(int(number))
    return result


def stress(kernel, seconds, processes=12, **options):
    result = vm.run(
        kernel,
        sections.SHELL
        + SCRIPT.format(seconds=seconds, processes=processes, tables="|".join(TABLES)),
        **MACHINE | options,
    )
    line = LINE.search(result.output)
    print(line[0])
    counts = dict(zip(KINDS, map(int, line.groups())))
    # A circle of waiters that the kernel does not see ends by a signal.
    interrupted = counts.pop("interrupted")
    assert interrupted <= counts["locks"] // 100
    assert min(counts.values()) > 0, counts
    parts = sections.named(result.output)
    check_tables(parts)
    return result


def check_tables(parts):
    stats = hashstats_file.parse(parts["stats"])
    assert set(TABLES) <= set(stats)
    before, seen, after = (numbers(parts[name]) for name in ("before", "seen", "after"))
    most = {name: max(found) for name, found in seen.items()}
    print("at most", most, "in", len(seen["uid"]), "readings")
    assert most.pop("merged") > 0
    assert set(before) == set(most) == set(after) == set(TABLES)
    for name in TABLES:
        # With sanitizers there are few readings, and a wait is short.
        if len(seen["uid"]) > 20:
            assert before[name][0] < most[name], name
        assert after[name][0] <= before[name][0], (name, before, after)


@pytest.mark.parametrize("append", ["", TWO_BUCKETS], ids=["default", "two-buckets"])
def test_crowd(kernel, append):
    result = stress(kernel, 20 if not append else 10, append=append, timeout=90)
    tables = hashstats_file.parse(sections.named(result.output)["stats"])
    assert {tables[name]["buckets"] == 2 for name in TABLES} == {bool(append)}


# A kernel that does not do what it says: (what, by what, what is said then).
BROKEN = {
    "users": (
        (
            "if (syscall(SYS_setresuid, uid, 0, 0))",
            "if (!uid && syscall(SYS_setresuid, uid, 0, 0))",
        ),
        "real user",
    ),
    "delete": (
        ("\tif (syscall(SYS_timer_delete, id))\n\t\tcall", "\tif (0)\n\t\tcall"),
        "there must be no timer",
    ),
    "ids": (("\tif (id < 0 ||\n", "\tid &= ~1;\n\tif (id < 0 ||\n"), "id of a new timer"),
    "exec": (
        (
            "id < EXEC_IDS; id++)\n",
            "id < EXEC_IDS; id++)\n\t\tif (id || syscall("
            "SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) || 1)\n",
        ),
        "there must be no timer",
    ),
    "locks": (
        ("bad = fcntl(fd, how, &lock)", "bad = how == F_SETLKW ? 0 : fcntl(fd, how, &lock)"),
        "somebody else ha[sd]+ locked",
    ),
    "memory": (
        ("+ i * 4096), i % 4);\n\tif (!(held", "+ i * 4096), i % 3);\n\tif (!(held"),
        "content of a page",
    ),
    "spaces": (
        ("if (unshare(CLONE_NEWUSER))", "if (!i && unshare(CLONE_NEWUSER))"),
        "write uid_map|user of the parent",
    ),
}


def test_broken_calls_are_seen(kernel, tmp_path):
    brokenprogram.check_seen(
        kernel,
        tmp_path,
        "crowd_stress",
        BROKEN,
        "! broken-{name} /tmp -t 20 -p 4",
        mem="1G",
        timeout=90,
    )


SANITIZED = {"parallel": True, "timeout": 300}


@pytest.mark.long
@pytest.mark.parametrize("append", ["", TWO_BUCKETS], ids=["default", "two-buckets"])
def test_lockdep_and_kasan_find_nothing(debug_kernel, append):
    stress(debug_kernel, 120, append=append, **SANITIZED)


@pytest.mark.long
@pytest.mark.parametrize("append", ["", TWO_BUCKETS], ids=["default", "two-buckets"])
def test_tables_do_not_race(kcsan_kernel, append):
    check_races(stress(kcsan_kernel, 120, append=append, complaints=True, **SANITIZED), OURS)
