// SPDX-License-Identifier: GPL-2.0
/*
 * What vfs_cache_pressure does to lookups of names that are in use.
 *
 * One step looks up one of 10,000 names at random, makes one name that nobody
 * asks for again, and adds pages to a file that is read through once. Soon memory
 * is full, and the kernel's own reclaim weighs pages against names, by that
 * setting. A name in use that has gone is made again, as a file system would
 * read it.
 *
 * The second half of the steps is counted: how many of the lookups find their
 * name, how many nodes they examine, how long that takes where it happens, and
 * how many names and pages are there at the end.
 */
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../lib/um/um_bench.h"
#include "names.h"
#include "pressure.h"

#define TIMED_MAX	65536
#define TIMED_EACH	8	/* of so many lookups one is timed */

static struct key *hot;
static struct address_space *data;
static struct rnd_state random;
static pgoff_t next_page;
static unsigned int next_name;
static unsigned long made, gone;
static u64 *taken;
static u64 counting_ns;		/* to walk chains, which is no part of a step */

static struct {
	unsigned int lookups;
	unsigned int hits;
	unsigned int timed;
	u64 nodes;
} seen;

static void release_name(struct dentry *dentry)
{
	gone++;
}

static const struct dentry_operations name_operations = {
	.d_release	= release_name,
};

/* As a lookup that asks the file system: in the cache, and not in use. */
static int make_name(const struct key *key)
{
	struct inode *inode = new_file();
	struct dentry *dentry;

	if (!inode)
		return -ENOMEM;
	dentry = add_name(key, inode, &name_operations);
	if (!dentry) {
		iput(inode);
		return -ENOMEM;
	}
	made++;
	dput(dentry);
	return 0;
}

static int add_page(void)
{
	struct folio *folio = folio_alloc(GFP_HIGHUSER_MOVABLE, 0);
	int error;

	if (!folio)
		return -ENOMEM;
	error = filemap_add_folio(data, folio, next_page++, GFP_KERNEL);
	if (!error) {
		folio_mark_uptodate(folio);
		folio_unlock(folio);
	}
	folio_put(folio);
	return error;
}

static struct dentry *timed_lookup(const struct key *key, bool timed)
{
	const struct qstr name = name_of(key);
	u64 start = tsc();
	struct dentry *dentry = d_lookup(key->parent, &name);
	u64 end = tsc();

	if (timed && dentry && seen.timed < TIMED_MAX)
		taken[seen.timed++] = end - start;
	return dentry;
}

static int use_name(bool counted)
{
	const struct key *key = &hot[prandom_u32_state(&random) % HOT_NAMES];
	struct dentry *dentry;

	dentry = timed_lookup(key, counted && seen.lookups % TIMED_EACH == 0);
	if (counted) {
		u64 start = ktime_get_ns();

		seen.lookups++;
		seen.hits += !!dentry;
		seen.nodes += nodes_of(key);
		counting_ns += ktime_get_ns() - start;
	}
	if (!dentry)
		return make_name(key);
	dput(dentry);
	return 0;
}

static int one_step(bool counted)
{
	struct key passing;
	int error = use_name(counted);

	if (error)
		return error;
	set_key(&passing, 'p', next_name++);
	error = make_name(&passing);
	if (!error)
		error = add_page();
	cond_resched();
	return error;
}

static int prepare(void)
{
	struct inode *inode = new_inode(names_mount()->mnt_sb);
	unsigned int n;

	hot = kvcalloc(HOT_NAMES, sizeof(*hot), GFP_KERNEL);
	taken = kvmalloc_array(TIMED_MAX, sizeof(*taken), GFP_KERNEL);
	if (!inode || !hot || !taken)
		return -ENOMEM;
	data = inode->i_mapping;
	prandom_seed_state(&random, 1);
	for (n = 0; n < HOT_NAMES; n++)
		set_key(&hot[n], 'h', n);
	return 0;
}

/* Two readings with nothing in between. */
static u64 clock_ps(void)
{
	u64 start, least = U64_MAX;
	int n;

	for (n = 0; n < 1000; n++) {
		start = tsc();
		least = min(least, tsc() - start);
	}
	return picoseconds(least, 1);
}

static u64 lookup_ps(void)
{
	const u64 clock = clock_ps();
	u64 median = seen.timed ? median_ps(taken, seen.timed, 1) : 0;

	return median > clock ? median - clock : 0;
}

static void report(unsigned int pressure, u64 step_ps)
{
	pr_info("dentry_bench: pressure %u lookups %u hits %u millinodes %llu median_ps %llu names %lu made %lu pages %lu step_ps %llu\n",
		pressure, seen.lookups, seen.hits,
		div_u64(seen.nodes * 1000, seen.lookups),
		lookup_ps(), made - gone, made,
		data->nrpages, step_ps);
}

int run_pressure(unsigned int pressure, unsigned int steps)
{
	u64 start = 0;
	unsigned int n;
	int error = prepare();

	sysctl_vfs_cache_pressure = pressure;
	for (n = 0; n < steps && !error; n++) {
		if (n == steps / 2)
			start = ktime_get_ns();
		error = one_step(n >= steps / 2);
	}
	if (!error)
		report(pressure, div_u64((ktime_get_ns() - start - counting_ns) * 1000,
					 steps - steps / 2));
	return error;
}
