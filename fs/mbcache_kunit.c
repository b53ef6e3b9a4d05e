// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for fs/mbcache.c, which includes this file: what a cache finds and
 * forgets, how large it gets, and what /proc/hashstats may see of it.
 */

#include <kunit/test.h>
#include <linux/boot_hash_stats.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/rwsem.h>

#define TEST_BITS	4

static struct mb_cache *test_cache(struct kunit *test)
{
	return test->priv;
}

static int mbcache_test_init(struct kunit *test)
{
	test->priv = mb_cache_create(TEST_BITS, "kunit %s", "cache");
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

static void mbcache_test_exit(struct kunit *test)
{
	if (test->priv)
		mb_cache_destroy(test->priv);
}

static int create(struct mb_cache *cache, u32 key, u64 value)
{
	return mb_cache_entry_create(cache, GFP_KERNEL, key, value, true);
}

/* Entries with keys and values from @first on, @nr of them. */
static void fill(struct kunit *test, u32 first, unsigned int nr)
{
	u32 key;

	for (key = first; key < first + nr; key++)
		KUNIT_ASSERT_EQ(test, 0, create(test_cache(test), key, key));
}

/* Entries in all chains; c_entry_count must say the same. */
static unsigned long entries(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	const struct boot_hash *table = &cache->c_table;
	unsigned long i, sum = 0;

	for (i = 0; i < table->nr_buckets; i++)
		sum += table->chain_length(&cache->c_hash[i], UINT_MAX);
	KUNIT_EXPECT_EQ(test, sum, cache->c_entry_count);
	return sum;
}

static bool has(struct mb_cache *cache, u32 key, u64 value)
{
	struct mb_cache_entry *entry = mb_cache_entry_get(cache, key, value);

	if (entry)
		mb_cache_entry_put(cache, entry);
	return entry;
}

/* One round of the shrinker over all that is there. */
static unsigned long shrink(struct mb_cache *cache)
{
	struct shrink_control sc = {
		.nr_to_scan = mb_cache_count(cache->c_shrink, NULL),
	};

	return mb_cache_scan(cache->c_shrink, &sc);
}

static void mbcache_test_create_find_delete(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry;

	KUNIT_EXPECT_NULL(test, mb_cache_entry_find_first(cache, 1));
	fill(test, 0, 100);
	KUNIT_EXPECT_EQ(test, 100, entries(test));

	entry = mb_cache_entry_find_first(cache, 1);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 1, entry->e_key);
	KUNIT_EXPECT_EQ(test, 1, entry->e_value);
	KUNIT_EXPECT_NULL(test, mb_cache_entry_find_next(cache, entry));
	KUNIT_EXPECT_NULL(test, mb_cache_entry_find_first(cache, 100));
	KUNIT_EXPECT_FALSE(test, has(cache, 1, 2));

	KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(cache, 1, 1));
	KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(cache, 1, 1));
	KUNIT_EXPECT_FALSE(test, has(cache, 1, 1));
	KUNIT_EXPECT_EQ(test, 99, entries(test));
}

static void mbcache_test_entry_in_use_is_not_deleted(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry, *same;

	fill(test, 1, 1);
	entry = mb_cache_entry_get(cache, 1, 1);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	same = mb_cache_entry_delete_or_get(cache, 1, 1);
	KUNIT_EXPECT_PTR_EQ(test, entry, same);
	if (same)
		mb_cache_entry_put(cache, same);
	mb_cache_entry_put(cache, entry);
	KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(cache, 1, 1));
	KUNIT_EXPECT_EQ(test, 0, entries(test));
}

static void mbcache_test_duplicate_is_refused(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);

	KUNIT_EXPECT_EQ(test, 0, create(cache, 7, 1));
	KUNIT_EXPECT_EQ(test, -EBUSY, create(cache, 7, 1));
	KUNIT_EXPECT_EQ(test, 0, create(cache, 7, 2));
	KUNIT_EXPECT_EQ(test, 0, create(cache, 8, 1));
	KUNIT_EXPECT_EQ(test, 3, entries(test));
}

