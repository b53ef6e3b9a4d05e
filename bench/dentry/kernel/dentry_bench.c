// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds of a lookup in the dentry cache, by the size of its table, which
 * the command line gives.
 *
 * Sets: "small" is 10,000 names alone in the cache, all of them looked up;
 * "among" is the same 10,000 among all the others, which came later and so are
 * before them in the chains; "large" is all names.
 *
 * Caches of the processor: "hot", nothing but lookups, over and over, so that
 * what fits stays; "shared", between two lookups some other memory is read, so
 * that what is not used again soon goes: the rest of a real load; "cold", names,
 * chains and buckets were driven out of all caches.
 *
 * A lookup is that of the path walk, __d_lookup_rcu(), of a name that is there
 * or not, with its hash at hand; or the walk itself, from the directory.
 *
 * Built into user-mode Linux by harness/guest/uml.py; results go to the log, then the
 * machine is switched off.
 */
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/namei.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../../../fs/internal.h"
#include "../../lib/um/um_bench.h"
#include "names.h"
#include "pressure.h"

#define SAMPLES_MAX	10000U
#define COLD_BATCH	64	/* lookups for which caches are emptied once */
#define WINDOW		25000U	/* of a sample, where all names are many */

static unsigned int pressure;
module_param(pressure, uint, 0);
MODULE_PARM_DESC(pressure, "Run the load with this vfs_cache_pressure instead");

static unsigned int steps = 400000;
module_param(steps, uint, 0);
MODULE_PARM_DESC(steps, "Steps of that load");

static unsigned int samples = 40;
module_param(samples, uint, 0);
MODULE_PARM_DESC(samples, "Most samples of each case");

static unsigned int budget_ms = 200;
module_param(budget_ms, uint, 0);
MODULE_PARM_DESC(budget_ms, "Time for the samples of a case; two are always taken");

static unsigned int large = 250000;
module_param(large, uint, 0);
MODULE_PARM_DESC(large, "Names of the large set");

#define SHARED_LINES	8	/* cache lines that are read between two lookups */

static unsigned int evict_mb = 64;
module_param(evict_mb, uint, 0);
MODULE_PARM_DESC(evict_mb, "Memory to walk to empty the caches");

enum op { HIT, MISS, PATH, NOTHING };
static const char * const op_names[] = { "hit", "miss", "path" };

enum cache { HOT, SHARED, COLD };
static const char * const cache_names[] = { "hot", "shared", "cold" };

static struct key *keys, *foreign;
static struct key batch[COLD_BATCH];
static u64 *cycles;
static unsigned long done;

static __always_inline void look_up(const struct key *key, bool wanted)
{
	const struct qstr name = name_of(key);
	unsigned int seq;

	rcu_read_lock();
	done += !!__d_lookup_rcu(key->parent, &name, &seq) == wanted;
	rcu_read_unlock();
}

static __always_inline void walk_path(const struct key *key)
{
	struct path path;

	if (vfs_path_lookup(key->parent, names_mount(), key->name, 0, &path))
		return;
	path_put(&path);
	done++;
}

static __always_inline void operate(enum op op, const struct key *key)
{
	switch (op) {
	case HIT:
	case MISS:
		look_up(key, op == HIT);
		break;
	case PATH:
		walk_path(key);
		break;
	case NOTHING:
		sink += key->hash_len;
	}
}

/* What else a load reads: memory that it does not come back to soon. */
static __always_inline void read_other(unsigned int lines)
{
	static unsigned long at;

	while (lines--) {
		sink += READ_ONCE(*(unsigned long *)(um_chunks[at / CHUNK_SIZE] +
						     at % CHUNK_SIZE));
		at = (at + 64) % (um_nr_chunks * CHUNK_SIZE);
	}
}

static __always_inline void wait_for_loads(void)
{
	asm volatile("lfence" : : : "memory");
}

/* One after the other: in a real load too much lies between to overlap. */
static __always_inline u64 time_op(enum op op, unsigned int lines,
				   const struct key *from, unsigned int count)
{
	const struct key *end = from + count, *key;
	u64 start = tsc();

	for (key = from; key < end; key++) {
		read_other(lines);
		wait_for_loads();
		operate(op, key);
		wait_for_loads();
	}
	return tsc() - start;
}

static noinline u64 time_keys(enum op op, enum cache cache, const struct key *from,
			      unsigned int count)
{
	const unsigned int lines = cache == SHARED ? SHARED_LINES : 0;

	switch (op) {
	case HIT:
		return time_op(HIT, lines, from, count);
	case MISS:
		return time_op(MISS, lines, from, count);
	case PATH:
		return time_op(PATH, lines, from, count);
	default:
		return time_op(NOTHING, lines, from, count);
	}
}

/* The other memory, the keys and the loop, without a lookup. */
static u64 time_nothing(enum cache cache, const struct key *from, unsigned int count)
{
	u64 least = U64_MAX;
	int n;

	for (n = 0; n < 5; n++)
		least = min(least, time_keys(NOTHING, cache, from, count));
	return least;
}

/* Enough: all samples, or no time for another. */
static bool enough(unsigned int taken, u64 began)
{
	return taken >= samples ||
	       (taken >= 2 && ktime_get_ns() - began > budget_ms * NSEC_PER_MSEC);
}

