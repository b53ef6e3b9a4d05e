# SPDX-License-Identifier: GPL-2.0
"""What all tests share: the scripts on the path, the patched kernel."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only in make test-long")


@pytest.fixture(scope="session")
def kernel():
    """The patched kernel; make test has built it, so this takes a second."""
    import build
    return build.patched()
