/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BUFFER_HASH_H
#define _LINUX_BUFFER_HASH_H

#include <linux/boot_hash.h>
#include <linux/init.h>
#include <linux/types.h>

struct block_device;
struct buffer_head;
struct folio;

#ifdef CONFIG_BUFFER_HASH

extern struct boot_hash buffer_boot_hash;

void __init buffer_hash_init(void);
struct buffer_head *buffer_hash_find(struct block_device *bdev, sector_t block,
				     size_t size);
void buffer_hash_add(struct buffer_head *bh);
void buffer_hash_remove(struct buffer_head *bh);
void buffer_hash_add_folio(struct folio *folio);
bool buffer_hash_remove_folio(struct folio *folio);

/* Count what the LRU of a CPU answered. */
static inline void buffer_hash_count_cache_hit(void)
{
	if (boot_hash_counts())
		boot_hash_count_cache_hit(&buffer_boot_hash);
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

static inline bool buffer_hash_remove_folio(struct folio *folio)
{
	return false;
}

static inline void buffer_hash_count_cache_hit(void)
{
}

#endif /* CONFIG_BUFFER_HASH */

#endif /* _LINUX_BUFFER_HASH_H */
