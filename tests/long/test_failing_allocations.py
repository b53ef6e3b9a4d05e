# SPDX-License-Identifier: GPL-2.0
"""Memory of the hash tables that fails at boot.

The kernel has a patch that only these tests apply.  With fail_hash=NAME:BYTES,
each piece of memory for this table that is larger than this fails.
"""

from pathlib import Path

import pytest

from guest import hashstats_file, vm
from guest.verdict import GuestError
from kernel import variants
from series import compose, extra_patch

pytestmark = pytest.mark.long

PATCH = Path(__file__).parent.parent / "helpers/patches/failing-tables.patch"
LOAD = """
mkfs.ext4 -q /dev/vda
mount /dev/vda /mnt
fstree /mnt -c 10 -p 4 > /dev/null
umount /mnt
cat /proc/hashstats
"""


@pytest.fixture(scope="module")
def kernel():
    return variants.patched(
        "failing-tables",
        commit=extra_patch.commit(compose.compose(), "the series", PATCH),
        targets=variants.VMLINUX,
    )


def boot(kernel, append):
    return vm.run(
        kernel,
        LOAD,
        append=append,
        mem="1G",
        disk="256M",
        programs=["mkfs.ext4"],
        timeout=90,
    )


def test_tables_shrink_to_a_page(kernel):
    # This mbcache is larger than what is allocated as pages.
    result = boot(kernel, "hash_entries=mbcache:1M,page:auto fail_hash=all:4096")
    for kind in ("memblock", "pages", "vmalloc"):
        assert f"fail_hash: {kind} of " in result.console
    tables = hashstats_file.parse(result.output)
    assert {"dentry", "inode", "uid", "mbcache", "bit_wait", "page"} <= set(tables)
    for name, table in tables.items():
        assert 0 < table["bytes"] <= 4096, name
    assert tables["dentry"]["sized-by"] == "maximum"
    assert "dentry: cannot allocate " in result.console


def test_machine_does_without_an_optional_table(kernel):
    result = boot(kernel, "hash_entries=page:auto fail_hash=page:0")
    assert "page: cannot allocate " in result.console
    assert hashstats_file.parse(result.output)["page"]["buckets"] == 0


@pytest.mark.parametrize("name, title", [("dentry", "Dentry cache"), ("uid", "uid")])
def test_panic_names_the_table(kernel, name, title):
    with pytest.raises(GuestError) as caught:
        vm.run(kernel, "true", append=f"fail_hash={name}:0")
    assert caught.value.kind == "panic"
    assert f"Failed to allocate {title} hash table" in caught.value.reason
