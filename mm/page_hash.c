// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table in front of the page index.
 *
 * The folios of a file are in an XArray, a radix tree. A random lookup in a
 * large file takes a cache miss for each level. Before Linux 2.5, one hash
 * table held the pages of all files. It was sized from memory, and a lookup
 * took one miss for the bucket ("Linux Kernel Hash Table Behavior", CITI
 * technical report 00-1, 2000). This is such a table, used as a cache of the
 * trees. It is off unless the command line has hash_entries=page:N. It makes
 * random lookups faster in a file for which the table has a slot per page. It
 * makes them slower where several files compete for the slots.
 *
 * The table is direct-mapped: pairs of mapping and index share a slot, which
 * holds the folio of the most recent lookup among these pairs. The pages of a
 * file have consecutive slots, so that a lookup of the next page finds its slot
 * in the same cache line. The first slot of a file is the golden-ratio hash of
 * its mapping.
 *
 * Slots are hints
 * ---------------
 *
 * A task that has found a folio in its tree writes the slot, without a lock.
 * Nothing clears a slot when a folio leaves its file or is freed. So each
 * lookup checks the folio itself: it must have the mapping; then the lookup
 * takes a reference; then the folio must be unlocked and up to date, and have
 * the mapping and the index. In all other cases the lookup uses the tree.
 *
 * Reference. A slot outlives its folio, so it may point to any page by now. The
 * struct page exists: see "Memory that goes offline". Frozen, free and tail
 * pages have a reference count of 0, and folio_try_get() fails. On any other
 * page the reference is as harmless as those that the lockless page cache
 * (see mm/filemap.c), GUP-fast and walkers of page frames such as page_idle
 * take.
 *
 * Unlocked. The place of a folio is its mapping, its index, its size and its
 * position in the tree. The place changes only while the folio is locked, or
 * while no other task can get a reference. It does not change in one step:
 * migration thaws the references of the old folio before it clears its mapping,
 * a collapse unlocks the new folio before the old ones lose their mapping, and
 * the tails of a split have references before they are in the tree. But all
 * these folios are locked meanwhile. So if the folio is unlocked while the
 * lookup has a reference, there are two cases. Either the change is complete,
 * and the lookup sees it, since folio_unlock() is a release. Or the change has
 * not begun. Then migration, split and reclaim see the reference and give up. A
 * collapse keeps the data. A truncation counts as later than the lookup.
 *
 * Code that adds a folio locks it, and then writes the index before the
 * mapping (filemap_set_place()). A lookup reads the mapping first, before it
 * takes the reference. So if it sees the new mapping, it also sees the lock,
 * until the folio is in the tree or could not be added. A collapse writes both
 * without a barrier. But the new folio is up to date only when the collapse can
 * no longer fail. Migration locks the new folio before it freezes the references
 * of the old one, which is a full barrier, and then writes the mapping. A split
 * writes the mapping of a tail before it gives it a reference, by a release.
 *
 * Up to date. If a folio cannot be added, filemap_add_folio() clears the mapping
 * and then the lock, without a barrier, because no task can be waiting for that
 * lock. A lookup may see these two stores in the other order: an unlocked folio
 * that has the mapping but is not in the tree. It does not use such a folio,
 * because file systems set the uptodate flag after they have added a folio.
 * Two do it before: hugetlb and secretmem, and these do not use the table.
 * Folios to which a file system gives the mapping and index of a file without
 * adding them (f2fs, for compressed data) are not up to date either.
 *
 * Case by case:
 *
 * - Large folios: each index has its own slot, which holds the folio. The index
 *   may be anywhere in the folio.
 * - Split, collapse, migration: the folio is locked meanwhile. Afterwards it no
 *   longer has all of its indices, or no longer has the mapping.
 * - Truncation, invalidation, reclaim: these clear the mapping of the folio and
 *   remove it from the tree in one critical section of the lock of the tree.
 *   A lookup that begins after truncation does not find the folio. Folios of
 *   RWF_DONTCACHE are invalidated when they are no longer needed.
 * - Shadow entries and values are never in a slot. They are found in the tree.
 * - DAX: its entries are values. Its struct pages are never in a slot.
 * - shmem: a folio may leave its mapping for the swap cache and come back up to
 *   date, and then fail to be added. So lookups in shmem and in the swap cache
 *   do not use the table, and swap-backed folios are neither stored nor
 *   returned.
 * - hugetlb: its folios are neither stored nor returned.
 * - secretmem: lookups in its mappings do not use the table.
 * - nilfs2 moves folios to another mapping, or a node to another index, in
 *   several steps, all under the folio lock.
 * - When an inode is freed, no folio has its mapping. So another inode may be
 *   allocated at the same address.
 *
 * Memory that goes offline
 * ------------------------
 *
 * When a range of memory has gone offline, its pages are removed from all
 * slots, and after a grace period no lookup reads these struct pages any more.
 * None can come back: a task that writes a slot has a reference on the folio,
 * and pages with references do not go offline. (Those with a hardware error
 * may. Then a lookup in the tree has the same problem with its reference.)
 * Device memory is removed in another way, but is never in a slot.
 * folio_try_get() handles struct pages of hugetlb that are mapped read-only.
 */

#include <linux/hash.h>
#include <linux/hashstats.h>
#include <linux/memblock.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/secretmem.h>
#include <linux/shmem_fs.h>

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
 * Is @folio in @mapping at @index? The caller has a reference. The order of the
 * tests matters: see "Unlocked" above. folio_test_uptodate() has a read barrier
 * after it reads the flags, which pairs with the release in folio_unlock().
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
 * page_hash_serves - may lookups in a mapping use the table?
 * @mapping: the mapping
 *
 * Return: false for shmem, the swap cache and secretmem; see "Case by case"
 * above.
 */
