// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's hash table that grows with its entries, with its own defaults:
 * jhash with a seed, a worker that doubles the table above three entries for
 * four buckets, lookups under RCU, changes under a bit lock of the bucket.
 */
#include <linux/build_bug.h>
/* Before rhashtable.h, whose headers need it on 6.12. */
#include <linux/sched.h>

#include <linux/rhashtable.h>

#include "index_ops.h"

static const struct rhashtable_params params = {
	.key_len	= sizeof_field(struct entry, key),
	.key_offset	= offsetof(struct entry, key),
	.head_offset	= offsetof(struct entry, node),
};

static struct rhashtable table;

static int create(unsigned int bits)
{
	BUILD_BUG_ON(sizeof(struct rhash_head) > sizeof_field(struct entry, node));
	return rhashtable_init(&table, &params);
}

static void destroy(void)
{
	rhashtable_destroy(&table);
}

static struct rhash_head *head_of(struct entry *entry)
{
	return (struct rhash_head *)entry->node;
}

static int insert(unsigned long key, struct entry *entry)
{
	entry->key = key;
	return rhashtable_insert_fast(&table, head_of(entry), params);
}

static struct entry *find(unsigned long key)
{
	return rhashtable_lookup_fast(&table, &key, params);
}

static struct entry *erase(unsigned long key, struct entry *entry)
{
	return rhashtable_remove_fast(&table, head_of(entry), params) ? NULL : entry;
}

/* The worker queues itself again while one table follows another. */
static void settle(void)
{
	while (flush_work(&table.run_work))
		;
}

static unsigned long bytes(void)
{
	const struct bucket_table *now;
	unsigned long size;

	rcu_read_lock();
	now = rht_dereference_rcu(table.tbl, &table);
	size = struct_size(now, buckets, now->size);
	rcu_read_unlock();
	return size;
}

const struct index_ops rhashtable_ops = {
	.name		= "rhashtable",
	.in_entry	= sizeof(unsigned long) + sizeof(struct rhash_head),
	.create		= create,
	.destroy	= destroy,
	.insert		= insert,
	.find		= find,
	.erase		= erase,
	.settle		= settle,
	.bytes		= bytes,
};
