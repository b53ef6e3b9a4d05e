// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for mm/boot_hash.c: names of tables, numbers of the command line,
 * and the bounds of a size.
 */

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "boot_hash.h"

static const char * const names[][2] = {
	{ "Dentry cache",	"dentry" },
	{ "Inode-cache",	"inode" },
	{ "Mountpoint-cache",	"mountpoint" },
	{ "TCP established",	"tcp-established" },
	{ "UDP-Lite",		"udp-lite" },
	{ "futex",		"futex" },
	{ "bit_wait",		"bit_wait" },
	{ "-cache",		"-cache" },
	{ "cache",		"cache" },
	{ "",			"" },
	{ "A title that does not fit into a name", "a-title-that-does-not-fit-into-" },
};

static void __init boot_hash_test_name(struct kunit *test)
{
	char name[BOOT_HASH_NAME_LEN];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		boot_hash_name(name, names[i][0]);
		KUNIT_EXPECT_STREQ(test, name, names[i][1]);
	}
}

struct number_case {
	const char		*text;
	int			err;
	unsigned long long	buckets;
};

static const struct number_case number_cases[] = {
	{ "0", 0, 0 },
	{ "1", 0, 1 },
	{ "2", 0, 2 },
	{ "255", 0, 255 },
	{ "4096", 0, 4096 },
	{ "010", 0, 10 },
	{ "0x10", 0, 16 },
	{ "0X1f", 0, 31 },
	{ "0xabc", 0, 0xabc },
	{ "0x4k", 0, 4096 },
	{ "4k", 0, 4096 },
	{ "4K", 0, 4096 },
	{ "12k", 0, 12288 },
	{ "1m", 0, 1 << 20 },
	{ "2M", 0, 2 << 20 },
	{ "1g", 0, 1 << 30 },
	{ "16G", 0, 16ULL << 30 },
	{ "0k", 0, 0 },
	{ "18446744073709551615", 0, U64_MAX },
	{ "17179869183G", 0, 17179869183ULL << 30 },
	{ "000000000000000000000000001", 0, 1 },

	{ "", -EINVAL },
	{ " ", -EINVAL },
	{ "k", -EINVAL },
	{ "K", -EINVAL },
	{ "G", -EINVAL },
	{ "-1", -EINVAL },
	{ "+1", -EINVAL },
	{ "-", -EINVAL },
	{ "+", -EINVAL },
	{ " 1", -EINVAL },
	{ "1 ", -EINVAL },
	{ "1\n", -EINVAL },
	{ "1 k", -EINVAL },
	{ "garbage", -EINVAL },
	{ "4KB", -EINVAL },
	{ "4Ki", -EINVAL },
	{ "4kk", -EINVAL },
	{ "4T", -EINVAL },
	{ "4P", -EINVAL },
	{ "4E", -EINVAL },
	{ "1.5M", -EINVAL },
	{ "1e3", -EINVAL },
	{ "1_000", -EINVAL },
	{ "1:2", -EINVAL },
	{ "0x", -EINVAL },
	{ "0xk", -EINVAL },
	{ "x10", -EINVAL },
	{ "0b11", -EINVAL },
	{ "10x", -EINVAL },
	{ "deadbeef", -EINVAL },
	{ "12abc", -EINVAL },
	{ "%d", -EINVAL },
	{ "1\t", -EINVAL },
	{ "\xff", -EINVAL },

	{ "18446744073709551616", -ERANGE },
	{ "17179869184G", -ERANGE },
	{ "99999999999999999999", -ERANGE },
	{ "99999999999999999999999999999999999999", -ERANGE },
	{ "0x10000000000000000", -ERANGE },
	{ "18014398509481984K", -ERANGE },
};

static void number_name(const struct number_case *param, char *name)
{
	/* Escaped and quoted: KTAP loses blank names and what follows a #. */
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "'%*pEanph'",
		 (int)strlen(param->text), param->text);
}

KUNIT_ARRAY_PARAM(number, number_cases, number_name);

static void __init boot_hash_test_number(struct kunit *test)
{
	const struct number_case *param = test->param_value;
	unsigned long long buckets = 0;

	KUNIT_EXPECT_EQ(test, boot_hash_parse(param->text, strlen(param->text),
					      &buckets), param->err);
	if (!param->err)
		KUNIT_EXPECT_EQ(test, buckets, param->buckets);
}

/* In hash_entries= a comma ends the number, not a zero byte. */
static void __init boot_hash_test_number_length(struct kunit *test)
{
	unsigned long long buckets = 0;

	KUNIT_EXPECT_EQ(test, boot_hash_parse("123,x", 3, &buckets), 0);
	KUNIT_EXPECT_EQ(test, buckets, 123);
	KUNIT_EXPECT_EQ(test, boot_hash_parse("4K,inode", 2, &buckets), 0);
	KUNIT_EXPECT_EQ(test, buckets, 4096);
	KUNIT_EXPECT_EQ(test, boot_hash_parse("4", 0, &buckets), -EINVAL);
}

