/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BUFFER_HASH_H
#define _LINUX_BUFFER_HASH_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/buffer_head.h>
#include <linux/hashstats.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/types.h>

struct block_device;
struct folio;

#ifdef CONFIG_BUFFER_HASH

DECLARE_PER_CPU(struct hashstats_lookups, buffer_hash_lookups);

void __init buffer_hash_init(void);
struct buffer_head *buffer_hash_find(struct block_device *bdev, sector_t block,
				     size_t size);
void buffer_hash_add(struct buffer_head *bh);
void __buffer_hash_remove(struct buffer_head *bh);
void buffer_hash_add_folio(struct folio *folio);
bool buffer_hash_freeze(struct buffer_head *head);
void buffer_hash_thaw(struct buffer_head *head);
bool buffer_hash_evict(struct buffer_head *head);

/* Far from 0, so that an unexpected get_bh() does not make it positive. */
#define BUFFER_FROZEN	(INT_MIN / 2)

/* References to a buffer that may be frozen. */
static inline int buffer_hash_refs(const struct buffer_head *bh)
{
	int count = atomic_read(&bh->b_count);

	return count < 0 ? count - BUFFER_FROZEN : count;
}

/* Has a buffer been in the table? @b_state may be ORed from several. */
static inline bool buffer_was_hashed(unsigned long b_state)
{
	return b_state & BIT(BH_RCU_Free);
}

/**
 * buffer_hash_remove - remove a buffer from the table
 * @bh: any buffer of a folio
 *
 * Context: the caller holds the lock of the folio; takes the lock of a bucket
 * if the buffer is in the table.
 */
static inline void buffer_hash_remove(struct buffer_head *bh)
{
	if (buffer_hashed(bh))
		__buffer_hash_remove(bh);
}

/* Count a lookup that the LRU of a CPU answered. */
static inline void buffer_hash_count_cache_hit(void)
{
	if (hashstats_counting())
		this_cpu_inc(buffer_hash_lookups.cache_hits);
}

#else

static inline void buffer_hash_init(void)
{
}

static inline struct buffer_head *
buffer_hash_find(struct block_device *bdev, sector_t block, size_t size)
{
	return NULL;
}

static inline void buffer_hash_add(struct buffer_head *bh)
{
}

static inline void buffer_hash_remove(struct buffer_head *bh)
{
}

static inline void buffer_hash_add_folio(struct folio *folio)
{
}

static inline bool buffer_hash_freeze(struct buffer_head *head)
{
	return true;
}

static inline void buffer_hash_thaw(struct buffer_head *head)
{
}

static inline bool buffer_hash_evict(struct buffer_head *head)
{
	return true;
}

static inline bool buffer_was_hashed(unsigned long b_state)
{
	return false;
}

static inline int buffer_hash_refs(const struct buffer_head *bh)
{
	return atomic_read(&bh->b_count);
}

static inline void buffer_hash_count_cache_hit(void)
{
}

#endif /* CONFIG_BUFFER_HASH */

#endif /* _LINUX_BUFFER_HASH_H */
