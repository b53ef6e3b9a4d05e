// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for mm/boot_hash.c: the sizes that tables get, the numbers that
 * the command line may name, and tables that come and go.
 */

#include <kunit/test.h>
#include <linux/boot_hash.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "boot_hash_policy.h"

static struct boot_hash_machine machine_of(u64 memory, unsigned int cpus)
{
	return (struct boot_hash_machine) {
		.kernel_pages	= memory >> PAGE_SHIFT,
		.all_pages	= memory >> PAGE_SHIFT,
		.cpus		= cpus,
	};
}

/* The tables of this kernel, as they describe themselves. */
static const struct boot_hash *find_table(const char *name)
{
	const struct boot_hash *hash, *found = NULL;

	down_read(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node) {
		if (!strcmp(hash->name, name))
			found = hash;
	}
	up_read(&boot_hash_rwsem);
	return found;
}

struct size_case {
	const char		*name;
	u64			memory;
	unsigned int		cpus;
	unsigned long		buckets;
	enum boot_hash_origin	origin;
};

#define SIZE(name, memory, cpus, buckets, origin) \
	{ name, memory, cpus, buckets, BOOT_HASH_##origin }

static const struct size_case size_cases[] = {
	SIZE("folio_wait",	SZ_64M,		2,	256,	MEMORY),
	SIZE("folio_wait",	SZ_32M,		2,	256,	MINIMUM),
	SIZE("folio_wait",	SZ_128M,	2,	512,	MEMORY),
	SIZE("folio_wait",	SZ_512M,	2,	2048,	MEMORY),
	SIZE("folio_wait",	SZ_1G,		2,	4096,	MEMORY),
	SIZE("bit_wait",	SZ_64M,		2,	256,	MEMORY),
	SIZE("bit_wait",	SZ_32M,		2,	256,	MINIMUM),
	SIZE("bit_wait",	SZ_128M,	2,	512,	MEMORY),
	SIZE("bit_wait",	SZ_512M,	2,	2048,	MEMORY),
	SIZE("bit_wait",	SZ_1G,		2,	4096,	MEMORY),
	SIZE("dentry_lookup",	SZ_64M,		2,	1024,	MINIMUM),
	SIZE("dentry_lookup",	SZ_512M,	2,	1024,	MINIMUM),
	SIZE("dentry_lookup",	SZ_512M,	64,	4096,	CPUS),
	SIZE("dentry_lookup",	SZ_1G,		2,	1024,	MEMORY),
	SIZE("dentry",		SZ_64M,		2,	8192,	MEMORY),
	SIZE("dentry",		SZ_512M,	2,	65536,	MEMORY),
	SIZE("inode",		SZ_64M,		2,	4096,	MEMORY),
	SIZE("inode",		SZ_512M,	2,	32768,	MEMORY),
	SIZE("mount",		SZ_512M,	2,	1024,	MEMORY),
	SIZE("mountpoint",	SZ_512M,	2,	1024,	MEMORY),
#if defined(CONFIG_FUTEX) && !defined(CONFIG_BASE_SMALL)
	SIZE("futex",		SZ_512M,	1,	256,	CPUS),
	SIZE("futex",		SZ_512M,	3,	1024,	CPUS),
#endif
	SIZE("uid", SZ_32M, 4, 512, MINIMUM),
	SIZE("uid", SZ_64M, 4, 512, MEMORY),
	SIZE("uid", SZ_1G, 4, 8192, MEMORY),
#ifdef CONFIG_QUOTA
	SIZE("dquot", SZ_16M, 4, 512, MINIMUM),
	SIZE("dquot", SZ_64M, 4, 1024, MEMORY),
	SIZE("dquot", SZ_1G, 4, 16384, MEMORY),
#endif
#ifdef CONFIG_BUFFER_HASH
	SIZE("buffer", SZ_32M, 4, 512, MEMORY),
	SIZE("buffer", SZ_1G, 4, 16384, MEMORY),
#endif
#ifdef CONFIG_PAGE_HASH
	/* With `auto'. */
	SIZE("page", SZ_32M, 4, SZ_32M >> PAGE_SHIFT, MEMORY),
	SIZE("page", SZ_1G, 4, SZ_1G >> PAGE_SHIFT, MEMORY),
#endif
#ifdef CONFIG_POSIX_TIMERS
	SIZE("posix_timers", SZ_32M, 4, 512, MINIMUM),
	SIZE("posix_timers", SZ_64M, 4, 512, MEMORY),
	SIZE("posix_timers", SZ_1G, 4, 8192, MEMORY),
#endif
#ifdef CONFIG_CGROUPS
	SIZE("css_set", SZ_64M, 4, 512, MINIMUM),
	SIZE("css_set", SZ_256M, 4, 1024, MEMORY),
	SIZE("css_set", SZ_1G, 4, 4096, MEMORY),
#endif
	SIZE("ucounts", SZ_64M, 4, 1024, MINIMUM),
	SIZE("ucounts", SZ_256M, 4, 2048, MEMORY),
	SIZE("ucounts", SZ_1G, 4, 8192, MEMORY),
#ifdef CONFIG_FILE_LOCKING
	SIZE("blocked_locks", SZ_32M, 4, 512, MINIMUM),
	SIZE("blocked_locks", SZ_64M, 4, 512, MEMORY),
	SIZE("blocked_locks", SZ_1G, 4, 8192, MEMORY),
#endif
#ifdef CONFIG_KSM
	SIZE("ksm_mm", SZ_64M, 4, 1024, MINIMUM),
	SIZE("ksm_mm", SZ_256M, 4, 2048, MEMORY),
	SIZE("ksm_mm", SZ_1G, 4, 8192, MEMORY),
#endif
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	SIZE("khugepaged_mm", SZ_64M, 4, 1024, MINIMUM),
	SIZE("khugepaged_mm", SZ_256M, 4, 2048, MEMORY),
	SIZE("khugepaged_mm", SZ_1G, 4, 8192, MEMORY),
#endif
#ifdef CONFIG_64BIT
	SIZE("mount",		SZ_64M,		2,	512,	MINIMUM),
	SIZE("folio_wait",	SZ_4G,		4,	1 << 14, MEMORY),
	SIZE("folio_wait",	SZ_16G,	4,	1 << 16, MEMORY),
	SIZE("folio_wait",	SZ_64G,		8,	1 << 18, MEMORY),
	/* from here on twice the buckets for four times the memory */
	SIZE("folio_wait",	SZ_64G + SZ_1M,	8,	1 << 18, MEMORY),
	SIZE("folio_wait",	SZ_128G,	8,	1 << 18, MEMORY),
	SIZE("folio_wait",	SZ_256G,	8,	1 << 19, MEMORY),
	SIZE("folio_wait",	SZ_1T,		64,	1 << 20, MEMORY),
	SIZE("folio_wait",	SZ_16T,	64,	1 << 20, MAXIMUM),
	SIZE("bit_wait",	SZ_4G,		4,	1 << 14, MEMORY),
	SIZE("bit_wait",	SZ_16G,	4,	1 << 16, MEMORY),
	SIZE("bit_wait",	SZ_1T,		64,	1 << 19, MAXIMUM),
	SIZE("bit_wait",	SZ_16T,	64,	1 << 19, MAXIMUM),
	SIZE("dentry_lookup",	SZ_4G,		4,	1 << 12, MEMORY),
	SIZE("dentry_lookup",	SZ_16G,	4,	1 << 14, MEMORY),
	SIZE("dentry_lookup",	SZ_1T,		64,	1 << 18, MEMORY),
	SIZE("dentry_lookup",	SZ_16T,	64,	1 << 18, MAXIMUM),
	/* as mainline */
	SIZE("dentry",		SZ_4G,		4,	1 << 19, MEMORY),
	SIZE("dentry",		SZ_16G,	4,	1 << 21, MEMORY),
	SIZE("dentry",		SZ_1T,		64,	1 << 25, MEMORY),
	SIZE("dentry",		SZ_16T,	64,	1 << 27, MEMORY),
	SIZE("inode",		SZ_1T,		64,	1 << 24, MEMORY),
	SIZE("inode",		SZ_16T,	64,	1 << 26, MEMORY),
	SIZE("mount",		SZ_1T,		64,	1 << 19, MEMORY),
	SIZE("uid", SZ_4G, 4, 1 << 15, MEMORY),
	SIZE("uid", SZ_32G, 4, 1 << 18, MEMORY),
	SIZE("uid", SZ_64G, 4, 1 << 18, MAXIMUM),
#ifdef CONFIG_QUOTA
	SIZE("dquot", SZ_4G, 4, 1 << 16, MEMORY),
	SIZE("dquot", SZ_32G, 4, 1 << 19, MEMORY),
	SIZE("dquot", SZ_64G, 4, 1 << 19, MAXIMUM),
#endif
#ifdef CONFIG_BUFFER_HASH
	SIZE("buffer", SZ_64G, 4, SZ_1M, MEMORY),
	SIZE("buffer", SZ_1T, 4, SZ_1M, MAXIMUM),
#endif
#ifdef CONFIG_PAGE_HASH
	SIZE("page", SZ_64G, 4, SZ_64G >> PAGE_SHIFT, MEMORY),
	SIZE("page", SZ_1T, 4, SZ_256G >> PAGE_SHIFT, MEMORY),
#endif
#ifdef CONFIG_POSIX_TIMERS
	SIZE("posix_timers", SZ_4G, 4, 1 << 15, MEMORY),
	SIZE("posix_timers", SZ_32G, 4, 1 << 18, MEMORY),
	SIZE("posix_timers", SZ_64G, 4, 1 << 18, MAXIMUM),
#endif
#ifdef CONFIG_CGROUPS
	SIZE("css_set", SZ_4G, 4, 1 << 14, MEMORY),
	SIZE("css_set", SZ_16G, 4, 1 << 16, MEMORY),
	SIZE("css_set", SZ_32G, 4, 1 << 16, MAXIMUM),
#endif
	SIZE("ucounts", SZ_4G, 4, 1 << 15, MEMORY),
	SIZE("ucounts", SZ_32G, 4, 1 << 18, MEMORY),
	SIZE("ucounts", SZ_64G, 4, 1 << 18, MAXIMUM),
#ifdef CONFIG_FILE_LOCKING
	SIZE("blocked_locks", SZ_4G, 4, 1 << 15, MEMORY),
	SIZE("blocked_locks", SZ_16G, 4, 1 << 17, MEMORY),
	SIZE("blocked_locks", SZ_1T, 4, 1 << 17, MAXIMUM),
#endif
#ifdef CONFIG_KSM
	SIZE("ksm_mm", SZ_16G, 4, 1 << 17, MEMORY),
	SIZE("ksm_mm", SZ_1T, 4, 1 << 17, MAXIMUM),
#endif
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	SIZE("khugepaged_mm", SZ_16G, 4, 1 << 17, MEMORY),
	SIZE("khugepaged_mm", SZ_1T, 4, 1 << 17, MAXIMUM),
#endif
#endif
};

static void size_name(const struct size_case *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s, %llu MiB, %u CPUs",
		 param->name, param->memory >> 20, param->cpus);
}

