# SPDX-License-Identifier: GPL-2.0
"""Mounts of cgroup version 1 hierarchies, which link each set of cgroups.

Afterwards /proc/PID/cgroup of every task must have a line for the hierarchy, in
whatever cgroup of the default hierarchy the task is.
"""

import pytest

import sections
from guest import vm

GROUPS = 20
TASKS = 2  # in each group
EMPTY = 50
TURNS = 20
NAME = "name=one"

PREPARE = f"""
groups=/sys/fs/cgroup
mount -t cgroup2 cgroup2 $groups
one() {{
    mount -t cgroup -o none,{NAME} none /mnt
}}
# Without a process of its own, which would be one more task.
lines() {{
    for task in /proc/[0-9]*; do
        while read -r line; do
            echo "${{task#/proc/}} $line"
        done < $task/cgroup || true
    done 2> /dev/null
}}
show() {{
    echo "=== $1"
    lines
}}
for i in $(seq {GROUPS}); do
    mkdir $groups/group-$i
    for j in $(seq {TASKS}); do
        sleep 10000 &
        echo $! > $groups/group-$i/cgroup.procs
    done
done
for i in $(seq {EMPTY}); do
    mkdir $groups/empty-$i
done
"""
PLACES = f"""
show before
one
show mounted
mkdir /mnt/inner
echo $! > /mnt/inner/cgroup.procs
show moved
echo $! > /mnt/cgroup.procs
rmdir /mnt/inner
umount /mnt
# A hierarchy goes a little later, and stays if inner was not yet freed.
until show after > /tmp/after && ! grep -q {NAME} /tmp/after; do
    one
    umount /mnt
    sleep 0.1
done
cat /tmp/after
"""
# Tasks are created and sets of cgroups come and go beside the mounts.  A
# reading finds a new task only if $lifetime, in seconds, is longer than the reading.
TURNING = f"""
fork() {{
    echo 0 > $groups/group-$1/cgroup.procs
    while [ ! -e /tmp/over ]; do
        sleep $lifetime &
        sleep $lifetime &
        wait
    done
}}
move() {{
    while [ ! -e /tmp/over ]; do
        mkdir $groups/moved-$1
        sleep 0.05 &
        echo $! > $groups/moved-$1/cgroup.procs
        wait
        rmdir $groups/moved-$1
        echo $1 >> /tmp/moves
    done
}}
others=
for i in 1 2 3; do
    (fork $i) &
    others="$others $!"
    (move $i) &
    others="$others $!"
done
for i in $(seq {TURNS}); do
    one
    show $i
    umount /mnt
    sleep 0.1
done
touch /tmp/over
wait $others
echo "=== moves"
cat /tmp/moves
"""


def tasks(text):
    """{task: {name of a hierarchy: cgroup}}"""
    result = {}
    for line in text.splitlines():
        task, _, rest = line.partition(" ")
        _, name, place = rest.split(":", 2)
        assert name not in result.setdefault(task, {})
        result[task][name] = place
    return result


def run(kernel, script, **options):
    result = vm.run(kernel, PREPARE + script, **{"cpus": 2, "timeout": 60} | options)
    return sections.named(result.output), result


def test_each_task_has_a_place(kernel):
    parts, _ = run(kernel, PLACES)
    before, mounted, moved, after = map(tasks, parts.values())
    places = [place[""] for place in before.values()]
    for i in range(1, GROUPS + 1):
        assert places.count(f"/group-{i}") == TASKS
    assert before.keys() & after.keys()
    assert all(NAME not in place for place in (*before.values(), *after.values()))
    # Kernel threads, too, and all keep their place in the default hierarchy.
    assert {"1", "2"} <= mounted.keys()
    known = before.keys() & mounted.keys()
    assert len(known) > GROUPS * TASKS
    assert all(mounted[task] == before[task] | {NAME: "/"} for task in known)
    assert [place[NAME] for place in moved.values() if place[NAME] != "/"] == ["/inner"]
    assert all(place[NAME] == "/" for place in mounted.values())


def check_turns(kernel, lifetime, **options):
    parts, result = run(kernel, f"lifetime={lifetime}\n{TURNING}", **options)
    print(f"{result.seconds:.0f} s")
    assert len(parts.pop("moves").split()) > TURNS
    assert len(parts) == TURNS
    seen = set()
    for text in parts.values():
        places = tasks(text)
        assert all(place[NAME] == "/" for place in places.values())
        assert len(places) > GROUPS * TASKS
        seen |= places.keys()
    later = seen - tasks(parts["1"]).keys()
    print(f"{len(seen)} tasks, {len(later)} of them after the first mount")
    assert len(later) > TURNS // 2


def test_hierarchies_come_and_go(kernel):
    check_turns(kernel, 2)


@pytest.mark.long
def test_lockdep_and_kasan_find_nothing(debug_kernel):
    check_turns(debug_kernel, 5, mem="2G", cpus=4, parallel=True, timeout=300)
