# SPDX-License-Identifier: GPL-2.0
"""hashstats chain on made-up dumps: the longest chain, and which objects are in it."""

import json
import struct

import pytest

from toycore import BASE, STRUCTS, ToyCore, btf
from toyhashstats import SAMPLES, hashstats, said

KEYED = STRUCTS | {
    "qstr": [("hash_len", "long", 0), ("name", "*", 8)],
    "super_block": [("s_id", "long", 0)],
    "inode": [("i_hash", "hlist_node", 0), ("i_ino", "long", 16), ("i_sb", "*", 24)],
    "dentry": [("d_hash", "hlist_bl_node", 0), ("d_parent", "*", 16), ("d_name", "qstr", 24)]
    + [("d_sb", "*", 40)],
    "in6": [("words", "long", 0), ("more", "long", 8)],
    "sock_common": [("skc_nulls_node", "hlist_nulls_node", 0), ("skc_daddr", "int", 16)]
    + [("skc_rcv_saddr", "int", 20), ("skc_dport", "short", 24), ("skc_num", "short", 26)]
    + [("skc_family", "short", 28), ("skc_v6_daddr", "in6", 32), ("skc_v6_rcv_saddr", "in6", 48)],
    "sock": [("__sk_common", "sock_common", 0)],
}


def nodes_of(core, base, bucket, step=8):
    """Addresses of the nodes of a chain."""
    node = struct.unpack_from("<Q", core.memory, base - BASE + step * bucket)[0]
    while node and not node & 1:
        yield node
        node = struct.unpack_from("<Q", core.memory, node - BASE)[0]


@pytest.fixture
def words(tmp_path):
    core = ToyCore(types=btf(KEYED)).usual()
    block = core.store(b"vda1\0")
    for number, node in enumerate(nodes_of(core, core.inode, 7)):
        core.write(node + 16, 1000 + number, block)
    root = core.room(None, 48)
    core.write(root + 16, root, 0, core.store(b"/\0"), block)
    folder = core.room(None, 48)
    core.write(folder + 16, root, 0, core.store(b"var\0"), block)
    for number, node in enumerate(nodes_of(core, core.dentry, 15)):
        core.write(node + 16, folder, 0, core.store(b"log.%d\0" % number), block)
    ehash = struct.unpack_from("<Q", core.memory, core.symbols["tcp_hashinfo"] - BASE)[0]
    four, six = nodes_of(core, ehash, 3)
    ends = (bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1]), (443).to_bytes(2, "big"), 40000, 2)
    struct.pack_into("<4s4s2sHH", core.memory, four + 16 - BASE, *ends)
    ends = (bytes(15) + b"\2", bytes(15) + b"\1")
    struct.pack_into("<2sHHxx16s16s", core.memory, six + 24 - BASE, b"\0\x50", 40001, 10, *ends)
    path, symbols = core.files(tmp_path)
    return ["--core", path, "--kallsyms", symbols]


def found(*words):
    done = hashstats("chain", *words, "-j")
    assert done.returncode == 0, done.stderr
    return [(one["bucket"], one["objects"]) for one in json.loads(done.stdout)["chains"]]


def test_inodes_by_number_and_file_system(words):
    [(bucket, objects)] = found("inode", *words)
    assert bucket == 7 and len(objects) == 20
    assert objects[0] == {"inode": "1000", "on": "vda1"} and objects[-1]["inode"] == "1019"


def test_names_by_path(words):
    [(bucket, objects)] = found("dentry", "--longest", *words)
    paths = [one["path"] for one in objects]
    assert (bucket, paths) == (15, ["/var/log.0", "/var/log.1", "/var/log.2"])
    [(_, objects)] = found("dentry", "--no-names", *words)
    assert {one["path"] for one in objects} == {"-"}


def test_connections_by_their_ends(words):
    [(bucket, objects)] = found("tcp-established", *words)
    assert bucket == 3 and objects == [
        {"local": "10.0.0.1:40000", "peer": "10.0.0.2:443"},
        {"local": "[::1]:40001", "peer": "[::2]:80"},
    ]


def test_several_chains_longest_first(words):
    assert [len(objects) for _, objects in found("inode", "--longest", "3", *words)] == [20, 2, 1]


def test_a_long_chain_is_cut_on_the_screen(words):
    text = said("chain", "inode", *words)
    assert text.startswith("inode: 20 objects in bucket 7\n  inode  on\n  1000   vda1\n")
    assert text.count("\n") == 22 and "more" not in text


@pytest.mark.parametrize(
    "line, message",
    [
        (
            ["inode", "-f", SAMPLES / "after.hashstats"],
            "a copy has no keys; accepted: a crash dump",
        ),
        (["nosuch", "--source", "kcore"], "knows no keys of its objects; accepted: dentry, inode"),
        (["inode", "--longest", "0"], "accepted: 1 to 1000"),
    ],
    ids=str,
)
def test_what_has_no_chain(line, message):
    done = hashstats("chain", *line)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
