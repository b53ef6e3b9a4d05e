# SPDX-License-Identifier: GPL-2.0
"""Which options an object of a patch needs, by Makefiles."""

import pytest

import touched

EXT4 = """
obj-$(CONFIG_EXT4_FS) += ext4.o
ext4-y := balloc.o \\
		hash.o
ext4-$(CONFIG_FS_VERITY) += verity.o
ext4-test-objs += inode-test.o \\
		mballoc-test.o
obj-$(CONFIG_EXT4_KUNIT_TESTS) += ext4-test.o
"""


@pytest.mark.parametrize(
    "name, options",
    [
        ("hash", {"CONFIG_EXT4_FS"}),
        ("verity", {"CONFIG_EXT4_FS", "CONFIG_FS_VERITY"}),
        ("mballoc-test", {"CONFIG_EXT4_KUNIT_TESTS"}),
        ("test", set()),
    ],
)
def test_an_object_needs_what_it_is_linked_into(name, options, monkeypatch):
    texts = {"": "obj-y += fs/", "fs": "obj-y += ext4/", "fs/ext4": touched.joined(EXT4)}
    monkeypatch.setattr(touched, "makefile", lambda folder, commit: texts[folder])
    assert touched.needs(f"fs/ext4/{name}.o", "") == options