/* Entries of one key lie between others in the chain, none is missed. */
static void mbcache_test_find_next_finds_all_of_a_key(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry;
	unsigned long found = 0;
	u64 value;

	for (value = 0; value < 10; value++) {
		fill(test, 1000 * (value + 1), 1000);
		KUNIT_ASSERT_EQ(test, 0, create(cache, 7, value));
	}
	KUNIT_ASSERT_EQ(test, 0, mb_cache_entry_create(cache, GFP_KERNEL, 7, 10,
						       false));
	entry = mb_cache_entry_find_first(cache, 7);
	while (entry) {
		KUNIT_EXPECT_EQ(test, 7, entry->e_key);
		KUNIT_ASSERT_LT(test, entry->e_value, 10);
		KUNIT_EXPECT_FALSE(test, found & BIT(entry->e_value));
		found |= BIT(entry->e_value);
		entry = mb_cache_entry_find_next(cache, entry);
	}
	KUNIT_EXPECT_EQ(test, GENMASK(9, 0), found);
	/* One that may not be shared is there for those who know its value. */
	KUNIT_EXPECT_TRUE(test, has(cache, 7, 10));
}

static void mbcache_test_cap_of_memory(struct kunit *test)
{
	const unsigned long mib = SZ_1M >> PAGE_SHIFT;

	KUNIT_EXPECT_EQ(test, 1 << 14, mb_cache_most_entries(0));
	KUNIT_EXPECT_EQ(test, 1 << 14, mb_cache_most_entries(64 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 14, mb_cache_most_entries(256 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 15, mb_cache_most_entries(512 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 16, mb_cache_most_entries(1024 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 19, mb_cache_most_entries(8192 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 19, mb_cache_most_entries(8193 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 19, mb_cache_most_entries(ULONG_MAX));
}

static void mbcache_test_cap_is_set(struct kunit *test)
{
	unsigned long cap = test_cache(test)->c_max_entries;

	if (max_entries) {
		KUNIT_EXPECT_EQ(test, max_entries, cap);
	} else {
		KUNIT_EXPECT_GE(test, cap, 1 << 14);
		KUNIT_EXPECT_LE(test, cap, 1 << 19);
	}
}

/* Nobody gives the worker a chance here: the creator has to keep the cap. */
static void mbcache_test_cap_is_kept(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	unsigned long most = 0;
	u32 key;

	cache->c_max_entries = 256;
	for (key = 0; key < 20000; key++) {
		KUNIT_ASSERT_EQ(test, 0, create(cache, key, key));
		most = max(most, cache->c_entry_count);
	}
	KUNIT_EXPECT_LE(test, most, 2 * 256);
	/* What was created last is still there. */
	KUNIT_EXPECT_TRUE(test, has(cache, key - 1, key - 1));
	KUNIT_EXPECT_FALSE(test, has(cache, 0, 0));
	flush_work(&cache->c_shrink_work);
	KUNIT_EXPECT_LE(test, entries(test), 2 * 256);
}

/* Each entry survives once more: then at most 64 for one go. */
static void mbcache_test_cap_is_kept_if_all_are_used(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry;
	unsigned long most = 0;
	u32 key;

	cache->c_max_entries = 256;
	for (key = 0; key < 20000; key++) {
		KUNIT_ASSERT_EQ(test, 0, create(cache, key, key));
		entry = mb_cache_entry_find_first(cache, key);
		KUNIT_ASSERT_NOT_NULL(test, entry);
		mb_cache_entry_touch(cache, entry);
		mb_cache_entry_put(cache, entry);
		most = max(most, cache->c_entry_count);
	}
	KUNIT_EXPECT_LE(test, most, 2 * 256 + 2 * 256 / SYNC_SHRINK_BATCH + 1);
}

static void mbcache_test_worker_shrinks(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);

	cache->c_max_entries = 256;
	fill(test, 0, 256);
	flush_work(&cache->c_shrink_work);
	KUNIT_EXPECT_EQ(test, 256, entries(test));
	fill(test, 256, 1);
	flush_work(&cache->c_shrink_work);
	KUNIT_EXPECT_EQ(test, 256 + 1 - 256 / SHRINK_DIVISOR, entries(test));
	KUNIT_EXPECT_FALSE(test, has(cache, 0, 0));
	KUNIT_EXPECT_TRUE(test, has(cache, 256, 256));
}

static void mbcache_test_shrinker_gives_all_back(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);

	fill(test, 0, 1000);
	KUNIT_EXPECT_EQ(test, 1000, mb_cache_count(cache->c_shrink, NULL));
	KUNIT_EXPECT_EQ(test, 1000, shrink(cache));
	KUNIT_EXPECT_EQ(test, 0, entries(test));
	KUNIT_EXPECT_EQ(test, 0, mb_cache_count(cache->c_shrink, NULL));
}

static void mbcache_test_shrinker_looks_at_so_many(struct kunit *test)
{
	struct shrink_control sc = { .nr_to_scan = 300 };
	struct mb_cache *cache = test_cache(test);

	fill(test, 0, 1000);
	KUNIT_EXPECT_EQ(test, 300, mb_cache_scan(cache->c_shrink, &sc));
	KUNIT_EXPECT_EQ(test, 700, entries(test));
}

static void mbcache_test_touched_survive_a_round(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry;
	u32 key;

	fill(test, 0, 1000);
	for (key = 0; key < 1000; key += 2) {
		entry = mb_cache_entry_find_first(cache, key);
		KUNIT_ASSERT_NOT_NULL(test, entry);
		mb_cache_entry_touch(cache, entry);
		mb_cache_entry_put(cache, entry);
	}
	KUNIT_EXPECT_EQ(test, 500, shrink(cache));
	KUNIT_EXPECT_TRUE(test, has(cache, 500, 500));
	KUNIT_EXPECT_FALSE(test, has(cache, 501, 501));
	KUNIT_EXPECT_EQ(test, 500, shrink(cache));
	KUNIT_EXPECT_EQ(test, 0, entries(test));
}

static void mbcache_test_used_survive_all_rounds(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry;

	fill(test, 0, 1000);
	entry = mb_cache_entry_find_first(cache, 3);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 999, shrink(cache));
	KUNIT_EXPECT_EQ(test, 0, shrink(cache));
	KUNIT_EXPECT_EQ(test, 0, shrink(cache));
	KUNIT_EXPECT_EQ(test, 1, entries(test));
	mb_cache_entry_put(cache, entry);
	KUNIT_EXPECT_EQ(test, 1, shrink(cache));
}

static void mbcache_test_table(struct kunit *test)
{
	const struct boot_hash *table = &test_cache(test)->c_table;

	KUNIT_EXPECT_STREQ(test, "mbcache", table->name);
	KUNIT_EXPECT_EQ(test, sizeof(struct hlist_bl_head), table->bucket_size);
	KUNIT_EXPECT_EQ(test, SZ_64K, table->mem_per_bucket);
	KUNIT_EXPECT_EQ(test, 1 << TEST_BITS, table->min);
	KUNIT_EXPECT_EQ(test, 1 << 17, table->max);
	KUNIT_EXPECT_EQ(test, table->bits, test_cache(test)->c_bucket_bits);
	KUNIT_EXPECT_EQ(test, table->nr_buckets, 1UL << table->bits);
	KUNIT_EXPECT_LE(test, table->nr_buckets, table->max);
	KUNIT_EXPECT_STREQ(test, "kunit cache", table->instance);
}

/* The caller's bits are the fewest, also beyond our most. */
static void mbcache_test_table_of_many_bits(struct kunit *test)
{
	struct mb_cache *cache = mb_cache_create(18, "kunit large");

	KUNIT_ASSERT_NOT_NULL(test, cache);
	KUNIT_EXPECT_EQ(test, 1 << 18, cache->c_table.min);
	KUNIT_EXPECT_EQ(test, 1 << 18, cache->c_table.max);
	mb_cache_destroy(cache);
}

static void mbcache_test_chain_length(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	void *bucket = mb_cache_entry_head(cache, 7);
	u64 value;

	KUNIT_EXPECT_EQ(test, 0, cache->c_table.chain_length(bucket, 5));
	for (value = 0; value < 10; value++)
		KUNIT_ASSERT_EQ(test, 0, create(cache, 7, value));
	KUNIT_EXPECT_EQ(test, 10, cache->c_table.chain_length(bucket, 100));
	KUNIT_EXPECT_EQ(test, 10, cache->c_table.chain_length(bucket, 10));
	KUNIT_EXPECT_EQ(test, 5, cache->c_table.chain_length(bucket, 5));
}

static struct boot_hash_lookups counted(struct mb_cache *cache)
{
	struct boot_hash_stats *stats = kzalloc(sizeof(*stats), GFP_KERNEL);
	struct boot_hash_lookups lookups = { .hits = ULONG_MAX };

	if (!stats)
		return lookups;
	if (!boot_hash_walk(&cache->c_table, stats))
		lookups = stats->lookups;
	kfree(stats);
	return lookups;
}

static void expect_counted(struct kunit *test, unsigned long hits,
			   unsigned long hit_nodes, unsigned long misses,
			   unsigned long miss_nodes)
{
	struct boot_hash_lookups now = counted(test_cache(test));

	KUNIT_EXPECT_EQ(test, hits, now.hits);
	KUNIT_EXPECT_EQ(test, hit_nodes, now.hit_nodes);
	KUNIT_EXPECT_EQ(test, misses, now.misses);
	KUNIT_EXPECT_EQ(test, miss_nodes, now.miss_nodes);
}

/* One chain, the newest entry first. */
static void look_up_in_a_chain(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *entry;

	/* 4 is the fourth. */
	KUNIT_EXPECT_TRUE(test, has(cache, 7, 4));
	expect_counted(test, 1, 4, 0, 0);
	KUNIT_EXPECT_FALSE(test, has(cache, 7, 100));
	expect_counted(test, 1, 4, 1, 8);

	/* Not to be shared: 7 and 6. The next is 5, the third. */
	entry = mb_cache_entry_find_first(cache, 7);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 5, entry->e_value);
	expect_counted(test, 2, 4 + 3, 1, 8);
	entry = mb_cache_entry_find_next(cache, entry);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 4, entry->e_value);
	expect_counted(test, 3, 4 + 3 + 1, 1, 8);
	mb_cache_entry_put(cache, entry);

	/* Behind the last one there is nothing. */
	entry = mb_cache_entry_get(cache, 7, 0);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_NULL(test, mb_cache_entry_find_next(cache, entry));
	expect_counted(test, 4, 4 + 3 + 1 + 8, 2, 8);

	KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(cache, 7, 7));
	expect_counted(test, 5, 4 + 3 + 1 + 8 + 1, 2, 8);
}

