# SPDX-License-Identifier: GPL-2.0
"""Wrong answers that hashstats once gave: of another kernel's symbols, of groups of
sockets, of damaged files. Each of these tests failed then.
"""

import fcntl
import gzip
import json
import os
import struct

import pytest

from hashstats_tool import cli, grub, reading, sizing, sources, stock_advice, verdicts
from hashstats_tool.errors import Complaint
from hashstats_tool.stock import chains, memory, reader
from toycore import BASE, STRUCTS, ToyCore, btf
from toyhashstats import SAMPLES, file, hashstats, said, table

AFTER = SAMPLES / "after.hashstats"
CROWDED = table("dentry", 0, 0, 0, 0, 0, 0, 1024)
SOCKETS = STRUCTS | {
    "sock_common": [("skc_nulls_node", "hlist_nulls_node", 0), ("skc_node", "hlist_node", 0)]
    + [("skc_portaddr_node", "hlist_node", 0)],
    "sock": [("__sk_common", "sock_common", 0), ("sk_reuseport_cb", "*", 16)],
    "inet_listen_hashbucket": [("lock", "int", 0), ("nulls_head", "hlist_nulls_head", 8)],
    "inet_hashinfo": [("ehash", "*", 0), ("ehash_mask", "int", 8)]
    + [("lhash2", "*", 16), ("lhash2_mask", "int", 24)]
    + [("bhash", "*", 32), ("bhash2", "*", 40), ("bhash_size", "int", 48)],
    "inet_bind_hashbucket": [("lock", "int", 0), ("chain", "hlist_head", 8)],
    "udp_hslot": [("head", "hlist_head", 0), ("count", "int", 8)],
    "udp_table": [("hash", "*", 0), ("hash2", "*", 8), ("mask", "int", 16)],
}
DEATH_ROW = {"inet_timewait_death_row": [("tw_refcount", "int", 0), ("hashinfo", "*", 8)]}
NAMESPACES = SOCKETS | DEATH_ROW
NAMESPACES |= {
    "netns_ipv4": [("tcp_death_row", "inet_timewait_death_row", 0), ("udp_table", "*", 16)],
    "ns_common": [("inum", "int", 0)],
    "net": [("list", "list_head", 0), ("ns", "ns_common", 16), ("ipv4", "netns_ipv4", 24)],
}


@pytest.fixture
def read(tmp_path):
    """The result of a command on a toy; by name, the tables that json has of it."""

    def run(core, command="json"):
        path, symbols = core.files(tmp_path)
        done = hashstats(command, "--core", path, "--kallsyms", symbols)
        if command != "json":
            return done
        assert done.returncode == 0, done.stderr
        return {one["name"]: one for one in json.loads(done.stdout)["tables"]}

    return run


def complained(*words, text=None):
    done = hashstats(*words, text=text)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done
    return done.stderr


# --- symbols of another kernel ------------------------------------------------------


@pytest.mark.parametrize("shifted", ["data", "banner"])
def test_symbols_of_another_kernel_are_refused(shifted, tmp_path):
    core = ToyCore().usual()
    core.store(bytes(8), "init_uts_ns")
    told = core.symbols["init_uts_ns"]
    core.info = f"SYMBOL(init_uts_ns)={told:x}\n"
    path, symbols = core.files(tmp_path)
    assert hashstats("show", "--core", path, "--kallsyms", symbols).returncode == 0
    for name in core.symbols:
        if shifted == "data" and name not in ("_stext", "linux_banner"):
            core.symbols[name] += 0x40
    if shifted == "banner":
        core.symbols["linux_banner"] += 0x40
    symbols.write_text(core.kallsyms())
    line = complained("show", "--core", path, "--kallsyms", symbols)
    assert line.startswith(f"hashstats: {symbols}: symbols of another kernel: ")
    assert line.endswith("; expected those of Linux 6.12.1-toy\n")


# --- objects with equal keys ----------------------------------------------------------


