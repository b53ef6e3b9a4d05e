# SPDX-License-Identifier: GPL-2.0
"""What all tests share: their order, the kernel, where the time went.

The cheapest come first.  What a folder of guests or benchmarks can check
without a kernel is a stage of its own before the kernel is built.
"""

import collections
import contextlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from check.tests import TARGET, TIMES
from common import flag
from kernel import build
from report import proof
from series import compose, worktree

STAGES = (
    "lint",
    "unit",
    "series",
    "tool",
    "host",
    "guest",
    # One long chain of builds in one worker: the other one has the rest.
    "patches",
    "kernel",
    "bench",
    "long",
)
NEED_A_KERNEL = STAGES[STAGES.index("guest") :]
TESTS = Path(__file__).parent
TOOL = TESTS.parent / "tools/hashstats/tests"
# {stage: [tests, seconds, seconds of processor time]}
SPENT = collections.defaultdict(lambda: [0, 0, 0])
# {long test: (outcome, seconds)}
OUTCOMES = {}


# --- order -------------------------------------------------------------------


def stage(item):
    """What a test costs: its folder, but for those that need less."""
    marked = item.get_closest_marker("stage")
    if marked:
        return marked.args[0]
    if TOOL in item.path.parents:
        return "long" if item.get_closest_marker("long") else "tool"
    folder = item.path.relative_to(TESTS).parts[0]
    if item.get_closest_marker("long"):
        return "long"
    if folder in NEED_A_KERNEL and "kernel" not in item.fixturenames:
        return "host"
    return folder


# After pytest's own order, by the scopes of fixtures, which stays in a stage.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: STAGES.index(stage(item)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Workers take files in the order of their tests, whole but for stages."""
    from xdist.scheduler import LoadScopeScheduling

    class FilesInOrder(LoadScopeScheduling):
        def schedule(self):
            if self.collection is None:
                self.scopes = scopes(next(iter(self.registered_collections.values())))
            super().schedule()

        def _split_scope(self, nodeid):
            return self.scopes[nodeid]

    config.option.loadscopereorder = False
    return FilesInOrder(config, log)


def scopes(nodeids):
    """{test: name of the run of tests of one file that it is in}"""
    result, last, number = {}, None, 0
    for nodeid in nodeids:
        path = nodeid.partition("::")[0]
        number += path != last
        last = path
        result[nodeid] = f"{number} {path}"
    return result


# --- kernels -----------------------------------------------------------------


@pytest.fixture(scope="session")
def visibly(request):
    """A context in which progress is printed on the terminal, not captured."""
    manager = request.config.pluginmanager.getplugin("capturemanager")

    @contextlib.contextmanager
    def context():
        # A worker has no standard output.
        with manager.global_and_fixture_disabled(), contextlib.redirect_stdout(sys.stderr):
            print(file=sys.stderr)
            yield

    return context


@pytest.fixture(scope="session")
def tree(visibly):
    """The source tree of the patched kernel; nothing is built."""
    with visibly():
        worktree.tree()
    return worktree.src()


@pytest.fixture(scope="session")
def kernel(visibly):
    """The patched kernel; the first test that needs it builds it."""
    with visibly():
        return build.patched()


@pytest.fixture(scope="session")
def debug_kernel(visibly):
    """The patched kernel with lockdep, PROVE_RCU and KASAN."""
    with visibly():
        return build.build(
            "debug",
            (*build.GUEST, build.CONFIGS / "test/debug.config"),
            compose.compose(),
            targets=("vmlinux",),
        )


@pytest.fixture(scope="session")
def kcsan_kernel(visibly):
    """The patched kernel, which reports unmarked concurrent accesses."""
    with visibly():
        return build.build(
            "kcsan",
            (*build.GUEST, build.CONFIGS / "test/kcsan.config"),
            compose.compose(),
            targets=("vmlinux",),
        )


# --- where the time went -------------------------------------------------------


def processor_time():
    """Of this process and of all that it started and that has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Setting up, running and ending a test are one report each."""
    report = yield
    report.stage = stage(item)
    if item.config.kernels < len(build.COMPILING):
        item.config.kernels = len(build.COMPILING)
        report.stage += ": kernel builds"
    now = processor_time()
    report.processor = now - item.config.processor
    item.config.processor = now
    return report


def pytest_runtest_logreport(report):
    if not hasattr(report, "stage"):
        return  # of a worker that died
    spent = SPENT[report.stage]
    spent[0] += report.when == "call"
    spent[1] += report.duration
    spent[2] += report.processor
    if "long" in report.keywords:
        note_outcome(report)


def note_outcome(report):
    """A test counts when it has run, or did not get so far by itself."""
    outcome, seconds = OUTCOMES.get(report.nodeid, ("", 0))
    if not report.passed:
        outcome = report.outcome
    elif report.when == "call":
        outcome = "passed"
    OUTCOMES[report.nodeid] = outcome, seconds + report.duration


def rank(name):
    name, _, builds = name.partition(":")
    return STAGES.index(name), not builds


def pytest_terminal_summary(terminalreporter, config):
    if not SPENT:
        return
    workers = getattr(config.option, "numprocesses", None) or 1
    terminalreporter.section(f"time by stage, in seconds, {workers} at once")
    terminalreporter.write_line(f"{'':24} tests  elapsed  processor")
    rows = [(name, SPENT[name]) for name in sorted(SPENT, key=rank)]
    rows.append(("sum", list(map(sum, zip(*SPENT.values())))))
    for name, (tests, seconds, processor) in rows:
        terminalreporter.write_line(f"{name:24} {tests:5} {seconds:8.0f} {processor:10.0f}")
    whole = time.monotonic() - config.started
    terminalreporter.write_line(f"{'from start to end':24} {'':5} {whole:8.0f}")


# --- start and end -------------------------------------------------------------


def pytest_configure(config):
    # A shell's background job ignores it, and what the tests start would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.started = time.monotonic()
    config.processor = processor_time()
    config.kernels = 0
    if flag("KEEP"):
        config.commit = compose.compose()  # patches may change during a long run


def pytest_sessionfinish(session, exitstatus):
    """Note how long a whole run took, for the next one to say so at its start."""
    target = os.environ.get(TARGET)
    whole = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if target and whole and not hasattr(session.config, "workerinput"):
        times = json.loads(TIMES.read_text()) if TIMES.is_file() else {}
        minutes = round((time.monotonic() - session.config.started) / 60)
        TIMES.write_text(json.dumps(times | {target: minutes}))


def pytest_unconfigure(config):
    """Store outcomes; the last line is what CI reads."""
    ended = {test: result for test, result in OUTCOMES.items() if result[0]}
    if ended and flag("KEEP"):
        proof.store(ended, config.commit)
        print("\n".join(proof.rows()))
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not reporter or not hasattr(reporter, "stats") or hasattr(config, "workerinput"):
        return
    count = {
        name: len(reporter.stats.get(name, ())) for name in ("passed", "failed", "error", "skipped")
    }
    line = f"{count['passed']} passed, {count['failed'] + count['error']} failed"
    if count["skipped"]:
        line += f", {count['skipped']} skipped"
    print(line)
