// SPDX-License-Identifier: GPL-2.0
/*
 * Count the objects of the tables in the boot_hash register, and their lookups.
 *
 * Inserts and removals are not counted, since that would slow them down. A
 * reader walks the table instead, one bucket at a time, under RCU or the lock
 * that guards the bucket. The table may change meanwhile. An object that moves
 * may be counted twice or not at all. Under RCU, the walk may follow it into
 * another bucket. On an idle machine the numbers are exact.
 *
 * Lookups and wakeups are counted per CPU, behind a static key. The counters
 * are never written by another CPU: a reset stores their values, which are
 * then subtracted.
 *
 * Tables that come and go with a module or a mount are in a list. A reader holds
 * registered_sem while it walks one of them, so hashstats_unregister() waits for
 * the walk. After that, no pointer into the table or its module is followed: the
 * reader shows a copy. One semaphore guards all tables, since a walk is short:
 * registering and unregistering are rare, and wait for walks that began before them.
 */

#define pr_fmt(fmt) "hashstats: " fmt

#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/hashstats_walk.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist_bl.h>
#include <linux/rculist_nulls.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "boot_hash.h"

DEFINE_STATIC_KEY_FALSE(hashstats_counting_key);

/* Buckets and objects per cond_resched(), about 10 us if cached. */
#define WALK_BATCH	1024

/* By the index of the table. */
static const struct hashstats_info *infos[BOOT_HASH_TABLES] __ro_after_init;

/* What the counters were at the last reset. Guarded by reset_lock. */
static struct hashstats_lookups lookups_at_reset[BOOT_HASH_TABLES];
static struct hashstats_wakes wakes_at_reset[BOOT_HASH_TABLES];
static DEFINE_MUTEX(reset_lock);

/* Serializes switches of hashstats_counting_key. */
static DEFINE_MUTEX(counting_lock);

/**
 * hashstats_describe - set how to count the objects of a table
 * @table: what alloc_large_system_hash() returned; may be NULL
 * @info: the description; it is not copied
 *
 * Context: boot.
 */
void __init hashstats_describe(const void *table,
			       const struct hashstats_info *info)
{
	unsigned int i;

	for (i = 0; table && i < nr_boot_hash_tables; i++) {
		if (boot_hash_tables[i].table == table)
			infos[i] = info;
	}
}

/*
 * Tables of modules and mounts, sorted by their numbers. No number is used twice.
 * Guarded by registered_sem, which is taken before the lock of a bucket.
 */
static LIST_HEAD(registered);
static u64 last_number = BOOT_HASH_TABLES - 1;
static DECLARE_RWSEM(registered_sem);

/**
 * hashstats_register - show a table that was not made at boot
 * @table: the table; it and what it points to must stay until
 *	hashstats_unregister() returns
 *
 * Context: process context, may sleep.
 */
void hashstats_register(struct hashstats_table *table)
{
	char *c;

	for (c = table->name; *c; c++) {
		if (!isascii(*c) || (!isalnum(*c) && *c != '_' && *c != '.'))
			*c = '-';
	}
	down_write(&registered_sem);
	table->number = ++last_number;
	list_add_tail(&table->list, &registered);
	up_write(&registered_sem);
}
EXPORT_SYMBOL_GPL(hashstats_register);

/**
 * hashstats_unregister - no longer show a table
 * @table: as passed to hashstats_register()
 *
 * Waits for a reader that walks this table or another registered one.
 *
 * Context: process context, may sleep. The caller holds neither the lock of a
 * bucket nor a lock that is taken under one.
 */
void hashstats_unregister(struct hashstats_table *table)
{
	down_write(&registered_sem);
	list_del(&table->list);
	up_write(&registered_sem);
}
EXPORT_SYMBOL_GPL(hashstats_unregister);

/**
 * hashstats_count_lookup - count one lookup
 * @lookups: the counters of the table
 * @hit: true if the lookup found an object
 * @nodes: objects that the lookup examined
 *
 * Call it behind hashstats_counting() only.
 *
 * Context: any but NMI.
 */
