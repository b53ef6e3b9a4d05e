// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for fs/mbcache.c, which includes this file: what a cache finds and
 * frees, how large it gets, that caches are independent although they share a
 * table, and what /proc/hashstats shows of it.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hashstats_walk.h>
#include <linux/kthread.h>
#include <linux/string.h>

static struct mb_cache *test_cache(struct kunit *test)
{
	return test->priv;
}

static int mbcache_test_init(struct kunit *test)
{
	test->priv = mb_cache_create();
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

static unsigned long table_buckets(void)
{
	return 1UL << mb_cache_bits;
}

/* Entries of @cache in the table. */
static unsigned long entries_of(struct mb_cache *cache)
{
	struct mb_cache_entry *entry;
	struct hlist_bl_node *node;
	unsigned long i, sum = 0;

	for (i = 0; i < table_buckets(); i++) {
		struct hlist_bl_head *head = &mb_cache_table[i];

		if (hlist_bl_empty(head))
			continue;
		hlist_bl_lock(head);
		hlist_bl_for_each_entry(entry, node, head, e_hash_list)
			sum += mb_cache_entry_flags(cache, entry) <= MBE_FLAGS;
		hlist_bl_unlock(head);
	}
	return sum;
}

/* The table, c_list and c_entry_count must agree. */
static unsigned long entries(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	unsigned long sum = entries_of(cache);

	KUNIT_EXPECT_EQ(test, sum, cache->c_entry_count);
	KUNIT_EXPECT_EQ(test, sum, list_count_nodes(&cache->c_list));
	return sum;
}

static bool has(struct mb_cache *cache, u32 key, u64 value)
{
	struct mb_cache_entry *entry = mb_cache_entry_get(cache, key, value);

	if (entry)
		mb_cache_entry_put(cache, entry);
	return entry;
}

/* One scan of the shrinker over all entries. */
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

/* Other entries are between those of one key in the chain. */
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
	/* An entry that is not reusable can be found by its value. */
	KUNIT_EXPECT_TRUE(test, has(cache, 7, 10));
}