/* All keys in turn, a window a sample. Returns how many samples there are. */
static unsigned int sample_warm(enum op op, enum cache cache, const struct key *from,
				unsigned int count)
{
	const unsigned int window = min(count, WINDOW);
	const u64 nothing = time_nothing(cache, from, window), began = ktime_get_ns();
	unsigned int n, at = 0;
	u64 taken;

	time_keys(op, cache, from, window);
	done = 0;
	for (n = 0; !enough(n, began); n++) {
		at = at + 2 * window > count ? 0 : at + window;
		taken = time_keys(op, cache, from + at, window);
		cycles[n] = taken > nothing ? taken - nothing : 0;
		cond_resched();
	}
	return n;
}

/* The keys themselves are not cold: who looks up has just made them. */
static unsigned int sample_cold(enum op op, const struct key *from, unsigned int count)
{
	const u64 began = ktime_get_ns();
	unsigned int n, at = 0;
	u64 nothing, taken;

	done = 0;
	for (n = 0; !enough(n, began); n++) {
		at = (at + COLD_BATCH) % (count - COLD_BATCH);
		evict_caches();
		memcpy(batch, from + at, sizeof(batch));
		nothing = time_keys(NOTHING, COLD, batch, COLD_BATCH);
		taken = time_keys(op, COLD, batch, COLD_BATCH);
		cycles[n] = taken > nothing ? taken - nothing : 0;
		cond_resched();
	}
	return n;
}

static u64 mean_millinodes(const struct key *from, unsigned int count)
{
	u64 nodes = 0;
	unsigned int n;

	for (n = 0; n < count; n++)
		nodes += nodes_of(&from[n]);
	return div_u64(nodes * 1000, count);
}

static int run_case(const char *set, enum op op, enum cache cache,
		    unsigned int names, unsigned int count)
{
	const struct key *from = op == MISS ? foreign : keys;
	const unsigned int each = cache == COLD ? COLD_BATCH : min(count, WINDOW);
	unsigned int times;

	if (cache == COLD)
		times = sample_cold(op, from, count);
	else
		times = sample_warm(op, cache, from, count);
	if (done != (unsigned long)times * each) {
		pr_err("dentry_bench: %s %s: %lu of %u lookups found what they should\n",
		       set, op_names[op], done, times * each);
		return -EINVAL;
	}
	sort(cycles, times, sizeof(*cycles), compare_u64, NULL);
	pr_info("dentry_bench: set %s op %s cache %s names %u hot %u min_ps %llu median_ps %llu millinodes %llu\n",
		set, op_names[op], cache_names[cache], names, count,
		picoseconds(cycles[0], each), picoseconds(cycles[times / 2], each),
		mean_millinodes(from, count));
	return 0;
}

static int run_set(const char *set, unsigned int names, unsigned int count)
{
	int error, op, cache;

	for (op = HIT; op <= PATH; op++)
		for (cache = HOT; cache <= COLD; cache++) {
			error = run_case(set, op, cache, names, count);
			if (error)
				return error;
		}
	return 0;
}

static void shuffle(struct key *of, unsigned int count)
{
	struct rnd_state random;
	unsigned int n, other;

	prandom_seed_state(&random, 1);
	for (n = count - 1; n; n--) {
		other = prandom_u32_state(&random) % (n + 1);
		swap(of[n], of[other]);
	}
}

/* All names have one inode: it is not looked at. They stay. */
static int add_names(struct inode *inode, unsigned int from, unsigned int to)
{
	unsigned int n;

	for (n = from; n < to; n++) {
		set_key(&keys[n], 'f', n);
		set_key(&foreign[n], 'g', n);
		ihold(inode);
		if (!add_name(&keys[n], inode, NULL))
			return -ENOMEM;
		cond_resched();
	}
	return 0;
}

static int run_sizes(void)
{
	struct inode *inode = new_file();
	int error;

	if (!inode)
		return -ENOMEM;
	error = add_names(inode, 0, HOT_NAMES);
	if (error)
		return error;
	shuffle(keys, HOT_NAMES);
	shuffle(foreign, HOT_NAMES);
	error = run_set("small", HOT_NAMES, HOT_NAMES);
	if (!error)
		error = add_names(inode, HOT_NAMES, large);
	if (!error)
		error = run_set("among", large, HOT_NAMES);
	if (error)
		return error;
	shuffle(keys, large);
	shuffle(foreign, large);
	return run_set("large", large, large);
}

/* Taken until the machine is switched off. */
static int allocate(void)
{
	samples = clamp(samples, 10U, SAMPLES_MAX);
	large = clamp(large, 2U * HOT_NAMES, 1000000U);
	cycles = kvmalloc_array(SAMPLES_MAX, sizeof(*cycles), GFP_KERNEL);
	keys = kvcalloc(large, sizeof(*keys), GFP_KERNEL);
	foreign = kvcalloc(large, sizeof(*foreign), GFP_KERNEL);
	if (!cycles || !keys || !foreign)
		return -ENOMEM;
	return allocate_chunks(max(evict_mb, 8U));
}

static int run_part(void)
{
	int error = mount_names();

	if (error)
		return error;
	pr_info("dentry_bench: buckets %lu\n", nr_buckets());
	calibrate();
	if (pressure)
		return run_pressure(pressure, steps);
	error = allocate();
	return error ?: run_sizes();
}

static int __init run_dentry_bench(void)
{
	int error = run_part();

	pr_info("dentry_bench: end %d\n", error);
	power_off();
	return 0;
}
late_initcall(run_dentry_bench);
