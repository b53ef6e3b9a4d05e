// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for alloc_bucket_spinlocks().
 *
 * Callers take the lock with the number hash & locks_mask. The mask reaches
 * every lock only if their number is a power of two, whatever the number of
 * CPUs is.
 */

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>

static void check_locks(struct kunit *test, size_t max_size,
			unsigned int cpu_mult, size_t fewest)
{
	spinlock_t *locks;	/* never taken, only counted */
	unsigned int mask;
	int err;

	err = alloc_bucket_spinlocks(&locks, &mask, max_size, cpu_mult,
				     GFP_KERNEL);
	KUNIT_ASSERT_EQ(test, err, 0);
	free_bucket_spinlocks(locks);

	KUNIT_EXPECT_TRUE_MSG(test, is_power_of_2(mask + 1UL),
			      "mask %#x for %u locks per CPU, at most %zu",
			      mask, cpu_mult, max_size);
	KUNIT_EXPECT_LE(test, mask + 1UL, max_size);
	KUNIT_EXPECT_GE(test, mask + 1UL, fewest);
}

static void bucket_locks_test_per_cpu(struct kunit *test)
{
	/* The function counts 64 CPUs at most, and 2 with lockdep. */
	unsigned int cpus = min(num_possible_cpus(),
				IS_ENABLED(CONFIG_PROVE_LOCKING) ? 2U : 64U);
	unsigned int cpu_mult;

	for (cpu_mult = 1; cpu_mult <= 64; cpu_mult++)
		check_locks(test, SZ_64K, cpu_mult, cpus * cpu_mult);
}

static void bucket_locks_test_bound(struct kunit *test)
{
	size_t max_size;

	/* More locks per CPU than the bound allows. */
	for (max_size = 1; max_size <= 100; max_size++)
		check_locks(test, max_size, 1000, max_size / 2 + 1);
}

static struct kunit_case bucket_locks_cases[] = {
	KUNIT_CASE(bucket_locks_test_per_cpu),
	KUNIT_CASE(bucket_locks_test_bound),
	{}
};

static struct kunit_suite bucket_locks_suite = {
	.name = "bucket_locks",
	.test_cases = bucket_locks_cases,
};

kunit_test_suite(bucket_locks_suite);

MODULE_DESCRIPTION("KUnit test for the number of bucket locks");
MODULE_LICENSE("GPL");
