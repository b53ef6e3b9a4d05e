// SPDX-License-Identifier: GPL-2.0
/* See um_bench.h. */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/reboot.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/sort.h>
#include <linux/time64.h>
#include <linux/version.h>

#include <os.h>

#include "um_bench.h"

#define CHUNKS_MAX	64

void *um_chunks[CHUNKS_MAX];
unsigned int um_nr_chunks;
unsigned long sink;

static u64 cycles_per_ms;

void calibrate(void)
{
	u64 start = tsc(), began = ktime_get_ns();

	while (ktime_get_ns() - began < 100 * NSEC_PER_MSEC)
		cpu_relax();
	cycles_per_ms = div64_u64((tsc() - start) * NSEC_PER_MSEC,
				  ktime_get_ns() - began);
}

/* Picoseconds of one operation out of @count. */
u64 picoseconds(u64 cycles, unsigned int count)
{
	return mul_u64_u64_div_u64(cycles, 1000000000, cycles_per_ms * count);
}

int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Of samples with @count operations each; sorts them. */
u64 median_ps(u64 *cycles, unsigned int samples, unsigned int count)
{
	sort(cycles, samples, sizeof(*cycles), compare_u64, NULL);
	return picoseconds(cycles[samples / 2], count);
}

/* Zeroes, taken until the machine is switched off. */
void *get_chunk(void)
{
	return (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, CHUNK_ORDER);
}

int allocate_chunks(unsigned int megabytes)
{
	unsigned int n;

	um_nr_chunks = min_t(unsigned int, CHUNKS_MAX,
			     megabytes / (CHUNK_SIZE / SZ_1M));
	for (n = 0; n < um_nr_chunks; n++) {
		um_chunks[n] = get_chunk();
		if (!um_chunks[n])
			return -ENOMEM;
	}
	return 0;
}

void evict_caches(void)
{
	unsigned int n, at;

	for (n = 0; n < um_nr_chunks; n++)
		for (at = 0; at < CHUNK_SIZE; at += 64)
			sink += READ_ONCE(*(unsigned long *)(um_chunks[n] + at));
}

/*
 * If the timer of user-mode Linux fires after the kernel has left its last
 * stack, the process aborts. A tick may set the timer once more while the first
 * call disables it.
 */
void power_off(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	os_timer_disable();
	os_timer_disable();
#else
	os_timer_disable(raw_smp_processor_id());
	os_timer_disable(raw_smp_processor_id());
#endif
	kernel_power_off();
}