void hashstats_count_lookup(struct hashstats_lookups __percpu *lookups,
			    bool hit, unsigned int nodes)
{
	if (hit) {
		this_cpu_inc(lookups->hits);
		this_cpu_add(lookups->hit_nodes, nodes);
	} else {
		this_cpu_inc(lookups->misses);
		this_cpu_add(lookups->miss_nodes, nodes);
	}
}

/**
 * hashstats_count_wake - count one wakeup
 * @wakes: the counters of the table
 * @examined: entries that the wakeup compared
 * @matched: entries with the key of the wakeup
 * @called: wake functions that were called
 *
 * Call it behind hashstats_counting() only.
 *
 * Context: any but NMI.
 */
void hashstats_count_wake(struct hashstats_wakes __percpu *wakes,
			  unsigned int examined, unsigned int matched,
			  unsigned int called)
{
	this_cpu_inc(wakes->wakes);
	this_cpu_add(wakes->examined, examined);
	this_cpu_add(wakes->matched, matched);
	this_cpu_add(wakes->called, called);
}

static void sum_lookups(const struct hashstats_info *info,
			struct hashstats_lookups *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct hashstats_lookups *of_cpu;

		of_cpu = per_cpu_ptr(info->lookups, cpu);
		sum->hits	+= READ_ONCE(of_cpu->hits);
		sum->hit_nodes	+= READ_ONCE(of_cpu->hit_nodes);
		sum->misses	+= READ_ONCE(of_cpu->misses);
		sum->miss_nodes	+= READ_ONCE(of_cpu->miss_nodes);
		sum->cache_hits	+= READ_ONCE(of_cpu->cache_hits);
	}
}

static void sum_wakes(const struct hashstats_info *info,
		      struct hashstats_wakes *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct hashstats_wakes *of_cpu;

		of_cpu = per_cpu_ptr(info->wakes, cpu);
		sum->wakes	+= READ_ONCE(of_cpu->wakes);
		sum->examined	+= READ_ONCE(of_cpu->examined);
		sum->matched	+= READ_ONCE(of_cpu->matched);
		sum->called	+= READ_ONCE(of_cpu->called);
	}
}

/* reset_lock makes resets atomic. */
static void read_counters(unsigned int number, struct hashstats *stats)
{
	const struct hashstats_lookups *old_lookups = &lookups_at_reset[number];
	const struct hashstats_wakes *old_wakes = &wakes_at_reset[number];

	mutex_lock(&reset_lock);
	if (stats->info->lookups) {
		sum_lookups(stats->info, &stats->lookups);
		stats->lookups.hits	-= old_lookups->hits;
		stats->lookups.hit_nodes -= old_lookups->hit_nodes;
		stats->lookups.misses	-= old_lookups->misses;
		stats->lookups.miss_nodes -= old_lookups->miss_nodes;
		stats->lookups.cache_hits -= old_lookups->cache_hits;
	}
	if (stats->info->wakes) {
		sum_wakes(stats->info, &stats->wakes);
		stats->wakes.wakes	-= old_wakes->wakes;
		stats->wakes.examined	-= old_wakes->examined;
		stats->wakes.matched	-= old_wakes->matched;
		stats->wakes.called	-= old_wakes->called;
	}
	mutex_unlock(&reset_lock);
}

/* hlist_bl_first_rcu() may leave the lock bit in. */
static const struct hlist_bl_node *first_of(const struct hlist_bl_head *head)
{
	unsigned long first = (unsigned long)READ_ONCE(head->first);

	return (const struct hlist_bl_node *)(first & ~LIST_BL_LOCKMASK);
}