def sockets(core, lengths, groups, kind, step=16, head=8):
    """A table of sockets; those of a chain are in so many groups, 0 in none."""
    base = core.room(None, step * len(lengths))
    core.chains(base, lengths, step, head, kind)
    for number, (length, several) in enumerate(zip(lengths, groups)):
        node = struct.unpack_from("<Q", core.memory, base - BASE + step * number + head)[0]
        for at in range(length):
            core.write(node + 16, 0x1000 + 8 * (at % several) if several else 0)
            node = struct.unpack_from("<Q", core.memory, node - BASE)[0]
    return base


def with_listeners(groups, structs=SOCKETS):
    core = ToyCore(types=btf(structs)).usual()
    base = sockets(core, [64, 3, 0, 0], groups, "nulls")
    ehash = struct.unpack_from("<Q", core.memory, core.symbols["tcp_hashinfo"] - BASE)[0]
    binds = [sockets(core, lengths, [0] * 4, "hlist") for lengths in ([3, 0, 1, 0], [2, 2, 1, 0])]
    data = struct.pack("<QIIQIIQQI", ehash, 3, 0, base, 3, 0, *binds, 4)
    core.store(data, "tcp_hashinfo")
    return core


def test_a_reuseport_group_counts_once(read):
    found = read(with_listeners([1, 0, 0, 0]))["tcp_listen_portaddr_hash"]
    assert (found["objects"], found["same_key"], found["longest"]) == (4, 63, 3)
    assert found["verdict"] == "ok"


def test_sockets_without_a_group_are_still_skewed(read):
    found = read(with_listeners([0, 0, 0, 0]))["tcp_listen_portaddr_hash"]
    assert (found["objects"], found["same_key"], found["longest"]) == (67, None, 64)
    assert found["verdict"] == "skewed"


def test_equal_attribute_values_count_once():
    """Of five entries with one key, four are full blocks of one value."""
    data = bytearray(1024)
    nodes = [BASE + 64 + 64 * number for number in range(5)]
    struct.pack_into("<Q", data, 0, nodes[0])
    for number, node in enumerate(nodes):
        after = nodes[number + 1] if number < 4 else 0
        before = nodes[number - 1] if number else BASE
        flags = (0, 1, 0, 0, 2)[number]
        struct.pack_into("<QQIIQ", data, node - BASE, after, before, 1, 7, flags)
    reads = memory.Memory(
        lambda size, at: bytes(data[at : at + size]), [memory.Extents([(BASE, len(data), 0)])]
    )
    walk = chains.Grouped(reads, chains.BL, 8, 0, key=((20, 4), (24, 8), 1))
    walk.table(BASE, 1)
    assert walk.result.of[2] == 1 and walk.result.same == 3


# --- tables that were missing ---------------------------------------------------------


def with_udp(core):
    pair = [sockets(core, [2, 0], [0, 0], "hlist", 16, 0) for _ in range(2)]
    core.store(struct.pack("<QQI", *pair, 1), "udp_table")
    return core


def test_tables_by_address_are_shown(read):
    found = read(with_udp(with_listeners([0, 0, 0, 0])))
    names = ("udp", "udp-hash2", "tcp-bind", "tcp-bind2")
    assert [found[name]["objects"] for name in names] == [2, 2, 4, 5]


def test_tables_of_a_network_namespace_are_shown(read):
    core = with_udp(with_listeners([0, 0, 0, 0], NAMESPACES))
    own = core.store(struct.pack("<QI", sockets(core, [0, 5], [0, 0], "nulls", 8, 0), 1))
    first, second = core.room(None, 64), core.room(None, 64)
    head = core.room("net_namespace_list", 16)
    ring = [head, first, second]
    for at, node in enumerate(ring):
        core.write(node, ring[(at + 1) % 3], ring[at - 1])
    udp = core.symbols["udp_table"]
    core.write(first + 16, 7, 0, core.symbols["tcp_hashinfo"], udp)
    core.write(second + 16, 4026532281, 0, own, udp)
    found = read(core)
    assert [name for name in found if "net" in name] == ["tcp-established-net4026532281"]
    assert found["tcp-established-net4026532281"]["objects"] == 5


