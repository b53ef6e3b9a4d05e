// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for mm/page_hash.c: which folios a lookup returns.
 *
 * Each test has its own table, mappings and folios. The mapping and the index
 * of a folio are set by the test: no folio is in a page cache.
 */

#include <kunit/test.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/secretmem.h>
#include <linux/shmem_fs.h>

#include "page_hash.h"

#define SLOTS	64

static struct address_space one, other;

static struct page_hash *new_table(struct kunit *test)
{
	struct page_hash *hash = kunit_kzalloc(test, sizeof(*hash), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, hash);
	hash->slots = kunit_kcalloc(test, SLOTS, sizeof(*hash->slots),
				    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hash->slots);
	hash->mask = SLOTS - 1;
	return hash;
}

static void free_folio(void *folio)
{
	((struct folio *)folio)->mapping = NULL;
	folio_put(folio);
}

/* A folio of 1 << @order pages that looks as if it were in a page cache. */
static struct folio *new_folio(struct kunit *test, unsigned int order,
			       pgoff_t index)
{
	struct folio *folio = folio_alloc(GFP_KERNEL | __GFP_COMP, order);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio->mapping = &one;
	folio->index = index;
	folio_mark_uptodate(folio);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, free_folio, folio));
	return folio;
}

/* Look up @index, and drop the reference. */
static struct folio *find(const struct page_hash *hash,
			  struct address_space *mapping, pgoff_t index)
{
	struct folio *folio;
	bool used;

	rcu_read_lock();
	folio = page_hash_find_in(hash, mapping, index, &used);
	rcu_read_unlock();
	if (folio)
		folio_put(folio);
	return folio;
}

static void page_hash_test_empty(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	bool used = true;

	rcu_read_lock();
	KUNIT_EXPECT_NULL(test, page_hash_find_in(hash, &one, 0, &used));
	rcu_read_unlock();
	KUNIT_EXPECT_FALSE(test, used);
}

static void page_hash_test_reference(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);
	bool used = false;

	page_hash_add_to(hash, &one, 5, folio);
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
	rcu_read_lock();
	KUNIT_EXPECT_PTR_EQ(test, folio,
			    page_hash_find_in(hash, &one, 5, &used));
	rcu_read_unlock();
	KUNIT_EXPECT_TRUE(test, used);
	KUNIT_EXPECT_EQ(test, 2, folio_ref_count(folio));
	folio_put(folio);
}

/* A folio with another key keeps its reference count. */
static void page_hash_test_other_key(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);
	bool used = false;

	page_hash_add_to(hash, &one, 5, folio);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 4));
	KUNIT_EXPECT_NULL(test, find(hash, &other, 5));
	rcu_read_lock();
	KUNIT_EXPECT_NULL(test,
			  page_hash_find_in(hash, &one, 5 + SLOTS, &used));
	rcu_read_unlock();
	KUNIT_EXPECT_TRUE(test, used);
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
}

/* A folio that has moved is not found by the slot of its old index. */
static void page_hash_test_moved(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);

	page_hash_add_to(hash, &one, 5, folio);
	folio->index = 6;
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_NULL(test, find(hash, &one, 6));
	folio->index = 5 + SLOTS;
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, 5 + SLOTS));
}

static void page_hash_test_large(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 3, 16);
	pgoff_t index;

	for (index = 14; index < 26; index++)
		page_hash_add_to(hash, &one, index, folio);
	for (index = 16; index < 24; index++)
		KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, index));
	KUNIT_EXPECT_NULL(test, find(hash, &one, 15));
	KUNIT_EXPECT_NULL(test, find(hash, &one, 24));
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
}

/* Tail pages, and pages with a reference count of 0. */
static void page_hash_test_no_reference(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *large = new_folio(test, 2, 16);
	struct folio *folio = new_folio(test, 0, 5);
	struct folio *tail = (struct folio *)folio_page(large, 3);
	struct address_space *tail_mapping = tail->mapping;
	unsigned int i;

	/* As if the folio found last had become the tail of another one. */
	page_hash_add_to(hash, &one, 19, large);
	for (i = 0; i < SLOTS; i++)
		if (hash->slots[i])
			hash->slots[i] = tail;
	tail->mapping = &one;
	KUNIT_EXPECT_NULL(test, find(hash, &one, 19));
	tail->mapping = tail_mapping;

	page_hash_add_to(hash, &one, 5, folio);
	KUNIT_ASSERT_TRUE(test, folio_ref_freeze(folio, 1));
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_EQ(test, 0, folio_ref_count(folio));
	folio_ref_unfreeze(folio, 1);
	KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, 5));
}

/* Truncated: the folio has no mapping, but is still in use. */
static void page_hash_test_truncated(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);

	page_hash_add_to(hash, &one, 5, folio);
	folio->mapping = NULL;
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
}