/* Called under RCU or the bucket's lock. */
static unsigned int count_objects(enum hashstats_chain chain, const void *head)
{
	const struct hlist_nulls_node *nulls;
	const struct hlist_bl_node *bl;
	const struct hlist_node *node;
	const struct list_head *entry;
	unsigned int length = 0;

	switch (chain) {
	case HASHSTATS_HLIST:
		node = READ_ONCE(((const struct hlist_head *)head)->first);
		for (; node && length < HASHSTATS_CHAIN_MAX; length++)
			node = READ_ONCE(node->next);
		break;
	case HASHSTATS_HLIST_BL:
		bl = first_of(head);
		for (; bl && length < HASHSTATS_CHAIN_MAX; length++)
			bl = READ_ONCE(bl->next);
		break;
	case HASHSTATS_HLIST_NULLS:
		nulls = READ_ONCE(((const struct hlist_nulls_head *)head)->first);
		for (; !is_a_nulls(nulls) && length < HASHSTATS_CHAIN_MAX; length++)
			nulls = READ_ONCE(nulls->next);
		break;
	case HASHSTATS_LIST:
		entry = READ_ONCE(((const struct list_head *)head)->next);
		for (; entry != head && length < HASHSTATS_CHAIN_MAX; length++)
			entry = READ_ONCE(entry->next);
		break;
	case HASHSTATS_SLOT:
		length = READ_ONCE(*(void * const *)head) ? 1 : 0;
		break;
	}
	return length;
}

static unsigned int chain_length(const struct hashstats_info *info, void *bucket)
{
	void *head = bucket + info->head;
	spinlock_t *lock = info->shared_lock ?: bucket + info->lock;
	unsigned int length = 0;

	/*
	 * Do not lock empty buckets. An object that this misses was added after
	 * the walk began. This reads the head only, no object.
	 */
	if (info->guard != HASHSTATS_RCU &&
	    (info->chain == HASHSTATS_LIST ? list_empty(head) :
					     !READ_ONCE(*(void **)head)))
		return 0;

	switch (info->guard) {
	case HASHSTATS_RCU:
		rcu_read_lock();
		length = count_objects(info->chain, head);
		rcu_read_unlock();
		break;
	case HASHSTATS_BIT_LOCK:
		hlist_bl_lock(head);
		length = count_objects(info->chain, head);
		hlist_bl_unlock(head);
		break;
	case HASHSTATS_SPIN:
		spin_lock(lock);
		length = count_objects(info->chain, head);
		spin_unlock(lock);
		break;
	case HASHSTATS_SPIN_BH:
		spin_lock_bh(lock);
		length = count_objects(info->chain, head);
		spin_unlock_bh(lock);
		break;
	case HASHSTATS_SPIN_IRQ:
		spin_lock_irq(lock);
		length = count_objects(info->chain, head);
		spin_unlock_irq(lock);
		break;
	}
	return length;
}

static int walk_chains(const struct boot_hash_table *table,
		       struct hashstats *stats)
{
	const struct hashstats_info *info = stats->info;
	unsigned long step = info->bucket_size ?: table->bucket_size;
	u64 start = ktime_get_ns(), last = start, longest = 0, now;
	void *bucket = table->table;
	unsigned int work = 0;
	unsigned long i;

	for (i = 0; i < table->nr_buckets; i++, bucket += step) {
		unsigned int length = chain_length(info, bucket);

		hash_histogram_add(&stats->chains, length);
		if (length == HASHSTATS_CHAIN_MAX)
			stats->capped++;

		work += 1 + length;
		if (work < WALK_BATCH && i + 1 < table->nr_buckets)
			continue;
		work = 0;
		now = ktime_get_ns();
		longest = max(longest, now - last);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		last = ktime_get_ns();
	}
	stats->walk_us = div_u64(last - start, NSEC_PER_USEC);
	stats->longest_us = div_u64(longest, NSEC_PER_USEC);
	return 0;
}

/* An empty list has all names. */
static bool is_wanted(const char *list, const char *name)
{
	size_t len = strlen(name);

	if (!*list)
		return true;
	for (; *list; list = skip_spaces(list + strcspn(list, " "))) {
		if (strcspn(list, " ") == len && !memcmp(list, name, len))
			return true;
	}
	return false;
}

/**
 * hashstats_walk - count the objects of a table
 * @number: index of the table, from 0
 * @only: names of the tables to walk, separated by spaces; empty for all
 * @stats: result
 *
 * A bucket lock or RCU section covers at most HASHSTATS_CHAIN_MAX objects.
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOENT if there is no such table, -ESRCH if @only does not name
 * it, or -EINTR if the caller is being killed.
 */
int hashstats_walk(unsigned int number, const char *only,
		   struct hashstats *stats)
{
	const struct boot_hash_table *table;
	int err;