KUNIT_ARRAY_PARAM(size, size_cases, size_name);

static void boot_hash_test_size(struct kunit *test)
{
	const struct size_case *param = test->param_value;
	struct boot_hash_machine machine;
	const struct boot_hash *hash = find_table(param->name);
	enum boot_hash_origin origin;

	/* A table takes a page at least: the numbers are for small ones. */
	if (PAGE_SIZE != SZ_4K)
		kunit_skip(test, "not with pages of %lu bytes", PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, hash);
	machine = machine_of(param->memory, param->cpus);
	KUNIT_EXPECT_EQ(test, boot_hash_buckets(hash, &machine, &origin),
			param->buckets);
	KUNIT_EXPECT_STREQ(test, boot_hash_origin_name(origin),
			   boot_hash_origin_name(param->origin));
	kunit_info(test, "%lu buckets, %lu bytes", param->buckets,
		   (unsigned long)(param->buckets * hash->bucket_size));
}

/* What holds for every table on every machine. */
static void boot_hash_test_bounds(struct kunit *test)
{
	const u64 most = IS_ENABLED(CONFIG_64BIT) ? SZ_16T : SZ_2G;
	const struct boot_hash *hash;
	enum boot_hash_origin origin;

	down_read(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node) {
		unsigned long before = 0, buckets;
		u64 memory;

		for (memory = SZ_16M; memory <= most; memory <<= 1) {
			struct boot_hash_machine machine;

			machine = machine_of(memory, 4);
			buckets = boot_hash_buckets(hash, &machine, &origin);
			KUNIT_EXPECT_TRUE(test, is_power_of_2(buckets));
			KUNIT_EXPECT_GE(test, buckets, before);
			KUNIT_EXPECT_GE(test, buckets, BOOT_HASH_FEWEST);
			KUNIT_EXPECT_GE(test, buckets, hash->min);
			if (hash->max)
				KUNIT_EXPECT_LE(test, buckets, hash->max);
			before = buckets;
		}
		if (hash->origin == BOOT_HASH_OFF) {
			KUNIT_EXPECT_EQ(test, hash->nr_buckets, 0);
			continue;
		}
		KUNIT_EXPECT_GE(test, hash->nr_buckets, BOOT_HASH_FEWEST);
		KUNIT_EXPECT_EQ(test, hash->nr_buckets, 1UL << hash->bits);
	}
	up_read(&boot_hash_rwsem);
}

