# SPDX-License-Identifier: GPL-2.0
"""hashstats on the memory of a kernel, with made-up dumps; real ones are in
tests/guest/test_stock_kernels.py.
"""

import json
import os
import random
import re
import struct

import pytest

import test_corpus as corpus
from hashstats_tool.stock import btf as types
from hashstats_tool.stock import catalog, chains, elf, kallsyms, memory, paging
from hashstats_tool.stock.missing import BadAddress, Missing
from toycore import BASE, SIZE, STRUCTS, TEXT, ToyCore, btf
from toyhashstats import SAMPLES, hashstats

AFTER = SAMPLES / "after.hashstats"


@pytest.fixture
def toy(tmp_path):
    """Words for the tool to read a toy."""

    def files(core):
        path, symbols = core.files(tmp_path)
        return ["--core", path, "--kallsyms", symbols]

    return files


def tables(text):
    return {table["name"]: table for table in json.loads(text)["tables"]}


def shown(core, words):
    """The tables that the tool sees in a toy."""
    done = hashstats("json", *words(core))
    assert done.returncode == 0, done.stderr
    return tables(done.stdout)


def refused(*words):
    """The one line with which the tool refuses."""
    done = hashstats(*words)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("hashstats: "), done.stderr
    return done.stderr


# --- what is read -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "buckets", "objects", "longest"),
    [
        ("dentry", 16, 11, 3),
        ("inode", 8, 24, 20),
        ("uid", 8, 3, 2),
        ("folio_wait", 16, 3, 3),
        ("tcp-established", 4, 3, 2),
        ("futex", 4, 1, 1),
    ],
)
def test_each_form_of_table_is_counted(toy, name, buckets, objects, longest):
    table = shown(ToyCore().usual(), toy)[name]
    assert (table["buckets"], table["objects"], table["longest"]) == (buckets, objects, longest)
    assert table["torn"] == 0


def test_every_command_reads_a_dump(toy, tmp_path):
    words = toy(ToyCore().usual())
    copy = tmp_path / "copy"
    assert "dentry" in hashstats("show", *words).stdout
    assert "20" in hashstats("hist", "inode", *words).stdout
    assert 'table="uid"' in hashstats("openmetrics", *words).stdout
    assert hashstats("record", "-t", "0.2", "-n", "0.1", "-o", copy, *words).returncode == 0
    assert b"recording: 1\n=== " in copy.read_bytes()
    assert hashstats("watch", "--count", "1", *words).returncode == 0
    assert "inode" in hashstats("advise", *words).stdout
    assert hashstats("diff", words[1], *words).returncode == 2  # which symbols is the first of?


def test_symbols_serve_what_diff_reads_last(toy, tmp_path):
    _, core, *symbols = words = toy(ToyCore().usual())
    copy = tmp_path / "copy"
    copy.write_text(hashstats("copy", *words).stdout)
    for after in ([core], ["-f", core]):
        done = hashstats("diff", copy, *after, *symbols)
        assert done.returncode == 0 and done.stdout.endswith("tables unchanged\n")


def test_a_copy_of_a_dump_is_read_again(toy, tmp_path):
    words = toy(ToyCore().usual())
    copy = tmp_path / "copy"
    copy.write_text(hashstats("copy", *words).stdout)
    short = hashstats("diff", copy, *words)
    assert short.returncode == 0 and short.stdout.endswith("tables unchanged\n")
    # It is known to be of memory.
    assert "Kernel memory has no lookup counts" in hashstats("show", "-f", copy).stdout
    assert "hash_entries=" not in hashstats("advise", "--shrink", "-f", copy).stdout


def test_a_dump_needs_no_option(tmp_path):
    """Not even symbols, if they are in its memory; else the line says so."""
    core, _ = ToyCore().usual().files(tmp_path)
    assert "does not say where kallsyms is" in refused("show", "-f", core)
    assert "does not say where kallsyms is" in refused("diff", core, core)


