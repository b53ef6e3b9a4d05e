# SPDX-License-Identifier: GPL-2.0
"""The multi-user benchmark's machinery: its load, its disk, its figures."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import common
from bench import record, symbol_counts
from bench.cases import multiuser as bench_multiuser
from bench.cases.multiuser import Job, Load, Side
from guest import debian_disk, initramfs, vm

LOAD = Load((2, 4), rounds=1, more=False)
SAMPLE = (Path(__file__).parents[1] / "samples" / "after.hashstats").read_text()


# The load.


def multiuser(folder, *words):
    return subprocess.run(
        [initramfs.tools() / "multiuser", folder, *words],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_rounds_of_users(tmp_path):
    """Each in a directory of its own; the first round is not reported."""
    (tmp_path / "script").write_text("pwd >> ../seen\nmkdir d\nrmdir d\n")
    done = multiuser(tmp_path, "../script", "-w", "3", "-n", "1", "-n", "2")
    assert (done.returncode, done.stderr) == (0, "")
    rounds = bench_multiuser.parse("=== rounds\n" + done.stdout, LOAD._replace(users=(1, 2)))
    assert [one["users"] for one in rounds] == [1, 2]
    assert min(one["rate"] for one in rounds) > 0
    seen = (tmp_path / "seen").read_text().splitlines()
    assert sorted(Path(path).name for path in seen) == [
        "user-0",
        "user-0",
        "user-0",
        "user-1",
        "user-1",
        "user-2",
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"script", "seen"}


def test_users_begin_together(tmp_path):
    """Each waits until both have come, which one after the other never do."""
    (tmp_path / "script").write_text(
        "touch ../$(basename $PWD).came\n"
        "until [ -e ../user-0.came ] && [ -e ../user-1.came ]; do :; done\n"
    )
    assert multiuser(tmp_path, "../script", "-n", "2").returncode == 0


@pytest.mark.parametrize(
    "script, said",
    [
        ("exit 3\n", "multiuser: 2 of 2 scripts failed\n"),
        ("kill -9 $$\n", "multiuser: 2 of 2 scripts failed\n"),
        ("> left\n", "multiuser: rmdir user-0: Directory not empty\n"),
    ],
)
def test_script_that_fails(tmp_path, script, said):
    (tmp_path / "script").write_text(script)
    done = multiuser(tmp_path, "../script", "-n", "2")
    assert (done.returncode, done.stderr) == (1, said)
    assert "seconds" not in done.stdout or "left" in script


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "usage: multiuser DIR SCRIPT"),
        (["s"], "usage: multiuser"),
        (["s", "-n", "0"], "-n 0: accepted: 1 to 1000"),
        (["s", "-n", "1001"], "-n 1001: accepted: 1 to 1000"),
        (["s", "-w", "x", "-n", "1"], "-w x: accepted: 1 to 1000"),
        (["s", *17 * ["-n", "1"]], "-n: accepted: 16 at most"),
    ],
)
def test_bad_arguments(words, said):
    done = multiuser(".", *words)
    assert done.returncode == 2
    assert said in done.stderr and not done.stdout


def test_no_such_folder():
    done = multiuser("/nowhere", "s", "-n", "1")
    assert (done.returncode, done.stderr) == (
        1,
        "multiuser: enter /nowhere: No such file or directory\n",
    )


# What stands for programs that this machine may lack.
STANDINS = {
    "cc": "printf '#!/bin/sh\\necho 168\\n' > $2; chmod +x $2",
    "ed": "cat > /dev/null; sed -i s/hundred/thousand/ $2",
    "nroff": "cat $2",
    "spell": "echo constatn",
}


def user_script(folder, **changed):
    """Run the users' script with those programs."""
    for name, text in (STANDINS | changed).items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    (folder / "user").mkdir()
    return subprocess.run(
        ["sh", bench_multiuser.SCRIPT],
        cwd=folder / "user",
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
        env={"PATH": f"{folder}/bin:{os.environ['PATH']}"},
    )


