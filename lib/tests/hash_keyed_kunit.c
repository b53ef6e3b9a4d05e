// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for the functions of <linux/hash_keyed.h>.
 *
 * An attacker who knows the source, but not the key that was drawn at boot,
 * picks 20,000 ids. The longest chain must be at most three times as long as
 * that of a random function. The functions without a key must fail this bound
 * where the attacker computed the ids with them.
 */

#include <kunit/test.h>
#include <linux/hash_keyed.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>

#define KEYS		20000
#define MOST_BITS	15	/* of the table of users on 4 GiB */
#define DRAWS		8

/* A table of fixed size, as timers had, and the largest. */
static const unsigned int sizes[] = { 9, MOST_BITS };

/* The multiplicative inverse of GOLDEN_RATIO_32 modulo 2^32. */
static u32 golden_inverse(void)
{
	u32 inverse = 1;
	unsigned int i;

	for (i = 0; i < 5; i++)
		inverse *= 2 - GOLDEN_RATIO_32 * inverse;
	return inverse;
}

/* Numbers whose product with the golden ratio is 0, 1, 2, ... */
static u32 flood_id(unsigned int i)
{
	return golden_inverse() * i;
}

/* The same id of neighbouring users of /etc/subuid. */
static u32 subordinate_id(unsigned int i)
{
	return 100000 + 65536 * i;
}

static u32 consecutive_id(unsigned int i)
{
	return 1000 + i;
}

#if BITS_PER_LONG == 64
#define ADDRESS		0xffff888012345000UL
#else
#define ADDRESS		0xc1234000UL
#endif

static unsigned long one_address(u32 y)
{
	return ADDRESS;
}

/* An address for which hash_pair() gives the same for all @y. */
static unsigned long flood_address(u32 y)
{
	if (BITS_PER_LONG == 64)
		return ADDRESS ^ (u64)y << 24;
	return ADDRESS ^ __hash_32(y);
}

static const struct ids {
	const char	*name;
	u32		(*id)(unsigned int i);
	unsigned long	(*address)(u32 y);
	bool		flood_32;	/* for hash_32() */
	bool		flood_pair;	/* for hash_pair() */
} all_ids[] = {
	{ "computed for hash_32",	flood_id, one_address, true, false },
	{ "computed for hash_pair",	consecutive_id, flood_address,
	  false, true },
	{ "subordinate",		subordinate_id, one_address,
	  false, false },
	{ "consecutive",		consecutive_id, one_address,
	  false, false },
};