static void mbcache_test_max_of_memory(struct kunit *test)
{
	const unsigned long mib = SZ_1M >> PAGE_SHIFT;

	KUNIT_EXPECT_EQ(test, 1 << 14, mb_cache_auto_entries(0));
	KUNIT_EXPECT_EQ(test, 1 << 14, mb_cache_auto_entries(64 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 14, mb_cache_auto_entries(256 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 15, mb_cache_auto_entries(512 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 16, mb_cache_auto_entries(1024 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 19, mb_cache_auto_entries(8192 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 19, mb_cache_auto_entries(8193 * mib));
	KUNIT_EXPECT_EQ(test, 1 << 19, mb_cache_auto_entries(ULONG_MAX));
}

static void mbcache_test_max_is_set(struct kunit *test)
{
	unsigned long max = test_cache(test)->c_max_entries;

	if (max_entries) {
		KUNIT_EXPECT_EQ(test, max_entries, max);
	} else {
		KUNIT_EXPECT_GE(test, max, 1 << 14);
		KUNIT_EXPECT_LE(test, max, 1 << 19);
	}
}

/* mbcache.max_entries= of mount time decides. */
static void mbcache_test_max_is_a_parameter(struct kunit *test)
{
	static const unsigned long values[][2] = {
		/* parameter, maximum of a new cache */
		{ 1, 1 },
		{ 100000, 100000 },
		{ ULONG_MAX / 2, ULONG_MAX / 2 },
		{ ULONG_MAX / 2 + 1, ULONG_MAX / 2 },
		{ ULONG_MAX, ULONG_MAX / 2 },
	};
	const unsigned long old_parameter = max_entries;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		struct mb_cache *cache;

		max_entries = values[i][0];
		cache = mb_cache_create();
		max_entries = old_parameter;
		KUNIT_ASSERT_NOT_NULL(test, cache);
		KUNIT_EXPECT_EQ(test, values[i][1], cache->c_max_entries);
		KUNIT_EXPECT_EQ(test, 0, create(cache, 1, 1));
		KUNIT_EXPECT_EQ(test, 0, create(cache, 2, 2));
		KUNIT_EXPECT_EQ(test, 0, create(cache, 3, 3));
		mb_cache_destroy(cache);
	}
}

/* The worker may not run meanwhile: then creating an entry shrinks the cache. */
static void mbcache_test_max_holds(struct kunit *test)
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
	KUNIT_EXPECT_TRUE(test, has(cache, key - 1, key - 1));
	KUNIT_EXPECT_FALSE(test, has(cache, 0, 0));
	flush_work(&cache->c_shrink_work);
	KUNIT_EXPECT_LE(test, entries(test), 2 * 256);
}

/* A scan skips each entry once, at most SYNC_SHRINK_BATCH of them at a time. */
static void mbcache_test_max_holds_if_all_are_referenced(struct kunit *test)
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

/* As many as SHRINK_DIVISOR are a share of at least one entry. */
static void mbcache_test_worker_shrinks_a_small_cache(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);

	cache->c_max_entries = 3;
	fill(test, 0, 4);
	flush_work(&cache->c_shrink_work);
	KUNIT_EXPECT_EQ(test, 3, entries(test));
	KUNIT_EXPECT_FALSE(test, has(cache, 0, 0));
	KUNIT_EXPECT_TRUE(test, has(cache, 3, 3));
}

static void mbcache_test_shrinker_frees_all(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);

	fill(test, 0, 1000);
	KUNIT_EXPECT_EQ(test, 1000, mb_cache_count(cache->c_shrink, NULL));
	KUNIT_EXPECT_EQ(test, 1000, shrink(cache));
	KUNIT_EXPECT_EQ(test, 0, entries(test));
	KUNIT_EXPECT_EQ(test, 0, mb_cache_count(cache->c_shrink, NULL));
}

static void mbcache_test_shrinker_scans_what_it_was_asked_for(struct kunit *test)
{
	struct shrink_control sc = { .nr_to_scan = 300 };
	struct mb_cache *cache = test_cache(test);

	fill(test, 0, 1000);
	KUNIT_EXPECT_EQ(test, 300, mb_cache_scan(cache->c_shrink, &sc));
	KUNIT_EXPECT_EQ(test, 700, entries(test));
}

static void mbcache_test_touched_survive_a_scan(struct kunit *test)
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

static void mbcache_test_used_survive_all_scans(struct kunit *test)
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

/* All entries of a key, as a file system goes over them. */
static unsigned int found_of_key(struct mb_cache *cache, u32 key)
{
	struct mb_cache_entry *entry = mb_cache_entry_find_first(cache, key);
	unsigned int found = 0;

	while (entry) {
		found++;
		entry = mb_cache_entry_find_next(cache, entry);
	}
	return found;
}

static void mbcache_test_entries_of_a_key_are_bounded(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	const unsigned int nr = 10 * MB_CACHE_KEY_ENTRIES;
	u64 value;

	fill(test, 1000, 100);
	for (value = 0; value < nr; value++)
		KUNIT_ASSERT_EQ(test, 0, create(cache, 7, value));
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES, found_of_key(cache, 7));
	KUNIT_EXPECT_EQ(test, 100 + MB_CACHE_KEY_ENTRIES, entries(test));

	/* The newest ones, and the entries of other keys. */
	for (value = 0; value < nr; value++)
		KUNIT_EXPECT_EQ(test, value >= nr - MB_CACHE_KEY_ENTRIES,
				has(cache, 7, value));
	for (value = 1000; value < 1100; value++)
		KUNIT_EXPECT_TRUE(test, has(cache, value, value));

	/* A duplicate is refused as before, and replaces nothing. */
	KUNIT_EXPECT_EQ(test, -EBUSY, create(cache, 7, nr - 1));
	KUNIT_EXPECT_EQ(test, 100 + MB_CACHE_KEY_ENTRIES, entries(test));
}

