/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmarks inside user-mode Linux share: the clock, and the way to
 * get everything out of the second level of cache.
 *
 * They are built in by harness/guest/uml.py, each into a kernel of its own, and
 * run on one CPU and before there is any process.
 */
#ifndef BOOTHASH_UM_BENCH_H
#define BOOTHASH_UM_BENCH_H

#include <linux/mm.h>
#include <linux/types.h>

#define CHUNK_ORDER	10
#define CHUNK_SIZE	(PAGE_SIZE << CHUNK_ORDER)

/* Memory to walk, so that what was in the caches goes. */
extern void *um_chunks[];
extern unsigned int um_nr_chunks;
/* What is read is added here, so that it is read. */
extern unsigned long sink;

static __always_inline u64 tsc(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a" (low), "=d" (high) :: "memory");
	return (u64)high << 32 | low;
}

void calibrate(void);
u64 picoseconds(u64 cycles, unsigned int count);
u64 median_ps(u64 *cycles, unsigned int samples, unsigned int count);
int compare_u64(const void *a, const void *b);
void *get_chunk(void);
int allocate_chunks(unsigned int megabytes);
void evict_caches(void);
void power_off(void);

#endif /* BOOTHASH_UM_BENCH_H */