def test_types_decide_about_a_form_and_not_the_version(read):
    """A vendor's 6.12 whose ucounts are those of 6.15."""
    structs = STRUCTS | {"ucounts": [("node", "hlist_nulls_node", 0)]}
    core = ToyCore(types=btf(structs)).usual()
    base = core.room("ucounts_hashtable", 8 * 4)
    core.room("after_ucounts_hashtable", 0)
    core.chains(base, [0, 2, 0, 1], kind="nulls")
    assert read(core)["ucounts"]["objects"] == 3
    assert "types, not by its version: ucounts as since Linux 6.15\n" in read(core, "show").stderr


# --- nothing is healthy that was not read ---------------------------------------------

UNREAD = "version: 1\ncounting: off\nkernel: 6.12.1\nnot-read: dentry: no symbol; uid: torn\n"


def test_nothing_read_is_not_healthy():
    assert "no table was read" in hashstats("show", "--check", "-f", "-", text=UNREAD).stderr
    assert hashstats("show", "--check", "-f", "-", text=UNREAD).returncode == 2
    assert hashstats("show", "-f", "-", text=UNREAD).returncode == 0


def test_metrics_name_what_was_not_read():
    text = hashstats("openmetrics", "-f", "-", text=UNREAD).stdout
    assert 'hashstats_not_read{table="dentry"} 1\n' in text
    assert 'hashstats_not_read{table="uid"} 1\n' in text


# --- damage -----------------------------------------------------------------------------


def test_a_dump_that_was_cut_off_is_refused(tmp_path):
    core, symbols = ToyCore().usual().files(tmp_path)
    core.write_bytes(core.read_bytes()[:-4096])
    assert "the file is cut off at" in complained("show", "--core", core, "--kallsyms", symbols)


def test_types_without_a_size_are_damage(read):
    data = bytearray(btf())
    name = data.index(b"\0hlist_head\0") + 1 - struct.unpack_from("<I", data, 16)[0] - 24
    place = data.index(struct.pack("<II", name, 4 << 24 | 1))
    struct.pack_into("<I", data, place + 8, 0)
    done = read(ToyCore(types=bytes(data)).usual(), "show")
    assert done.returncode == 0 and "inode: the memory is damaged" in done.stderr


def recording(*copies):
    return "recording: 1\n" + "".join(
        f"=== {1764000000 + 60 * number}.000\n{copy}" for number, copy in enumerate(copies)
    )


def test_one_damaged_sample_is_skipped():
    good = file(CROWDED)
    cut = good[: good.index("used: ")]
    text = recording(good, good.replace("objects: 6144", "objects: 61x4"), good, cut, good)
    done = hashstats("report", "-f", "-", text=text)
    line = 1 + text[: text.index("61x4")].count("\n")
    assert done.returncode == 0 and done.stdout.startswith("3 readings")
    assert f"line {line}: " in done.stderr and "2 copies skipped" in done.stderr


def test_two_do_not_write_to_one_recording(tmp_path):
    path = tmp_path / "day.rec"
    path.write_text("the first one's")
    with open(path, "ab") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        words = ["record", "-n", "0.1", "-t", "0.1", "-f", AFTER, "-o", path]
        assert "another hashstats writes to it" in complained(*words)
    assert path.read_text() == "the first one's"


# --- advice ---------------------------------------------------------------------------


def planned(text, budget):
    judged = verdicts.of_copy(reading.parse(text.encode()))
    plans = sizing.plans(judged, {one.name for one in judged}, 1.5, None, budget)
    return {plan.name: plan for plan in plans}


