// SPDX-License-Identifier: GPL-2.0
/*
 * What a boot-sized hash table holds, and what its look-ups cost.
 *
 * Objects are not counted when they come and go: that would be paid by
 * everyone. Who wants to know walks the table, bucket by bucket, each under
 * RCU or the lock that guards it for as long as one chain takes. The table
 * changes meanwhile, so the numbers are those of a moment only where nothing
 * moves; an object that changes its bucket may be counted twice or not at all,
 * and those behind it in its chain may be missed.
 *
 * A walk holds nothing but a count that keeps the table from going, and RCU or
 * the lock of one bucket: a reader of the file keeps up nobody for longer than
 * one chain, but for who takes away the very table that is walked.
 *
 * Look-ups and wake-ups are counted per CPU, behind a static key, and only while
 * somebody asked for it. The counters are never written by another CPU: a reset
 * remembers what they were, and that is subtracted.
 */

#define pr_fmt(fmt) "hashstats: " fmt

#include <linux/boot_hash_stats.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/wait.h>

DEFINE_STATIC_KEY_FALSE(boot_hash_counting);
EXPORT_SYMBOL_GPL(boot_hash_counting);

/* Buckets and objects between two chances to reschedule: some 10 us. */
#define WALK_BATCH	1024

/**
 * boot_hash_count_lookup - count one look-up
 * @hash: the table that was asked
 * @hit: was the object there?
 * @nodes: nodes that were examined
 *
 * Call it behind boot_hash_counts() only.
 *
 * Context: any but NMI.
 */
void boot_hash_count_lookup(struct boot_hash *hash, bool hit,
			    unsigned int nodes)
{
	if (hit) {
		this_cpu_inc(hash->lookups->hits);
		this_cpu_add(hash->lookups->hit_nodes, nodes);
	} else {
		this_cpu_inc(hash->lookups->misses);
		this_cpu_add(hash->lookups->miss_nodes, nodes);
	}
}
EXPORT_SYMBOL_GPL(boot_hash_count_lookup);

/**
 * boot_hash_count_cache_hit - count what a cache before the table answered
 * @hash: the table that was not asked
 *
 * Call it behind boot_hash_counts() only.
 *
 * Context: any but NMI.
 */
void boot_hash_count_cache_hit(struct boot_hash *hash)
{
	this_cpu_inc(hash->lookups->cache_hits);
}

/**
 * boot_hash_count_wake - count one wake-up
 * @hash: the table of wait queues, with @hash->wakes
 * @examined: entries of the queue that it looked at
 * @matched: of these, those that waited for its key
 * @called: wake functions that it called
 *
 * Call it behind boot_hash_counts() only.
 *
 * Context: any but NMI.
 */
void boot_hash_count_wake(struct boot_hash *hash, unsigned int examined,
			  unsigned int matched, unsigned int called)
{
	this_cpu_inc(hash->wakes->wakes);
	this_cpu_add(hash->wakes->examined, examined);
	this_cpu_add(hash->wakes->matched, matched);
	this_cpu_add(hash->wakes->called, called);
}

static void sum_lookups(const struct boot_hash *hash,
			struct boot_hash_lookups *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct boot_hash_lookups *of_cpu;

		of_cpu = per_cpu_ptr(hash->lookups, cpu);
		sum->hits	+= READ_ONCE(of_cpu->hits);
		sum->hit_nodes	+= READ_ONCE(of_cpu->hit_nodes);
		sum->misses	+= READ_ONCE(of_cpu->misses);
		sum->miss_nodes	+= READ_ONCE(of_cpu->miss_nodes);
		sum->cache_hits	+= READ_ONCE(of_cpu->cache_hits);
	}
}

static void walk_lookups(const struct boot_hash *hash,
			 struct boot_hash_lookups *since_reset)
{
	const struct boot_hash_lookups *cleared = &hash->cleared;

	sum_lookups(hash, since_reset);
	since_reset->hits	-= cleared->hits;
	since_reset->hit_nodes	-= cleared->hit_nodes;
	since_reset->misses	-= cleared->misses;
	since_reset->miss_nodes	-= cleared->miss_nodes;
	since_reset->cache_hits	-= cleared->cache_hits;
}

static void sum_wakes(const struct boot_hash *hash, struct boot_hash_wakes *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct boot_hash_wakes *of_cpu;

		of_cpu = per_cpu_ptr(hash->wakes, cpu);
		sum->wakes	+= READ_ONCE(of_cpu->wakes);
		sum->examined	+= READ_ONCE(of_cpu->examined);
		sum->matched	+= READ_ONCE(of_cpu->matched);
		sum->called	+= READ_ONCE(of_cpu->called);
	}
}

static void walk_wakes(const struct boot_hash *hash,
		       struct boot_hash_wakes *since_reset)
{
	const struct boot_hash_wakes *cleared = &hash->wakes_cleared;

