# SPDX-License-Identifier: GPL-2.0
"""Tables whose keys users choose, under attack.

An attacker who knows the source, but not the multiplier that the kernel draws at
boot, picks ids that share a bucket under a hash function without this multiplier.
tests/programs/flood.c creates the objects.  The longest chain of the table may
be three times as long as that of a random function.

The controls show that the ids are harmful: under mainline's function, or under
hash_32(), they are one long chain.
"""

import collections
import math
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

import sections
from guest import hashstats_file, vm
from series import source

IDS = 20_000
# The kernel writes the quota file for each new project.
PROJECTS = 4_000
# Timer ids are sequential: a process deletes the timers with other ids.
TIMERS = 500_000
# Of each socket, 255 other files are made first.
SOCKETS = 1_000
NAMES = 5_000
FACTOR = 3

GOLDEN_RATIO_32 = 0x61C88647
GOLDEN_RATIO_64 = 0x61C8864680B583EB
# hash_32() of INVERSE * i is the upper bits of i.
INVERSE = pow(GOLDEN_RATIO_32, -1, 1 << 32)
# Of a user namespace or a super block: the attacker does not know it.
ADDRESSES = (0xFFFF888003412000, 0xFFFF88801F7A0800)

MAINLINE = {
    "uid": 128,
    "ucounts": 1024,
    "dquot": 512,
    "unix": 256,
}
# In Linux 7.3, each network namespace has a table of addresses, and timers keep
# mainline's hash function.
TIMERS_AND_ADDRESSES = source.base_name() == "6.12"
if TIMERS_AND_ADDRESSES:
    MAINLINE |= {"posix_timers": 512, "inet_addr": 256}
SIZES = {"mainline": MAINLINE, "32K": dict.fromkeys(MAINLINE, 1 << 15)}


def hash_32(number, bits):
    return (number * GOLDEN_RATIO_32 & 0xFFFFFFFF) >> (32 - bits)


def golden(number, _):
    return hash_32(number, 15)


# The functions of mainline 6.12, for its sizes.


def mainline_uid(uid, _):
    return ((uid >> 7) + uid) & 127


def mainline_ucounts(uid, namespace):
    return ((uid + namespace) * GOLDEN_RATIO_64 & 0xFFFFFFFFFFFFFFFF) >> (64 - 10)


def mainline_dquot(project, super_block):
    # The factor of this sum is 1 for projects, and left out.
    mixed = (super_block >> 6) ^ project
    return (mixed + (mixed >> 9)) & 511


def mainline_timer(timer, signal):
    return hash_32(signal ^ timer, 9)


def longest_chain(buckets):
    return max(collections.Counter(buckets).values())


def chance(objects, buckets):
    """The longest chain of a random function: at least one bucket is expected to
    have so many objects, and less than one to have more."""
    mean = objects / buckets
    length, probability = 0, math.exp(-mean)
    longer = 1 - probability
    while buckets * longer >= 1:
        length += 1
        probability *= mean / length
        longer -= probability
    return length


class Flood(NamedTuple):
    kind: str  # of flood
    ids: list[int]
    tables: tuple[str, ...]  # have an object for each id
    control: Callable[[int, int], int]  # a function without a multiplier
    buckets: int  # of the control
    longest: int  # chain of the control, at least


def one_bucket_of_uids():
    found = (uid for uid in range(100_000, 1 << 32) if not mainline_uid(uid, 0))
    return [next(found) for _ in range(IDS)]


def one_bucket_of_golden(number):
    return [INVERSE * i % (1 << 32) for i in range(number)]


USERS = ("uid", "ucounts")
PROJECT = "projects /mnt/file"
SUBORDINATE = [100_000 + 65_536 * i for i in range(IDS)]
FLOODS = {
    "uids": Flood("users", one_bucket_of_uids(), USERS, mainline_uid, 128, IDS),
    "uids-golden": Flood("users", one_bucket_of_golden(IDS), USERS, golden, 1 << 15, IDS),
    # One user of each range in /etc/subuid: not an attack, but as bad.
    "subordinate": Flood("users", SUBORDINATE, USERS, mainline_uid, 128, IDS),
    # Multiples of a Fibonacci number fall into few buckets of any namespace.
    "namespace": Flood(
        "namespace", [196_418 * i for i in range(IDS)], USERS, mainline_ucounts, 1024, 400
    ),
    "projects": Flood(
        PROJECT, [i << 18 for i in range(PROJECTS)], ("dquot",), mainline_dquot, 512, PROJECTS
    ),
    "projects-golden": Flood(
        PROJECT, one_bucket_of_golden(PROJECTS), ("dquot",), golden, 1 << 15, PROJECTS
    ),
}
if TIMERS_AND_ADDRESSES:
    FLOODS["addresses-golden"] = Flood(
        "addresses", one_bucket_of_golden(IDS), ("inet_addr",), golden, 1 << 15, IDS
    )
TIMER_FLOOD = "timers"
SOCKET_FLOOD = "sockets"

SCRIPT = """
mkfs.ext4 -q -O quota,project,^has_journal -E quotatype=prjquota /dev/vda
gone() {{
    objects '{tables}' > /tmp/after && awk '
        NR == FNR {{ before[$1] = $2 }}
        NR > FNR && $2 > before[$1] {{ exit 1 }}' /tmp/before /tmp/after
}}
attack() {{
    name=$1
    shift
    objects '{tables}' > /tmp/before
    show "$name before"
    mount -o prjquota /dev/vda /mnt
    echo "=== $name flood"
    flood "$@" sh -c 'echo "=== $0 held"; cat /proc/hashstats' $name
    umount /mnt
    retry gone
    show "$name after"
}}
{attacks}
"""