@pytest.mark.parametrize("budget", [5, 7, 8, 10, 12])
def test_a_budget_is_spent(budget):
    """No table could be doubled in what is left."""
    text = file(
        table("dentry", *[0] * 4, 1 << 18), table("inode", *[0] * 4, 1 << 17), table("uid", 0, 9)
    )
    free, plans = planned(text, None), planned(text, budget << 20)
    left = (budget << 20) - sum(plan.bytes for plan in plans.values())
    assert left >= 0
    for name, plan in plans.items():
        assert plan.buckets == free[name].buckets or plan.bytes > left


def test_thash_entries_is_advised_for_listeners():
    """It sizes three tables, and changes limits."""
    listen = table("tcp_listen_portaddr_hash", *[0] * 12, 512)
    rest = (table("tcp-established", 8192), table("tcp-bind", *[0] * 1, 8192))
    text = file(*rest, listen, counting="off\nkernel: 6.12.1\nhash-entries: no")
    done = hashstats("advise", "-f", "-", text=text)
    assert "\nthash_entries=8192\n" in done.stdout
    assert "also sizes tcp-bind (" in done.stdout and "tcp_max_orphans" in done.stdout
    assert "grow, by thash_entries=" in done.stdout
    entry = json.loads(hashstats("advise", "-j", "-f", "-", text=text).stdout)["tables"]
    assert {one["name"]: one["buckets_new"] for one in entry}["tcp_listen_portaddr_hash"] == 8192
    assert stock_advice.MOST_OF_FOLLOWERS == 65536


def test_a_copy_says_how_much_memory_its_machine_has():
    """Advice by a file is limited as advice on the machine is."""
    here = reading.parse(sources.stamped(file(table("dentry", 0, 0, 0, 0, 0, 64)).encode()))
    assert here.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert here.header["host"] == sources.this_host() and here.header["cpus"].isdigit()
    text = file(table("dentry", *[0] * 16, 65536))
    limited = text.replace("counting: on\n", "counting: on\nmemory: 16777216\n")
    assert "as far as the kernel allows" in said("advise", "-f", "-", text=limited)
    assert "--memory limits the sizes" in said("advise", "-f", "-", text=text)
    assert "--memory" not in said("advise", "-f", "-", text=limited)


# --- files as people have them ----------------------------------------------------------

GOOD = file(table("dentry", 10, 5)).encode()


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(GOOD),
        GOOD.replace(b"\n", b"\r\n"),
        "\ufeff".encode() + GOOD,
        b"root@db7:~# sudo hashstats copy\n" + GOOD,
    ],
    ids=["gzip", "carriage returns", "byte order mark", "prompt"],
)
def test_files_as_people_have_them(data, tmp_path):
    path = tmp_path / "copy.txt"
    path.write_bytes(data)
    assert "dentry" in said("show", "-f", path)


def test_a_file_as_an_argument(tmp_path):
    path = tmp_path / "day.rec"
    path.write_text(recording(GOOD.decode(), GOOD.decode()))
    assert said("report", path) == said("report", "-f", path)
    assert said("show", AFTER, "dentry") == said("show", "-f", AFTER, "dentry")
    assert said("hist", AFTER, "dentry") == said("hist", "-f", AFTER, "dentry")


def test_a_hidden_kcore_has_a_remedy(tmp_path, monkeypatch):
    """As a container has it: /dev/null in its place."""
    path = tmp_path / "kcore"
    path.write_bytes(b"")
    monkeypatch.setattr(reader, "LIVE", str(path))
    with pytest.raises(Complaint, match="accepted: run on the host"):
        reader.read(str(path), "/proc/kcore")


def test_no_grub_folder_has_a_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grub, "DROP_IN", str(tmp_path / "grub.d/hashstats.cfg"))
    saved = tmp_path / "saved"
    saved.write_text(file(CROWDED))
    assert cli.main(["advise", "-f", str(saved), "--apply-grub", "--yes"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert "grubby --update-kernel=ALL --args='hash_entries=dentry:8K'" in line
