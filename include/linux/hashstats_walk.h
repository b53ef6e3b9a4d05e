/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_HASHSTATS_WALK_H
#define _LINUX_HASHSTATS_WALK_H

#include <linux/hash_histogram.h>
#include <linux/hashstats.h>

/* Longest chain that is counted; bounds the time under a lock. */
#define HASHSTATS_CHAIN_MAX	32768

/**
 * struct hashstats - a table as a walk found it
 * @name: table name
 * @sized_by: what decided the number of buckets
 * @nr_buckets: number of buckets; 0 if it is not allocated
 * @bytes: total size
 * @info: how objects are counted, or NULL
 * @registered_info: the copy that @info points to, if the table is a registered
 *	one
 * @chains: how objects are distributed over the buckets
 * @capped: buckets where the count stopped at HASHSTATS_CHAIN_MAX
 * @walk_us: microseconds that the walk took
 * @longest_us: longest time between two calls of cond_resched()
 * @lookups: counted since the last reset, of all CPUs
 * @wakes: counted since the last reset, of all CPUs
 */
struct hashstats {
	char				name[HASHSTATS_NAME_LEN];
	const char			*sized_by;
	unsigned long			nr_buckets;
	u64				bytes;
	const struct hashstats_info	*info;
	struct hashstats_info		registered_info;
	struct hash_histogram		chains;
	unsigned long			capped;
	u64				walk_us;
	u64				longest_us;
	struct hashstats_lookups	lookups;
	struct hashstats_wakes		wakes;
};

int hashstats_walk(unsigned int number, const char *only,
		   struct hashstats *stats);
u64 hashstats_newest(void);
int hashstats_walk_registered(u64 *number, u64 newest, const char *only,
			      struct hashstats *stats);

bool hashstats_counting_is_on(void);
void hashstats_counting_set(bool on);
void hashstats_counting_reset(void);

#endif /* _LINUX_HASHSTATS_WALK_H */
