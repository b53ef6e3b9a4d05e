/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BOOT_HASH_STATS_H
#define _LINUX_BOOT_HASH_STATS_H

#include <linux/boot_hash.h>
#include <linux/hash_histogram.h>

/* No chain is followed further, so that a walk ends and others get the CPU. */
#define BOOT_HASH_CHAIN_MAX	32768

/**
 * struct boot_hash_stats - a table as a walk found it
 * @chains: how the objects are spread
 * @capped: buckets with BOOT_HASH_CHAIN_MAX objects or more, counted as that
 * @walk_us: microseconds that the walk took
 * @longest_us: the longest stretch of it without a chance to reschedule
 * @lookups: counted since the last reset, of all CPUs
 * @wakes: counted since the last reset, of all CPUs
 */
struct boot_hash_stats {
	struct hash_histogram		chains;
	unsigned long			capped;
	u64				walk_us;
	u64				longest_us;
	struct boot_hash_lookups	lookups;
	struct boot_hash_wakes		wakes;
};

int boot_hash_walk(struct boot_hash *hash, struct boot_hash_stats *stats);

bool boot_hash_counting_is_on(void);
void boot_hash_counting_set(bool on);
void boot_hash_counting_reset(void);

#endif /* _LINUX_BOOT_HASH_STATS_H */