def test_header_names_source_kernel_and_what_is_missing(toy):
    done = hashstats("show", *toy(ToyCore().usual()))
    lines = done.stderr.splitlines()
    assert lines[0] == "hashstats: note: vmcore of Linux 6.12.1-toy"
    assert "hashstats: note: not read: mount: the kernel has no symbol m_hash_shift" in lines


@pytest.mark.parametrize(
    "name, source", [(b"\xff\nvm;core", "? vm,core"), (b" vmcore", "vmcore"), (b" ", "core")]
)
def test_any_name_of_a_dump_is_one_line_of_text(name, source, tmp_path):
    core, symbols = ToyCore().usual().files(tmp_path)
    core = core.rename(tmp_path / os.fsdecode(name))
    done = hashstats("copy", "--core", core, "--kallsyms", symbols)
    assert done.returncode == 0, done.stderr
    assert f"\nsource: {source}\n" in done.stdout


def test_advice_for_a_kernel_without_our_patches(toy):
    """Its parameters take plain numbers; the other tables have one size."""
    core = ToyCore().usual()
    core.table("dentry_hashtable", "d_hash_shift", 24, [9] * 256)
    for name, lengths in (("css_set_table", [40] + [0] * 127), ("ucounts_hashtable", [9, 7] * 8)):
        base = core.room(name, 8 * len(lengths))
        core.room(f"after_{name}", 0)
        core.chains(base, lengths)
    text = hashstats("advise", *toy(core)).stdout
    assert text.endswith("\nAdd to the kernel command line:\ndhash_entries=4096\n")
    assert "skewed: 20.5 nodes per lookup; with boothash 1.2\n" in text
    assert "fixed at 16: 4.6 nodes per lookup; with boothash 1.5\n" in text


def test_a_size_from_the_command_line_is_told(toy):
    core = ToyCore().usual()
    line = core.store(b"quiet ihash_entries=8\0")
    core.store(struct.pack("<Q", line), "saved_command_line")
    found = shown(core, toy)
    assert found["inode"]["sized_by"] == "command line"
    assert found["dentry"]["sized_by"] == "memory"
    assert found["uid"]["sized_by"] == "fixed"


def test_symbols_of_another_boot_are_moved(toy, tmp_path):
    """A System.map: as the kernel was linked, before it was moved at random."""
    core = ToyCore().usual()
    path, symbols = core.files(tmp_path)
    core.symbols = {name: address - 0x200000 for name, address in core.symbols.items()}
    symbols.write_text(core.kallsyms())
    done = hashstats("json", "--core", path, "--kallsyms", symbols)
    assert tables(done.stdout)["inode"]["objects"] == 24


# --- chains that change or lead nowhere -------------------------------------------


def first_node(core, base, bucket):
    return struct.unpack_from("<Q", core.memory, base - BASE + 8 * bucket)[0]


def test_a_wrong_back_pointer_is_torn(toy):
    core = ToyCore().usual()
    node = first_node(core, core.inode, 7)
    core.write(node + 8, node)
    found = shown(core, toy)["inode"]
    assert (found["torn"], found["objects"]) == (1, 4)
    done = hashstats("show", *toy(core))
    assert "inode: 1 chains changed while they were read" in done.stderr


@pytest.mark.parametrize("pointer", [1 << 3, BASE - 64, BASE + SIZE - 8, (1 << 64) - 8, 7])
def test_a_bad_pointer_is_torn(toy, pointer):
    core = ToyCore().usual()
    core.write(first_node(core, core.inode, 7), pointer)
    assert shown(core, toy)["inode"]["torn"] == 1
    done = hashstats("show", *toy(core))
    if pointer % 2 == 0:
        assert "inode: 4 pointers lead out of memory" in done.stderr


def test_a_ring_ends(toy):
    core = ToyCore().usual()
    node = first_node(core, core.inode, 7)
    core.write(node, node, core.inode + 8 * 7)
    assert shown(core, toy)["inode"]["torn"] == 1