static void mbcache_test_lookups_are_counted(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	const bool counted_before = boot_hash_counting_is_on();
	u64 value;

	for (value = 0; value < 8; value++)
		KUNIT_ASSERT_EQ(test, 0,
				mb_cache_entry_create(cache, GFP_KERNEL, 7,
						      value, value < 6));
	boot_hash_counting_set(true);
	look_up_in_a_chain(test);
	boot_hash_counting_set(counted_before);
}

static void mbcache_test_lookups_are_not_counted(struct kunit *test)
{
	const bool counted_before = boot_hash_counting_is_on();

	fill(test, 0, 10);
	boot_hash_counting_set(false);
	KUNIT_EXPECT_TRUE(test, has(test_cache(test), 1, 1));
	KUNIT_EXPECT_FALSE(test, has(test_cache(test), 10, 1));
	boot_hash_counting_set(counted_before);
	expect_counted(test, 0, 0, 0, 0);
}

/* Walks of all tables, and caches of this test that these met. */
struct reader {
	atomic_t	walks;
	atomic_t	seen;
};

/* What a reader of /proc/hashstats does. */
static void read_table(struct boot_hash *hash, struct reader *reader)
{
	unsigned long i;
	void *bucket;

	if (strcmp(hash->name, "mbcache"))
		return;
	if (hash->instance && !strcmp(hash->instance, "kunit short-lived"))
		atomic_inc(&reader->seen);
	for (i = 0; i < hash->nr_buckets; i++) {
		bucket = hash->table + i * hash->bucket_size;
		hash->chain_length(bucket, 100);
		cond_resched();
	}
}

