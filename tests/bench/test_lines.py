# SPDX-License-Identifier: GPL-2.0
"""Cache lines that move: the model on traces by hand, names, figures, and a guest."""

import subprocess

import pytest

import common
from bench.lib import symbols
from bench.lines import case as bench_lines
from bench.lines import objects, observe, structures
from common import packages

PLUGIN = common.ROOT / "bench/lib/plugin"


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    """A function: trace -> the model's records by their first word."""
    program = tmp_path_factory.mktemp("model") / "lines_trace"
    common.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, PLUGIN / "lines_trace.c"]
    )

    def run(trace, check=True):
        done = subprocess.run([program], input=trace, text=True, capture_output=True, check=False)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return observe.records(done.stdout + "end\n")

    return run


def operation(cpu, *events, label=4):
    """Events of one operation; `read 40 8 10` without its CPU."""
    inside = []
    for event in events:
        name, _, rest = event.partition(" ")
        inside.append(f"{name} {cpu} {rest}")
    return "\n".join([f"open {cpu} {label}", *inside, f"close {cpu} {label}"]) + "\n"


def turns(cpus, rounds, *events):
    """Each CPU in turn carries out the same; {cpu} stands for its number."""
    return "".join(
        operation(cpu, *(event.format(cpu=cpu, own=f"{0x1000 + 64 * cpu:x}") for event in events))
        for _ in range(rounds)
        for cpu in range(cpus)
    )


def transfers(found, label="4"):
    """(operations, transfers)"""
    (one,) = (words for words in found["op"] if words[0] == label)
    return int(one[1]), int(one[5])


@pytest.mark.parametrize("cpus", [2, 4, 16])
@pytest.mark.parametrize(
    "events, each",
    [
        # A lock: its line moves once, whatever is done while it is held.
        (("both 1000 4 10", "write 1008 8 11", "read 1010 8 12", "write 1000 1 13"), 1),
        # A load and a store of two instructions are a read and a write.
        (("read 1000 8 10", "write 1000 8 11"), 2),
        # Each CPU's own line.
        (("both {own} 8 10", "write {own} 8 11"), 0),
        # What nobody writes.
        (("read 1000 8 10", "read 1040 8 10"), 0),
        # Two lines by one access.
        (("write 103c 8 10",), 2),
    ],
)
def test_known_transfers(replay, cpus, events, each):
    found = replay("warm 1\n" + turns(cpus, 6, *events))
    assert transfers(found) == (5 * cpus, 5 * cpus * each)


def test_a_line_that_was_never_modified_is_free(replay):
    found = replay(turns(2, 1, "read 1000 8 10"))
    assert transfers(found) == (2, 0)


def test_first_reader_alone_fetches_what_one_wrote(replay):
    trace = "warm 0\nwrite 0 1000 8 9\n"
    for cpu in range(4):
        trace += operation(cpu, "read 1000 8 10")
    found = replay(trace)
    assert transfers(found) == (4, 1)
    assert [words[2] for words in found["hit"]] == ["0"]


def test_kinds_of_transfers(replay):
    trace = "write 0 1000 8 1\n" + operation(1, "read 1000 8 10", "write 1000 8 11")
    trace += "write 0 1000 8 1\n" + operation(1, "both 1000 8 12", label=5)
    trace += "read 0 1000 8 1\n" + operation(1, "both 1000 8 13", label=6)
    found = replay(trace)
    kinds = {(words[0], words[3]): observe.KINDS[int(words[2])] for words in found["hit"]}
    assert kinds == {
        ("4", "10"): "reads",
        ("4", "11"): "writes",
        ("5", "12"): "reads and writes",
        ("6", "13"): "reads and writes",
    }


def test_false_sharing_is_told_from_sharing(replay):
    trace = turns(2, 3, "write 100{cpu} 1 10", "write 1040 8 11", "read 1080 8 12")
    found = {words[1]: words[2:] for words in replay(trace)["line"]}
    assert found["40"] == ["0", "3", "0"]
    assert found["41"] == ["0", "ff", "1"]
    # Read only: it never moved, so it has no record.
    assert "42" not in found


def test_bytes_of_operations_that_take_turns_belong_together(replay):
    """One CPU writes in one operation what the other reads in the next."""
    trace = operation(0, "write 1000 8 10", label=4) + operation(1, "read 1000 8 11", label=5)
    assert [words[4] for words in replay(trace)["line"]] == ["1"]


