/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BUFFER_HASH_H
#define _LINUX_BUFFER_HASH_H

#include <linux/init.h>
#include <linux/types.h>

struct block_device;
struct buffer_head;
struct folio;

#ifdef CONFIG_BUFFER_HASH

void __init buffer_hash_init(void);
struct buffer_head *buffer_hash_find(struct block_device *bdev, sector_t block,
				     size_t size);
void buffer_hash_add(struct buffer_head *bh);
void buffer_hash_remove(struct buffer_head *bh);
void buffer_hash_add_folio(struct folio *folio);
void buffer_hash_remove_folio(struct folio *folio);
void buffer_hash_count_cache_hit(void);

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

static inline void buffer_hash_remove_folio(struct folio *folio)
{
}

static inline void buffer_hash_count_cache_hit(void)
{
}

#endif /* CONFIG_BUFFER_HASH */

#endif /* _LINUX_BUFFER_HASH_H */
