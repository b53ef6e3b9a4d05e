/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_BOOT_HASH_H
#define _MM_BOOT_HASH_H

/* Interface of boot_hash.c to mm_init.c and hashstats.c. */

#include <linux/types.h>

/* What decided the number of buckets of a table. */
enum boot_hash_origin {
	BOOT_HASH_FIXED,	/* the code that allocates the table */
	BOOT_HASH_MEMORY,	/* memory at boot */
	BOOT_HASH_MINIMUM,	/* a lower bound */
	BOOT_HASH_MAXIMUM,	/* an upper bound, or memory ran out */
	BOOT_HASH_CMDLINE,	/* hash_entries= */
	BOOT_HASH_OFF,		/* HASH_OPTIONAL: unset, or set to 0 */
};

#define BOOT_HASH_TABLES	48	/* largest number of tables */
#define BOOT_HASH_NAME_LEN	32

/**
 * struct boot_hash_table - one table of the register
 * @name: name in hash_entries= and /proc/hashstats
 * @table: the buckets; NULL if an optional table was not requested, or if there
 *	was no memory for it
 * @bucket_size: bytes of one bucket
 * @nr_buckets: number of buckets, a power of two; 0 if @table is NULL
 * @origin: what decided @nr_buckets
 */
struct boot_hash_table {
	char			name[BOOT_HASH_NAME_LEN];
	void			*table;
	unsigned long		bucket_size;
	unsigned long		nr_buckets;
	enum boot_hash_origin	origin;
};

/**
 * struct boot_hash_bounds - bounds of the size of one table
 * @fewest: minimum number of buckets
 * @most: maximum number of buckets
 */
struct boot_hash_bounds {
	unsigned long long	fewest;
	unsigned long long	most;
};

/* Written by __init functions only: readers need no lock after boot. */
extern struct boot_hash_table boot_hash_tables[];
extern unsigned int nr_boot_hash_tables;

int boot_hash_parse(const char *value, size_t len, unsigned long long *number);
void boot_hash_name(char name[BOOT_HASH_NAME_LEN], const char *title);
unsigned long boot_hash_clamp(unsigned long long wanted,
			      const struct boot_hash_bounds *bounds,
			      enum boot_hash_origin *origin);

unsigned long boot_hash_pages(unsigned long kernel_pages);
unsigned long boot_hash_choose(struct boot_hash_table *table, int flags,
			       const struct boot_hash_bounds *bounds,
			       unsigned long kernel_pages);
void boot_hash_register(struct boot_hash_table *table, void *buckets,
			unsigned long nr_buckets);

const char *boot_hash_origin_name(enum boot_hash_origin origin);

#endif /* _MM_BOOT_HASH_H */
