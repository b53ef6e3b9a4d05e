// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for fs/buffer_hash.c: which buffers a lookup finds, that it takes a
 * reference, and that it finds none that is being freed or migrated.
 *
 * The devices of the buffers do not exist, so no other task uses these keys.
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

/* A locked folio with buffers in the table, of blocks from @block on. */
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

/* Block numbers that differ only above bit 31, where sector_t has these bits. */
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

/* A reference keeps all buffers of the folio, and they remain in the table. */
static void buffer_hash_test_busy(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *bh = buffer_hash_find(&one, 102, SIZE);

	KUNIT_ASSERT_NOT_NULL(test, bh);
	KUNIT_EXPECT_FALSE(test, try_to_free_buffers(folio));
	KUNIT_EXPECT_PTR_NE(test, folio_buffers(folio), NULL);
	put_bh(bh);
	KUNIT_EXPECT_TRUE(test, is_found(&one, 101, SIZE));
	KUNIT_EXPECT_TRUE(test, is_found(&one, 102, SIZE));
	free_folio(test, folio);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 102, SIZE));
}

/* A dirty buffer keeps all buffers of the folio, and they can be found. */
static void buffer_hash_test_dirty(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *head = folio_buffers(folio);

	set_buffer_dirty(head->b_this_page);
	KUNIT_EXPECT_FALSE(test, buffer_hash_evict(head));
	KUNIT_EXPECT_TRUE(test, is_found(&one, 100, SIZE));
	KUNIT_EXPECT_TRUE(test, is_found(&one, 101, SIZE));
	clear_buffer_dirty(head->b_this_page);
	free_folio(test, folio);
}

static void buffer_hash_test_frozen(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *head = folio_buffers(folio), *bh;

	KUNIT_EXPECT_TRUE(test, buffer_hash_freeze(head));
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100, SIZE));
	KUNIT_EXPECT_FALSE(test, is_found(&one, 101, SIZE));
	buffer_hash_thaw(head);
	KUNIT_EXPECT_TRUE(test, is_found(&one, 100, SIZE));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&head->b_count));

	/* A reference on the last one thaws those before. */
	bh = buffer_hash_find(&one, 100 + BUFFERS - 1, SIZE);
	KUNIT_ASSERT_NOT_NULL(test, bh);
	KUNIT_EXPECT_FALSE(test, buffer_hash_freeze(head));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&head->b_count));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&bh->b_count));
	put_bh(bh);
	free_folio(test, folio);
}

/* Truncation of a device, while a task has a reference on a buffer. */
static void buffer_hash_test_discarded(struct kunit *test)
{
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *bh = buffer_hash_find(&one, 101, SIZE);

	KUNIT_ASSERT_NOT_NULL(test, bh);
	block_invalidate_folio(folio, 0, folio_size(folio));
	KUNIT_EXPECT_PTR_NE(test, folio_buffers(folio), NULL);
	KUNIT_EXPECT_FALSE(test, is_found(&one, 100, SIZE));
	KUNIT_EXPECT_FALSE(test, is_found(&one, 101, SIZE));
	put_bh(bh);
	free_folio(test, folio);
}

/* More buffers than the table has buckets on the machines that run this test. */
static void buffer_hash_test_chains(struct kunit *test)
{
	const unsigned int nr = 4096 / BUFFERS;
	struct folio **folios;
	unsigned int i;

	folios = kunit_kcalloc(test, nr, sizeof(*folios), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, folios);
	for (i = 0; i < nr; i++)
		folios[i] = new_folio(test, i * BUFFERS);
	/* Free every second one: ends, middles and beginnings of chains. */
	for (i = 0; i < nr; i += 2)
		free_folio(test, folios[i]);
	for (i = 0; i < nr * BUFFERS; i++)
		KUNIT_EXPECT_EQ(test, is_found(&one, i, SIZE),
				(i / BUFFERS) % 2 == 1);
	for (i = 1; i < nr; i += 2)
		free_folio(test, folios[i]);
}

struct finder {
	unsigned long	found;
	unsigned long	wrong;
};

