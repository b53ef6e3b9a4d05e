# SPDX-License-Identifier: GPL-2.0
"""What all tests share: the patched kernel, and the last line."""

import signal

import pytest


def pytest_configure(config):
    # A shell's background job ignores it, and what the tests start would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "long: only in make test-long")


@pytest.fixture(scope="session")
def kernel():
    """The patched kernel; make test has built it, so this takes a second."""
    from kernel import build

    return build.patched()


def pytest_unconfigure(config):
    """The last line: what CI reads."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not reporter or not hasattr(reporter, "stats"):
        return
    count = {
        name: len(reporter.stats.get(name, ())) for name in ("passed", "failed", "error", "skipped")
    }
    line = f"{count['passed']} passed, {count['failed'] + count['error']} failed"
    if count["skipped"]:
        line += f", {count['skipped']} skipped"
    print(line)
