// SPDX-License-Identifier: GPL-2.0
/* The boot-time key of the functions in <linux/hash_keyed.h>. */

#include <linux/cache.h>
#include <linux/hash_keyed.h>
#include <linux/random.h>

struct hash_boot_key hash_boot_key __ro_after_init;

/**
 * hash_key_init - draw the key of hash_32_keyed() and hash_pair_keyed()
 *
 * Once, after random_init() and before the first table with keyed hashing is
 * used, because objects that are in a table must not change their bucket.
 *
 * Context: start_kernel(), on one CPU.
 */
void __init hash_key_init(void)
{
	get_random_bytes(&hash_boot_key, sizeof(hash_boot_key));
}
