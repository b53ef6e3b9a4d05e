# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites of the series, and how many cases of each must pass."""

from guest import kunit

# Cases that must have passed: a suite that lost its table shall not go green.
# 32-bit kernels and those without CONFIG_SECRETMEM, as on arm, have these too.
LEAST = {
    "boot_hash": {
        "": 60,
        "boot_hash_test_number/": 40,
    },
    "hashtable": {"": 10, "hashtable_test_bucket_locks": 1},
    "buffer_hash": {"": 11},
    "page_hash": {"": 15},
    "hash_keyed": {"": 11},
    "hash_histogram": {"": 10, "histogram_test_citi_1": 1},
    "hash_spread": {
        "": 45,
        "spread_test_hash_32/": 14,
        "spread_test_hash_64/": 14,
        "spread_test_bad_function_fails/": 10,
    },
    "mbcache": {"": 26},
    "wait_filter": {"": 20},
    "ext4_hash_reference": {"": 5},
    # The kernel's own, of what our patches change.
    "ext4_inode_test": {"": 1},
    "ext4_mballoc_test": {"": 1},
}


def problems(src, console):
    """{suite: what is wrong with it}, of those that are not as they must be."""
    suites = kunit.parse(src, console)
    found = {name: kunit.problems(suites, name, least) for name, least in LEAST.items()}
    return {name: words for name, words in found.items() if words}