def test_interrupts_move_lines_and_count_for_nobody(replay):
    found = replay(
        operation(0, "write 1000 8 10")
        + operation(1, "interrupt", "write 1000 8 20", "iret", "write 1000 8 11")
    )
    assert transfers(found) == (2, 0)
    (one,) = found["op"]
    assert one[3] == "1"


def test_operation_that_switched_tasks_does_not_count(replay):
    found = replay(
        operation(0, "write 1000 8 10") + operation(1, "write 1000 8 10", "switch", "read 0 8 1")
    )
    (one,) = found["op"]
    assert one[:3] == ["4", "1", "1"] and one[5] == "0"


def test_callers_of_a_transfer(replay):
    found = replay(
        "write 0 1000 8 1\n"
        + operation(1, "call a1", "call a2", "call a3", "return a3", "write 1000 8 10")
    )
    assert [words[3:8] for words in found["hit"]] == [["10", "a2", "a1", "0", "0"]]


def test_instructions_of_a_lock(replay):
    taken = ("block 10", "exclusive 1000 4 10", "block 7", "block 3", "write 1000 1 11")
    (lock,) = replay(turns(2, 1, *taken))["lock"]
    address, kind, count, insns, cpus, moved = lock[1], lock[2], *lock[-4:]
    # From the first block to the third: 10 + 7 behind the start of the first.
    assert (address, kind, count, insns, cpus) == ("1000", "1", "2", "34", "3")
    # The second CPU fetched the line of the lock from the first.
    assert moved == "1"


def test_lines_that_move_while_a_lock_is_held(replay):
    taken = (
        "write 3000 8 8",
        "block 5",
        "exclusive 1000 4 10",
        "read 2000 8 11",
        "write 2000 8 12",
        "write 1000 1 13",
        "write 4000 8 14",
    )
    (lock,) = replay("warm 2\n" + turns(4, 4, *taken))["lock"]
    # Its own line, a read and a write; not what moves before and behind.
    assert (lock[-4], lock[-1]) == ("8", "24")


def test_two_locks_held_at_a_time(replay):
    trace = operation(
        0,
        "block 5",
        "exclusive 1000 4 10",
        "block 5",
        "shared 2000 8 20",
        "block 5",
        "write 1000 1 11",
        "block 5",
        "both 2000 8 21",
    )
    found = {words[1]: (words[2], words[-3]) for words in replay(trace)["lock"]}
    assert found == {"1000": ("1", "10"), "2000": ("2", "10")}


@pytest.mark.parametrize(
    "line",
    ["read 0 1000", "fetch 0 1000 8 10", "open 0 256", "read 64 0 8 1", "read 0 0 65 1", "block 0"],
)
def test_bad_event_is_named(replay, line):
    done = replay(f"warm 1\n{line}\n", check=False)
    assert done.returncode == 2
    assert f"line 2 is no event: {line}" in done.stderr


# Names.

SYSTEM_MAP = """\
ffffffff81000000 T __switch_to_asm
ffffffff81000100 T _raw_spin_lock
ffffffff81000140 T make_inode
ffffffff81000200 T asm_sysvec_apic_timer_interrupt
ffffffff82000000 D inode_lock
ffffffff82000004 D next_number
"""


class Named:
    """Names as an image of memory would give them."""

    def learn(self, found):
        self.learned = list(found)

    def name(self, line, mask):
        return f"line {line:x} {mask:x}"


@pytest.fixture
def system_map(tmp_path):
    (tmp_path / "System.map").write_text(SYSTEM_MAP)
    return symbols.Symbols(tmp_path / "vmlinux")


OP = "op 4 10 0 1 5000 20\n"
HIT = "hit 4 3fffffffe080000 2 81000104 81000150 81000210 0 0 20\n"
LINE = "line 1 3fffffffe080000 f ff 1\n"
LOCK = "lock 4 ffffffff82000000 1 81000104 81000150 0 0 0 10 1000 3 7\n"


def test_names_of_a_run(system_map):
    names = Named()
    found = observe.attribute(
        OP + HIT + LINE + LOCK + "end\n", {4: "tmpfs create"}, system_map, names, []
    )
    assert names.learned == [0x3FFFFFFFE080000]
    (op,), (hit,), (section,) = found.ops, found.hits, found.sections
    assert (op.name, op.each) == ("tmpfs create", 2)
    # The lock function is a helper: its caller has the name.
    assert hit[:5] == (
        "tmpfs create",
        "line 3fffffffe080000 ff",
        "reads and writes",
        "make_inode",
        True,
    )
    assert section[-3:] == (1000, 3, 7) and section.function == "make_inode"