/* Look up block 101 until told to stop. */
static int find_repeatedly(void *data)
{
	struct finder *finder = data;

	while (!kthread_should_stop()) {
		struct buffer_head *bh = buffer_hash_find(&one, 101, SIZE);

		if (!bh) {
			cond_resched();
			continue;
		}
		/* b_private is set while the buffer is frozen. */
		if (READ_ONCE(bh->b_private))
			finder->wrong++;
		/* Freeing must wait for the reference, even if this sleeps. */
		cond_resched();
		if (atomic_read(&bh->b_count) < 1 || bh->b_blocknr != 101 ||
		    bh->b_bdev != &one || !buffer_hashed(bh))
			finder->wrong++;
		put_bh(bh);
		WRITE_ONCE(finder->found, finder->found + 1);
		cond_resched();
	}
	return 0;
}

#define FINDERS	2

struct race {
	struct finder		finders[FINDERS];
	struct task_struct	*threads[FINDERS];
};

static void stop_finder(void *thread)
{
	kthread_stop_put(thread);
}

static struct race *start_finders(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	for (i = 0; i < FINDERS; i++) {
		race->threads[i] = kthread_create(find_repeatedly,
						  &race->finders[i],
						  "buffer_hash_%u", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(race->threads[i]));
		get_task_struct(race->threads[i]);
		KUNIT_ASSERT_EQ(test, 0,
				kunit_add_action_or_reset(test, stop_finder,
							  race->threads[i]));
		wake_up_process(race->threads[i]);
	}
	return race;
}

static bool all_found(struct race *race)
{
	unsigned int i;

	for (i = 0; i < FINDERS; i++) {
		if (!READ_ONCE(race->finders[i].found))
			return false;
	}
	return true;
}

static void stop_finders(struct kunit *test, struct race *race)
{
	unsigned int i;

	for (i = 0; i < FINDERS; i++) {
		kunit_release_action(test, stop_finder, race->threads[i]);
		KUNIT_EXPECT_GT(test, race->finders[i].found, 0);
		KUNIT_EXPECT_EQ(test, race->finders[i].wrong, 0);
	}
}

/* Two tasks look a buffer up while a third one frees it. */
static void buffer_hash_test_race_free(struct kunit *test)
{
	struct race *race = start_finders(test);
	unsigned long freed = 0, kept = 0;

	while (freed < 2000 || (!all_found(race) && freed < 200000)) {
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
	stop_finders(test, race);
	kunit_info(test, "%lu freed, %lu times kept for a reference", freed,
		   kept);
}

/* Two tasks look a buffer up while a third one freezes it, as migration does. */
static void buffer_hash_test_race_freeze(struct kunit *test)
{
	struct race *race = start_finders(test);
	struct folio *folio = new_folio(test, 100);
	struct buffer_head *head = folio_buffers(folio);
	struct buffer_head *bh = head->b_this_page;
	unsigned long frozen = 0, tries = 0;

	while (frozen < 2000 || (!all_found(race) && tries < 2000000)) {
		tries++;
		if (buffer_hash_freeze(head)) {
			frozen++;
			WRITE_ONCE(bh->b_private, bh);
			cond_resched();
			WRITE_ONCE(bh->b_private, NULL);
			buffer_hash_thaw(head);
		}
		cond_resched();
	}
	stop_finders(test, race);
	kunit_info(test, "%lu times frozen in %lu tries", frozen, tries);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bh->b_count));
	free_folio(test, folio);
}

static struct kunit_case buffer_hash_cases[] = {
	KUNIT_CASE(buffer_hash_test_key),
	KUNIT_CASE(buffer_hash_test_large_blocks),
	KUNIT_CASE(buffer_hash_test_unmapped),
	KUNIT_CASE(buffer_hash_test_twice),
	KUNIT_CASE(buffer_hash_test_busy),
	KUNIT_CASE(buffer_hash_test_dirty),
	KUNIT_CASE(buffer_hash_test_frozen),
	KUNIT_CASE(buffer_hash_test_discarded),
	KUNIT_CASE(buffer_hash_test_chains),
	KUNIT_CASE(buffer_hash_test_race_free),
	KUNIT_CASE(buffer_hash_test_race_freeze),
	{}
};

static struct kunit_suite buffer_hash_suite = {
	.name		= "buffer_hash",
	.test_cases	= buffer_hash_cases,
};

kunit_test_suite(buffer_hash_suite);

MODULE_DESCRIPTION("KUnit test for the table of buffers");
MODULE_LICENSE("GPL");