/* A full block must not replace one that has room. */
static void mbcache_test_not_reusable_is_replaced_first(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	u64 value;

	for (value = 0; value < MB_CACHE_KEY_ENTRIES; value++)
		KUNIT_ASSERT_EQ(test, 0,
				mb_cache_entry_create(cache, GFP_KERNEL, 7,
						      value, value % 2));
	for (; value < 3 * MB_CACHE_KEY_ENTRIES; value++)
		KUNIT_ASSERT_EQ(test, 0,
				mb_cache_entry_create(cache, GFP_KERNEL, 7,
						      value, false));
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES, entries(test));
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES / 2, found_of_key(cache, 7));
	for (value = 1; value < MB_CACHE_KEY_ENTRIES; value += 2)
		KUNIT_EXPECT_TRUE(test, has(cache, 7, value));
}

/* The new entry is refused; it is no error for a file system. */
static void mbcache_test_entry_in_use_is_not_replaced(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test);
	struct mb_cache_entry *oldest;
	u64 value;

	for (value = 0; value < MB_CACHE_KEY_ENTRIES; value++)
		KUNIT_ASSERT_EQ(test, 0, create(cache, 7, value));
	oldest = mb_cache_entry_get(cache, 7, 0);
	KUNIT_ASSERT_NOT_NULL(test, oldest);
	KUNIT_EXPECT_EQ(test, -EBUSY, create(cache, 7, value));
	KUNIT_EXPECT_FALSE(test, has(cache, 7, value));
	mb_cache_entry_put(cache, oldest);
	KUNIT_EXPECT_EQ(test, 0, create(cache, 7, value));
	KUNIT_EXPECT_FALSE(test, has(cache, 7, 0));
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES, entries(test));
}

/* The keys and values are the same in both caches. */
static void mbcache_test_caches_are_independent(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test), *other = mb_cache_create();
	struct mb_cache_entry *entry;
	u32 key;

	KUNIT_ASSERT_NOT_NULL(test, other);
	/* One bucket for equal keys, so that they meet. */
	other->c_hash_seed = cache->c_hash_seed;
	fill(test, 0, 1000);
	KUNIT_EXPECT_EQ(test, 0, entries_of(other));
	for (key = 0; key < 1000; key++) {
		KUNIT_EXPECT_FALSE(test, has(other, key, key));
		KUNIT_EXPECT_NULL(test, mb_cache_entry_find_first(other, key));
		KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(other, key, key));
	}
	KUNIT_EXPECT_EQ(test, 1000, entries(test));

	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, 0, create(other, key, key));
	for (key = 0; key < 1000; key += 2)
		KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(other, key, key));
	KUNIT_EXPECT_EQ(test, 500, entries_of(other));
	KUNIT_EXPECT_EQ(test, 1000, entries(test));

	entry = mb_cache_entry_find_first(other, 1);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	mb_cache_entry_touch(other, entry);
	KUNIT_EXPECT_EQ(test, BIT(MBE_REFERENCED_B) | BIT(MBE_REUSABLE_B),
			mb_cache_entry_flags(other, entry));
	KUNIT_EXPECT_NULL(test, mb_cache_entry_find_next(other, entry));

	KUNIT_EXPECT_EQ(test, 499, shrink(other));
	KUNIT_EXPECT_EQ(test, 1000, entries(test));
	mb_cache_destroy(other);
	KUNIT_EXPECT_EQ(test, 1000, entries(test));
	for (key = 0; key < 1000; key++)
		KUNIT_EXPECT_TRUE(test, has(cache, key, key));
}