static int read_tables(void *data)
{
	struct reader *reader = data;

	while (!kthread_should_stop()) {
		unsigned long serial = 1;
		struct boot_hash *hash;

		while ((hash = boot_hash_get_from(serial))) {
			serial = hash->serial + 1;
			read_table(hash, reader);
			boot_hash_put(hash);
		}
		atomic_inc(&reader->walks);
		cond_resched();
	}
	return 0;
}

/* What a mount, some use, and an unmount do. */
static void use_cache(struct kunit *test)
{
	struct mb_cache *cache = mb_cache_create(TEST_BITS, "kunit short-lived");
	u32 key;

	KUNIT_ASSERT_NOT_NULL(test, cache);
	for (key = 0; key < 200; key++)
		KUNIT_EXPECT_EQ(test, 0, create(cache, key, key));
	for (key = 0; key < 50; key++)
		KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(cache, key, key));
	/* Let the reader in, while there are entries. */
	usleep_range(50, 100);
	mb_cache_destroy(cache);
}

/* KASAN and lockdep say what is wrong; without them a freed table may. */
static void mbcache_test_destroyed_while_read(struct kunit *test)
{
	struct reader reader = {};
	struct task_struct *thread;
	unsigned int n;

	thread = kthread_run(read_tables, &reader, "mbcache_kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	for (n = 0; n < 200 || (n < 2000 && !atomic_read(&reader.seen)); n++)
		use_cache(test);
	kthread_stop(thread);
	KUNIT_EXPECT_GT(test, atomic_read(&reader.walks), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&reader.seen), 0);
}

