// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for the spread of golden-ratio hashing.
 *
 * Keys as the kernel has them go through hash_32(), hash_64() and, for keys of
 * two words, hash_pair() into tables of three sizes, one and two keys a bucket.
 * The nodes examined per hit are compared with those of a random function. A
 * single multiplication is no random function: consecutive keys spread better
 * than random ones, and strides whose product with the constant is near a
 * simple fraction spread worse. Each pattern carries the bound that was
 * measured for it, rounded up.
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
	unsigned int	run;	/* this many keys, @step apart, ... */
	u64		step;
	u64		jump;	/* ... and the next run begins here */
	unsigned int	bound;	/* nodes per hit, in percent of a random function's */
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

/* Nodes examined per hit, in percent of a random function's. */
static unsigned int percent_of_chance(const u32 *lengths, unsigned int bits)
{
	struct hash_histogram h = {};
	unsigned int i;

	for (i = 0; i < BIT(bits); i++)
		hash_histogram_add(&h, lengths[i]);
	return div64_u64(hash_histogram_nodes_per_hit(&h) * 100,
			 hash_histogram_nodes_per_hit_expected(&h));
}

/* The worst of all tables, in percent of a random function's. */
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
			memset(lengths, 0, BIT(bits) * sizeof(*lengths));
			for (i = 0; i < keys; i++)
				lengths[function(key_of(pattern, i), bits)]++;
			percent = max(percent, percent_of_chance(lengths, bits));
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

/*
 * Keys of two words, an inode number and the address of a super block, go
 * through hash_pair_64() and hash_pair_32(), with many addresses, since it is
 * chance which one a file system has. The bound is 115 percent for all. The
 * function that the inode table had in 6.12 fails it where @old_fails.
 */
struct pair_pattern {
	const char	*name;
	u64		start;
	unsigned int	run;	/* this many numbers, 1 apart, ... */
	u64		jump;	/* ... and the next run begins here */
	bool		wide;	/* more than 32 bits */
	bool		old_fails;
};

static const struct pair_pattern pair_patterns[] = {
	{ "consecutive",		257,	 1,	      1, false, true },
	{ "stride 2",			0,	 1,	      2, false, true },
	{ "stride 16",			0,	 1,	     16, false, true },
	{ "stride 100",			0,	 1,	    100, false, true },
	{ "stride 1024",		0,	 1,	   1024, false, false },
	{ "stride 2^20",		0,	 1,   BIT_ULL(20), true, true },
	{ "stride 2^32",		0,	 1,   BIT_ULL(32), true, true },
	{ "stride 2^40",		0,	 1,   BIT_ULL(40), true, true },
	{ "ext4, 64 of 8192 inodes",	1,	64,	   8192, false, true },
	{ "ext4, 64 of 2048 inodes",	1,	64,	   2048, false, true },
	{ "xfs, groups of 2^28",	128,	64,   BIT_ULL(28), true, true },
	{ "addresses of inodes", 0xffff888100000000, 1,	   1024, true, false },
};

static void pair_name(const struct pair_pattern *pattern, char *name)
{
	strscpy(name, pattern->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pair, pair_patterns, pair_name);

#define ADDRESSES	20

/* Objects of 2 KiB, far from each other. */
static u64 super_block(unsigned int i)
{
	return 0xffff888000000000 + (u64)hash_64(i * 7 + 1, 24) * 2048;
}

static u32 old_function(u64 number, u64 sb, unsigned int bits)
{
	u64 tmp = number * sb ^ (GOLDEN_RATIO_64 + number) / 64;

	tmp ^= (tmp ^ GOLDEN_RATIO_64) >> bits;
	return tmp & (BIT(bits) - 1);
}

static u32 pair_64(u64 number, u64 sb, unsigned int bits)
{
	return hash_pair_64(number, sb, bits);
}

static u32 pair_32(u64 number, u64 sb, unsigned int bits)
{
	return hash_pair_32(number, sb, bits);
}

static void fill(u32 *lengths, const struct pair_pattern *pattern, u64 sb,
		 unsigned int bits,
		 u32 (*function)(u64 number, u64 sb, unsigned int bits))
{
	unsigned int i;

	memset(lengths, 0, BIT(bits) * sizeof(*lengths));
	for (i = 0; i < BIT(bits); i++) {
		u64 number = pattern->start + i % pattern->run +
			     i / pattern->run * pattern->jump;

		lengths[function(number, sb, bits)]++;
	}
}

/* The worst of all addresses and tables, in percent of a random function's. */
static unsigned int
worst_pair(struct kunit *test, const struct pair_pattern *pattern,
	   u32 (*function)(u64 number, u64 sb, unsigned int bits))
{
	static const unsigned int sizes[] = { 10, 12 };
	unsigned int size, address, percent = 0;
	u32 *lengths;

	lengths = kvcalloc(BIT(12), sizeof(*lengths), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lengths);
	for (size = 0; size < ARRAY_SIZE(sizes); size++) {
		for (address = 0; address < ADDRESSES; address++) {
			fill(lengths, pattern, super_block(address),
			     sizes[size], function);
			percent = max(percent,
				      percent_of_chance(lengths, sizes[size]));
		}
	}
	kvfree(lengths);
	return percent;
}

static void spread_test_pair_64(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, worst_pair(test, test->param_value, pair_64), 115);
}