def test_users_script(tmp_path):
    done = user_script(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "user").iterdir())


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("cc", "exit 1", ""),
        (
            "cc",
            "printf '#!/bin/sh\\necho 25\\n' > $2; chmod +x $2",
            "user.sh: primes gave '25', expected '168'\n",
        ),
        ("ed", "cat > /dev/null", "user.sh: nroff gave '0', expected '1'\n"),
        ("nroff", "true", "user.sh: nroff gave '0', expected '1'\n"),
        ("spell", "echo wrong", "user.sh: spell gave 'wrong', expected 'constatn'\n"),
    ],
)
def test_wrong_result_ends_the_script(tmp_path, name, text, said):
    done = user_script(tmp_path, **{name: text})
    assert (done.returncode, done.stderr) == (1, said)


# The disk of the users' programs.


def status_of(*names):
    """What dpkg writes down for these packages, and for one that it lists first."""
    return "".join(
        f"Package: {name}\nStatus: install ok installed\nSource: a (0.1)\n"
        f"Version: 1:2.0-1+b1\nDescription: {name}\n\n"
        for name in ("base-files", *names)
    )


def test_versions_of_packages():
    found = debian_disk.versions(status_of(*debian_disk.PACKAGES))
    assert found == dict.fromkeys(("base-files", *debian_disk.PACKAGES), "1:2.0-1+b1")
    with pytest.raises(common.Failure, match="brought no package gcc"):
        debian_disk.versions(status_of(*debian_disk.PACKAGES[1:]))


def test_install_that_fails_is_one_line(tmp_path, monkeypatch):
    """The tool's own reason; a mirror that is not there gives one."""
    monkeypatch.setattr(debian_disk, "FOLDER", tmp_path)
    monkeypatch.setattr(debian_disk, "sources", lambda: [f"deb file:{tmp_path}/none bookworm main"])
    debian_disk.ensure_packages("disk")
    with pytest.raises(common.Failure) as failure:
        debian_disk.bootstrap(tmp_path / "root.tar")
    assert re.fullmatch(
        r"mmdebstrap could not install gcc .* iamerican: .*; full log: .*/mmdebstrap.log",
        str(failure.value),
    )
    assert "see its log" not in str(failure.value)


def test_sources_are_debians(monkeypatch):
    """Without package lists there are none, which is said."""
    for line in debian_disk.sources():
        assert re.fullmatch(r"deb [a-z]+:\S+ \S+ [a-z-]+", line), line
    done = subprocess.CompletedProcess([], 0, stdout="")
    monkeypatch.setattr(debian_disk, "run", lambda *words, **options: done)
    with pytest.raises(common.Failure, match="run `apt-get update`"):
        debian_disk.sources()


def test_disk_is_made_once(tmp_path, monkeypatch):
    made = []

    def make():
        debian_disk.IMAGE.write_text("")
        made.append(1)
        return {"gcc": "12"}

    monkeypatch.setattr(debian_disk, "FOLDER", tmp_path)
    monkeypatch.setattr(debian_disk, "IMAGE", tmp_path / "a,b.ext4")
    monkeypatch.setattr(debian_disk, "make", make)
    assert debian_disk.image() == (tmp_path / "a,b.ext4", {"gcc": "12"})
    # QEMU takes one comma of two.
    assert f"file={tmp_path}/a,,b.ext4,format=raw" in debian_disk.option()[1]
    assert len(made) == 1
    (tmp_path / "stamp").write_text("older")
    debian_disk.image()
    assert len(made) == 2


# What a guest says.

ROUND = """\
users: {users}
hundredths: 151
seconds: 1.509000
scripts-per-hour: 4771.4
"""


def test_rounds_are_read():
    output = (
        "noise\n=== rounds\n"
        + ROUND.format(users=2)
        + "=== counters\nversion: 1\n=== end\n"
        + ROUND.format(users=4)
    )
    two, four = bench_multiuser.parse(output, LOAD)
    assert two == {
        "users": 2,
        "hundredths": 151,
        "seconds": 1.509,
        "rate": 4771.4,
        "counters": "version: 1\n",
    }
    assert (four["users"], four["counters"]) == (4, "")