/* Entries of another cache with the same key count for that one only. */
static void mbcache_test_bound_of_a_key_is_per_cache(struct kunit *test)
{
	struct mb_cache *cache = test_cache(test), *other = mb_cache_create();
	u64 value;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->c_hash_seed = cache->c_hash_seed;
	for (value = 0; value < 2 * MB_CACHE_KEY_ENTRIES; value++) {
		KUNIT_ASSERT_EQ(test, 0, create(cache, 7, value));
		KUNIT_ASSERT_EQ(test, 0, create(other, 7, value));
	}
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES, found_of_key(cache, 7));
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES, found_of_key(other, 7));
	mb_cache_destroy(other);
	KUNIT_EXPECT_EQ(test, MB_CACHE_KEY_ENTRIES, entries(test));
}

/* Number of the table in /proc/hashstats. There must be one only. */
static unsigned int table_number(struct kunit *test)
{
	struct hashstats *stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);
	unsigned int i, tables = 0, number = 0;

	KUNIT_ASSERT_NOT_NULL(test, stats);
	for (i = 0; !hashstats_walk(i, "", stats); i++) {
		if (strcmp(stats->name, "mbcache"))
			continue;
		number = i;
		tables++;
	}
	KUNIT_ASSERT_EQ(test, 1, tables);
	return number;
}

static struct hashstats *walk_table(struct kunit *test)
{
	struct hashstats *stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_ASSERT_EQ(test, 0, hashstats_walk(table_number(test), "", stats));
	return stats;
}

static void mbcache_test_table(struct kunit *test)
{
	const struct hashstats *stats = walk_table(test);

	KUNIT_EXPECT_EQ(test, table_buckets(), stats->nr_buckets);
	KUNIT_EXPECT_EQ(test, table_buckets() * sizeof(struct hlist_bl_head),
			stats->bytes);
	KUNIT_EXPECT_GE(test, stats->nr_buckets, 2);
	KUNIT_EXPECT_PTR_EQ(test, &mb_cache_info, stats->info);
}

static void mbcache_test_caches_share_one_table(struct kunit *test)
{
	const struct hashstats *before = walk_table(test), *after;
	struct mb_cache *caches[100];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(caches); i++) {
		caches[i] = mb_cache_create();
		KUNIT_ASSERT_NOT_NULL(test, caches[i]);
		KUNIT_EXPECT_PTR_EQ(test, mb_cache_table, caches[i]->c_hash);
		KUNIT_EXPECT_EQ(test, 0, create(caches[i], 7, 7));
	}
	after = walk_table(test);
	KUNIT_EXPECT_EQ(test, before->bytes, after->bytes);
	KUNIT_EXPECT_EQ(test, before->chains.objects + ARRAY_SIZE(caches),
			after->chains.objects);
	/* Each cache has a seed of its own, so few of these share a bucket. */
	if (table_buckets() >= 1024)
		KUNIT_EXPECT_LE(test, after->chains.longest,
				before->chains.longest + 8);
	for (i = 0; i < ARRAY_SIZE(caches); i++)
		mb_cache_destroy(caches[i]);
	after = walk_table(test);
	KUNIT_EXPECT_EQ(test, before->chains.objects,
			after->chains.objects);
}

/* Counters when the test began. */
static struct hashstats_lookups counted_before;

static struct hashstats_lookups counted(void)
{
	struct hashstats_lookups sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct hashstats_lookups *of_cpu;

		of_cpu = per_cpu_ptr(&mb_cache_lookups, cpu);
		sum.hits	+= READ_ONCE(of_cpu->hits);
		sum.hit_nodes	+= READ_ONCE(of_cpu->hit_nodes);
		sum.misses	+= READ_ONCE(of_cpu->misses);
		sum.miss_nodes	+= READ_ONCE(of_cpu->miss_nodes);
	}
	return sum;
}

