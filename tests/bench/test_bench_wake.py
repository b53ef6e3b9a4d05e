# SPDX-License-Identifier: GPL-2.0
"""The wakeup benchmark's machinery: what it reads, what it refuses."""

import os
import re

import pytest

import common
from bench import record
from bench.cases import wake as bench_wake
from guest import initramfs, uml
from series import gitcmd, source

LINE = (
    "wake_bench: key {key} layout {layout} cache {cache} foreign {foreign}"
    " queued {queued} min_ps {least} median_ps {median}\n"
)
SPREAD = "wake_bench: spread set_kb {size} waiting {others} wake_ps {time}\n"
BENCHES = ("dentry_bench", "index_bench", "mbcache_bench", "wake_bench")
LAYOUTS = (("none", "hot"), ("packed", "hot"), ("stacks", "cold"), ("stacks", "hot"))

# The lock of a folio is always asked for by its flag, never by its queue.
CASES = 2 * (1 + 3 * 4) + 3 * 4


def spread(sizes, time):
    return "".join(
        SPREAD.format(size=size, others=others, time=time)
        for size in sizes
        for others in bench_wake.OTHERS
    )


def output(wake_ns, queued=None, queues=256):
    """What a kernel prints: wake_ns for a wakeup of one entry that waits alone."""
    lines = [f"wake_bench: queues {queues}\n"]
    lines += [spread(bench_wake.SETS, 100 * wake_ns)]
    lines += [
        LINE.format(
            key=key,
            layout=layout,
            cache=cache,
            foreign=foreign,
            queued=foreign if queued is None else queued,
            least=1000 * (wake_ns + foreign),
            median=2000 * (wake_ns + foreign),
        )
        for key in ("bit", "var", "folio")
        for layout, cache in LAYOUTS[key == "folio" :]
        for foreign in (bench_wake.FOREIGN if layout != "none" else [0])
    ]
    return "Console initialized\n" + "".join(lines) + "wake_bench: end 0\n"


def test_lines_of_the_kernel_are_read():
    cases = bench_wake.parse(output(4), "256")
    assert len(cases) == CASES
    assert bench_wake.one_of(cases, key="bit", layout="stacks", cache="hot", foreign=64) == {
        "key": "bit",
        "layout": "stacks",
        "cache": "hot",
        "foreign": 64,
        "queued": 64,
        "min_ns": 68.0,
        "median_ns": 136.0,
    }


@pytest.mark.parametrize(
    "text, reason",
    [
        ("wake_bench: end -12\n", "did not end well: wake_bench: end -12"),
        ("Kernel command line:\n", "did not end well: it never began"),
        ("wake_bench: end 0\n", "printed no result"),
        (output(4, queued=3), "3 of 0 foreign waiters share the queue"),
    ],
)
def test_bad_output_is_refused(text, reason):
    with pytest.raises(common.Failure, match=reason):
        bench_wake.parse(text, "256")


def test_other_queues_are_no_error():
    assert bench_wake.parse(output(4, queued=3), "boot")


def test_wakeups_without_waiters_are_read():
    by_set = {"1024": 0.4, "4096": 0.4}
    assert bench_wake.parse_empty(output(4)) == {"0": by_set, "512": by_set}
    # The difference of two times may be below 0.
    assert bench_wake.parse_empty(spread(bench_wake.SETS, -3))["0"]["1024"] == -0.003


@pytest.mark.parametrize("sizes", [(), bench_wake.SETS[:1], (*bench_wake.SETS, 64)])
def test_wakeups_without_waiters_are_needed(sizes):
    with pytest.raises(common.Failure, match="printed no wakeups that find no waiter"):
        bench_wake.parse_empty(spread(sizes, 1))


def test_wakeups_among_other_waiters_are_needed():
    text = spread(bench_wake.SETS, 1)
    without = "".join(line for line in text.splitlines(True) if "waiting 512" not in line)
    for wrong in (without, text + SPREAD.format(size=1024, others=7, time=1)):
        with pytest.raises(common.Failure, match="printed no wakeups that find no waiter"):
            bench_wake.parse_empty(wrong)


def test_number_of_queues_is_checked():
    for name, queues in bench_wake.QUEUES.items():
        bench_wake.check_queues(output(4, queues=queues), name)
    with pytest.raises(common.Failure, match=r"expected 16384 queues for bits, found \[256\]"):
        bench_wake.check_queues(output(4), "boot")
    with pytest.raises(common.Failure, match=r"expected 256 queues for bits, found \[\]"):
        bench_wake.check_queues("", "256")


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: {"cpu": "a cpu"})
    one = record.Result("wake", size="quick")
    one.machine(huge_pages=True)
    return one


NS = {"base": 8, "again": 9, "patched": 4}


