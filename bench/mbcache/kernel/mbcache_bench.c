// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that a lookup in the cache of extended attributes takes, and
 * that it takes to delete an entry and create it again.
 *
 * A cache gets N entries with random keys, as the hashes of attributes are. In
 * cache: a sample goes over all of them, in random order, so that each has the
 * same work. Out of cache: a sample is one operation, with the next key of that
 * order, after everything was driven out of the second level.
 *
 * Built into user-mode Linux by harness/guest/uml.py; results go to the log, then the
 * machine is switched off. A cache that would not hold so many entries is named
 * and passed over.
 */
#include <linux/sched.h>
#include <linux/mbcache.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../../lib/um/boot_hash_table.h"
#include "../../lib/um/um_bench.h"

#define ENTRIES_MAX	65536
#define SAMPLES_MAX	100000U
#define PASS		16384	/* operations of a sample in cache, or more */
#define COLD_SAMPLES	(4 * samples)	/* each of one operation */

static unsigned int samples = 100;
module_param(samples, uint, 0);
MODULE_PARM_DESC(samples, "Samples of each case, four times as many out of cache");

static unsigned int evict_mb = 8;
module_param(evict_mb, uint, 0);
MODULE_PARM_DESC(evict_mb, "Memory to walk between two operations out of cache");

enum op { HIT, MISS, CREATE_DELETE };
static const char * const op_names[] = { "hit", "miss", "create_delete" };

/* A block of attributes: their hash and its number. */
struct hashed_block {
	u64	value;
	u32	key;
};

static struct hashed_block *attributes, *foreign;
static struct mb_cache *cache;
static u64 *cycles;
static unsigned long done;

#ifdef HAVE_BOOT_HASH
static struct mb_cache *create_cache(void)
{
	return mb_cache_create();
}

static unsigned long buckets(void)
{
	return boot_hash_table("mbcache")->nr_buckets;
}
#else
/* The base has a table for each cache. */
#define BASE_BITS	10

static struct mb_cache *create_cache(void)
{
	return mb_cache_create(BASE_BITS);
}

static unsigned long buckets(void)
{
	return 1 << BASE_BITS;
}
#endif

static __always_inline void operate(enum op op, const struct hashed_block *one)
{
	struct mb_cache_entry *entry;

	switch (op) {
	case HIT:
	case MISS:
		entry = mb_cache_entry_find_first(cache, one->key);
		if (entry)
			mb_cache_entry_put(cache, entry);
		done += op == HIT ? !!entry : !entry;
		break;
	case CREATE_DELETE:
		entry = mb_cache_entry_delete_or_get(cache, one->key, one->value);
		done += !entry && !mb_cache_entry_create(cache, GFP_KERNEL, one->key,
							 one->value, true);
	}
}

static noinline u64 time_operations(enum op op, const struct hashed_block *from,
				    unsigned int count)
{
	const struct hashed_block *end = from + count, *one;
	u64 start = tsc();

	switch (op) {
	case HIT:
		for (one = from; one < end; one++)
			operate(HIT, one);
		break;
	case MISS:
		for (one = from; one < end; one++)
			operate(MISS, one);
		break;
	case CREATE_DELETE:
		for (one = from; one < end; one++)
			operate(CREATE_DELETE, one);
	}
	return tsc() - start;
}

/* What two readings of the clock and an empty loop take. */
static u64 clock_cost(void)
{
	u64 least = U64_MAX;
	int n;

	for (n = 0; n < 1000; n++)
		least = min(least, time_operations(HIT, foreign, 0));
	return least;
}

static const struct hashed_block *keys(enum op op)
{
	return op == MISS ? foreign : attributes;
}

/* Operations that a sample has. */
static unsigned int sample_hot(enum op op, unsigned int entries)
{
	unsigned int passes = max(1U, PASS / entries), n, pass;
	const u64 clock = clock_cost();
	u64 taken;

	time_operations(op, keys(op), entries);
	for (n = 0; n < samples; n++) {
		taken = 0;
		for (pass = 0; pass < passes; pass++) {
			local_irq_disable();
			taken += time_operations(op, keys(op), entries) - clock;
			local_irq_enable();
			cond_resched();
		}
		cycles[n] = taken;
	}
	return passes * entries;
}

static unsigned int sample_cold(enum op op, unsigned int entries)
{
	const u64 clock = clock_cost();
	struct hashed_block one;
	unsigned int n;
	u64 taken;

	for (n = 0; n < COLD_SAMPLES; n++) {
		one = keys(op)[n % entries];
		evict_caches();
		local_irq_disable();
		taken = time_operations(op, &one, 1);
		local_irq_enable();
		cycles[n] = taken > clock ? taken - clock : 0;
		cond_resched();
	}
	return 1;
}

