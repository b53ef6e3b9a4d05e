// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups of the pages of one file, as the page cache does them.
 *
 * The pages are real ones of a file of ramfs, all taken from the allocator
 * before the first of them enters the file; but for the cells that touch them
 * their memory is never looked at, so that the host need not have it. Which
 * index is looked up next stands in the folio, where the reference count is.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/ramfs.h>

#include "../../lib/um/boot_hash_table.h"
#include "cells.h"
#include "parts.h"

/* With more pages than that the host's memory counts, not the index. */
#define TOUCH_BITS	17

static struct address_space *mapping;

static u64 independent(const u32 *keys, unsigned int count)
{
	struct folio *folio;
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++) {
		folio = filemap_get_entry(mapping, keys[n]);
		sum += folio->index;
		folio_put(folio);
	}
	return sum;
}

static u64 dependent(const u32 *keys, unsigned int count)
{
	unsigned long key = keys[0];
	struct folio *folio;
	u64 sum = 0;

	while (count--) {
		folio = filemap_get_entry(mapping, key);
		sum += folio->index;
		key = (unsigned long)folio->private;
		folio_put(folio);
	}
	return sum;
}

/* A word of the page, not in the same set of the cache for all of them. */
static unsigned long *word_of(const struct folio *folio)
{
	return folio_address(folio) + (folio->index * SMP_CACHE_BYTES) % PAGE_SIZE;
}

static u64 touching(const u32 *keys, unsigned int count)
{
	struct folio *folio;
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++) {
		folio = filemap_get_entry(mapping, keys[n]);
		sum += READ_ONCE(*word_of(folio));
		folio_put(folio);
	}
	return sum;
}

static int add_pages(unsigned int number)
{
	struct folio *folio, *next;
	LIST_HEAD(folios);
	pgoff_t index = 0;
	int error = 0;

	while (number--) {
		folio = folio_alloc(GFP_HIGHUSER, 0);
		if (!folio)
			return -ENOMEM;
		list_add_tail(&folio->lru, &folios);
	}
	list_for_each_entry_safe(folio, next, &folios, lru) {
		list_del(&folio->lru);
		error = filemap_add_folio(mapping, folio, index++, GFP_KERNEL);
		if (error)
			break;
		folio_mark_uptodate(folio);
		folio_unlock(folio);
		folio_put(folio);
	}
	return error;
}

/* The lookups of this order follow each other through the folios. */
static void link_pages(unsigned int bits)
{
	unsigned int segment, n;
	struct folio *folio;

	for (segment = 0; segment < 1U << (bits - SEGMENT_BITS); segment++) {
		const u32 *keys = segment_keys(segment);

		for (n = 0; n < SEGMENT; n++) {
			folio = filemap_get_entry(mapping, keys[n]);
			folio->private = (void *)(unsigned long)keys[n + 1];
			if (bits <= TOUCH_BITS)
				*word_of(folio) = keys[n];
			folio_put(folio);
		}
	}
}

static int run_file(unsigned int bits)
{
	const u64 sum = sum_of_keys(bits);
	const struct cell cells[] = {
		{ "file", "lookup", "independent", true, independent, sum },
		{ "file", "lookup", "dependent", true, dependent, sum },
		{ "file", "lookup", "touching", true, touching, sum },
	};
	enum order order;
	int error;

	error = add_pages(1U << bits);
	for (order = SEQUENTIAL; order < NR_ORDERS && !error; order++) {
		error = order_keys(order, bits);
		if (error)
			break;
		link_pages(bits);
		error = run_cells("pages", cells,
				  ARRAY_SIZE(cells) - (bits > TOUCH_BITS), order, bits);
	}
	return error;
}

/* Of the table in front of the tree, if there is one. */
static unsigned long page_hash_slots(void)
{
#ifdef HAVE_BOOT_HASH
	const struct boot_hash_table *table = boot_hash_table("page");

	if (table)
		return table->nr_buckets;
#endif
	return 0;
}

int run_pages(unsigned int bits)
{
	struct vfsmount *mount = kern_mount(get_fs_type("ramfs"));
	struct inode *inode;
	int error;

	if (IS_ERR(mount))
		return PTR_ERR(mount);
	inode = ramfs_get_inode(mount->mnt_sb, NULL, S_IFREG, 0);
	if (!inode)
		return -ENOMEM;
	mapping = inode->i_mapping;
	pr_info("index_bench: bits %u page_hash_slots %lu\n", bits, page_hash_slots());
	error = run_file(bits);
	iput(inode);
	kern_unmount(mount);
	return error;
}
