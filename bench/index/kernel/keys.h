/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The keys 0 to 2^bits - 1, the number of the entry that each one finds, in the
 * order in which they are visited.
 */
#ifndef INDEX_BENCH_KEYS_H
#define INDEX_BENCH_KEYS_H

#include <linux/errno.h>
#include <linux/types.h>

#define SEGMENT_BITS	12
#define SEGMENT		4096U
#define BITS_MAX	22

enum order { SEQUENTIAL, RANDOM, STRIDED, NR_ORDERS };
extern const char * const order_names[NR_ORDERS];

int order_keys(enum order order, unsigned int bits);
/* Keys of a segment; behind them the first key of the segment that follows. */
const u32 *segment_keys(unsigned int segment);

/* Operations on all of 2^bits keys that each gives its key, or gives 1. */
static inline u64 sum_of_keys(unsigned int bits)
{
	return ((1ULL << bits) - 1) << (bits - 1);
}

static inline u64 number_of_keys(unsigned int bits)
{
	return 1ULL << bits;
}

#endif /* INDEX_BENCH_KEYS_H */