	if (number >= nr_boot_hash_tables)
		return -ENOENT;
	table = &boot_hash_tables[number];
	if (!is_wanted(only, table->name))
		return -ESRCH;
	memset(stats, 0, sizeof(*stats));
	strscpy(stats->name, table->name);
	stats->sized_by = boot_hash_origin_name(table->origin);
	stats->nr_buckets = table->nr_buckets;
	stats->bytes = (u64)table->nr_buckets * table->bucket_size;
	stats->info = infos[number];
	if (!stats->info)
		return 0;
	err = walk_chains(table, stats);
	read_counters(number, stats);
	return err;
}

/**
 * hashstats_newest - the number of the table that was registered last
 *
 * Return: the number, for hashstats_walk_registered().
 */
u64 hashstats_newest(void)
{
	u64 number;

	down_read(&registered_sem);
	number = last_number;
	up_read(&registered_sem);
	return number;
}

/* The caller holds registered_sem. */
static const struct hashstats_table *find_registered(u64 number,
						     const char *only)
{
	const struct hashstats_table *table;

	list_for_each_entry(table, &registered, list) {
		if (table->number >= number && is_wanted(only, table->name))
			return table;
	}
	return NULL;
}

/**
 * hashstats_walk_registered - count the objects of a registered table
 * @number: the lowest number to look for, set to that of the table
 * @newest: the highest number, from hashstats_newest(), so that a reader does
 *	not see a table again that was unregistered and registered meanwhile
 * @only: names of the tables to walk, separated by spaces; empty for all
 * @stats: where the result goes
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOENT if there is no such table, or -EINTR if the caller is
 * being killed.
 */
int hashstats_walk_registered(u64 *number, u64 newest, const char *only,
			      struct hashstats *stats)
{
	const struct hashstats_table *table;
	int err = -ENOENT;

	if (down_read_killable(&registered_sem))
		return -EINTR;
	table = find_registered(*number, only);
	if (table && table->number <= newest) {
		struct boot_hash_table buckets = {
			.table		= table->buckets,
			.bucket_size	= table->bucket_size,
			.nr_buckets	= table->nr_buckets,
		};

		*number = table->number;
		memset(stats, 0, sizeof(*stats));
		strscpy(stats->name, table->name);
		stats->sized_by = boot_hash_origin_name(BOOT_HASH_FIXED);
		stats->nr_buckets = table->nr_buckets;
		stats->bytes = (u64)table->nr_buckets * table->bucket_size;
		stats->registered_info = table->info;
		stats->info = &stats->registered_info;
		err = walk_chains(&buckets, stats);
	}
	up_read(&registered_sem);
	return err;
}

/**
 * hashstats_counting_is_on - are lookups and wakeups counted?
 *
 * Return: true if they are.
 */
bool hashstats_counting_is_on(void)
{
	return static_key_enabled(&hashstats_counting_key);
}

/**
 * hashstats_counting_set - start or stop counting of lookups and wakeups
 * @on: start
 *
 * The counters keep their values until hashstats_counting_reset().
 *
 * Context: process context, may sleep.
 */
void hashstats_counting_set(bool on)
{
	/* A static key warns if two tasks switch it at the same time. */
	mutex_lock(&counting_lock);
	if (on)
		static_branch_enable(&hashstats_counting_key);
	else
		static_branch_disable(&hashstats_counting_key);
	mutex_unlock(&counting_lock);
}

/**
 * hashstats_counting_reset - restart the counters of all tables at 0
 *
 * Context: process context, may sleep.
 */
void hashstats_counting_reset(void)
{
	unsigned int i;

	mutex_lock(&reset_lock);
	for (i = 0; i < nr_boot_hash_tables; i++) {
		if (infos[i] && infos[i]->lookups)
			sum_lookups(infos[i], &lookups_at_reset[i]);
		if (infos[i] && infos[i]->wakes)
			sum_wakes(infos[i], &wakes_at_reset[i]);
	}
	mutex_unlock(&reset_lock);
}

static int __init hashstats_setup(char *str)
{
	if (strcmp(str, "lookups"))
		pr_warn("expected 'lookups', ignoring '%s'\n", str);
	else
		hashstats_counting_set(true);
	return 1;
}
__setup("hashstats=", hashstats_setup);