/* Operations that found what they should are counted: all must have. */
static int run_case(enum op op, bool hot, unsigned int entries)
{
	const unsigned int times = hot ? samples : COLD_SAMPLES;
	unsigned long wanted;
	unsigned int count;

	done = 0;
	count = hot ? sample_hot(op, entries) : sample_cold(op, entries);
	wanted = (unsigned long)times * count + (hot ? entries : 0);
	if (done != wanted) {
		pr_err("mbcache_bench: %s with %u entries: %lu of %lu as expected\n",
		       op_names[op], entries, done, wanted);
		return -EINVAL;
	}
	sort(cycles, times, sizeof(*cycles), compare_u64, NULL);
	pr_info("mbcache_bench: op %s cache %s entries %u buckets %lu min_ps %llu median_ps %llu\n",
		op_names[op], hot ? "hot" : "cold", entries, buckets(),
		picoseconds(cycles[0], count), picoseconds(cycles[times / 2], count));
	return 0;
}

static int fill(unsigned int entries)
{
	unsigned int n;
	int error;

	for (n = 0; n < entries; n++) {
		error = mb_cache_entry_create(cache, GFP_KERNEL, attributes[n].key,
					      attributes[n].value, true);
		if (error)
			return error;
	}
	/* Where there are too many a worker takes some away: let it. */
	schedule_timeout_uninterruptible(HZ / 10);
	return 0;
}

/* How many of the entries are there. */
static unsigned int kept(unsigned int entries)
{
	struct mb_cache_entry *entry;
	unsigned int n, found = 0;

	for (n = 0; n < entries; n++) {
		entry = mb_cache_entry_get(cache, attributes[n].key,
					   attributes[n].value);
		if (!entry)
			continue;
		found++;
		mb_cache_entry_put(cache, entry);
	}
	return found;
}

static void shuffle(unsigned int entries)
{
	struct rnd_state random;
	unsigned int n, other;

	prandom_seed_state(&random, 2);
	for (n = entries - 1; n; n--) {
		other = prandom_u32_state(&random) % (n + 1);
		swap(attributes[n], attributes[other]);
	}
}

static int run_cases(unsigned int entries)
{
	int error = 0, op, hot;

	for (op = HIT; op <= CREATE_DELETE && !error; op++)
		for (hot = 0; hot <= 1 && !error; hot++)
			error = run_case(op, hot, entries);
	return error;
}

static int run_size(unsigned int entries)
{
	unsigned int found;
	int error;

	cache = create_cache();
	if (!cache)
		return -ENOMEM;
	error = fill(entries);
	found = kept(entries);
	if (!error && found < entries) {
		pr_info("mbcache_bench: entries %u kept %u\n", entries, found);
	} else if (!error) {
		/* Not in the order in which they lie in memory. */
		shuffle(entries);
		error = run_cases(entries);
	}
	mb_cache_destroy(cache);
	return error;
}

static int run_all(void)
{
	static const unsigned int sizes[] = { 1000, 4096, 16384, 65536 };
	unsigned int n;
	int error;

	for (n = 0; n < ARRAY_SIZE(sizes); n++) {
		error = run_size(sizes[n]);
		if (error)
			return error;
	}
	return 0;
}

/* The upper bit tells keys that are there from those that are not. */
static void choose_keys(void)
{
	struct rnd_state random;
	unsigned int n;

	prandom_seed_state(&random, 1);
	for (n = 0; n < ENTRIES_MAX; n++) {
		attributes[n].key = prandom_u32_state(&random) | BIT(31);
		attributes[n].value = n;
		foreign[n].key = prandom_u32_state(&random) & ~BIT(31);
	}
}

/* Taken until the machine is switched off. */
static int allocate(void)
{
	cycles = kvmalloc_array(COLD_SAMPLES, sizeof(*cycles), GFP_KERNEL);
	attributes = kvcalloc(ENTRIES_MAX, sizeof(*attributes), GFP_KERNEL);
	foreign = kvcalloc(ENTRIES_MAX, sizeof(*foreign), GFP_KERNEL);
	if (!cycles || !attributes || !foreign)
		return -ENOMEM;
	return allocate_chunks(evict_mb);
}

static int __init run_mbcache_bench(void)
{
	int error;

	samples = clamp(samples, 10U, SAMPLES_MAX);
	error = allocate();
	if (!error) {
		calibrate();
		choose_keys();
		error = run_all();
	}
	pr_info("mbcache_bench: end %d\n", error);
	power_off();
	return 0;
}
late_initcall(run_mbcache_bench);
