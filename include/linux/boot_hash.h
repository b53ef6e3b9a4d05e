/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BOOT_HASH_H
#define _LINUX_BOOT_HASH_H

/*
 * Hash tables that get their size at boot.
 *
 * A cache describes its table in a struct boot_hash and calls
 * boot_hash_alloc() once. mm/boot_hash.c decides the number of buckets, from
 * memory, from the number of CPUs or from the command line, allocates the
 * table and enters it in the register that /proc/hashstats shows. Tables that
 * come and go later, such as those of a mounted file system, are made by
 * boot_hash_create() and end with boot_hash_destroy().
 */

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/memblock.h>
#include <linux/percpu.h>
#include <linux/slab.h>

/* What decided the number of buckets of a table. */
enum boot_hash_origin {
	BOOT_HASH_FIXED,	/* a constant of the kernel */
	BOOT_HASH_MEMORY,	/* ->mem_per_bucket */
	BOOT_HASH_CPUS,		/* ->buckets_per_cpu */
	BOOT_HASH_MINIMUM,	/* less would have been taken */
	BOOT_HASH_MAXIMUM,	/* more would have been taken */
	BOOT_HASH_CMDLINE,	/* hash_entries= or a parameter of the table */
	BOOT_HASH_OFF,		/* optional, and nobody asked for it */
};

/* What is different about a table; struct boot_hash, @flags. */
enum boot_hash_flags {
	/* Made only if the command line names it; `auto' is a size, too. */
	BOOT_HASH_OPTIONAL	= 1 << 0,
	/* A bucket holds one object, which another one may drive out. */
	BOOT_HASH_DIRECT_MAPPED	= 1 << 1,
	/* Look-ups come to the table only if a cache before it misses. */
	BOOT_HASH_CACHED	= 1 << 2,
};

/*
 * Look-ups of one table, counted per CPU while counting is on. On 32-bit
 * machines the counters wrap at 2^32.
 */
struct boot_hash_lookups {
	unsigned long	hits;
	unsigned long	hit_nodes;	/* examined by the hits */
	unsigned long	misses;
	unsigned long	miss_nodes;	/* examined by the misses */
	unsigned long	cache_hits;	/* that never came to the table */
};

/*
 * Wake-ups in a table of wait queues, counted per CPU while counting is on. On
 * 32-bit machines the counters wrap at 2^32.
 */
struct boot_hash_wakes {
	unsigned long	wakes;		/* that took the lock of a queue */
	unsigned long	examined;	/* entries that these looked at */
	unsigned long	matched;	/* of these, with the key of the wake-up */
	unsigned long	called;		/* wake functions */
};

/**
 * struct boot_hash - a hash table that gets its size at boot
 * @name: name in /proc/hashstats and for hash_entries=
 * @instance: which of several tables of this name; NULL if there is one
 * @title: name in the boot log, for boot_hash_alloc()
 * @bucket_size: bytes of one bucket
 * @mem_per_bucket: bytes of memory for each bucket, a power of two;
 *	0 when the size does not follow memory
 * @buckets_per_cpu: at least so many buckets for each possible CPU, or 0
 * @min: fewest buckets that are chosen without a word of the administrator
 * @max: most buckets that are chosen so; 0: what 1/16 of memory holds
 * @chain_length: objects in @bucket, counted no further than @max. Called
 *	from process context; must not sleep, and takes RCU, or the lock that
 *	guards this bucket, by itself. NULL if nobody can tell.
 * @lookups: per-CPU counters, or NULL if look-ups are not counted
 * @wakes: per-CPU counters, or NULL if the buckets are no wait queues
 * @flags: of enum boot_hash_flags
 * @table: the buckets
 * @nr_buckets: number of buckets, a power of two, 2 or more
 * @bits: log2 of @nr_buckets
 * @origin: what decided @nr_buckets
 * @cleared: sum of @lookups when they were last reset
 * @wakes_cleared: sum of @wakes when they were last reset
 * @serial: never that of another table
 * @walkers: who keep it from going, by boot_hash_get_from()
 * @node: entry in the register
 *
 * The owner sets the members up to @flags, boot_hash_alloc() or
 * boot_hash_create() the others.
 */
struct boot_hash {
	const char			*name;
	const char			*instance;
	const char			*title;
	size_t				bucket_size;
	unsigned long			mem_per_bucket;
	unsigned int			buckets_per_cpu;
	unsigned long			min;
	unsigned long			max;
	unsigned int			(*chain_length)(void *bucket,
							unsigned int max);
	struct boot_hash_lookups __percpu *lookups;
	struct boot_hash_wakes __percpu	*wakes;
	unsigned int			flags;

	void				*table;
	unsigned long			nr_buckets;
	unsigned int			bits;
	enum boot_hash_origin		origin;
	struct boot_hash_lookups	cleared;
	struct boot_hash_wakes		wakes_cleared;
	unsigned long			serial;
	atomic_t			walkers;
	struct list_head		node;
};

#ifdef CONFIG_BOOT_HASH

void *boot_hash_alloc(struct boot_hash *hash, int flags);
int boot_hash_setup(struct boot_hash *hash, const char *param, char *value);
int boot_hash_parse(const char *value, size_t len, unsigned long long *buckets);
void *boot_hash_create(struct boot_hash *hash);
void boot_hash_destroy(struct boot_hash *hash);

