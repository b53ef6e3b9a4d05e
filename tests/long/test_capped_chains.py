# SPDX-License-Identifier: GPL-2.0
"""Chains that are longer than a walk follows: 32768 objects."""

import pytest

from guest import hashstats_file, vm

CAP = 32768
NAMES = 66000
# ext4 remembers names that are not there. Each lookup goes over the chain
# three times, so this takes minutes: no more names than fill both buckets.
FILL = f"lstat('/mnt/none-' . $_) for 1 .. {NAMES};"
SCRIPT = """
mkfs.ext4 -q /dev/vda
mount /dev/vda /mnt
perl /fill
cat /proc/hashstats
"""


@pytest.mark.long
def test_chains_are_cut(kernel):
    """Both buckets are full; the numbers say so and still add up."""
    result = vm.run(
        kernel,
        SCRIPT,
        append="hash_entries=dentry:2",
        disk="64M",
        files={"/fill": FILL},
        programs=["mkfs.ext4", "perl"],
        timeout=120,
    )
    table = hashstats_file.parse(result.output)["dentry"]
    assert table["capped"] == 2
    assert table["longest"] == CAP
    assert table["objects"] == 2 * CAP
    assert table.rows[-1][1:] == (2, 2 * CAP, 100)
    assert table["nodes-per-hit"] == pytest.approx((CAP + 1) / 2, abs=0.001)