static void expect_counted(struct kunit *test, unsigned long hits,
			   unsigned long hit_nodes, unsigned long misses,
			   unsigned long miss_nodes)
{
	struct hashstats_lookups now = counted();

	KUNIT_EXPECT_EQ(test, hits, now.hits - counted_before.hits);
	KUNIT_EXPECT_EQ(test, hit_nodes,
			now.hit_nodes - counted_before.hit_nodes);
	KUNIT_EXPECT_EQ(test, misses, now.misses - counted_before.misses);
	KUNIT_EXPECT_EQ(test, miss_nodes,
			now.miss_nodes - counted_before.miss_nodes);
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

	/* 7 and 6 are not reusable. The next is 5, the third. */
	entry = mb_cache_entry_find_first(cache, 7);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 5, entry->e_value);
	expect_counted(test, 2, 4 + 3, 1, 8);
	entry = mb_cache_entry_find_next(cache, entry);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 4, entry->e_value);
	expect_counted(test, 3, 4 + 3 + 1, 1, 8);
	mb_cache_entry_put(cache, entry);

	/* No entry is behind the last one. */
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
	const bool was_on = hashstats_counting_is_on();
	u64 value;

	for (value = 0; value < 8; value++)
		KUNIT_ASSERT_EQ(test, 0,
				mb_cache_entry_create(cache, GFP_KERNEL, 7,
						      value, value < 6));
	hashstats_counting_set(true);
	counted_before = counted();
	look_up_in_a_chain(test);
	hashstats_counting_set(was_on);
}

static void mbcache_test_lookups_are_not_counted(struct kunit *test)
{
	const bool was_on = hashstats_counting_is_on();

	fill(test, 0, 10);
	hashstats_counting_set(false);
	counted_before = counted();
	KUNIT_EXPECT_TRUE(test, has(test_cache(test), 1, 1));
	KUNIT_EXPECT_FALSE(test, has(test_cache(test), 10, 1));
	expect_counted(test, 0, 0, 0, 0);
	hashstats_counting_set(was_on);
}

/* Walks of the table, and entries that these met. */
struct reader {
	unsigned int	table;
	atomic_t	walks;
	atomic64_t	seen;
};

/* A reader of /proc/hashstats does the same. */
static int read_table(void *data)
{
	struct reader *reader = data;
	struct hashstats *stats = kzalloc(sizeof(*stats), GFP_KERNEL);

	while (!kthread_should_stop()) {
		if (stats && !hashstats_walk(reader->table, "", stats)) {
			atomic64_add(stats->chains.objects, &reader->seen);
			atomic_inc(&reader->walks);
		}
		cond_resched();
	}
	kfree(stats);
	return 0;
}

/* A mount, some use, and an unmount do the same. */
static void use_cache(struct kunit *test)
{
	struct mb_cache *cache = mb_cache_create();
	u32 key;

	/* Not an assertion: the reader must be stopped. */
	KUNIT_EXPECT_NOT_NULL(test, cache);
	if (!cache)
		return;
	for (key = 0; key < 200; key++)
		KUNIT_EXPECT_EQ(test, 0, create(cache, key, key));
	for (key = 0; key < 50; key++)
		KUNIT_EXPECT_NULL(test, mb_cache_entry_delete_or_get(cache, key, key));
	/* Let the reader run while there are entries. */
	usleep_range(50, 100);
	mb_cache_destroy(cache);
}

