// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for the spread of golden-ratio hashing.
 *
 * Keys as the kernel has them go through hash_32() and hash_64() into tables
 * of three sizes, one and two keys a bucket, and the nodes examined per hit
 * are held against those of a random function. A single multiplication is no
 * random function: consecutive keys fall better than chance, and strides whose
 * product with the constant is near a simple fraction fall worse. Each pattern
 * carries the bound that was measured for it, rounded up.
 *
 * That the bounds mean something is shown by the function that the buffer cache
 * had until 1999, device xor block and a mask (CITI TR 00-1): it passes where
 * the lower bits of the keys differ, and fails all bounds where they do not.
 */

#include <kunit/test.h>
#include <linux/hash.h>
#include <linux/hash_histogram.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>

/* The largest table, in bits. */
#define MOST_BITS	14

struct pattern {
	const char	*name;
	u64		start;
	unsigned int	run;	/* so many keys, @step apart, ... */
	u64		step;
	u64		jump;	/* ... and the next run begins here */
	unsigned int	bound;	/* nodes per hit, in percent of chance's */
	bool		xor_fails;
};

static const struct pattern patterns[] = {
	{ "consecutive",	 0,	 1, 0,	   1, 100, false },
	{ "consecutive, high",	 1 << 20, 1, 0,	   1, 100, false },
	{ "stride 2",		 0,	 1, 0,	   2, 100, false },
	{ "stride 4",		 0,	 1, 0,	   4, 100, true },
	{ "stride 8",		 0,	 1, 0,	   8, 150, true },
	{ "stride 16",		 0,	 1, 0,	  16, 200, true },
	{ "stride 64",		 0,	 1, 0,	  64, 150, true },
	{ "stride 100",		 0,	 1, 0,	 100, 200, true },
	{ "stride 256",		 0,	 1, 0,	 256, 100, true },
	{ "stride 1024",	 0,	 1, 0,	1024, 100, true },
	{ "stride 4096",	 0,	 1, 0,	4096, 150, true },
	{ "stride 65536",	 0,	 1, 0, 65536, 150, true },
	{ "64 of 8192 inodes",	 0,	64, 1,	8192, 150, true },
	{ "8 of 32768 blocks",	 0,	 8, 1, 32768, 150, true },
#ifdef CONFIG_64BIT
	{ "64 byte objects",	0xffff888100000000, 64,  64,  4096, 200, true },
	{ "192 byte objects",	0xffff888100000000, 21, 192,  4096, 200, true },
	{ "600 byte objects",	0xffff888100000000, 54, 600, 32768, 200, true },
	{ "pages",		0xffffea0000000000,  1,   0,   448, 300, true },
	{ "stacks",		0xffffc90000000d38,  1,   0, 20480, 200, true },
#endif
};

static void pattern_name(const struct pattern *pattern, char *name)
{
	strscpy(name, pattern->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pattern, patterns, pattern_name);

static u64 key_of(const struct pattern *pattern, unsigned int i)
{
	return pattern->start + (u64)(i / pattern->run) * pattern->jump +
	       (u64)(i % pattern->run) * pattern->step;
}

static u32 golden_32(u64 key, unsigned int bits)
{
	return hash_32(key, bits);
}

static u32 golden_64(u64 key, unsigned int bits)
{
	return hash_64(key, bits);
}

/* #define _hashfn(dev,block) (((unsigned)(HASHDEV(dev)^block)) & bh_hash_mask) */
static u32 xor_and_mask(u64 key, unsigned int bits)
{
	const u64 device = 0x801;	/* sda1 */

	return (device ^ key) & (BIT(bits) - 1);
}

/* The worst of all tables, in percent of what chance would do. */
static unsigned int worst(struct kunit *test, const struct pattern *pattern,
			  u32 (*function)(u64 key, unsigned int bits))
{
	static const unsigned int sizes[] = { 8, 10, MOST_BITS };
	unsigned int size, keys, i, percent = 0;
	u32 *lengths;

	lengths = kvcalloc(BIT(MOST_BITS), sizeof(*lengths), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lengths);
	for (size = 0; size < ARRAY_SIZE(sizes); size++) {
		const unsigned int bits = sizes[size];

		for (keys = BIT(bits); keys <= 2 * BIT(bits); keys <<= 1) {
			struct hash_histogram h = {};
			u64 nodes, chance;

			memset(lengths, 0, BIT(bits) * sizeof(*lengths));
			for (i = 0; i < keys; i++)
				lengths[function(key_of(pattern, i), bits)]++;
			for (i = 0; i < BIT(bits); i++)
				hash_histogram_add(&h, lengths[i]);
			nodes = hash_histogram_nodes_per_hit(&h);
			chance = hash_histogram_nodes_per_hit_expected(&h);
			percent = max_t(u64, percent,
					div64_u64(nodes * 100, chance));
		}
	}
	kvfree(lengths);
	return percent;
}

static void spread_test_hash_32(struct kunit *test)
{
	const struct pattern *pattern = test->param_value;

	KUNIT_EXPECT_LE(test, worst(test, pattern, golden_32), pattern->bound);
}

static void spread_test_hash_64(struct kunit *test)
{
	const struct pattern *pattern = test->param_value;

	KUNIT_EXPECT_LE(test, worst(test, pattern, golden_64), pattern->bound);
}

static void spread_test_bad_function_fails(struct kunit *test)
{
	const struct pattern *pattern = test->param_value;

	if (!pattern->xor_fails)
		kunit_skip(test, "the lower bits of the keys differ");
	KUNIT_EXPECT_GT(test, worst(test, pattern, xor_and_mask),
			pattern->bound);
}

static struct kunit_case hash_spread_cases[] = {
	KUNIT_CASE_PARAM(spread_test_hash_32, pattern_gen_params),
	KUNIT_CASE_PARAM(spread_test_hash_64, pattern_gen_params),
	KUNIT_CASE_PARAM(spread_test_bad_function_fails, pattern_gen_params),
	{}
};

static struct kunit_suite hash_spread_suite = {
	.name		= "hash_spread",
	.test_cases	= hash_spread_cases,
};

kunit_test_suite(hash_spread_suite);

MODULE_DESCRIPTION("KUnit test for the spread of golden-ratio hashing");
MODULE_LICENSE("GPL");