struct boot_hash *boot_hash_get_from(unsigned long serial);
void boot_hash_put(struct boot_hash *hash);

extern struct list_head boot_hash_tables;
extern struct rw_semaphore boot_hash_rwsem;
const char *boot_hash_origin_name(enum boot_hash_origin origin);

/*
 * Define @table, an array of @type whose address and size boot_hash_init()
 * sets. Lines for @table and @table##_shift belong into
 * RUNTIME_CONST_VARIABLES (vmlinux.lds.h); modules cannot use it. With
 * CONFIG_BOOT_HASH=n @table is an array of 1 << @fixed_bits, with the
 * attributes behind that.
 */
#define DEFINE_BOOT_HASH_TABLE(type, table, fixed_bits, ...)		\
	static_assert((fixed_bits) > 0);				\
	static unsigned int table##_shift __ro_after_init __used;	\
	static type *table __ro_after_init __used

#define boot_hash_table(table)	runtime_const_ptr(table)

/*
 * The bucket of a key, by a function such as hash_ptr(key, bits) or
 * hash_pair(word, word, bits).
 */
#define boot_hash_index(table, function, ...)				\
	runtime_const_shift_right_32((unsigned long)function(__VA_ARGS__, 32), \
				     table##_shift)

#define boot_hash_init(table, desc, flags)				\
do {									\
	struct boot_hash *__desc = (desc);				\
									\
	(table) = boot_hash_alloc(__desc, flags);			\
	table##_shift = 32 - __desc->bits;				\
	runtime_const_init(shift, table##_shift);			\
	runtime_const_init(ptr, table);					\
} while (0)

#else /* !CONFIG_BOOT_HASH: sizes and code as without this file */

static inline void *__init boot_hash_alloc(struct boot_hash *hash, int flags)
{
	unsigned long buckets = hash->nr_buckets;
	unsigned long fixed = 0;

	if (!hash->mem_per_bucket) {
		fixed = hash->buckets_per_cpu * num_possible_cpus();
		fixed = roundup_pow_of_two(max(fixed, hash->min));
		buckets = fixed;
	}
	hash->table = alloc_large_system_hash(hash->title, hash->bucket_size,
					      buckets,
					      ilog2(hash->mem_per_bucket | 1),
					      flags, &hash->bits, NULL,
					      hash->min, fixed);
	hash->nr_buckets = 1UL << hash->bits;
	return hash->table;
}

static inline int __init boot_hash_setup(struct boot_hash *hash,
					 const char *param, char *value)
{
	hash->nr_buckets = memparse(value, NULL);
	return 1;
}

static inline void *boot_hash_create(struct boot_hash *hash)
{
	hash->bits = ilog2(hash->min);
	hash->nr_buckets = 1UL << hash->bits;
	hash->table = kvcalloc(hash->nr_buckets, hash->bucket_size, GFP_KERNEL);
	return hash->table;
}

static inline void boot_hash_destroy(struct boot_hash *hash)
{
	kvfree(hash->table);
}

#define DEFINE_BOOT_HASH_TABLE(type, table, fixed_bits, ...)		\
	enum { table##_bits = (fixed_bits) };				\
	static type table[1 << (fixed_bits)] __VA_ARGS__

#define boot_hash_table(table)	(table)

#define boot_hash_index(table, function, ...)				\
	function(__VA_ARGS__, table##_bits)

#define boot_hash_init(table, desc, flags)				\
	((void)(flags), (desc)->nr_buckets = ARRAY_SIZE(table))

#endif /* CONFIG_BOOT_HASH */

#ifdef CONFIG_HASHSTATS

DECLARE_STATIC_KEY_FALSE(boot_hash_counting);

/* Are look-ups and wake-ups counted? A NOP in the caller while they are not. */
static __always_inline bool boot_hash_counts(void)
{
	return static_branch_unlikely(&boot_hash_counting);
}

void boot_hash_count_lookup(struct boot_hash *hash, bool hit,
			    unsigned int nodes);
void boot_hash_count_cache_hit(struct boot_hash *hash);
void boot_hash_count_wake(struct boot_hash *hash, unsigned int examined,
			  unsigned int matched, unsigned int called);

unsigned int boot_hash_nodes(const struct hlist_head *head, unsigned int max);
unsigned int boot_hash_waiters(void *bucket, unsigned int max);

#else

static __always_inline bool boot_hash_counts(void)
{
	return false;
}

static inline void boot_hash_count_lookup(struct boot_hash *hash, bool hit,
					  unsigned int nodes)
{
}

static inline void boot_hash_count_cache_hit(struct boot_hash *hash)
{
}

static inline void boot_hash_count_wake(struct boot_hash *hash,
					unsigned int examined,
					unsigned int matched,
					unsigned int called)
{
}

static inline unsigned int boot_hash_nodes(const struct hlist_head *head,
					   unsigned int max)
{
	return 0;
}

#define boot_hash_waiters	NULL

#endif /* CONFIG_HASHSTATS */

#endif /* _LINUX_BOOT_HASH_H */