@pytest.mark.parametrize(
    "text, reason",
    [
        (OP, "cut off"),
        ("op 4 10\nend\n", "cannot be read: op 4 10"),
        ("what 1\nend\n", "cannot be read: what 1"),
        ("", "cut off"),
    ],
)
def test_bad_file_of_the_plugin(text, reason):
    with pytest.raises(common.Failure, match=reason):
        observe.records(text)


@pytest.mark.parametrize("output", ["", "op 4 tmpfs create\n", "end\n"])
def test_bad_output_of_the_load(output):
    with pytest.raises(common.Failure, match="lineops did not end well"):
        observe.operations(output)


def test_config_names_what_the_plugin_needs(system_map):
    text = observe.config(system_map, 20)
    assert "warm 20\n" in text
    assert "switch ffffffff81000000\n" in text
    assert "interrupt ffffffff81000200\n" in text
    assert "exclusive ffffffff81000100 ffffffff81000140\n" in text


def test_kernel_without_these_functions(tmp_path):
    (tmp_path / "System.map").write_text("ffffffff81000200 T asm_sysvec_apic_timer_interrupt\n")
    with pytest.raises(common.Failure, match="no function that acquires a lock"):
        observe.config(symbols.Symbols(tmp_path / "vmlinux"), 0)


def test_window_has_names():
    first = observe.WINDOW // 64
    named = [observe.object_name(None, first + at, 1) for at in range(5)]
    assert named[:3] == ["window.lock", "window.slots", "window.published"]
    assert named[3:] == ["window.counters"] * 2


def test_symbols_under_the_bytes():
    one = objects.Objects.__new__(objects.Objects)
    one.data = [
        objects.Symbol(0xFFFFFFFF82000000, "inode_lock"),
        objects.Symbol(0xFFFFFFFF82000004, "next_number"),
        objects.Symbol(0xFFFFFFFF82000040, "far"),
    ]
    line = 0xFFFFFFFF82000000 // 64
    assert one.symbols_of(line, 0x0F) == ["inode_lock"]
    assert one.symbols_of(line, 0xFF) == ["inode_lock", "next_number"]
    assert objects.shown(["inode_lock"]) == "inode_lock"
    assert objects.shown(["inode_lock", "next_number"]) == "{inode_lock, next_number}"


TYPES = """
struct list { struct list *next, *prev; };
struct thing { unsigned int lock; unsigned long uses; };
struct inner { struct list chain; struct thing *owner; char name[24]; };
struct holder { long first; struct inner in; union { int number; void *any; }; struct list own; };
struct holder holder;
"""


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    """Structures as pahole gives those of a kernel's objects."""
    packages.ensure_packages("types")
    folder = tmp_path_factory.mktemp("types")
    (folder / "types.c").write_text(TYPES)
    common.run(["gcc", *structures.DEBUG, "-c", "-o", folder / "t.o", folder / "types.c"])
    common.run(["pahole", "-J", f"--btf_encode_detached={folder}/t.btf", folder / "t.o"])
    return structures.Structures((folder / "t.btf").read_bytes())


def test_fields_of_a_structure(types):
    assert types.fields("holder") == [
        (0, 8, "first"),
        (8, 16, "in.chain"),
        (24, 8, "in.owner"),
        (32, 24, "in.name"),
        (56, 4, "number"),
        (56, 8, "any"),
        (64, 16, "own"),
    ]
    assert types.touched("holder", 0, 0b1) == ["first"]
    assert types.touched("holder", 16, 0x1FF) == ["in.chain", "in.owner"]
    assert types.touched("holder", -8, 0x100) == ["first"]
    assert types.touched("nothing", 0, 1) == []


def test_what_a_field_points_to(types):
    assert types.pointee("holder", 24) == ("in.owner", "thing")
    assert types.pointee("holder", 56) == ("any", "")
    assert types.pointee("holder", 0) == ("", "")
    assert types.pointee("nothing", 0) == ("", "")


class Image(objects.Objects):
    """A memory in which slabs are told: {start: (cache, size, objects)}."""

    def __init__(self, ram, types, slabs):
        self.ram, self.types, self.slabs = ram, types, slabs
        self.owners, self.cpu_areas, self.tables, self.vmemmap = {}, [], [], 0
        self.direct = 0xFFFF888000000000
        self.data = [objects.Symbol(0xFFFFFFFF80000200, "root")]
        self.symbols = {"_end": 0xFFFFFFFF80000240, "__init_begin": 0, "__init_end": 0}
        self.vmemmap = 0xFFFFEA0000000000

    def slab(self, address):
        for start, (cache, size, many) in self.slabs.items():
            at = address - self.direct - start
            if 0 <= at < size * many:
                return objects.Slab(cache, size, address - at % size)
        return None