def walk(reads, kind=chains.HLIST, step=8):
    """Lengths of one bucket at BASE; `reads` has what each read finds, in order."""
    one = memory.Extents([(BASE, SIZE, 0)])
    memories = memory.Memory(lambda size, offset: reads(offset)[:size], [one])
    walker = chains.Walk(memories, kind, step, 0)
    walker.table(BASE, 1)
    return walker.result


def test_a_chain_that_changes_once_is_read_again():
    """The node names its predecessor only from the second try on."""
    seen = []

    def reads(offset):
        seen.append(offset)
        if offset == 0:
            return struct.pack("<Q", BASE + 64)
        return struct.pack("<QQ", 0, BASE if len(seen) > 2 else BASE + 8)

    found = walk(reads)
    assert (found.of, found.again, found.torn) == ({0: 0, 1: 1}, 1, 0)


def test_four_tries_and_no_more():
    seen = []

    def reads(offset):
        seen.append(offset)
        return struct.pack("<QQ", BASE + 64, BASE + 8)

    found = walk(reads)
    assert (found.torn, seen.count(64)) == (1, chains.TRIES)


def test_a_chain_without_end_is_cut():
    def reads(offset):
        return struct.pack("<QQ", BASE + offset + 8, BASE + max(offset - 8, 0))

    found = walk(reads)
    assert found.of[chains.LONGEST] == found.capped == 1


@pytest.mark.parametrize("step", [8, 12, 20])
def test_buckets_of_any_size(step):
    data = bytearray(step * 3 + 64)
    struct.pack_into("<Q", data, step, BASE + step * 3)
    struct.pack_into("<QQ", data, step * 3, 0, BASE + step)
    one = memory.Extents([(BASE, len(data), 0)])
    walker = chains.Walk(
        memory.Memory(lambda size, at: bytes(data[at : at + size]), [one]), chains.HLIST, step, 0
    )
    walker.table(BASE, 3)
    assert walker.result.of == {0: 2, 1: 1}


def test_a_locked_empty_bucket_is_empty():
    assert walk(lambda offset: struct.pack("<Q", 1), chains.BL).of == {0: 1}


def test_a_table_whose_chains_all_lead_nowhere_is_not_shown(toy):
    core = ToyCore().usual()
    base = core.room("css_set_table", 8 * 16)
    core.room("after_css_set_table", 0)
    core.write(base, *range(BASE + 8, BASE + 8 + 16 * 64, 64))
    done = hashstats("show", *toy(core))
    assert "not read: css_set: 16 of its 16 chains lead nowhere" in done.stderr
    assert "css_set" not in done.stdout


# --- what cannot be had -------------------------------------------------------------


def test_no_types(toy):
    assert "expected CONFIG_DEBUG_INFO_BTF=y" in refused("show", *toy(ToyCore(types=b"").usual()))


def test_no_variables(toy):
    assert "CONFIG_KALLSYMS_ALL=y" in refused("show", *toy(ToyCore()))


def test_hidden_symbols(tmp_path):
    core, symbols = ToyCore().usual().files(tmp_path)
    symbols.write_text(ToyCore().usual().kallsyms(hidden=True))
    line = refused("show", "--core", core, "--kallsyms", symbols)
    assert "it has no addresses" in line


def test_symbols_without_an_end(tmp_path):
    core, symbols = ToyCore().usual().files(tmp_path)
    symbols.unlink()
    symbols.symlink_to("/dev/zero")
    words = ["show", "--core", core, "--kallsyms", symbols]
    done = corpus.hashstats(*words, wrapper=["prlimit", f"--as={corpus.MEMORY}"])
    assert f"{symbols}, line 1: " in corpus.complaint(done)


@pytest.mark.parametrize("line", ["address T _stext", "\xff", "  "])
def test_symbols_that_are_none(line, tmp_path):
    """The message names their file, not the dump."""
    core, symbols = ToyCore().usual().files(tmp_path)
    text = symbols.read_text()
    symbols.write_text(f"{text}\n{line}\n{text}", encoding="latin-1")
    number = text.count("\n") + 2
    complaint = refused("show", "--core", core, "--kallsyms", symbols)
    assert complaint.startswith(f"hashstats: {symbols}, line {number}: ")
    assert complaint.endswith(", expected 'ADDRESS TYPE NAME'\n")


