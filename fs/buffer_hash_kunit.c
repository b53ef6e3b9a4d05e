// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for fs/buffer_hash.c: which buffers are found, with a reference,
 * and that none is while it is freed.
 *
 * The buffers have devices that do not exist, so they meet no others.
 */

#include <kunit/test.h>
#include <linux/blk_types.h>
#include <linux/buffer_hash.h>
#include <linux/buffer_head.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/task.h>

#define SIZE	1024
#define BUFFERS	(PAGE_SIZE / SIZE)

static struct block_device one, other;

/* A locked folio with buffers, of blocks from @block on, in the table. */
static struct folio *new_folio(struct kunit *test, sector_t block)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);
	struct buffer_head *head, *bh, *last;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio_lock(folio);
	head = folio_alloc_buffers(folio, SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, head);
	for (bh = head; bh; bh = bh->b_this_page) {
		bh->b_bdev = &one;
		bh->b_blocknr = block++;
		set_buffer_mapped(bh);
		last = bh;
	}
	last->b_this_page = head;
	folio_attach_private(folio, head);
	buffer_hash_add_folio(folio);
	return folio;
}

static void free_folio(struct kunit *test, struct folio *folio)
{
	KUNIT_EXPECT_TRUE(test, try_to_free_buffers(folio));
	folio_unlock(folio);
	folio_put(folio);
}

static bool is_found(struct block_device *bdev, sector_t block, size_t size)
{
	struct buffer_head *bh = buffer_hash_find(bdev, block, size);

	if (bh)
		put_bh(bh);
	return bh;
}

static void buffer_hash_test_key(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *bh;
	unsigned int i;

	for (i = 0; i < BUFFERS; i++) {
		bh = buffer_hash_find(&one, 100 + i, SIZE);
		KUNIT_ASSERT_NOT_NULL(test, bh);
		KUNIT_EXPECT_EQ(test, bh->b_blocknr, 100 + i);
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&bh->b_count));
		put_bh(bh);
	}
	KUNIT_EXPECT_FALSE(test, is_found(&one, 99, SIZE));
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100 + BUFFERS, SIZE));
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100, SIZE / 2));
	KUNIT_EXPECT_FALSE(test, is_found(&other, 100, SIZE));
	free_folio(test, folio);
}

/* Numbers that differ in bits that the lower half of a word does not have. */
static void buffer_hash_test_large_blocks(struct kunit *test)
{
	sector_t far = sizeof(sector_t) > 4 ? (sector_t)1 << 40 : 1 << 20;
	struct folio *near = new_folio(test, 0), *distant;

	distant = new_folio(test, far);
	KUNIT_EXPECT_TRUE(test, is_found(&one, 0, SIZE));
	KUNIT_EXPECT_TRUE(test, is_found(&one, far, SIZE));
	free_folio(test, near);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 0, SIZE));
	KUNIT_EXPECT_TRUE(test, is_found(&one, far, SIZE));
	free_folio(test, distant);
}

static void buffer_hash_test_unmapped(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *bh = folio_buffers(folio);

	buffer_hash_remove(bh);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100, SIZE));
	clear_buffer_mapped(bh);
	buffer_hash_add(bh);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100, SIZE));
	set_buffer_mapped(bh);
	buffer_hash_add(bh);
	KUNIT_EXPECT_TRUE(test, is_found(&one, 100, SIZE));
	free_folio(test, folio);
}

static void buffer_hash_test_twice(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *bh = folio_buffers(folio);

	buffer_hash_add(bh);
	buffer_hash_remove(bh);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100, SIZE));
	KUNIT_EXPECT_TRUE(test, is_found(&one, 101, SIZE));
	buffer_hash_remove(bh);
	free_folio(test, folio);
}

/* Who has a reference keeps the buffers, and the table gets them back. */
static void buffer_hash_test_busy(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *bh = buffer_hash_find(&one, 102, SIZE);

	KUNIT_ASSERT_NOT_NULL(test, bh);
	KUNIT_EXPECT_FALSE(test, try_to_free_buffers(folio));
	KUNIT_EXPECT_PTR_NE(test, folio_buffers(folio), NULL);
	put_bh(bh);
	buffer_hash_add_folio(folio);
	KUNIT_EXPECT_TRUE(test, is_found(&one, 102, SIZE));
	free_folio(test, folio);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 102, SIZE));
}

/* More than there are buckets on the machines of this test. */
static void buffer_hash_test_chains(struct kunit *test)
{
	const unsigned int nr = 4096 / BUFFERS;
	struct folio **folios;
	unsigned int i;

	folios = kunit_kcalloc(test, nr, sizeof(*folios), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, folios);
	for (i = 0; i < nr; i++)
		folios[i] = new_folio(test, i * BUFFERS);
	/* Every second one goes: ends, middles and beginnings of chains. */
	for (i = 0; i < nr; i += 2)
		free_folio(test, folios[i]);
	for (i = 0; i < nr * BUFFERS; i++)
		KUNIT_EXPECT_EQ(test, is_found(&one, i, SIZE),
				(i / BUFFERS) % 2 == 1);
	for (i = 1; i < nr; i += 2)
		free_folio(test, folios[i]);
}

static int find_again_and_again(void *found)
{
	while (!kthread_should_stop()) {
		struct buffer_head *bh = buffer_hash_find(&one, 101, SIZE);

		if (bh) {
			++*(unsigned long *)found;
			/* What was freed has another number, or poison. */
			if (bh->b_blocknr != 101 || bh->b_bdev != &one)
				*(unsigned long *)found = 0;
			put_bh(bh);
		}
		cond_resched();
	}
	return 0;
}

/* A look-up and a release at the same time, as often as it takes. */
static void buffer_hash_test_race(struct kunit *test)
{
	unsigned long found = 0, freed = 0, kept = 0;
	struct task_struct *thread;

	thread = kthread_run(find_again_and_again, &found, "buffer_hash_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	get_task_struct(thread);
	while (freed < 2000 || (!READ_ONCE(found) && freed < 2000000)) {
		struct folio *folio = new_folio(test, 100);

		cond_resched();
		while (!try_to_free_buffers(folio)) {
			kept++;
			cond_resched();
		}
		freed++;
		folio_unlock(folio);
		folio_put(folio);
	}
	KUNIT_EXPECT_EQ(test, kthread_stop_put(thread), 0);
	kunit_info(test, "%lu found, %lu freed, %lu kept for a reference",
		   found, freed, kept);
	KUNIT_EXPECT_GT(test, found, 0);
}

static struct kunit_case buffer_hash_cases[] = {
	KUNIT_CASE(buffer_hash_test_key),
	KUNIT_CASE(buffer_hash_test_large_blocks),
	KUNIT_CASE(buffer_hash_test_unmapped),
	KUNIT_CASE(buffer_hash_test_twice),
	KUNIT_CASE(buffer_hash_test_busy),
	KUNIT_CASE(buffer_hash_test_chains),
	KUNIT_CASE(buffer_hash_test_race),
	{}
};

static struct kunit_suite buffer_hash_suite = {
	.name		= "buffer_hash",
	.test_cases	= buffer_hash_cases,
};

kunit_test_suite(buffer_hash_suite);

MODULE_DESCRIPTION("KUnit test for the table of buffers");
MODULE_LICENSE("GPL");
