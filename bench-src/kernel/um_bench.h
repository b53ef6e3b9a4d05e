/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmarks inside user-mode Linux share: the clock, and the way to
 * get everything out of the second level of cache.
 *
 * They are built in by scripts/uml.py, each into a kernel of its own, and run
 * on one CPU and before there is any process.
 */
#ifndef BOOTHASH_UM_BENCH_H
#define BOOTHASH_UM_BENCH_H

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#define CHUNK_ORDER	10
#define CHUNK_SIZE	(PAGE_SIZE << CHUNK_ORDER)
#define CHUNKS_MAX	64

static void *chunks[CHUNKS_MAX];
static unsigned int nr_chunks;
static u64 cycles_per_ms;
static unsigned long sink;

static __always_inline u64 tsc(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a" (low), "=d" (high) :: "memory");
	return (u64)high << 32 | low;
}

static void calibrate(void)
{
	u64 start = tsc(), began = ktime_get_ns();

	while (ktime_get_ns() - began < 100 * NSEC_PER_MSEC)
		cpu_relax();
	cycles_per_ms = div64_u64((tsc() - start) * NSEC_PER_MSEC,
				  ktime_get_ns() - began);
}

/* Picoseconds of one operation out of @count. */
static u64 picoseconds(u64 taken, unsigned int count)
{
	return div64_u64(taken * 1000000000, cycles_per_ms * count);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void *get_chunk(void)
{
	return (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, CHUNK_ORDER);
}

/* Taken until the machine is switched off. */
static int allocate_chunks(unsigned int megabytes)
{
	unsigned int n;

	nr_chunks = min_t(unsigned int, CHUNKS_MAX,
			  megabytes / (CHUNK_SIZE / SZ_1M));
	for (n = 0; n < nr_chunks; n++) {
		chunks[n] = get_chunk();
		if (!chunks[n])
			return -ENOMEM;
	}
	return 0;
}

static void evict(void)
{
	unsigned int n, at;

	for (n = 0; n < nr_chunks; n++)
		for (at = 0; at < CHUNK_SIZE; at += 64)
			sink += READ_ONCE(*(unsigned long *)(chunks[n] + at));
}

#endif /* BOOTHASH_UM_BENCH_H */