def test_an_old_kernel(toy):
    line = refused("show", *toy(ToyCore("5.10.0-toy").usual()))
    assert "this is Linux 5.10.0-toy, expected 6.1 or newer" in line


def test_a_new_kernel_is_tried(toy):
    done = hashstats("show", *toy(ToyCore("99.0.0").usual()))
    assert "newer than 7.3, the last kernel that this hashstats knows" in done.stderr
    assert "inode" in done.stdout


def test_not_a_core(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"version: 1\n" * 20)
    assert "not an ELF file" in refused("show", "--core", path)
    assert "No such file" in refused("show", "--core", tmp_path / "none")


@pytest.mark.parametrize("at", [4, 5])
def test_another_machine(tmp_path, at):
    core, symbols = ToyCore().usual().files(tmp_path)
    data = bytearray(core.read_bytes())
    data[at] ^= 3
    core.write_bytes(data)
    line = refused("show", "--core", core, "--kallsyms", symbols)
    assert "a 32-bit or big-endian file" in line


def test_no_vmcoreinfo(tmp_path):
    core, symbols = ToyCore().usual().files(tmp_path)
    core.write_bytes(ToyCore().usual().bytes(note=False))
    line = refused("show", "--core", core, "--kallsyms", symbols)
    assert "it has no VMCOREINFO" in line


def test_a_compressed_dump_without_a_library(tmp_path):
    path = tmp_path / "vmcore"
    path.write_bytes(b"KDUMP   " + bytes(4096))
    assert "accepted: with python3-libkdumpfile installed" in refused("show", "-f", path)


def test_a_flat_dump(tmp_path):
    path = tmp_path / "vmcore"
    path.write_bytes(b"makedumpfile\0" + bytes(4096))
    assert "accepted: what `makedumpfile -R` makes of it" in refused("show", "-f", path)


@pytest.mark.parametrize("command", [["show"], ["hist", "inode"], ["diff", AFTER]], ids=str)
def test_a_file_and_a_core_exclude_each_other(command, tmp_path):
    core, _ = ToyCore().usual().files(tmp_path)
    assert "-f and --core; accepted: one" in refused(*command, "-f", AFTER, "--core", core)


def test_a_core_is_after(toy):
    """What diff compares with: no word names another file."""
    done = hashstats("diff", AFTER, "after", *toy(ToyCore().usual()))
    assert done.returncode == 2 and "no table 'after'" in done.stderr


@pytest.mark.parametrize(
    "words", [["show", "-f", AFTER], ["hist", "inode", "-f", AFTER], ["show", "-f", "-"]], ids=str
)
def test_symbols_are_for_a_core_only(words, tmp_path):
    _, symbols = ToyCore().usual().files(tmp_path)
    assert "hashstats: --kallsyms: " in refused(*words, "--kallsyms", symbols)


def test_symbols_for_a_core_that_hist_reads(toy):
    _, core, *symbols = toy(ToyCore().usual())
    assert hashstats("hist", "inode", "-f", core, *symbols).returncode == 0


@pytest.mark.parametrize("seed", range(40))
def test_damage_never_ends_in_a_traceback(tmp_path, seed):
    """Bytes of the dump are changed, or its end is cut off."""
    luck = random.Random(seed)
    core, symbols = ToyCore().usual().files(tmp_path)
    data = bytearray(core.read_bytes())
    used = 1 << 14
    for _ in range(luck.choice((1, 20, 400))):
        data[luck.randrange(used)] = luck.randrange(256)
    # The first bytes say that it is a dump at all.
    data[:6] = b"\x7fELF\x02\x01"
    core.write_bytes(data[: luck.choice((None, None, 200, 5000))])
    done = hashstats("show", "--core", core, "--kallsyms", symbols)
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr


# --- the parts ---------------------------------------------------------------------