/* What the series adds to mainline's tables is 1/1000 of memory at most. */
static void boot_hash_test_budget(struct kunit *test)
{
	static const char * const ours[] = {
		"folio_wait", "bit_wait", "dentry_lookup",
#ifdef CONFIG_BUFFER_HASH
		"buffer",
#endif
		"uid",
#ifdef CONFIG_QUOTA
		"dquot",
#endif
#ifdef CONFIG_POSIX_TIMERS
		"posix_timers",
#endif
#ifdef CONFIG_CGROUPS
		"css_set",
#endif
		"ucounts",
#ifdef CONFIG_FILE_LOCKING
		"blocked_locks",
#endif
#ifdef CONFIG_KSM
		"ksm_mm",
#endif
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
		"khugepaged_mm",
#endif
	};
	const u64 most = IS_ENABLED(CONFIG_64BIT) ? SZ_16T : SZ_1G;
	enum boot_hash_origin origin;
	u64 memory;

	/* Debugging makes spinlocks, and so wait queues, larger. */
	if (sizeof(wait_queue_head_t) > 3 * sizeof(long))
		kunit_skip(test, "not with debugging of spinlocks");
	for (memory = SZ_1G; memory <= most; memory <<= 2) {
		u64 bytes = 0;
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(ours); i++) {
			const struct boot_hash *hash = find_table(ours[i]);
			struct boot_hash_machine machine;

			KUNIT_ASSERT_NOT_NULL(test, hash);
			machine = machine_of(memory, 64);
			bytes += (u64)hash->bucket_size *
				 boot_hash_buckets(hash, &machine, &origin);
		}
		kunit_info(test, "%llu MiB: %llu bytes", memory >> 20, bytes);
		KUNIT_EXPECT_LE(test, bytes, div_u64(memory, 1000));
	}
}