static void spread_test_pair_32(struct kunit *test)
{
	const struct pair_pattern *pattern = test->param_value;

	if (pattern->wide)
		kunit_skip(test, "keys of more than 32 bits");
	KUNIT_EXPECT_LE(test, worst_pair(test, pattern, pair_32), 115);
}

static void spread_test_old_function_fails(struct kunit *test)
{
	const struct pair_pattern *pattern = test->param_value;

	if (!pattern->old_fails)
		kunit_skip(test, "it spreads these well");
	KUNIT_EXPECT_GT(test, worst_pair(test, pattern, old_function), 115);
}

/* What a copy of these functions in user space gives. */
static const struct {
	u64	x, y;
	u32	hash_64, hash_32;
} vectors[] = {
	{ 0xe220a8397b1dcdaf, 0x910a2dec89025cc1,
	  0x23d54ec8, 0x272deba9 },
	{ 0x975835de1c9756, 0x1d0b14e4db018fed,
	  0x47b31f87, 0x186d0904 },
	{ 0x6e73e372e233, 0x63033b0ca389c35a,
	  0x87988252, 0xc7a7aa6e },
	{ 0xbd64a5d9ad, 0x63cbe1e459320dd7,
	  0xdb905258, 0x1e6faebd },
	{ 0x9e5651b0, 0xaeaf52febe706064,
	  0xcbc64b4d, 0x3bf9d26c },
	{ 0x88712, 0x50f5647d2380309d,
	  0x3d4c44f2, 0xfaa9329f },
	{ 0x943f, 0xc4ca37b7f8ad8aff,
	  0xb0b38a04, 0xfde69fe0 },
	{ 0x6a, 0x875b9307abf55005,
	  0x8c48d544, 0x8fb2a46a },
};

static void spread_test_pair_vectors(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		u64 x = vectors[i].x, y = vectors[i].y;

		KUNIT_EXPECT_EQ(test, hash_pair_64(x, y, 32),
				vectors[i].hash_64);
		KUNIT_EXPECT_EQ(test, hash_pair_32(x, y, 32),
				vectors[i].hash_32);
		KUNIT_EXPECT_EQ(test, hash_pair_64(x, y, 7),
				vectors[i].hash_64 >> 25);
	}
}

static struct kunit_case hash_spread_cases[] = {
	KUNIT_CASE_PARAM(spread_test_hash_32, pattern_gen_params),
	KUNIT_CASE_PARAM(spread_test_hash_64, pattern_gen_params),
	KUNIT_CASE_PARAM(spread_test_bad_function_fails, pattern_gen_params),
	KUNIT_CASE_PARAM(spread_test_pair_64, pair_gen_params),
	KUNIT_CASE_PARAM(spread_test_pair_32, pair_gen_params),
	KUNIT_CASE_PARAM(spread_test_old_function_fails, pair_gen_params),
	KUNIT_CASE(spread_test_pair_vectors),
	{}
};

static struct kunit_suite hash_spread_suite = {
	.name		= "hash_spread",
	.test_cases	= hash_spread_cases,
};

kunit_test_suite(hash_spread_suite);

MODULE_DESCRIPTION("KUnit test for the spread of golden-ratio hashing");
MODULE_LICENSE("GPL");