def test_members_of_unnamed_structures_and_paths():
    structs = STRUCTS | {"outer": [("a", "int", 0), ("", "wait_queue_head", 8)]}
    found = types.Btf(btf(structs))
    number = found.struct("outer")
    assert found.member(number, "head.next")[0] == 16
    assert found.member(found.struct("futex_hash_bucket"), "chain.node_list.prev")[0] == 16
    assert found.size(found.unnamed(("queues", "hashsize"))) == 16
    for name, wanted in (("outer", "head.none"), ("outer", "a.b")):
        with pytest.raises(Missing):
            found.member(found.struct(name), wanted)
    with pytest.raises(Missing):
        found.struct("none")


def test_offsets_of_a_structure_with_bit_fields():
    structs = {"one": [("a", "int", 0), ("b", "int", 4)]}
    found = types.Btf(btf(STRUCTS | structs, bits=True))
    assert found.member(found.struct("wait_queue_head"), "head.prev")[0] == 16


@pytest.mark.parametrize("data", [b"", bytes(24), btf()[:40], b"\x9f\xeb" + bytes(10)])
def test_bad_types_are_told(data):
    with pytest.raises(Missing):
        types.Btf(data).struct("list_head")


def test_an_unknown_kind_of_type():
    data = bytearray(btf())
    data[24 + 7] = 30
    with pytest.raises(Missing, match="kind 30"):
        types.Btf(bytes(data))


SYMBOLS = b"""\
0000000000001000 T _stext
0000000000002000 d first
0000000000002000 d alias
0000000000002040 d mm_slots_hash
0000000000002080 d khugepaged_scan
0000000000003000 b ksm_pages
0000000000003010 b mm_slots_hash
0000000000003090 b one_stable_tree
ffffffffc0000000 d hidden_one\t[module]
"""


def test_room_reaches_to_the_next_address():
    found = kallsyms.Symbols(SYMBOLS)
    assert found.one("first").room == 0x40
    assert not found.all("hidden_one") and not found.all("irst")


def test_neighbours_tell_two_symbols_apart():
    from hashstats_tool.stock import places

    # Far from each other, as in a kernel.
    between = b"".join(b"%016x b other%d\n" % (0x2090 + n, n) for n in range(40))
    cut = SYMBOLS.index(b"0000000000003000")
    found = kallsyms.Symbols(SYMBOLS[:cut] + between + SYMBOLS[cut:]).all("mm_slots_hash")
    for entry, address in (("ksm_mm", 0x3010), ("khugepaged_mm", 0x2040)):
        [place] = [one.place for one in catalog.TABLES if one.name == entry]
        assert places.chosen(place, found).address == address