static void __init expect_clamp(struct kunit *test, unsigned long long wanted,
				unsigned long buckets,
				enum boot_hash_origin origin)
{
	static const struct boot_hash_bounds bounds = {
		.fewest	= 2,
		.most	= 100000,
	};
	enum boot_hash_origin got;

	KUNIT_EXPECT_EQ_MSG(test, boot_hash_clamp(wanted, &bounds, &got),
			    buckets, "%llu buckets", wanted);
	KUNIT_EXPECT_EQ_MSG(test, got, origin, "%llu buckets", wanted);
}

static void __init boot_hash_test_clamp(struct kunit *test)
{
	expect_clamp(test, 0, 2, BOOT_HASH_MINIMUM);
	expect_clamp(test, 1, 2, BOOT_HASH_MINIMUM);
	expect_clamp(test, 2, 2, BOOT_HASH_CMDLINE);
	expect_clamp(test, 3, 4, BOOT_HASH_CMDLINE);
	expect_clamp(test, 65536, 65536, BOOT_HASH_CMDLINE);
	expect_clamp(test, 65537, 65536, BOOT_HASH_CMDLINE);
	expect_clamp(test, 100000, 65536, BOOT_HASH_CMDLINE);
	expect_clamp(test, 100001, 65536, BOOT_HASH_MAXIMUM);
	expect_clamp(test, U64_MAX, 65536, BOOT_HASH_MAXIMUM);
}

/* No command line names these tables. */
static unsigned long __init choose(struct boot_hash_table *table, int flags,
				   unsigned long kernel_pages)
{
	static const struct boot_hash_bounds bounds = {
		.fewest	= 256,
		.most	= SZ_1G,
	};

	strscpy(table->name, "kunit-only", sizeof(table->name));
	table->origin = BOOT_HASH_MEMORY;
	return boot_hash_choose(table, flags, &bounds, kernel_pages);
}

static void __init boot_hash_test_optional(struct kunit *test)
{
	struct boot_hash_table table = { .bucket_size = 8, .nr_buckets = 1024 };

	KUNIT_EXPECT_EQ(test, choose(&table, HASH_OPTIONAL, SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, table.origin, BOOT_HASH_OFF);
	KUNIT_EXPECT_EQ(test, table.nr_buckets, 0);
}

static void __init boot_hash_test_automatic(struct kunit *test)
{
	struct boot_hash_table table = { .bucket_size = 8, .nr_buckets = 1024 };

	KUNIT_EXPECT_EQ(test, choose(&table, 0, SZ_1M), 1024);
	KUNIT_EXPECT_EQ(test, table.origin, BOOT_HASH_MEMORY);
}

/* More than 1/4 of memory is cut, but not below the limit of the caller or a page. */
static void __init boot_hash_test_total(struct kunit *test)
{
	struct boot_hash_table table = {
		.bucket_size	= PAGE_SIZE,
		.nr_buckets	= SZ_256M,
	};
	struct boot_hash_table small = { .bucket_size = 8 };
	unsigned long buckets;

	/* The tables of this machine take far less than a hundredth of this. */
	buckets = choose(&table, HASH_SOFT_LIMITS, SZ_256M);
	KUNIT_EXPECT_EQ(test, buckets, SZ_32M);
	KUNIT_EXPECT_EQ(test, table.origin, BOOT_HASH_MAXIMUM);

	/* Not below the caller's lower limit, which a request may exceed. */
	table.nr_buckets = 512;
	KUNIT_EXPECT_EQ(test, choose(&table, HASH_SOFT_LIMITS, 4), 256);
	table.nr_buckets = 512;
	KUNIT_EXPECT_EQ(test, choose(&table, 0, 4), 256);

	/* Nor below a page. */
	small.nr_buckets = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, choose(&small, 0, 4), PAGE_SIZE / 8);
	small.nr_buckets = 256;
	KUNIT_EXPECT_EQ(test, choose(&small, 0, 4), 256);

	/* The size of memory is not known yet. */
	table.nr_buckets = 512;
	KUNIT_EXPECT_EQ(test, choose(&table, 0, 0), 512);
}

/* Read after boot, by debugfs. */
static struct kunit_case __refdata boot_hash_cases[] = {
	KUNIT_CASE(boot_hash_test_name),
	KUNIT_CASE_PARAM(boot_hash_test_number, number_gen_params),
	KUNIT_CASE(boot_hash_test_number_length),
	KUNIT_CASE(boot_hash_test_clamp),
	KUNIT_CASE(boot_hash_test_optional),
	KUNIT_CASE(boot_hash_test_automatic),
	KUNIT_CASE(boot_hash_test_total),
	{}
};

static struct kunit_suite boot_hash_suite = {
	.name		= "boot_hash",
	.test_cases	= boot_hash_cases,
};

/* The functions under test are __init. */
kunit_test_init_section_suite(boot_hash_suite);
