// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table in front of the page index.
 *
 * The folios of a file are in an XArray, a radix tree: a random look-up in a
 * large file takes a cache miss a level. Before Linux 2.5 there was one hash
 * table for the pages of all files, sized from memory, and a look-up took a
 * miss for the bucket ("Linux Kernel Hash Table Behavior", CITI technical
 * report 00-1, 2000). This is such a table as a cache of the trees: off unless
 * the command line has hash_entries=page:N, since it helps look-ups at random
 * in one file that has at least a slot for each page, and loses where several
 * files compete for its slots.
 *
 * It is direct-mapped. A slot holds the folio that was found last for one of
 * the (mapping, index) that share it. The pages of a file are in slots one
 * behind the other, so that a look-up of the next page finds its slot in the
 * same cache line; where a file begins is by golden ratio.
 *
 * Slots promise nothing
 * ---------------------
 *
 * Slots are written without a lock by who has just found a folio in its tree,
 * and nobody clears them: neither when a folio leaves its file nor when it is
 * freed. So whatever is found in a slot is checked against the folio itself:
 * it must have the mapping, a reference is taken, and then it must be unlocked
 * and up to date, and have the mapping and the index. Everything else is looked
 * up in the tree.
 *
 * The reference. Slots outlive the folio, so what is tried to be got may be
 * any page by now. Its struct page is there: see "Memory that goes". Frozen,
 * free and tail pages have no references, and folio_try_get() fails. On any
 * other page the reference is as harmless as that of the page cache (see
 * "Lockless page cache" in mm/filemap.c), of GUP-fast and of who walks page
 * frames, such as page_idle.
 *
 * Unlocked. The place of a folio, which is its mapping, its index, its size and
 * where it is in the tree, changes under its lock, or while nobody else can get
 * a reference. There is no moment in which all of it changes: migration gives
 * the old folio its references back before it takes its mapping, a collapse
 * unlocks the new folio before the old ones lose theirs, and a split has tails
 * with references before they are in the tree. But all these folios are locked
 * meanwhile. So if the folio is not locked while we have a reference, either
 * the change is over, and is seen, since folio_unlock() is a release; or it has
 * not begun. In the latter case migration, split and reclaim meet our
 * reference, and give up; a collapse leaves the data as they are; and after a
 * truncation the look-up is as one that came before.
 *
 * Who adds a folio locks it, and then writes the index before the mapping. The
 * mapping is read first, before the reference is taken, so what has the new
 * mapping is seen as locked until it is in the tree, or has failed to get there.
 * The latter must not be seen at all: filemap_add_folio() relies on it that
 * nobody waits for the lock then.
 *
 * Up to date. Pages that a file system gives the mapping and index of a file
 * without adding them (f2fs, for compressed data) are not.
 *
 * Case by case:
 *
 * - Large folios: each index has a slot of its own, which holds the folio; the
 *   index may be anywhere in it.
 * - Split, collapse, migration: locked meanwhile. Afterwards the folio no longer
 *   has all of its indices, or no longer has the mapping.
 * - Truncation, invalidation, reclaim: the mapping is taken from the folio
 *   under the lock of the tree, in the same critical section that takes the
 *   folio from the tree. A look-up that begins after truncation does not see it.
 * - Shadow entries, values: never in a slot, so these are found in the tree.
 * - DAX: its entries are values. Its struct pages are never in a slot.
 * - shmem: a folio may leave its mapping for the swap cache and come back, up
 *   to date, only to fail. So look-ups in shmem and in the swap cache do not
 *   ask (see get_hashed_entry()), and what is swap-backed neither enters nor is
 *   taken.
 * - hugetlb: neither enters nor is taken, as it is up to date before it is added.
 * - nilfs2 moves folios to another mapping, or a node to another index, in steps,
 *   all under the folio lock.
 * - An inode that goes has no folio left with its mapping, so another one may
 *   have its address.
 *
 * Memory that goes
 * ----------------
 *
 * Slots with pages of a range of memory are cleared when it has gone offline,
 * and after a grace period nobody looks at these any more. None can come back:
 * who writes a slot has a reference on the folio, and pages with references
 * do not go offline. Memory of devices is removed otherwise, but is never in
 * a slot. Of the struct pages of hugetlb that are mapped read-only,
 * folio_try_get() knows.
 */

#define pr_fmt(fmt) "page_hash: " fmt

#include <linux/boot_hash.h>
#include <linux/hash.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "page_hash.h"

DEFINE_STATIC_KEY_FALSE(page_hash_key);

static struct page_hash page_hash __ro_after_init;

static struct folio **slot_of(const struct page_hash *hash,
			      const struct address_space *mapping,
			      pgoff_t index)
{
	return &hash->slots[(hash_ptr(mapping, 32) + index) & hash->mask];
}

/*
 * Is @folio, on which the caller has a reference, in @mapping at @index? The
 * order matters: see "Unlocked" above. folio_test_uptodate() has a read barrier
 * behind the flags, which pairs with the release in folio_unlock().
 */
static bool is_at(struct folio *folio, const struct address_space *mapping,
		  pgoff_t index)
{
	if (folio_test_locked(folio) || !folio_test_uptodate(folio) ||
	    folio_test_swapbacked(folio) || folio_test_hugetlb(folio))
		return false;
	/* Pairs with smp_wmb() in filemap_set_place(). */
	return smp_load_acquire(&folio->mapping) == mapping &&
	       index - READ_ONCE(folio->index) < folio_nr_pages(folio);
}