def test_what_is_missing_is_refused():
    with pytest.raises(common.Failure, match="rounds of no users; expected 2 4"):
        bench_multiuser.parse("", LOAD)
    with pytest.raises(common.Failure, match="rounds of 4 users; expected"):
        bench_multiuser.parse("=== rounds\n" + ROUND.format(users=4), LOAD)
    text = ROUND.format(users=2).replace("seconds: 1.5", "seconds: none 1.5")
    with pytest.raises(common.Failure, match="no seconds of a round: users: 2"):
        bench_multiuser.parse("=== rounds\n" + text, LOAD)


def test_tables_that_are_counted():
    found = bench_multiuser.counted_tables(SAMPLE)
    assert {"dentry", "inode", "bit_wait"} <= set(found)
    assert not {"mount", "dentry_lookup", "ucounts"} & set(found)
    dentry = found["dentry"]
    assert (dentry["lookups"], dentry["hits"]) == (6919, 5864)
    assert dentry["nodes_per_lookup"] == pytest.approx((5864 * 1.549 + 1055 * 0.466) / 6919)
    assert found["bit_wait"]["nodes_per_wake"] == 1
    with pytest.raises(common.Failure, match="counted nothing while"):
        bench_multiuser.counted_tables("version: 1\n")


BOOT = """\
[    0.010000] Dentry cache hash table entries: 131072 (order: 8, 1048576 bytes)
[    0.010000] Inode-cache hash table entries: 65536 (order: 7, 524288 bytes)
[    0.010000] Mount-cache hash table entries: 2048 (order: 2, 16384 bytes)
[    0.010000] Mountpoint-cache hash table entries: 2048 (order: 2, 16384 bytes)
[    0.010000] futex hash table entries: 512 (order: 3, 32768 bytes)
"""


def test_sizes_of_the_base():
    found = bench_multiuser.base_sizes(BOOT)
    assert (found["dentry"], found["mount"], found["futex"]) == (131072, 2048, 512)
    assert found["folio_wait"] == 256
    with pytest.raises(
        common.Failure,
        match="no size of its table futex: 'futex hash table entries: ' is not there",
    ):
        bench_multiuser.base_sizes(BOOT.rpartition("[")[0])


# What is run.


def sides(*names):
    return [Side(name, None, {}) for name in names]


def test_words_of_a_side():
    assert sides("ours")[0].append == "nokaslr"
    assert (
        Side("quarter", None, {"dentry": 32, "buffer": 8}).append
        == "nokaslr hash_entries=dentry:32,buffer:8"
    )
    sizes = {"dentry": 4096, "inode": 4}
    assert bench_multiuser.scaled(sizes, 1, 4) == {"dentry": 1024, "inode": 2}
    assert bench_multiuser.scaled(sizes, 4, 1) == {"dentry": 16384, "inode": 16}


def test_tables_alone_at_the_base_size(empty, monkeypatch):
    """Where the base has the table, and of another size."""
    monkeypatch.setattr(vm, "run", lambda *words, **options: vm.Result(0, "", BOOT, 1.0))
    base, ours = sides("base", "ours")
    found = bench_multiuser.parts(
        empty,
        base,
        ours,
        {"dentry": 131072, "inode": 32768, "buffer": 16384, "bit_wait": 4096},
    )
    assert [(one.name, one.sizes) for one in found] == [
        ("inode", {"inode": 65536}),
        ("bit_wait", {"bit_wait": 256}),
    ]


@pytest.mark.parametrize(
    "more, names",
    [
        (False, ["base", "ours", "quarter", "four"]),
        (True, ["base", "ours", "quarter", "four", "small", "bit_wait"]),
    ],
)
def test_sides_follow_what_the_load_uses(empty, monkeypatch, more, names):
    def carry_out(result, jobs, _load):
        assert [(job.kind, job.name) for job in jobs] == [("nodes", "ours")]
        result.run(
            "nodes",
            tables={
                "bit_wait": {"buckets": 4096, "wakes": 1},
                "mbcache": {"buckets": 16384, "lookups": 0},
                "dentry": {"buckets": 131072, "lookups": 9},
            },
        )

    monkeypatch.setattr(bench_multiuser, "carry_out", carry_out)
    monkeypatch.setattr(vm, "run", lambda *words, **options: vm.Result(0, "", BOOT, 1.0))
    found = bench_multiuser.choose_sides(
        empty, {"base": "a", "ours": "b"}, LOAD._replace(more=more)
    )
    assert [one.name for one in found] == names
    assert [one.kernel for one in found[:3]] == ["a", "b", "b"]
    assert found[2].sizes == {"bit_wait": 1024, "mbcache": 4096, "dentry": 32768}