/* Being added: the folio has its mapping and index, but is not up to date. */
static void page_hash_test_not_uptodate(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);

	page_hash_add_to(hash, &one, 5, folio);
	folio_clear_uptodate(folio);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
	folio_mark_uptodate(folio);
	KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, 5));
}

/* Locked, because its place may be about to change. */
static void page_hash_test_locked(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);

	page_hash_add_to(hash, &one, 5, folio);
	folio_lock(folio);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
	folio_unlock(folio);
	KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, 5));
}

/* Swap-backed folios are neither stored nor returned. */
static void page_hash_test_swapbacked(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);

	page_hash_add_to(hash, &one, 5, folio);
	folio_set_swapbacked(folio);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	folio_clear_swapbacked(folio);
	KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, 5));

	folio = new_folio(test, 0, 6);
	folio_set_swapbacked(folio);
	page_hash_add_to(hash, &one, 6, folio);
	folio_clear_swapbacked(folio);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 6));
}

static void page_hash_test_shmem(struct kunit *test)
{
	struct vm_area_struct *vma;

	if (!IS_ENABLED(CONFIG_SHMEM))
		kunit_skip(test, "no shmem");
	vma = kunit_kzalloc(test, sizeof(*vma), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vma);
	vma->vm_end = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, shmem_zero_setup(vma));
	KUNIT_EXPECT_FALSE(test, page_hash_serves(vma->vm_file->f_mapping));
	fput(vma->vm_file);
}

/* secretmem marks folios up to date before it adds them. */
static void page_hash_test_secretmem(struct kunit *test)
{
#ifdef CONFIG_SECRETMEM
	static struct inode inode;
	struct address_space mapping = { .host = &inode };

	KUNIT_EXPECT_TRUE(test, page_hash_serves(&mapping));
	mapping.a_ops = &secretmem_aops;
	KUNIT_EXPECT_FALSE(test, page_hash_serves(&mapping));
#else
	kunit_skip(test, "no secretmem");
#endif
}

/* The address spaces of the swap cache have no inode. */
static void page_hash_test_swap_cache(struct kunit *test)
{
	struct address_space mapping = {};

	KUNIT_EXPECT_FALSE(test, page_hash_serves(&mapping));
}

static void page_hash_test_last_wins(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *first = new_folio(test, 0, 5);
	struct folio *second = new_folio(test, 0, 5 + SLOTS);

	page_hash_add_to(hash, &one, 5, first);
	page_hash_add_to(hash, &one, 5 + SLOTS, second);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
	KUNIT_EXPECT_PTR_EQ(test, second, find(hash, &one, 5 + SLOTS));
}

/* Consecutive pages of a file have different slots. */
static void page_hash_test_neighbours(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folios[SLOTS];
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		folios[i] = new_folio(test, 0, 1000 + i);
		page_hash_add_to(hash, &one, 1000 + i, folios[i]);
	}
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_PTR_EQ(test, folios[i],
				    find(hash, &one, 1000 + i));
}

static void page_hash_test_forget(struct kunit *test)
{
	struct page_hash *hash = new_table(test);
	struct folio *folio = new_folio(test, 0, 5);
	unsigned long pfn = folio_pfn(folio);

	page_hash_add_to(hash, &one, 5, folio);
	page_hash_forget_in(hash, pfn + 1, 16);
	page_hash_forget_in(hash, pfn - 16, 16);
	KUNIT_EXPECT_PTR_EQ(test, folio, find(hash, &one, 5));
	page_hash_forget_in(hash, pfn - 16, 17);
	KUNIT_EXPECT_NULL(test, find(hash, &one, 5));
}

static struct kunit_case page_hash_cases[] = {
	KUNIT_CASE(page_hash_test_empty),
	KUNIT_CASE(page_hash_test_reference),
	KUNIT_CASE(page_hash_test_other_key),
	KUNIT_CASE(page_hash_test_moved),
	KUNIT_CASE(page_hash_test_large),
	KUNIT_CASE(page_hash_test_no_reference),
	KUNIT_CASE(page_hash_test_truncated),
	KUNIT_CASE(page_hash_test_not_uptodate),
	KUNIT_CASE(page_hash_test_locked),
	KUNIT_CASE(page_hash_test_swapbacked),
	KUNIT_CASE(page_hash_test_shmem),
	KUNIT_CASE(page_hash_test_secretmem),
	KUNIT_CASE(page_hash_test_swap_cache),
	KUNIT_CASE(page_hash_test_last_wins),
	KUNIT_CASE(page_hash_test_neighbours),
	KUNIT_CASE(page_hash_test_forget),
	{}
};

static struct kunit_suite page_hash_suite = {
	.name		= "page_hash",
	.test_cases	= page_hash_cases,
};

kunit_test_suite(page_hash_suite);

MODULE_DESCRIPTION("KUnit test for the page hash");
MODULE_LICENSE("GPL");