/**
 * page_hash_find_in - find a folio by its slot
 * @hash: the table
 * @mapping: the file
 * @index: index of a page of the folio, in pages
 * @used: was there anything in the slot?
 *
 * Context: any; the caller holds the RCU read lock.
 * Return: the folio, up to date when this looked, with a reference; NULL if
 * the tree must be asked.
 */
struct folio *page_hash_find_in(const struct page_hash *hash,
				struct address_space *mapping, pgoff_t index,
				bool *used)
{
	struct folio *folio = READ_ONCE(*slot_of(hash, mapping, index));

	*used = folio;
	if (!folio)
		return NULL;
	/* Pairs with smp_wmb() in filemap_set_place(): the lock is seen. */
	if (smp_load_acquire(&folio->mapping) != mapping)
		return NULL;
	if (!folio_try_get(folio))
		return NULL;
	if (is_at(folio, mapping, index))
		return folio;
	folio_put(folio);
	return NULL;
}

/**
 * page_hash_add_to - remember a folio
 * @hash: the table
 * @mapping: the file
 * @index: the index by which it was found, in pages
 * @folio: the folio; the caller has a reference
 *
 * Context: any; takes no lock.
 */
void page_hash_add_to(const struct page_hash *hash,
		      struct address_space *mapping, pgoff_t index,
		      struct folio *folio)
{
	struct folio **slot = slot_of(hash, mapping, index);

	if (folio_test_swapbacked(folio) || folio_test_hugetlb(folio))
		return;
	/* A folio that was not up to date may be there already. */
	if (READ_ONCE(*slot) != folio)
		WRITE_ONCE(*slot, folio);
}

/**
 * page_hash_forget_in - forget the folios in a range of memory
 * @hash: the table
 * @start_pfn: the first page frame
 * @nr_pages: number of page frames
 *
 * Context: process context, sleeps for a grace period; no folio of the range
 * is in use. When it returns nobody looks at these folios any more.
 */
void page_hash_forget_in(const struct page_hash *hash, unsigned long start_pfn,
			 unsigned long nr_pages)
{
	unsigned long i;

	for (i = 0; i <= hash->mask; i++) {
		struct folio *folio = READ_ONCE(hash->slots[i]);

		/* Whatever else was written meanwhile is found in its tree. */
		if (folio && folio_pfn(folio) - start_pfn < nr_pages)
			WRITE_ONCE(hash->slots[i], NULL);
		cond_resched();
	}
	synchronize_rcu();
}

#ifdef CONFIG_PAGE_HASH

static unsigned int slot_is_used(void *slot, unsigned int max)
{
	return READ_ONCE(*(struct folio **)slot) ? 1 : 0;
}

static DEFINE_PER_CPU(struct boot_hash_lookups, page_hash_lookups);

static struct boot_hash page_boot_hash = {
	.name		= "page",
	.title		= "Page",
	.bucket_size	= sizeof(struct folio *),
	/* What `auto' means: a slot a page. */
	.mem_per_bucket	= PAGE_SIZE,
	.chain_length	= slot_is_used,
	.lookups	= &page_hash_lookups,
	.flags		= BOOT_HASH_OPTIONAL | BOOT_HASH_DIRECT_MAPPED,
};

/**
 * page_hash_find - find a folio without its tree
 * @mapping: the file
 * @index: index of a page of the folio, in pages
 *
 * Call it behind page_hash_is_on() only.
 *
 * Context: any but NMI; takes the RCU read lock.
 * Return: the folio with a reference; NULL if the tree must be asked.
 */
struct folio *page_hash_find(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio;
	bool used;

	rcu_read_lock();
	folio = page_hash_find_in(&page_hash, mapping, index, &used);
	rcu_read_unlock();
	if (boot_hash_counts())
		boot_hash_count_lookup(&page_boot_hash, folio, used);
	return folio;
}

/**
 * page_hash_add - remember what the tree had
 * @mapping: the file
 * @index: the index by which it was found, in pages
 * @entry: what filemap_get_entry() returns; a folio has a reference
 *
 * Call it behind page_hash_is_on() only.
 *
 * Context: any.
 */
void page_hash_add(struct address_space *mapping, pgoff_t index, void *entry)
{
	if (entry && !xa_is_value(entry))
		page_hash_add_to(&page_hash, mapping, index, entry);
}

/* See "Memory that goes". */
static int __meminit page_hash_memory_callback(struct notifier_block *self,
					       unsigned long action, void *arg)
{
	const struct memory_notify *range = arg;

	if (action == MEM_OFFLINE)
		page_hash_forget_in(&page_hash, range->start_pfn,
				    range->nr_pages);
	return NOTIFY_OK;
}

/**
 * page_hash_init_early - make the table where one node has all the memory
 *
 * In the direct mapping, whose pages are larger than those of vmalloc().
 *
 * Context: once at boot, while memory comes from memblock.
 */
void __init page_hash_init_early(void)
{
	if (!hashdist)
		page_hash.slots = boot_hash_alloc(&page_boot_hash,
						  HASH_EARLY | HASH_ZERO);
}

/**
 * page_hash_init - make the table, if not done yet, and let it be asked
 *
 * Context: once at boot, when pages can be allocated.
 */
void __init page_hash_init(void)
{
	if (hashdist)
		page_hash.slots = boot_hash_alloc(&page_boot_hash, HASH_ZERO);
	if (!page_hash.slots)
		return;
	page_hash.mask = page_boot_hash.nr_buckets - 1;
	hotplug_memory_notifier(page_hash_memory_callback,
				DEFAULT_CALLBACK_PRI);
	static_branch_enable(&page_hash_key);
}

#endif /* CONFIG_PAGE_HASH */