	sum_wakes(hash, since_reset);
	since_reset->wakes	-= cleared->wakes;
	since_reset->examined	-= cleared->examined;
	since_reset->matched	-= cleared->matched;
	since_reset->called	-= cleared->called;
}

/**
 * boot_hash_nodes - length of a chain of hlist nodes
 * @head: the bucket
 * @max: where to stop counting
 *
 * Context: any; the caller holds the lock that guards the chain.
 * Return: number of nodes, at most @max.
 */
unsigned int boot_hash_nodes(const struct hlist_head *head, unsigned int max)
{
	const struct hlist_node *node;
	unsigned int length = 0;

	for (node = head->first; node && length < max; node = node->next)
		length++;
	return length;
}

/**
 * boot_hash_waiters - length of a chain where the buckets are wait queues
 * @bucket: a struct wait_queue_head
 * @max: where to stop counting
 *
 * Context: any; takes the lock of the queue, with interrupts off, unless the
 * queue is empty. A wake-up holds it for the same walk.
 * Return: number of waiters, at most @max.
 */
unsigned int boot_hash_waiters(void *bucket, unsigned int max)
{
	struct wait_queue_head *queue = bucket;
	struct wait_queue_entry *entry;
	unsigned int length = 0;
	unsigned long flags;

	/* Whoever is missed by this came after the walk had begun. */
	if (!waitqueue_active(queue))
		return 0;
	spin_lock_irqsave(&queue->lock, flags);
	list_for_each_entry(entry, &queue->head, entry) {
		if (++length == max)
			break;
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return length;
}

static int walk_chains(struct boot_hash *hash, struct boot_hash_stats *stats)
{
	u64 start = ktime_get_ns(), last = start, longest = 0, now;
	void *bucket = hash->table;
	unsigned int work = 0;
	unsigned long i;

	for (i = 0; i < hash->nr_buckets; i++, bucket += hash->bucket_size) {
		unsigned int length;

		length = hash->chain_length(bucket, BOOT_HASH_CHAIN_MAX);
		hash_histogram_add(&stats->chains, length);
		if (length == BOOT_HASH_CHAIN_MAX)
			stats->capped++;

		work += 1 + length;
		if (work < WALK_BATCH && i + 1 < hash->nr_buckets)
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

/**
 * boot_hash_walk - see how a table is filled
 * @hash: the table
 * @stats: where the numbers go
 *
 * Context: process context, may sleep; the caller has @hash by
 * boot_hash_get_from(). Takes boot_hash_rwsem for a moment, and no other lock
 * for longer than one chain of at most BOOT_HASH_CHAIN_MAX objects.
 * Return: 0, or -EINTR when the caller is being killed.
 */
int boot_hash_walk(struct boot_hash *hash, struct boot_hash_stats *stats)
{
	int err = 0;

	memset(stats, 0, sizeof(*stats));
	if (hash->chain_length)
		err = walk_chains(hash, stats);
	/* A reset is seen whole or not at all. */
	down_read(&boot_hash_rwsem);
	if (hash->lookups)
		walk_lookups(hash, &stats->lookups);
	if (hash->wakes)
		walk_wakes(hash, &stats->wakes);
	up_read(&boot_hash_rwsem);
	return err;
}

/**
 * boot_hash_counting_is_on - are look-ups and wake-ups counted?
 *
 * Context: any.
 * Return: true if they are.
 */
bool boot_hash_counting_is_on(void)
{
	return static_key_enabled(&boot_hash_counting);
}

/**
 * boot_hash_counting_set - begin or end to count look-ups and wake-ups
 * @on: begin
 *
 * What was counted stays until boot_hash_counting_reset().
 *
 * Context: process context, may sleep.
 */
void boot_hash_counting_set(bool on)
{
	if (on)
		static_branch_enable(&boot_hash_counting);
	else
		static_branch_disable(&boot_hash_counting);
}

/**
 * boot_hash_counting_reset - let the counters of all tables begin at 0
 *
 * Context: process context, may sleep; takes boot_hash_rwsem for writing, so
 * that no walk sees half of it.
 */
void boot_hash_counting_reset(void)
{
	struct boot_hash *hash;

	down_write(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node) {
		if (hash->lookups)
			sum_lookups(hash, &hash->cleared);
		if (hash->wakes)
			sum_wakes(hash, &hash->wakes_cleared);
	}
	up_write(&boot_hash_rwsem);
}

static int __init hashstats_setup(char *str)
{
	if (strcmp(str, "lookups"))
		pr_warn("hashstats=%s: 'lookups' is accepted, nothing is counted\n",
			str);
	else
		boot_hash_counting_set(true);
	return 1;
}
__setup("hashstats=", hashstats_setup);
