/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_PAGE_HASH_H
#define _MM_PAGE_HASH_H

#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/types.h>

struct address_space;
struct folio;

/**
 * struct page_hash - a cache of page indexes
 * @slots: folios that were found last, or NULL; hints only, see mm/page_hash.c
 * @mask: number of slots, a power of two, minus 1
 */
struct page_hash {
	struct folio	**slots;
	unsigned long	mask;
};

struct folio *page_hash_find_in(const struct page_hash *hash,
				struct address_space *mapping, pgoff_t index,
				bool *used);
void page_hash_add_to(const struct page_hash *hash,
		      struct address_space *mapping, pgoff_t index,
		      struct folio *folio);
void page_hash_forget_in(const struct page_hash *hash, unsigned long start_pfn,
			 unsigned long nr_pages);

#ifdef CONFIG_PAGE_HASH

bool page_hash_serves(struct address_space *mapping);

DECLARE_STATIC_KEY_FALSE(page_hash_key);

/* Does the table exist? A NOP in the caller if it does not. */
static __always_inline bool page_hash_is_on(void)
{
	return static_branch_unlikely(&page_hash_key);
}

void __init page_hash_init_early(void);
void __init page_hash_init(void);
struct folio *page_hash_find(struct address_space *mapping, pgoff_t index);
void page_hash_add(struct address_space *mapping, pgoff_t index, void *entry);

#else

static __always_inline bool page_hash_is_on(void)
{
	return false;
}

static inline void page_hash_init_early(void)
{
}

static inline void page_hash_init(void)
{
}

static inline bool page_hash_serves(struct address_space *mapping)
{
	return false;
}

static inline struct folio *page_hash_find(struct address_space *mapping,
					   pgoff_t index)
{
	return NULL;
}

static inline void page_hash_add(struct address_space *mapping, pgoff_t index,
				 void *entry)
{
}

#endif /* CONFIG_PAGE_HASH */

#endif /* _MM_PAGE_HASH_H */