static void boot_hash_test_fixed(struct kunit *test)
{
	const struct boot_hash fixed = { .bucket_size = 8, .min = 128 };
	struct boot_hash_machine machine = machine_of(SZ_1G, 4);
	enum boot_hash_origin origin;

	KUNIT_EXPECT_EQ(test, boot_hash_buckets(&fixed, &machine, &origin), 128);
	KUNIT_EXPECT_EQ(test, origin, BOOT_HASH_FIXED);
}

/* A table that may not take more than 1/16 of memory. */
static void boot_hash_test_sixteenth(struct kunit *test)
{
	const struct boot_hash fat = {
		.bucket_size = 4096, .mem_per_bucket = 4096,
	};
	struct boot_hash_machine machine = machine_of(SZ_64M, 1);
	enum boot_hash_origin origin;

	KUNIT_EXPECT_EQ(test, boot_hash_buckets(&fat, &machine, &origin), 1024);
	KUNIT_EXPECT_EQ(test, origin, BOOT_HASH_MAXIMUM);
}

static void boot_hash_test_no_memory(struct kunit *test)
{
	const struct boot_hash hash = {
		.bucket_size = 24, .mem_per_bucket = SZ_1M,
	};
	struct boot_hash_machine machine = machine_of(0, 1);
	enum boot_hash_origin origin;

	KUNIT_EXPECT_EQ(test, boot_hash_buckets(&hash, &machine, &origin),
			BOOT_HASH_FEWEST);
}