def test_size_that_was_not_taken():
    side = Side("four", None, {"dentry": 1024})
    bench_multiuser.check_sizes(side, {"dentry": {"buckets": 1024}, "inode": {"buckets": 1}})
    with pytest.raises(common.Failure, match="dentry:1024 gave 512 buckets"):
        bench_multiuser.check_sizes(side, {"dentry": {"buckets": 512}})


def test_plan():
    """Kernels take turns, the base again has only its instructions counted."""
    jobs = bench_multiuser.plan(LOAD._replace(rounds=2), sides("base", "ours", "four"))
    assert [(job.kind, job.name, job.number) for job in jobs] == [
        ("nodes", "four", 0),
        ("rate", "base", 0),
        ("rate", "ours", 0),
        ("rate", "four", 0),
        ("rate", "four", 1),
        ("rate", "ours", 1),
        ("rate", "base", 1),
        ("count", "base", 0),
        ("count", "ours", 0),
        ("count", "again", 0),
        ("count", "four", 0),
    ]
    assert jobs[1].title == "scripts an hour, base"


def test_estimate_knows_that_counting_is_slow():
    (base,) = sides("base")
    jobs = [Job("rate", base), Job("count", base), Job("rate", base)]
    assert [job.work for job in jobs] == [1, 2, 1]


def test_job_of_a_guest():
    said = bench_multiuser.script(LOAD, "-c")
    assert said.endswith("multiuser /mnt/home /home/user.sh -r /mnt -n 2 -n 4 -w 1 -c\n")
    assert "-n 2 -n 4 -n 8 -n 16 -w 1\n" in bench_multiuser.script(bench_multiuser.LOADS["long"])


# Instructions and figures.


def test_functions_of_tables():
    for name, of in (
        ("__d_lookup_rcu", "dentry"),
        ("d_lookup", "dentry"),
        ("___d_drop", "dentry"),
        ("find_inode_fast", "inode"),
        ("__find_get_block_slow", "buffer"),
        ("find_get_block_common", "buffer"),
        ("buffer_hash_find", "buffer"),
        ("xas_load", "page"),
        ("filemap_get_entry", "page"),
        ("xas_store", None),
        ("folio_wake_bit", "folio_wait"),
        ("__lookup_mnt", "mount"),
        ("wake_up_hashed", "bit_wait"),
        ("futex_hash", "futex"),
        ("mb_cache_entry_get", "mbcache"),
        ("d_alloc_parallel", "dentry_lookup"),
        ("find_inode_bit", None),
        ("next_uptodate_folio", None),
        ("lookup_fast", None),
        ("d_alloc", None),
    ):
        assert bench_multiuser.table_of(name) == of, name


def test_instructions_of_a_round():
    segment = symbol_counts.Segment(1)
    segment.insns.update(
        {
            "[user]": 900,
            "__d_lookup_rcu": 50,
            "xas_load": 20,
            "d_lookup": 5,
            "tick": 7,
            "schedule": 18,
        }
    )
    segment.entries.update({"__d_lookup_rcu": 10, "schedule": 2})
    assert bench_multiuser.instructions(segment, {"tick"}) == {
        "user_insns": 900,
        "all_insns": 100,
        "kernel_insns": 93,
        "table_insns": 75,
        "tables": dict.fromkeys(bench_multiuser.CODE, 0) | {"dentry": 55, "page": 20},
        "functions": {"__d_lookup_rcu": 50, "d_lookup": 5, "xas_load": 20},
        "calls": {"__d_lookup_rcu": 10, "d_lookup": 0, "xas_load": 0},
    }
    with pytest.raises(common.Failure, match="no function of the dentry table"):
        bench_multiuser.instructions(symbol_counts.Segment(1), set())


@pytest.fixture(name="empty")
def empty_result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    result = record.Result("multiuser", size="quick")
    result.machine(accelerator="tcg")
    return result