def test_figures(result, capsys):
    for compiler in bench_wake.COMPILERS:
        for turn in range(2):
            for kernel, queues in bench_wake.SIDES:
                text = output(NS[kernel] + turn)
                result.run(
                    "wake",
                    kernel=kernel,
                    compiler=compiler,
                    queues=queues,
                    round=turn,
                    cases=bench_wake.parse(text, queues),
                    empty=bench_wake.parse_empty(text),
                )
    bench_wake.wake_figures(result)
    figures = result.data["figures"]
    # The median of two rounds is their mean.
    ours, again = (round((ns / 8 + (ns + 1) / 9) / 2, 6) for ns in (4, 9))
    assert figures["ratio_plain_0"] == ours
    assert figures["ratio_retpoline_8"] == round((12 / 16 + 13 / 17) / 2, 6)
    assert figures["ratio_boot_size_512"] == round((516 / 520 + 517 / 521) / 2, 6)
    assert figures["aa_plain_0"] == again
    for compiler in bench_wake.COMPILERS:
        assert figures[f"wake_alone_{compiler}"] == figures[f"ratio_{compiler}_0"]
        for foreign in bench_wake.FOREIGN:
            for mark in "", "_cold", "_var", "_folio":
                name = f"{compiler}_{foreign}{mark}"
                assert {f"ratio_{name}", f"aa_{name}"} <= figures.keys()
    for mark in "", "_4m":
        for case in "empty_cold", "among_512":
            assert figures[f"aa_{case}{mark}"] == again
            for size in "256", "4g", "16g":
                assert figures[f"wake_{case}_{size}{mark}"] == ours
    bench_wake.wake_tables(result)
    bench_wake.empty_table(result)
    printed = capsys.readouterr().out
    assert "plain bit stacks hot 8" in printed
    assert re.search(r"1024 KiB, 512 +0.85 +0.45 +0.45 +0.45 +0.95 +0.528 +0.528 +0.528 ", printed)


def test_heads_are_timed(result):
    words = [initramfs.tools() / "wait_heads", 1, 100]
    found = bench_wake.parse_heads(common.run(words).stdout)
    assert len(found) == 4 * 2 * 2 * 2
    bench_wake.heads_figures(result, found)
    assert "heads_ratio_64_own_link_1_8" in result.data["figures"]


def test_heads_need_every_stride():
    line = "bits 8 stride 24 heads all op check others 0 ns 1.5\n"
    with pytest.raises(common.Failure, match="no result for some case"):
        bench_wake.parse_heads(line)


CALL = "int call(int (*function)(void)) { return function() + 1; }\n"


@pytest.mark.parametrize("compiler", uml.FLAGS)
def test_compiler_is_checked(compiler, tmp_path):
    (tmp_path / "call.c").write_text(CALL)
    common.run(
        [
            "gcc",
            "-O2",
            "-fcf-protection=none",
            *uml.FLAGS[compiler].split(),
            "-c",
            "-o",
            tmp_path / "call.o",
            tmp_path / "call.c",
        ]
    )
    uml.check_calls(tmp_path / "call.o", compiler)
    (other,) = uml.FLAGS.keys() - {compiler}
    with pytest.raises(common.Failure, match=f"in a {other} kernel"):
        uml.check_calls(tmp_path / "call.o", other)


@pytest.mark.parametrize("bench", BENCHES)
def test_bench_is_built_in(bench):
    repo = source.base_repo()
    base = gitcmd.ref("base", repo)
    commit = uml.with_bench(bench, base)
    assert commit == uml.with_bench(bench, base)
    changed = gitcmd.records("diff", "-z", "--name-only", "base", commit, repo=repo)
    assert sorted(changed) == sorted(["Kbuild", *uml.bench_files(bench)])
    for file in uml.bench_files(bench):
        assert gitcmd.out("show", f"{commit}:{file}", repo=repo) == (
            common.ROOT / file
        ).read_text().rstrip("\n")


@pytest.mark.parametrize("bench", BENCHES)
def test_objects_are_those_of_all_sources(bench):
    folder = f"{uml.BENCHES}/{bench}"
    objects = re.findall(r"([\w./]+)\.o\b", (common.ROOT / folder / "Kbuild").read_text())
    assert {os.path.normpath(f"{folder}/{name}.c") for name in objects} == {
        file for file in uml.bench_files(bench) if file.endswith(".c")
    }


@pytest.fixture
def program(tmp_path):
    """Something that is run in a kernel's place."""

    def make(script):
        path = tmp_path / "vmlinux"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return path

    return make


def test_output_is_returned(program):
    text = uml.boot(program('echo "$@"; test -d "$TMPDIR"'), append=["a=b"])
    assert text.endswith("mem=4096M con=null con0=null,fd:1 a=b\n")


def test_without_a_mount_of_its_own(program, monkeypatch):
    monkeypatch.setattr(uml, "namespace", lambda: [])
    text = uml.boot(program('echo "$TMPDIR"'))
    assert text == "uml: small pages\n\n"


@pytest.mark.parametrize(
    "script, limit, reason",
    [
        ("sleep 60", 1, "did not end within 1 s"),
        (
            "echo Kernel panic - not syncing: why; exit 134",
            60,
            "ended with status 134: Kernel panic - not syncing: why",
        ),
        ("echo Kernel panic - not syncing: why", 60, "ended with status 0: Kernel"),
        ("echo last words; exit 3", 60, "ended with status 3: .*last words"),
    ],
)
def test_bad_end_is_one_line(script, limit, reason, program):
    with pytest.raises(common.Failure, match=reason):
        uml.boot(program(script), limit=limit)


@pytest.mark.long
@pytest.mark.skipif(source.base_name() != "6.12", reason="the benchmark is for Linux 6.12")
@pytest.mark.parametrize("compiler", uml.FLAGS)
def test_base_times_wakeups(compiler):
    base = gitcmd.ref("base", source.base_repo())
    kernel = uml.kernel("wake_bench", "base", base, compiler, calls=bench_wake.WAKERS)
    assert not kernel.warnings
    text = uml.boot(kernel.vmlinux, append=["wake_bench.samples=10"])
    cases = bench_wake.parse(text, "256")
    assert len(cases) == CASES
    assert bench_wake.parse_empty(text)
    bench_wake.check_queues(text, "256")
    assert all(
        case["min_ns"] > 0 for case in cases if (case["layout"], case["cache"]) == ("stacks", "hot")
    )