def test_pointers_are_followed(types, tmp_path):
    ram = bytearray(0x4000)
    slabs = {
        0x1000: ("holder", 128, 4),
        0x2000: ("kmalloc-64", 64, 8),
        0x3000: ("kmalloc-96", 64, 4),
    }

    def point(at, target):
        ram[at : at + 8] = (0xFFFF888000000000 + target).to_bytes(8, "little")

    point(0x1000 + 24, 0x2040)  # in.owner of the first holder
    point(0x1000 + 128 + 56, 0x2040)  # `any` of the second says less
    point(0x1000 + 256 + 56, 0x3000)  # `any` of the third
    point(0x200, 0x3040)  # a variable
    (tmp_path / "ram").write_bytes(ram)
    image = Image(tmp_path / "ram", types, slabs)
    lines_ = [(0xFFFF888000000000 + at) // 64 for at in (0x2040, 0x3000, 0x3040, 0x2080)]
    image.learn(lines_)
    named = [image.name(line, 0xFF00) for line in lines_]
    assert named == ["thing.uses", "*holder.any", "*root", "kmalloc-64"]
    assert image.name((0xFFFF888000000000 + 0x1000) // 64, 0xFF00FF) == "holder.{first, in.chain}"


def test_a_pointer_with_a_type_is_waited_for(types, tmp_path):
    """The holder is an object whose own type is known only after one round."""
    ram = bytearray(0x4000)
    slabs = {0x1000: ("holder", 128, 1), 0x2000: ("kmalloc-128", 128, 8), 0x3000: ("thing", 64, 1)}
    types_ = Pointing(types, {("thing", 8): ("uses", "holder")})

    def point(at, target):
        ram[at : at + 8] = (0xFFFF888000000000 + target).to_bytes(8, "little")

    point(0x3000 + 8, 0x2000)  # a thing leads to the first object, a holder
    point(0x2000 + 24, 0x2100)  # which leads to the second by in.owner
    point(0x1000 + 56, 0x2100)  # a pointer without a type would name it at once
    (tmp_path / "ram").write_bytes(ram)
    image = Image(tmp_path / "ram", types_, slabs)
    image.learn([(0xFFFF888000000000 + 0x2100) // 64])
    assert image.name((0xFFFF888000000000 + 0x2100) // 64, 0xF) == "thing.lock"


class Pointing:
    """Types in which some fields are pointers."""

    def __init__(self, types, pointers):
        self.types, self.pointers = types, pointers

    def pointee(self, name, offset):
        return self.pointers.get((name, offset)) or self.types.pointee(name, offset)

    def __getattr__(self, name):
        return getattr(self.types, name)


def test_mask_of_bytes():
    assert structures.bits(0, 4) == 0xF
    assert structures.bits(-4, 8) == 0xF
    assert structures.bits(-8, 4) == 0
    assert structures.bits(2, 1) == 4


def test_debug_command_keeps_what_made_the_object(tmp_path):
    record_ = tmp_path / "fs" / ".one.o.cmd"
    record_.parent.mkdir()
    record_.write_text(
        "savedcmd_fs/one.o := gcc -Wp,-MMD,fs/.one.o.d -O2 -c -o fs/one.o one.c ; objtool one.o\n"
        "other := x\n"
    )
    assert structures.debug_command(tmp_path, "fs/one.o") == "gcc -O2"
    with pytest.raises(common.Failure, match="built without fs/two.o"):
        structures.debug_command(tmp_path, "fs/two.o")
    record_.write_text("savedcmd_fs/one.o := ld -o fs/one.o\n")
    with pytest.raises(common.Failure, match="expected a command with -c -o fs/one.o"):
        structures.debug_command(tmp_path, "fs/one.o")


# A guest.


def test_guest_gives_the_known_answers(kernel):
    """Twice the same, and a file that several CPUs make is a line of its directory."""
    types = structures.structures(kernel)
    runs = [observe.observe(kernel, types, 2, 5, 5, ("known", "tmpfs")) for _ in range(2)]
    assert runs[0].text == runs[1].text
    bench_lines.check_known(runs[0], 2)
    objects_ = {one.object for one in runs[0].hits if one.op == "tmpfs create"}
    assert "dentry.d_lockref" in objects_
