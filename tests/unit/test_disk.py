# SPDX-License-Identifier: GPL-2.0
"""Room on a disk."""

import os

import pytest

from common import Failure, disk


def test_files_that_vanish_count_nothing(tmp_path, monkeypatch):
    """A build removes its temporary files meanwhile."""
    (tmp_path / "stays").write_bytes(b"x" * 8192)
    (tmp_path / "goes").write_bytes(b"x" * 8192)
    lstat = os.lstat

    def find(path, **options):
        if str(path).endswith("goes"):
            raise FileNotFoundError(path)
        return lstat(path, **options)

    monkeypatch.setattr(os, "lstat", find)
    assert disk.used(tmp_path) == lstat(tmp_path / "stays").st_blocks * 512


def test_too_little_is_one_line(tmp_path):
    with pytest.raises(Failure, match=r"the build needs .* GiB of disk; .* GiB free$"):
        disk.require(tmp_path / "not" / "there", 1 << 62, "the build")
    disk.require(tmp_path, 1, "the build")
