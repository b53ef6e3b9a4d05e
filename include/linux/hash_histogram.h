/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_HASH_HISTOGRAM_H
#define _LINUX_HASH_HISTOGRAM_H

#include <linux/types.h>

/* Chains of 0 to 15 objects, and one row for all that are longer. */
#define HASH_HISTOGRAM_LONG	16
#define HASH_HISTOGRAM_ROWS	(HASH_HISTOGRAM_LONG + 1)

/**
 * struct hash_histogram - how the objects of a hash table are spread
 * @rows: for each length of chain
 * @rows.buckets: buckets with such a chain
 * @rows.objects: objects in them
 * @buckets: all buckets
 * @objects: all objects
 * @squares: sum of the squares of the lengths
 * @longest: the longest chain
 *
 * All zero is an empty histogram.
 */
struct hash_histogram {
	struct {
		u64	buckets;
		u64	objects;
	}		rows[HASH_HISTOGRAM_ROWS];
	u64		buckets;
	u64		objects;
	u64		squares;
	unsigned int	longest;
};

void hash_histogram_add(struct hash_histogram *histogram, unsigned int length);

unsigned int hash_histogram_sum_pct(const struct hash_histogram *histogram,
				    unsigned int row);
u64 hash_histogram_used(const struct hash_histogram *histogram);
u64 hash_histogram_used_expected(const struct hash_histogram *histogram);
u64 hash_histogram_nodes_per_hit(const struct hash_histogram *histogram);
u64 hash_histogram_nodes_per_hit_expected(const struct hash_histogram *histogram);
u64 hash_histogram_variance_over_mean(const struct hash_histogram *histogram);
u64 hash_histogram_ratio(u64 a, u64 b);

#endif /* _LINUX_HASH_HISTOGRAM_H */