struct limit_case {
	unsigned long long	wanted;
	unsigned long		buckets;
	enum boot_hash_origin	origin;
};

/* 64 MiB, 8 bytes a bucket: 1/16 is 2^19 buckets. */
static const struct limit_case limit_cases[] = {
	{ 1,			2,	 BOOT_HASH_MINIMUM },
	{ 2,			2,	 BOOT_HASH_CMDLINE },
	{ 3,			4,	 BOOT_HASH_CMDLINE },
	{ 4096,			4096,	 BOOT_HASH_CMDLINE },
	{ 4097,			8192,	 BOOT_HASH_CMDLINE },
	{ (1 << 19) - 1,	1 << 19, BOOT_HASH_CMDLINE },
	{ 1 << 19,		1 << 19, BOOT_HASH_CMDLINE },
	{ (1 << 19) + 1,	1 << 19, BOOT_HASH_MAXIMUM },
	{ 1ULL << 32,		1 << 19, BOOT_HASH_MAXIMUM },
	{ U64_MAX,		1 << 19, BOOT_HASH_MAXIMUM },
};

static void limit_name(const struct limit_case *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%llu", param->wanted);
}

KUNIT_ARRAY_PARAM(limit, limit_cases, limit_name);

static void boot_hash_test_limit(struct kunit *test)
{
	const struct limit_case *param = test->param_value;
	const struct boot_hash hash = { .bucket_size = 8 };
	struct boot_hash_machine machine = machine_of(SZ_64M, 1);
	enum boot_hash_origin origin;

	KUNIT_EXPECT_EQ(test, boot_hash_limit(&hash, &machine, param->wanted,
					      &origin), param->buckets);
	KUNIT_EXPECT_EQ(test, origin, param->origin);
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

static void boot_hash_test_number(struct kunit *test)
{
	const struct number_case *param = test->param_value;
	unsigned long long buckets = 0;

	KUNIT_EXPECT_EQ(test, boot_hash_parse(param->text, strlen(param->text),
					      &buckets), param->err);
	if (!param->err)
		KUNIT_EXPECT_EQ(test, buckets, param->buckets);
}

/* In hash_entries= a comma ends the number, not a zero byte. */
static void boot_hash_test_number_length(struct kunit *test)
{
	unsigned long long buckets = 0;

	KUNIT_EXPECT_EQ(test, boot_hash_parse("123,x", 3, &buckets), 0);
	KUNIT_EXPECT_EQ(test, buckets, 123);
	KUNIT_EXPECT_EQ(test, boot_hash_parse("4K,inode", 2, &buckets), 0);
	KUNIT_EXPECT_EQ(test, buckets, 4096);
	KUNIT_EXPECT_EQ(test, boot_hash_parse("4", 0, &buckets), -EINVAL);
}

static bool is_entered(const struct boot_hash *wanted)
{
	const struct boot_hash *hash;
	bool found = false;

	down_read(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node)
		found |= hash == wanted;
	up_read(&boot_hash_rwsem);
	return found;
}

/* Two tables of one name, as two mounted file systems have them. */
static void boot_hash_test_create(struct kunit *test)
{
	struct boot_hash first = {
		.name		= "kunit",
		.instance	= "first",
		.bucket_size	= sizeof(long),
		.mem_per_bucket	= SZ_64K,
		.min		= 1024,
		.max		= 4096,
	};
	struct boot_hash second = first;

	second.instance = "second";
	KUNIT_ASSERT_NOT_NULL(test, boot_hash_create(&first));
	if (!boot_hash_create(&second)) {
		boot_hash_destroy(&first);
		KUNIT_FAIL(test, "no memory for a second table");
		return;
	}
	KUNIT_EXPECT_TRUE(test, is_entered(&first));
	KUNIT_EXPECT_TRUE(test, is_entered(&second));
	KUNIT_EXPECT_GT(test, second.serial, first.serial);
	KUNIT_EXPECT_PTR_NE(test, first.table, second.table);
	KUNIT_EXPECT_GE(test, first.nr_buckets, 1024);
	KUNIT_EXPECT_LE(test, first.nr_buckets, 4096);
	KUNIT_EXPECT_EQ(test, first.nr_buckets, 1UL << first.bits);
	KUNIT_EXPECT_EQ(test, first.nr_buckets, second.nr_buckets);
	KUNIT_EXPECT_NULL(test, memchr_inv(first.table, 0, first.nr_buckets *
							   first.bucket_size));

	boot_hash_destroy(&first);
	KUNIT_EXPECT_FALSE(test, is_entered(&first));
	KUNIT_EXPECT_TRUE(test, is_entered(&second));
	boot_hash_destroy(&second);
	KUNIT_EXPECT_FALSE(test, is_entered(&second));
}

/* One of several tables of a name may have less of memory. */
static void boot_hash_test_several(struct kunit *test)
{
	struct boot_hash_machine machine = machine_of(SZ_1G, 2);
	struct boot_hash hash = {
		.name		= "kunit",
		.bucket_size	= sizeof(long),
	};
	enum boot_hash_origin origin;

	KUNIT_EXPECT_EQ(test, boot_hash_limit(&hash, &machine, SZ_1G, &origin),
			SZ_1G / 16 / sizeof(long));
	hash.instance = "first";
	KUNIT_EXPECT_EQ(test, boot_hash_limit(&hash, &machine, SZ_1G, &origin),
			SZ_1G / 256 / sizeof(long));
	KUNIT_EXPECT_EQ(test, origin, BOOT_HASH_MAXIMUM);
}

static int destroy_table(void *data)
{
	boot_hash_destroy(data);
	return 0;
}

/* A table waits for who walks it, and for nobody else. */
static void boot_hash_test_destroy_waits(struct kunit *test)
{
	struct boot_hash walked = {
		.name		= "kunit",
		.instance	= "walked",
		.bucket_size	= sizeof(long),
		.min		= 16,
	};
	struct boot_hash other = walked;
	struct boot_hash *found;
	struct task_struct *thread;

	other.instance = "other";
	KUNIT_ASSERT_NOT_NULL(test, boot_hash_create(&walked));
	found = boot_hash_get_from(walked.serial);
	KUNIT_EXPECT_PTR_EQ(test, found, &walked);
	if (boot_hash_create(&other))
		boot_hash_destroy(&other);

	thread = kthread_run(destroy_table, &walked, "boot_hash_kunit");
	if (IS_ERR(thread)) {
		boot_hash_put(found);
		boot_hash_destroy(&walked);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	get_task_struct(thread);
	/* It leaves the register first; then it must wait. */
	while (is_entered(&walked))
		fsleep(USEC_PER_MSEC);
	fsleep(20 * USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, READ_ONCE(thread->exit_state), 0);
	((unsigned long *)walked.table)[15] = 1;
	boot_hash_put(found);
	KUNIT_EXPECT_EQ(test, kthread_stop_put(thread), 0);
}

static struct kunit_case boot_hash_cases[] = {
	KUNIT_CASE_PARAM(boot_hash_test_size, size_gen_params),
	KUNIT_CASE(boot_hash_test_bounds),
	KUNIT_CASE(boot_hash_test_budget),
	KUNIT_CASE(boot_hash_test_fixed),
	KUNIT_CASE(boot_hash_test_sixteenth),
	KUNIT_CASE(boot_hash_test_no_memory),
	KUNIT_CASE_PARAM(boot_hash_test_limit, limit_gen_params),
	KUNIT_CASE_PARAM(boot_hash_test_number, number_gen_params),
	KUNIT_CASE(boot_hash_test_number_length),
	KUNIT_CASE(boot_hash_test_create),
	KUNIT_CASE(boot_hash_test_several),
	KUNIT_CASE(boot_hash_test_destroy_waits),
	{}
};

static struct kunit_suite boot_hash_suite = {
	.name		= "boot_hash",
	.test_cases	= boot_hash_cases,
};

kunit_test_suite(boot_hash_suite);

MODULE_DESCRIPTION("KUnit test for the sizes of boot-sized hash tables");
MODULE_LICENSE("GPL");