bool page_hash_serves(struct address_space *mapping)
{
	return mapping->host && !shmem_mapping(mapping) &&
	       !secretmem_mapping(mapping);
}

/**
 * page_hash_find_in - find a folio by its slot
 * @hash: the table
 * @mapping: mapping of the file, for which page_hash_serves() is true
 * @index: index of a page of the folio, in pages
 * @used: set to whether the slot has a folio
 *
 * Context: any but NMI; the caller holds the RCU read lock.
 * Return: the folio, with a reference; NULL if the caller must use the tree.
 */
struct folio *page_hash_find_in(const struct page_hash *hash,
				struct address_space *mapping, pgoff_t index,
				bool *used)
{
	struct folio *folio = READ_ONCE(*slot_of(hash, mapping, index));

	*used = folio;
	if (!folio)
		return NULL;
	/* Pairs with smp_wmb() in filemap_set_place(): the lock is visible. */
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
 * @mapping: mapping of the file, for which page_hash_serves() is true
 * @index: the index by which the folio was found, in pages
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
	/* A folio that was not up to date before may already be there. */
	if (READ_ONCE(*slot) != folio)
		WRITE_ONCE(*slot, folio);
}

/**
 * page_hash_forget_in - forget the folios in a range of memory
 * @hash: the table
 * @start_pfn: the first page frame
 * @nr_pages: number of page frames
 *
 * No folio of the range may be in use. After this function has returned, no
 * lookup reads the struct pages of the range.
 *
 * Context: process context, sleeps for a grace period.
 */
void page_hash_forget_in(const struct page_hash *hash, unsigned long start_pfn,
			 unsigned long nr_pages)
{
	unsigned long i;

	for (i = 0; i <= hash->mask; i++) {
		struct folio *folio = READ_ONCE(hash->slots[i]);

		/* This may drop a newer folio, which is found in its tree. */
		if (folio && folio_pfn(folio) - start_pfn < nr_pages)
			WRITE_ONCE(hash->slots[i], NULL);
		cond_resched();
	}
	synchronize_rcu();
}

static DEFINE_PER_CPU(struct hashstats_lookups, page_hash_lookups);

static const struct hashstats_info page_hash_info = {
	.chain		= HASHSTATS_SLOT,
	.guard		= HASHSTATS_RCU,
	.lookups	= &page_hash_lookups,
};

/**
 * page_hash_find - find a folio without its tree
 * @mapping: mapping of the file, for which page_hash_serves() is true
 * @index: index of a page of the folio, in pages
 *
 * Call it behind page_hash_is_on() only.
 *
 * Context: any but NMI; takes the RCU read lock.
 * Return: the folio, with a reference; NULL if the caller must use the tree.
 */
struct folio *page_hash_find(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio;
	bool used;

	rcu_read_lock();
	folio = page_hash_find_in(&page_hash, mapping, index, &used);
	rcu_read_unlock();
	if (hashstats_counting())
		hashstats_count_lookup(&page_hash_lookups, folio, used);
	return folio;
}

/**
 * page_hash_add - remember what was found in the tree
 * @mapping: mapping of the file, for which page_hash_serves() is true
 * @index: the index by which it was found, in pages
 * @entry: what filemap_get_entry() returns; a folio has a reference
 *
 * Call it behind page_hash_is_on() only.
 */
void page_hash_add(struct address_space *mapping, pgoff_t index, void *entry)
{
	if (entry && !xa_is_value(entry))
		page_hash_add_to(&page_hash, mapping, index, entry);
}

/* See "Memory that goes offline". */
static int __meminit page_hash_memory_callback(struct notifier_block *self,
					       unsigned long action, void *arg)
{
	const struct memory_notify *range = arg;

	if (action == MEM_OFFLINE)
		page_hash_forget_in(&page_hash, range->start_pfn,
				    range->nr_pages);
	return NOTIFY_OK;
}

/* hash_entries=page:auto gives a slot per page of up to 64 GiB of memory. */
static void __init page_hash_alloc(int flags)
{
	unsigned int mask;

	flags |= HASH_ZERO | HASH_OPTIONAL | HASH_SOFT_LIMITS;
	page_hash.slots =
		alloc_large_system_hash("Page", sizeof(*page_hash.slots), 0,
					PAGE_SHIFT, flags, NULL, &mask, 0, 0);
	if (page_hash.slots)
		page_hash.mask = mask;
}

/**
 * page_hash_init_early - allocate the table unless it is distributed over nodes
 *
 * The table is then in the direct mapping, which has larger pages than
 * vmalloc().
 *
 * Context: once at boot, while memory comes from memblock.
 */
void __init page_hash_init_early(void)
{
	if (!hashdist)
		page_hash_alloc(HASH_EARLY);
}

/**
 * page_hash_init - allocate the table if necessary, and enable lookups
 *
 * Context: once at boot, when pages can be allocated.
 */
void __init page_hash_init(void)
{
	if (hashdist)
		page_hash_alloc(0);
	if (!page_hash.slots)
		return;
	hashstats_describe(page_hash.slots, &page_hash_info);
	hotplug_memory_notifier(page_hash_memory_callback,
				DEFAULT_CALLBACK_PRI);
	static_branch_enable(&page_hash_key);
}