@pytest.mark.parametrize("scheme", ["absolute per-CPU", "relative", "to itself"])
def test_symbols_out_of_memory(scheme):
    """The tables from which the kernel makes /proc/kallsyms, in their three forms."""
    names = [(TEXT, b"T_stext"), (TEXT + 0x40, b"da_table"), (TEXT + 0x90, b"bz")]
    tokens = {letter: bytes([letter]) for _, name in names for letter in name}
    table = b"".join(tokens.get(n, b"?") + b"\0" for n in range(256))
    packed = b"".join(bytes([len(name)]) + name for _, name in names)
    core, at = bytearray(8192), {}
    info = {"SYMBOL(_stext)": f"{TEXT:x}"}

    def store(name, data):
        start = at.setdefault(name, 64 * (1 + sum(-(-len(d) // 64) for d in stored)))
        stored.append(data)
        core[start : start + len(data)] = data
        info[f"SYMBOL(kallsyms_{name})"] = f"{BASE + start:x}"
        return BASE + start

    stored: list[bytes] = []
    store("names", packed)
    store("num_syms", struct.pack("<I", len(names)))
    store("token_table", table)
    store("token_index", struct.pack("<256H", *range(0, 512, 2)))
    start = BASE + 64 * (1 + sum(-(-len(d) // 64) for d in stored))
    if scheme == "to itself":
        # A table of symbols lies near the symbols themselves.
        names = [(start - 0x1000 + n, name) for n, (_, name) in enumerate(names)]
        info["SYMBOL(_stext)"] = f"{names[0][0]:x}"
        offsets = [address - start - 4 * n for n, (address, _) in enumerate(names)]
    elif scheme == "relative":
        offsets = [address - TEXT for address, _ in names]
    else:
        offsets = [-1 - (address - TEXT) for address, _ in names]
    store("offsets", struct.pack("<3i", *offsets))
    if scheme != "to itself":
        store("relative_base", struct.pack("<Q", TEXT))
    whole = memory.Memory(
        lambda size, offset: bytes(core[offset : offset + size]),
        [memory.Extents([(BASE, len(core), 0)])],
    )
    lines = kallsyms.in_memory(whole, info).decode().splitlines()
    assert lines == [f"{a:016x} {n[:1].decode()} {n[1:].decode()}" for a, n in names]


def test_page_tables():
    """A small page, a large one, and what is not mapped."""
    core = bytearray(1 << 16)

    def word(place, value):
        struct.pack_into("<Q", core, place, value)

    virtual = 0xFFFFC90000123000
    levels = [virtual >> shift & 511 for shift in (39, 30, 21, 12)]
    for level, entry in enumerate(levels[:3]):
        word(0x1000 * (level + 1) + 8 * entry, 0x1000 * (level + 2) | 1)
    word(0x4000 + 8 * levels[3], 0x8000 | 1)
    word(0x3000 + 8 * (levels[2] + 1), 0 | 0x81)  # 2 MiB from physical 0

    def fetch(size, offset):
        return bytes(core[offset : offset + size])

    physical = memory.Extents([(0, len(core), 0)])
    tables_ = paging.PageTables(fetch, physical, 0x1000, 4)
    reads = memory.Memory(fetch, [tables_])
    core[0x8010:0x8014] = b"here"
    assert reads.read(virtual + 16, 4) == b"here"
    large = (virtual & -(1 << 21)) + (1 << 21)
    assert reads.read(large + 0x8010, 4) == b"here"
    # The file ends before the large page does.
    for address in (virtual + 4096, large + (1 << 16), 0xFFFFFFFFFFFFFFF8, 0xFFFF800000000000):
        with pytest.raises(BadAddress):
            reads.read(address, 8)


def test_many_program_headers(tmp_path):
    """The number of program headers may stand in the first section header."""
    data = bytearray(ToyCore().bytes())
    struct.pack_into("<H", data, 56, 0xFFFF)
    struct.pack_into("<Q", data, 40, len(data))
    data += struct.pack("<IIQQQQIIQQ", *[0] * 7, 2, 0, 0)
    path = tmp_path / "core"
    path.write_bytes(data)
    core = elf.Core(path, "core")
    assert len(core.segments) == 1 and b"VMCOREINFO" in core.notes
    core.close()


def test_text_of_memory_ends_where_memory_does():
    data = b"x" * 60 + b"name"
    reads = memory.Memory(
        lambda size, at: data[at : at + size], [memory.Extents([(BASE, len(data), 0)])]
    )
    with pytest.raises(BadAddress):
        reads.text(BASE)


def test_the_catalog_has_each_table_once_a_version():
    for version in ((6, 1), (6, 6), (6, 12), (6, 16), (7, 0), (7, 3)):
        names = [entry.name for entry in catalog.TABLES if entry.holds(version)]
        assert len(names) == len(set(names)) and {"dentry", "inode", "futex", "udp"} <= {*names}


def test_a_name_spares_the_walks_of_other_tables(tmp_path):
    from hashstats_tool.stock import reader

    core, symbols = map(str, ToyCore().usual().files(tmp_path))
    text = reader.read(core, "vmcore", symbols, ["inode"]).decode()
    assert re.findall("^name: (.*)", text, re.MULTILINE) == ["inode"]
    # If a name is unknown, the message lists the tables that exist.
    done = hashstats("show", "nosuch", "--core", core, "--kallsyms", symbols)
    assert done.returncode == 2 and "no table 'nosuch'" in done.stderr
    assert "dentry" in done.stderr and "inode" in done.stderr


def said_of(*words):
    done = hashstats(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout
