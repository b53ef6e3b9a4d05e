// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for lib/hash_histogram.c: tables computed by hand, in thousandths.
 */

#include <kunit/test.h>
#include <linux/hash_histogram.h>
#include <linux/kernel.h>
#include <linux/module.h>

static void add(struct hash_histogram *histogram, unsigned int length,
		unsigned int times)
{
	while (times--)
		hash_histogram_add(histogram, length);
}

static void histogram_test_empty(struct kunit *test)
{
	struct hash_histogram h = {};

	KUNIT_EXPECT_EQ(test, hash_histogram_used(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_used_expected(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit_expected(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, 16), 0);
}

static void histogram_test_no_objects(struct kunit *test)
{
	struct hash_histogram h = {};

	add(&h, 0, 256);
	KUNIT_EXPECT_EQ(test, h.buckets, 256);
	KUNIT_EXPECT_EQ(test, hash_histogram_used(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_used_expected(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, 16), 0);
}

/* Chains of 0, 1, 2 and 3 objects. */
static void histogram_test_four_buckets(struct kunit *test)
{
	struct hash_histogram h = {};
	unsigned int i;

	for (i = 0; i < 4; i++)
		hash_histogram_add(&h, i);
	KUNIT_EXPECT_EQ(test, h.objects, 6);
	KUNIT_EXPECT_EQ(test, h.squares, 14);
	KUNIT_EXPECT_EQ(test, h.longest, 3);
	KUNIT_EXPECT_EQ(test, hash_histogram_used(&h), 3);
	/* 4 (1 - (3/4)^6) = 3.288 */
	KUNIT_EXPECT_EQ(test, hash_histogram_used_expected(&h), 3288);
	/* (1 + (1 + 2) + (1 + 2 + 3)) / 6 */
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 1667);
	/* 1 + 5/8 */
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit_expected(&h), 1625);
	/* 14/6 - 6/4 */
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h), 833);
	KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, 0), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, 1), 16);
	KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, 2), 50);
	KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, 3), 100);
}

static void histogram_test_one_bucket(struct kunit *test)
{
	struct hash_histogram h = {};

	hash_histogram_add(&h, 5);
	KUNIT_EXPECT_EQ(test, hash_histogram_used_expected(&h), 1000);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 3000);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit_expected(&h), 3000);
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h), 0);
}

/* As many objects in each bucket: better than chance. */
static void histogram_test_even(struct kunit *test)
{
	struct hash_histogram h = {};

	add(&h, 2, 1024);
	KUNIT_EXPECT_EQ(test, hash_histogram_used(&h), 1024);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 1500);
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h), 0);
}

static void histogram_test_rows(struct kunit *test)
{
	struct hash_histogram h = {};
	unsigned int length;

	for (length = 0; length < 20; length++)
		hash_histogram_add(&h, length);
	for (length = 0; length < HASH_HISTOGRAM_LONG; length++) {
		KUNIT_EXPECT_EQ(test, h.rows[length].buckets, 1);
		KUNIT_EXPECT_EQ(test, h.rows[length].objects, length);
	}
	KUNIT_EXPECT_EQ(test, h.rows[HASH_HISTOGRAM_LONG].buckets, 4);
	KUNIT_EXPECT_EQ(test, h.rows[HASH_HISTOGRAM_LONG].objects,
			16 + 17 + 18 + 19);
}

/*
 * Histogram 1 of CITI TR 00-1, the buffer cache with its function of xor and
 * mask: 16,384 buckets, 37,256 buffers, the longest chain 116. The paper does
 * not tell the other lengths above 15, so 29 and 30 fill the row to its sum.
 */
static void histogram_test_citi_1(struct kunit *test)
{
	static const struct {
		unsigned int buckets, objects, sum_pct;
	} rows[] = {
		{ 12047,     0,   0 }, {  1037,  1037,   2 },
		{   381,   762,   4 }, {   295,   885,   7 },
		{   325,  1300,  10 }, {   399,  1995,  16 },
		{   188,  1128,  19 }, {   303,  2121,  24 },
		{   160,  1280,  28 }, {   169,  1521,  32 },
		{   224,  2240,  38 }, {    64,   704,  40 },
		{    49,   588,  41 }, {    15,   195,  42 },
		{     3,    42,  42 }, {     4,    60,  42 },
		{   721, 21398, 100 },
	};
	struct hash_histogram h = {};
	unsigned int i;

	for (i = 0; i < HASH_HISTOGRAM_LONG; i++)
		add(&h, i, rows[i].buckets);
	add(&h, 116, 1);
	add(&h, 30, 402);
	add(&h, 29, 318);

	KUNIT_EXPECT_EQ(test, h.buckets, 16384);
	KUNIT_EXPECT_EQ(test, h.objects, 37256);
	KUNIT_EXPECT_EQ(test, h.longest, 116);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, h.rows[i].buckets, rows[i].buckets);
		KUNIT_EXPECT_EQ(test, h.rows[i].objects, rows[i].objects);
		KUNIT_EXPECT_EQ(test, hash_histogram_sum_pct(&h, i),
				rows[i].sum_pct);
	}
	/* "less than twenty-six percent utilized ... 0.26471" */
	KUNIT_EXPECT_EQ(test, hash_histogram_used(&h), 4337);
	KUNIT_EXPECT_EQ(test, hash_histogram_used_expected(&h), 14698082);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 10564);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit_expected(&h), 2137);
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h), 17853);
}

/* Expected values computed with 60 digits. Only the totals of @h are set. */
static void histogram_test_used_expected(struct kunit *test)
{
	static const struct {
		u64 buckets, objects, expected;
	} cases[] = {
		{ 256, 9785, 256000 },
		{ 8192, 3, 3000 },
		{ 2097152, 92450, 90441874 },
		{ 1ULL << 31, 1, 1000 },
		{ 1ULL << 31, 1ULL << 40, 2147483648000ULL },
	};
	struct hash_histogram h = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		h.buckets = cases[i].buckets;
		h.objects = cases[i].objects;
		KUNIT_EXPECT_EQ(test, hash_histogram_used_expected(&h),
				cases[i].expected);
	}
	/* Rounding adds up: in a full table of 2^31 to a bucket at most. */
	h.buckets = 1ULL << 31;
	h.objects = 1ULL << 31;
	KUNIT_EXPECT_LE(test, abs_diff(hash_histogram_used_expected(&h),
				       1357468563833ULL), 1000ULL);
}

static void histogram_test_large(struct kunit *test)
{
	struct hash_histogram h = {
		.buckets = 1ULL << 31,
		.objects = 1ULL << 40,
		/* all in chains of 2^15 */
		.squares = 1ULL << 55,
		.longest = 1 << 15,
	};

	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit(&h), 16384500);
	KUNIT_EXPECT_EQ(test, hash_histogram_nodes_per_hit_expected(&h),
			257000);
	KUNIT_EXPECT_EQ(test, hash_histogram_variance_over_mean(&h),
			(32768 - 512) * 1000);
}

static void histogram_test_ratio(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(1, 0), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(0, 7), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(1, 3), 333);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(2, 3), 667);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(1, 2000), 1);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(1, 2001), 0);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(7, 2), 3500);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(U64_MAX, 1), U64_MAX);
	KUNIT_EXPECT_EQ(test, hash_histogram_ratio(U64_MAX - 1, U64_MAX), 1000);
}

static struct kunit_case hash_histogram_cases[] = {
	KUNIT_CASE(histogram_test_empty),
	KUNIT_CASE(histogram_test_no_objects),
	KUNIT_CASE(histogram_test_four_buckets),
	KUNIT_CASE(histogram_test_one_bucket),
	KUNIT_CASE(histogram_test_even),
	KUNIT_CASE(histogram_test_rows),
	KUNIT_CASE(histogram_test_citi_1),
	KUNIT_CASE(histogram_test_used_expected),
	KUNIT_CASE(histogram_test_large),
	KUNIT_CASE(histogram_test_ratio),
	{}
};

static struct kunit_suite hash_histogram_suite = {
	.name		= "hash_histogram",
	.test_cases	= hash_histogram_cases,
};

kunit_test_suite(hash_histogram_suite);

MODULE_DESCRIPTION("KUnit test for histograms of hash tables");
MODULE_LICENSE("GPL");