def address_of(kernel, symbol):
    text = (kernel.obj / "System.map").read_text()
    return re.search(rf"^(\w+) \w {symbol}$", text, re.MULTILINE)[1]


@pytest.fixture(scope="module", params=SIZES)
def flooded(kernel, request):
    """{name of a flood: {moment: text}} of a guest with tables of these sizes."""
    sizes = SIZES[request.param]
    attacks = [f"attack {name} {flood.kind} /ids/{name}" for name, flood in FLOODS.items()]
    if TIMERS_AND_ADDRESSES:
        table = address_of(kernel, "posix_timers_hashtable")
        attacks.append(f"attack {TIMER_FLOOD} timers {table} {sizes['posix_timers']} {TIMERS}")
    attacks.append(f"attack {SOCKET_FLOOD} sockets /tmp/sockets {SOCKETS}")
    result = vm.run(
        kernel,
        sections.SHELL + SCRIPT.format(tables="|".join(MAINLINE), attacks="\n".join(attacks)),
        append="nokaslr hash_entries=" + ",".join(f"{name}:{n}" for name, n in sizes.items()),
        disk="256M",
        files={
            f"/ids/{name}": "".join(f"{one}\n" for one in flood.ids)
            for name, flood in FLOODS.items()
        },
        programs=["mkfs.ext4"],
        timeout=120,
    )
    print(f"{request.param}: {result.seconds:.0f} s")
    parts = collections.defaultdict(dict)
    for name, text in sections.named(result.output).items():
        flood, moment = name.split()
        parts[flood][moment] = text
    return sizes, parts


def check_table(sizes, moments, name, ids):
    """The objects came, in short chains, and went."""
    tables = {
        moment: hashstats_file.parse(moments[moment]) for moment in ("before", "held", "after")
    }
    before, held = tables["before"][name], tables["held"][name]
    expected = chance(held["objects"], sizes[name])
    print(f"{name}: {held['objects']} objects, longest {held['longest']}, random {expected}")
    assert held["buckets"] == sizes[name]
    # There is an object of root or of project 0 before.
    assert held["objects"] - before["objects"] >= ids - 1
    assert held["longest"] <= FACTOR * expected
    for one in MAINLINE:
        assert tables["after"][one]["objects"] <= tables["before"][one]["objects"], one


@pytest.mark.parametrize("name", FLOODS)
def test_chosen_ids_spread(flooded, name):
    sizes, parts = flooded
    flood = FLOODS[name]
    for table in flood.tables:
        check_table(sizes, parts[name], table, len(flood.ids))


@pytest.mark.skipif(not TIMERS_AND_ADDRESSES, reason="Linux 7.3 keeps mainline's hash of timers")
def test_chosen_timers_spread(flooded):
    sizes, parts = flooded
    signal, kept = map(int, parts[TIMER_FLOOD]["flood"].split())
    chosen = [i for i in range(TIMERS) if mainline_timer(i, signal) == mainline_timer(0, signal)]
    # They would be one chain of mainline.
    assert len(chosen) == kept > 20 * chance(kept, MAINLINE["posix_timers"])
    check_table(sizes, parts[TIMER_FLOOD], "posix_timers", kept)


def test_chosen_inodes_of_sockets_spread(flooded):
    """flood.c checks that their numbers are equal modulo 256, mainline's bucket."""
    sizes, parts = flooded
    check_table(sizes, parts[SOCKET_FLOOD], "unix", SOCKETS)


def chosen_name(number):
    """As put_words() of flood.c makes it."""
    words, name = "ABCDEFGH", "chosen-"
    while words:
        at = number % len(words)
        name += words[at] + "x"
        number //= len(words)
        words = words[:at] + words[at + 1 :]
    return name


def checksum(name):
    """csum_fold() of the address, which gives mainline's bucket."""
    data = b"\x01\x00\x00" + name.encode()
    data += bytes(len(data) % 2)
    total = sum(data[i] | data[i + 1] << 8 for i in range(0, len(data), 2))
    return total % 0xFFFF


def test_chosen_names_have_one_checksum():
    names = {chosen_name(number) for number in range(NAMES)}
    assert len(names) == NAMES
    assert len({checksum(name) for name in names}) == 1
    assert len({checksum(f"other-{number}") for number in range(NAMES)}) > 100


def test_chosen_names_spread(kernel):
    """/proc/net/unix goes from bucket to bucket: in each, the names that came last,
    the others, stand before the chosen ones."""
    result = vm.run(
        kernel,
        f"flood names {NAMES} sh -c 'grep -aoE \"@(chosen|other)\" /proc/net/unix | uniq -c'",
    )
    runs = [line.split()[1] for line in result.output.splitlines()]
    print(f"{len(runs)} runs")
    # One bucket of mainline has all chosen names, all 256 have others.
    assert runs.count("@chosen") > 200


@pytest.mark.parametrize("name", FLOODS)
def test_ids_flood_a_function_without_multiplier(name):
    """A kernel without a multiplier must not pass, which harmless ids would allow."""
    flood = FLOODS[name]
    assert len(set(flood.ids)) == len(flood.ids)
    expected = chance(len(flood.ids), flood.buckets)
    for address in ADDRESSES:
        longest = longest_chain(flood.control(one, address) for one in flood.ids)
        print(f"{name}: longest {longest}, random {expected}")
        assert longest >= flood.longest > FACTOR * expected