static void ids_name(const struct ids *ids, char *name)
{
	strscpy(name, ids->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ids, all_ids, ids_name);

static u32 keyed_32(const struct ids *ids, unsigned int i, unsigned int bits,
		    const struct hash_boot_key *key)
{
	return __hash_32_keyed(ids->id(i), bits, key);
}

static u32 keyed_pair(const struct ids *ids, unsigned int i, unsigned int bits,
		      const struct hash_boot_key *key)
{
	u32 y = ids->id(i);

	return __hash_pair_keyed(ids->address(y), y, bits, key);
}

static u32 golden_32(const struct ids *ids, unsigned int i, unsigned int bits,
		     const struct hash_boot_key *key)
{
	return hash_32(ids->id(i), bits);
}

static u32 golden_pair(const struct ids *ids, unsigned int i, unsigned int bits,
		       const struct hash_boot_key *key)
{
	u32 y = ids->id(i);

	return hash_pair(ids->address(y), y, bits);
}

static unsigned int longest_chain(u32 *lengths, const struct ids *ids,
				  unsigned int bits, const struct hash_boot_key *key,
				  u32 (*function)(const struct ids *ids,
						  unsigned int i,
						  unsigned int bits,
						  const struct hash_boot_key *key))
{
	unsigned int i, longest = 0;

	memset(lengths, 0, BIT(bits) * sizeof(*lengths));
	for (i = 0; i < KEYS; i++) {
		u32 length = ++lengths[function(ids, i, bits, key)];

		longest = max(longest, length);
	}
	return longest;
}

/* Three times the longest chain of a random function. */
static unsigned int bound(u32 *lengths, unsigned int bits)
{
	struct rnd_state state;
	unsigned int i, longest = 0;

	prandom_seed_state(&state, bits);
	memset(lengths, 0, BIT(bits) * sizeof(*lengths));
	for (i = 0; i < KEYS; i++) {
		u32 random = prandom_u32_state(&state) >> (32 - bits);
		u32 length = ++lengths[random];

		longest = max(longest, length);
	}
	return 3 * longest;
}

static u32 *alloc_lengths(struct kunit *test)
{
	u32 *lengths = kunit_kcalloc(test, BIT(MOST_BITS), sizeof(*lengths),
				     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, lengths);
	return lengths;
}

/* With the key of this boot, and with some that are the same at each boot. */
static void expect_bound(struct kunit *test,
			 u32 (*function)(const struct ids *ids, unsigned int i,
					 unsigned int bits,
					 const struct hash_boot_key *key))
{
	u32 *lengths = alloc_lengths(test);
	struct hash_boot_key key = hash_boot_key;
	struct rnd_state state;
	unsigned int size, draw;

	prandom_seed_state(&state, 1);
	for (draw = 0; draw < DRAWS; draw++) {
		for (size = 0; size < ARRAY_SIZE(sizes); size++) {
			const unsigned int bits = sizes[size];

			KUNIT_EXPECT_LE(test,
					longest_chain(lengths, test->param_value,
						      bits, &key, function),
					bound(lengths, bits));
		}
		prandom_bytes_state(&state, &key, sizeof(key));
	}
}

static void keyed_test_32(struct kunit *test)
{
	expect_bound(test, keyed_32);
}

static void keyed_test_pair(struct kunit *test)
{
	expect_bound(test, keyed_pair);
}

/* The control: without a key the flood succeeds. */
static void expect_flood(struct kunit *test,
			 u32 (*function)(const struct ids *ids, unsigned int i,
					 unsigned int bits,
					 const struct hash_boot_key *key))
{
	u32 *lengths = alloc_lengths(test);
	unsigned int size;

	for (size = 0; size < ARRAY_SIZE(sizes); size++) {
		const unsigned int bits = sizes[size];

		KUNIT_EXPECT_GT(test,
				longest_chain(lengths, test->param_value, bits,
					      NULL, function),
				bound(lengths, bits));
	}
}

static void keyed_test_golden_32_fails(struct kunit *test)
{
	const struct ids *ids = test->param_value;

	if (!ids->flood_32)
		kunit_skip(test, "not computed for hash_32()");
	expect_flood(test, golden_32);
}

static void keyed_test_golden_pair_fails(struct kunit *test)
{
	const struct ids *ids = test->param_value;

	if (!ids->flood_pair)
		kunit_skip(test, "not computed for hash_pair()");
	expect_flood(test, golden_pair);
}

/* A key of zeros would put all objects into one bucket. */
static void keyed_test_key_was_drawn(struct kunit *test)
{
	KUNIT_EXPECT_NE(test, hash_boot_key.x_factor, 0);
	KUNIT_EXPECT_NE(test, hash_boot_key.y_factor, 0);
	KUNIT_EXPECT_NE(test, hash_boot_key.x_factor, hash_boot_key.y_factor);
}

static struct kunit_case hash_keyed_cases[] = {
	KUNIT_CASE_PARAM(keyed_test_32, ids_gen_params),
	KUNIT_CASE_PARAM(keyed_test_pair, ids_gen_params),
	KUNIT_CASE_PARAM(keyed_test_golden_32_fails, ids_gen_params),
	KUNIT_CASE_PARAM(keyed_test_golden_pair_fails, ids_gen_params),
	KUNIT_CASE(keyed_test_key_was_drawn),
	{}
};

static struct kunit_suite hash_keyed_suite = {
	.name		= "hash_keyed",
	.test_cases	= hash_keyed_cases,
};

kunit_test_suite(hash_keyed_suite);

MODULE_DESCRIPTION("KUnit test for hashing with a boot-time key");
MODULE_LICENSE("GPL");