/* A cache that is gone is in no register. */
static void mbcache_test_destroyed_is_gone(struct kunit *test)
{
	const struct boot_hash *hash;
	struct mb_cache *cache;
	const void *gone;

	cache = mb_cache_create(TEST_BITS, "kunit gone");
	KUNIT_ASSERT_NOT_NULL(test, cache);
	gone = &cache->c_table;
	mb_cache_destroy(cache);
	down_read(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node)
		KUNIT_EXPECT_PTR_NE(test, gone, (const void *)hash);
	up_read(&boot_hash_rwsem);
}

static struct kunit_case mbcache_test_cases[] = {
	KUNIT_CASE(mbcache_test_create_find_delete),
	KUNIT_CASE(mbcache_test_entry_in_use_is_not_deleted),
	KUNIT_CASE(mbcache_test_duplicate_is_refused),
	KUNIT_CASE(mbcache_test_find_next_finds_all_of_a_key),
	KUNIT_CASE(mbcache_test_cap_of_memory),
	KUNIT_CASE(mbcache_test_cap_is_set),
	KUNIT_CASE(mbcache_test_cap_is_kept),
	KUNIT_CASE(mbcache_test_cap_is_kept_if_all_are_used),
	KUNIT_CASE(mbcache_test_worker_shrinks),
	KUNIT_CASE(mbcache_test_shrinker_gives_all_back),
	KUNIT_CASE(mbcache_test_shrinker_looks_at_so_many),
	KUNIT_CASE(mbcache_test_touched_survive_a_round),
	KUNIT_CASE(mbcache_test_used_survive_all_rounds),
	KUNIT_CASE(mbcache_test_table),
	KUNIT_CASE(mbcache_test_table_of_many_bits),
	KUNIT_CASE(mbcache_test_chain_length),
	KUNIT_CASE(mbcache_test_lookups_are_counted),
	KUNIT_CASE(mbcache_test_lookups_are_not_counted),
	KUNIT_CASE(mbcache_test_destroyed_while_read),
	KUNIT_CASE(mbcache_test_destroyed_is_gone),
	{}
};

static struct kunit_suite mbcache_test_suite = {
	.name		= "mbcache",
	.init		= mbcache_test_init,
	.exit		= mbcache_test_exit,
	.test_cases	= mbcache_test_cases,
};

kunit_test_suite(mbcache_test_suite);