/* Errors show under KASAN and lockdep. */
static void mbcache_test_destroyed_while_read(struct kunit *test)
{
	struct reader reader = { .table = table_number(test) };
	struct task_struct *thread;
	unsigned int n;

	thread = kthread_run(read_table, &reader, "mbcache_kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	for (n = 0; n < 200 || (n < 2000 && !atomic64_read(&reader.seen)); n++)
		use_cache(test);
	kthread_stop(thread);
	KUNIT_EXPECT_GT(test, atomic_read(&reader.walks), 0);
	KUNIT_EXPECT_GT(test, atomic64_read(&reader.seen), 0);
}

#define TEST_CREATORS	4

struct creator {
	struct mb_cache		*cache;
	u64			first;
	unsigned int		created;
	struct completion	ended;
};

/* Entries of one key, which replace those of the other creators. */
static int create_entries(void *data)
{
	struct creator *creator = data;
	struct mb_cache *cache = creator->cache;
	u64 value;

	for (value = creator->first; value < creator->first + 5000; value++) {
		creator->created += !create(cache, 7, value);
		found_of_key(cache, 7);
		if (!(value % 64))
			mb_cache_shrink(cache, 16);
		cond_resched();
	}
	complete(&creator->ended);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* Tasks look up, shrink and replace entries of one key at the same time. */
static void mbcache_test_bound_of_a_key_among_tasks(struct kunit *test)
{
	struct creator creators[TEST_CREATORS];
	struct task_struct *threads[TEST_CREATORS];
	struct mb_cache *cache = test_cache(test);
	unsigned int i;

	for (i = 0; i < TEST_CREATORS; i++) {
		creators[i].cache = cache;
		creators[i].first = i * 1000000;
		creators[i].created = 0;
		init_completion(&creators[i].ended);
		threads[i] = kthread_run(create_entries, &creators[i],
					 "mbcache_kunit/%u", i);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, threads[i]);
	}
	for (i = 0; i < TEST_CREATORS; i++) {
		if (IS_ERR(threads[i]))
			continue;
		/* One that is stopped before it runs would do nothing. */
		wait_for_completion(&creators[i].ended);
		kthread_stop(threads[i]);
		KUNIT_EXPECT_GT(test, creators[i].created, 0);
	}
	KUNIT_EXPECT_LE(test, entries(test), MB_CACHE_KEY_ENTRIES);
	KUNIT_EXPECT_EQ(test, cache->c_entry_count, shrink(cache));
	KUNIT_EXPECT_EQ(test, 0, entries(test));
}

static struct kunit_case mbcache_test_cases[] = {
	KUNIT_CASE(mbcache_test_create_find_delete),
	KUNIT_CASE(mbcache_test_entry_in_use_is_not_deleted),
	KUNIT_CASE(mbcache_test_duplicate_is_refused),
	KUNIT_CASE(mbcache_test_find_next_finds_all_of_a_key),
	KUNIT_CASE(mbcache_test_max_of_memory),
	KUNIT_CASE(mbcache_test_max_is_set),
	KUNIT_CASE(mbcache_test_max_is_a_parameter),
	KUNIT_CASE(mbcache_test_max_holds),
	KUNIT_CASE(mbcache_test_max_holds_if_all_are_referenced),
	KUNIT_CASE(mbcache_test_worker_shrinks),
	KUNIT_CASE(mbcache_test_worker_shrinks_a_small_cache),
	KUNIT_CASE(mbcache_test_shrinker_frees_all),
	KUNIT_CASE(mbcache_test_shrinker_scans_what_it_was_asked_for),
	KUNIT_CASE(mbcache_test_touched_survive_a_scan),
	KUNIT_CASE(mbcache_test_used_survive_all_scans),
	KUNIT_CASE(mbcache_test_entries_of_a_key_are_bounded),
	KUNIT_CASE(mbcache_test_not_reusable_is_replaced_first),
	KUNIT_CASE(mbcache_test_entry_in_use_is_not_replaced),
	KUNIT_CASE(mbcache_test_bound_of_a_key_is_per_cache),
	KUNIT_CASE(mbcache_test_bound_of_a_key_among_tasks),
	KUNIT_CASE(mbcache_test_caches_are_independent),
	KUNIT_CASE(mbcache_test_caches_share_one_table),
	KUNIT_CASE(mbcache_test_table),
	KUNIT_CASE(mbcache_test_lookups_are_counted),
	KUNIT_CASE(mbcache_test_lookups_are_not_counted),
	KUNIT_CASE(mbcache_test_destroyed_while_read),
	{}
};

static struct kunit_suite mbcache_test_suite = {
	.name		= "mbcache",
	.init		= mbcache_test_init,
	.exit		= mbcache_test_exit,
	.test_cases	= mbcache_test_cases,
};

kunit_test_suite(mbcache_test_suite);