NAMES = ("base", "ours", "four")
COUNTED = {"buckets": 8, "objects": 4, "nodes_per_hit_expected": 1.25}


def fill(result, rounds=1):
    """Ours does 110 scripts an hour for 100, with 80 instructions for 100."""
    for users in LOAD.users:
        for name, rate, insns in (
            ("base", 100, 100),
            ("ours", 110, 80),
            ("four", 90, 70),
            ("again", 0, 104),
        ):
            result.run(
                "count",
                kernel=name,
                users=users,
                table_insns=insns * users,
                kernel_insns=1000 * users + insns,
                user_insns=5000 * users,
                tables=dict.fromkeys(bench_multiuser.CODE, 0) | {"dentry": insns * users},
            )
            for number in range(rounds):
                result.run(
                    "rate", kernel=name, users=users, round=number, rate=rate + number, seconds=2.5
                )
        for name, each in (("ours", 1.2), ("four", 1.1)):
            result.run(
                "nodes",
                kernel=name,
                users=users,
                tables={
                    "dentry": COUNTED | {"lookups": 9, "hits": 6, "nodes_per_lookup": each},
                    "bit_wait": COUNTED | {"wakes": 2, "nodes_per_wake": 0.5},
                },
            )


def test_rate_figures(empty):
    fill(empty, rounds=3)
    bench_multiuser.rate_figures(empty, sides(*NAMES), LOAD)
    figures = empty.data["figures"]
    assert figures["throughput_ratio_4"] == round(111 / 101, 6)
    assert figures["throughput_ratio_2_four"] == round(91 / 101, 6)
    assert figures["scripts_mean_2_base"] == 101
    assert figures["scripts_stdev_2_base"] == 1
    assert figures["scripts_max_4_ours"] == 112
    assert figures["scripts_elapsed_4_ours"] == 7.5
    assert "throughput_ratio_2_base" not in figures


def test_one_round_has_no_deviation(empty):
    fill(empty)
    bench_multiuser.rate_figures(empty, sides(*NAMES), LOAD)
    assert empty.data["figures"]["throughput_ratio_2"] == 1.1
    assert "scripts_stdev_2_base" not in empty.data["figures"]


def test_instruction_figures(empty):
    fill(empty)
    bench_multiuser.instruction_figures(empty, sides(*NAMES), LOAD)
    figures = empty.data["figures"]
    # The base is the mean of 100 and 104.
    assert figures["table_insn_ratio_2"] == round(80 / 102, 6)
    assert figures["table_insn_ratio"] == figures["table_insn_ratio_4"]
    assert figures["table_insn_ratio_4_four"] == round(70 / 102, 6)
    assert figures["table_insn_aa_ratio_4"] == 1.04
    assert figures["table_insns_per_script_2_base"] == 100
    assert figures["total_insn_ratio"] == round((4000 + 80) / (4000 + 102), 6)


def test_node_figures(empty):
    fill(empty)
    bench_multiuser.node_figures(empty, LOAD)
    assert empty.data["figures"] == {
        "nodes_per_lookup_dentry": 1.2,
        "nodes_per_wake_bit_wait": 0.5,
        "nodes_per_lookup_dentry_four": 1.1,
        "nodes_per_wake_bit_wait_four": 0.5,
    }


def test_tables(empty, capsys):
    fill(empty)
    bench_multiuser.show(empty, sides(*NAMES), LOAD)
    said = capsys.readouterr().out
    for line in (
        r"series +110.0 +- +110.0 +2.50 +1.100",
        r"series, tables of 4 times +90.0 +- +90.0 +2.50 +0.900",
        r"4, base again +104 +1026 +5000 +1.0400 +1.0010",
        r"dentry +100 +80 +70 +104",
        r"dentry, four +8 +4 +9 +6 +1.100 +1.250",
        r"bit_wait, series +8 +4 +2 +- +0.500 +1.250",
    ):
        assert re.search(f"^  {line}$", said, re.M), line


def test_row_of_a_table_alone():
    assert (
        bench_multiuser.title(Side("bit_wait", None, {"bit_wait": 256}))
        == "series, bit_wait:256 as in the base"
    )
    assert Job("count", sides("base")[0], again=True).title == "instructions, again"
