/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_HASHSTATS_H
#define _LINUX_HASHSTATS_H

/*
 * Description of hash tables for /proc/hashstats.
 *
 * alloc_large_system_hash() registers each table that it makes. The owner of a
 * table can add a struct hashstats_info, which says how to count the objects in
 * a bucket and where lookups are counted:
 *
 *	static const struct hashstats_info uid_info = {
 *		.chain		= HASHSTATS_HLIST,
 *		.guard		= HASHSTATS_SPIN_IRQ,
 *		.shared_lock	= &uidhash_lock,
 *	};
 *
 *	uidhash_table = alloc_large_system_hash("uid", ...);
 *	hashstats_describe(uidhash_table, &uid_info);
 *
 * A table that a module or a mount allocates is registered while it exists: see
 * hashstats_register().
 *
 * Without CONFIG_HASHSTATS, these functions do nothing, and the compiler drops
 * descriptions and counters that are static.
 */

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>

/* Type of a bucket, or of its list head (see @head). */
enum hashstats_chain {
	HASHSTATS_HLIST,	/* struct hlist_head */
	HASHSTATS_HLIST_BL,	/* struct hlist_bl_head */
	HASHSTATS_HLIST_NULLS,	/* struct hlist_nulls_head */
	HASHSTATS_LIST,		/* struct list_head */
	HASHSTATS_SLOT,		/* a pointer to one object, or NULL */
};

/* What keeps the objects of a bucket from going away during a walk. */
enum hashstats_guard {
	HASHSTATS_RCU,
	HASHSTATS_BIT_LOCK,	/* hlist_bl_lock() */
	HASHSTATS_SPIN,		/* spin_lock() */
	HASHSTATS_SPIN_BH,	/* spin_lock_bh() */
	HASHSTATS_SPIN_IRQ,	/* spin_lock_irq() */
};

/*
 * Lookups of one table, counted per CPU while counting is on. On 32-bit
 * machines the counters wrap at 2^32.
 */
struct hashstats_lookups {
	unsigned long	hits;
	unsigned long	hit_nodes;	/* examined by the hits */
	unsigned long	misses;
	unsigned long	miss_nodes;	/* examined by the misses */
	unsigned long	cache_hits;	/* answered by the cache, see flags */
};

/*
 * Wakeups in a table of wait queues, counted per CPU while counting is on. On
 * 32-bit machines the counters wrap at 2^32.
 */
struct hashstats_wakes {
	unsigned long	wakes;		/* that took the lock of a queue */
	unsigned long	examined;	/* entries that they compared */
	unsigned long	matched;	/* entries with the key of the wakeup */
	unsigned long	called;		/* wake functions */
};

/* Lookups try a cache before the table. */
#define HASHSTATS_CACHED	0x1

/**
 * struct hashstats_info - how to count the objects of a hash table
 * @chain: what a bucket is
 * @guard: lock, or RCU
 * @head: offset of the list head in a bucket
 * @lock: offset of the spinlock in a bucket
 * @shared_lock: the spinlock of all buckets; NULL if each has its own
 * @bucket_size: bytes from one bucket to the next; 0 for the bucket size that
 *	was passed to alloc_large_system_hash()
 * @lookups: per-CPU counters, or NULL if lookups are not counted
 * @wakes: per-CPU counters, or NULL if wakeups are not counted
 * @flags: HASHSTATS_CACHED
 *
 * The locks must be initialized when hashstats_describe() is called.
 */
struct hashstats_info {
	enum hashstats_chain			chain;
	enum hashstats_guard			guard;
	unsigned short				head;
	unsigned short				lock;
	spinlock_t				*shared_lock;	/* of all buckets */
	unsigned long				bucket_size;
	struct hashstats_lookups __percpu	*lookups;
	struct hashstats_wakes __percpu		*wakes;
	unsigned int				flags;
};

#define HASHSTATS_NAME_LEN	48

/**
 * struct hashstats_table - a table that alloc_large_system_hash() did not make
 * @name: in /proc/hashstats; hashstats_register() replaces each character other
 *	than a letter, a digit, '_' and '.' by '-'
 * @buckets: the table
 * @nr_buckets: number of buckets, a power of two
 * @bucket_size: bytes of one bucket
 * @info: how to count its objects, without counters of lookups and wakeups
 * @number: set by hashstats_register()
 * @list: for hashstats_register()
 */
struct hashstats_table {
	char				name[HASHSTATS_NAME_LEN];
	void				*buckets;
	unsigned long			nr_buckets;
	unsigned long			bucket_size;
	struct hashstats_info		info;
	u64				number;
	struct list_head		list;
};

#ifdef CONFIG_HASHSTATS

DECLARE_STATIC_KEY_FALSE(hashstats_counting_key);

/* Is counting on? A NOP in the caller while it is off. */
static __always_inline bool hashstats_counting(void)
{
	return static_branch_unlikely(&hashstats_counting_key);
}

void hashstats_describe(const void *table, const struct hashstats_info *info);
void hashstats_register(struct hashstats_table *table);
void hashstats_unregister(struct hashstats_table *table);
void hashstats_count_lookup(struct hashstats_lookups __percpu *lookups,
			    bool hit, unsigned int nodes);
void hashstats_count_wake(struct hashstats_wakes __percpu *wakes,
			  unsigned int examined, unsigned int matched,
			  unsigned int called);

#else

static __always_inline bool hashstats_counting(void)
{
	return false;
}

static inline void hashstats_describe(const void *table,
				      const struct hashstats_info *info)
{
}

static inline void hashstats_register(struct hashstats_table *table)
{
}

static inline void hashstats_unregister(struct hashstats_table *table)
{
}

static inline void
hashstats_count_lookup(struct hashstats_lookups __percpu *lookups, bool hit,
		       unsigned int nodes)
{
}

static inline void
hashstats_count_wake(struct hashstats_wakes __percpu *wakes,
		     unsigned int examined, unsigned int matched,
		     unsigned int called)
{
}

#endif /* CONFIG_HASHSTATS */

#endif /* _LINUX_HASHSTATS_H */
