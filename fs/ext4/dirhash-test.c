// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for fs/ext4/hash.c, which includes this file. The hash of a name
 * is on the disk, so it must be the same forever, whatever computes it.
 */

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#define LONGEST_NAME	255
/* A folded name may be longer than one on the disk. */
#define LONGEST_FOLDED	600
#define NAMES_OF_CHANCE	20000

struct hash_vector {
	const char	*name;
	int		version;
	__u32		seed[4];
	__u32		hash, minor;
};

/* From debugfs, dx_hash, and from libext2fs where char is unsigned. */
static const struct hash_vector vectors[] = {
	{ "abc", DX_HASH_LEGACY, {}, 0x75afd992, 0 },
	{ "abc", DX_HASH_HALF_MD4, {}, 0xd196a868, 0xc420eb28 },
	{ "abc", DX_HASH_TEA, {}, 0xb1435ec4, 0x3f7eaa0e },
	{ "abc", DX_HASH_LEGACY_UNSIGNED, {}, 0x75afd992, 0 },
	{ "abc", DX_HASH_HALF_MD4_UNSIGNED, {}, 0xd196a868, 0xc420eb28 },
	{ "abc", DX_HASH_TEA_UNSIGNED, {}, 0xb1435ec4, 0x3f7eaa0e },
	{ "\303\244bc\303\237d", DX_HASH_LEGACY, {}, 0x250ec308, 0 },
	{ "\303\244bc\303\237d", DX_HASH_HALF_MD4, {}, 0x8bb6155a, 0x20b17aeb },
	{ "\303\244bc\303\237d", DX_HASH_TEA, {}, 0x96740730, 0x916861ef },
	{ "\303\244bc\303\237d", DX_HASH_LEGACY_UNSIGNED, {}, 0x8d890af4, 0 },
	{ "\303\244bc\303\237d", DX_HASH_HALF_MD4_UNSIGNED,
	  {}, 0xd73e72ec, 0xf32e251d },
	{ "\303\244bc\303\237d", DX_HASH_TEA_UNSIGNED,
	  {}, 0x3ca2482c, 0x6de1bdb1 },
	{ "Documentation/filesystems/ext4.x", DX_HASH_HALF_MD4,
	  {}, 0x12eb0ef2, 0x1ded38d7 },
	{ "Documentation/filesystems/ext4.x", DX_HASH_TEA,
	  {}, 0x5faec2d2, 0x0d3e5a15 },
	{ "abc", DX_HASH_HALF_MD4,
	  { 0xb007a5b0, 0x12345678, 0x9abcdef0, 0x0fedcba9 },
	  0x7064df3a, 0xc027eb7e },
	{ "abc", DX_HASH_TEA,
	  { 0xb007a5b0, 0x12345678, 0x9abcdef0, 0x0fedcba9 },
	  0xafaa448e, 0xd2206239 },
};

static void vector_desc(const struct hash_vector *vector, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "version %d, %zu bytes%s",
		 vector->version, strlen(vector->name),
		 vector->seed[0] ? ", seed" : "");
}

KUNIT_ARRAY_PARAM(vector, vectors, vector_desc);

static void hash_test_vector(struct kunit *test)
{
	const struct hash_vector *vector = test->param_value;
	struct dx_hash_info info = {
		.hash_version = vector->version,
		.seed = (__u32 *)vector->seed,
	};
	int len = strlen(vector->name);

	KUNIT_EXPECT_EQ(test, 0,
			__ext4fs_dirhash(NULL, vector->name, len, &info));
	KUNIT_EXPECT_EQ(test, vector->hash, info.hash);
	KUNIT_EXPECT_EQ(test, vector->minor, info.minor_hash);
}

/* A checksum over the hashes of one name of each length. */
static const __u32 sums[] = {
	[DX_HASH_LEGACY] = 0x61a04a90,
	[DX_HASH_HALF_MD4] = 0x0093053c,
	[DX_HASH_TEA] = 0x0dafc7df,
	[DX_HASH_LEGACY_UNSIGNED] = 0x61a24200,
	[DX_HASH_HALF_MD4_UNSIGNED] = 0xf7b30acc,
	[DX_HASH_TEA_UNSIGNED] = 0xd124ab02,
};

static void hash_test_sum_of_all_lengths(struct kunit *test)
{
	struct dx_hash_info info = {};
	char name[LONGEST_NAME];
	int version, len, i;
	__u32 sum;

	for (version = 0; version < ARRAY_SIZE(sums); version++) {
		info.hash_version = version;
		sum = 0;
		for (len = 0; len <= LONGEST_NAME; len++) {
			for (i = 0; i < len; i++)
				name[i] = 37 * i + 11 * len;
			__ext4fs_dirhash(NULL, name, len, &info);
			sum = 31 * sum + info.hash;
			sum = 31 * sum + info.minor_hash;
		}
		KUNIT_EXPECT_EQ_MSG(test, sums[version], sum, "version %d",
				    version);
	}
}

static __u32 reference_char(char c, bool is_signed)
{
	return is_signed ? (__u32)(signed char)c : (unsigned char)c;
}

/* The obvious way: @nr words, one character after the other. */
static void reference_words(const char *name, int len, __u32 *words, int nr,
			    bool is_signed)
{
	const __u32 pad = (__u32)len | (__u32)len << 8;
	int word, i;

	for (word = 0; word < nr; word++) {
		words[word] = pad | pad << 16;
		for (i = 4 * word; i < min(len, 4 * word + 4); i++)
			words[word] = 256 * words[word] +
				      reference_char(name[i], is_signed);
	}
}

static void reference_hash(const char *name, int len, struct dx_hash_info *info)
{
	__u32 state[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
	bool is_signed = info->hash_version == DX_HASH_HALF_MD4 ||
			 info->hash_version == DX_HASH_TEA;
	bool is_tea = info->hash_version == DX_HASH_TEA ||
		      info->hash_version == DX_HASH_TEA_UNSIGNED;
	int at, nr = is_tea ? 4 : 8;
	__u32 words[8];

	for (at = 0; at < len; at += 4 * nr) {
		reference_words(name + at, len - at, words, nr, is_signed);
		if (is_tea)
			TEA_transform(state, words);
		else
			half_md4_transform(state, words);
	}
	info->hash = state[is_tea ? 0 : 1] & ~1;
	info->minor_hash = state[is_tea ? 1 : 2];
	if (info->hash == EXT4_HTREE_EOF_32BIT << 1)
		info->hash -= 2;
}

static const int versions[] = {
	DX_HASH_HALF_MD4, DX_HASH_HALF_MD4_UNSIGNED,
	DX_HASH_TEA, DX_HASH_TEA_UNSIGNED,
};

/* Fail once and return false if a hash differs from the reference. */
static bool same_hash(struct kunit *test, const char *name, int len)
{
	struct dx_hash_info info = {}, wanted = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		info.hash_version = versions[i];
		wanted.hash_version = versions[i];
		__ext4fs_dirhash(NULL, name, len, &info);
		reference_hash(name, len, &wanted);
		if (info.hash == wanted.hash &&
		    info.minor_hash == wanted.minor_hash)
			continue;
		KUNIT_FAIL(test, "version %d, %d bytes at %p: %08x %08x, not %08x %08x",
			   versions[i], len, name, info.hash, info.minor_hash,
			   wanted.hash, wanted.minor_hash);
		return false;
	}
	return true;
}

static void hash_test_lengths_and_alignments(struct kunit *test)
{
	char *text = kunit_kmalloc(test, LONGEST_FOLDED + 8, GFP_KERNEL);
	struct rnd_state random;
	int len, start;

	KUNIT_ASSERT_NOT_NULL(test, text);
	prandom_seed_state(&random, 1);
	prandom_bytes_state(&random, text, LONGEST_FOLDED + 8);
	for (len = 0; len <= LONGEST_FOLDED; len++)
		for (start = 0; start < 8; start++)
			if (!same_hash(test, text + start, len))
				return;
}

/* A negative character borrows from the byte above it, which may borrow too. */
static void hash_test_signs(struct kunit *test)
{
	static const u8 bytes[] = { 0x00, 0x01, 0x7f, 0x80, 0x81, 0xff };
	const int nr = ARRAY_SIZE(bytes);
	char name[4];
	int n, len;

	for (n = 0; n < nr * nr * nr * nr; n++) {
		name[0] = bytes[n % nr];
		name[1] = bytes[n / nr % nr];
		name[2] = bytes[n / nr / nr % nr];
		name[3] = bytes[n / nr / nr / nr];
		for (len = 1; len <= 4; len++)
			if (!same_hash(test, name, len))
				return;
	}
}

static void hash_test_names_of_chance(struct kunit *test)
{
	struct rnd_state random;
	char name[LONGEST_NAME];
	int n, len;

	prandom_seed_state(&random, 2);
	for (n = 0; n < NAMES_OF_CHANCE; n++) {
		len = prandom_u32_state(&random) % (LONGEST_NAME + 1);
		prandom_bytes_state(&random, name, len);
		if (!same_hash(test, name, len))
			return;
	}
}

KUNIT_DEFINE_ACTION_WRAPPER(free_page_with_guard, vfree, const void *);

/* The page after a vmalloc() area is not mapped: reading it oopses. */
static void hash_test_nothing_behind_the_name(struct kunit *test)
{
	char *page = vmalloc(PAGE_SIZE);
	int len;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, free_page_with_guard,
						  page));
	memset(page, 0xa5, PAGE_SIZE);
	for (len = 0; len <= LONGEST_NAME; len++)
		if (!same_hash(test, page + PAGE_SIZE - len, len))
			return;
}

static struct kunit_case hash_test_cases[] = {
	KUNIT_CASE_PARAM(hash_test_vector, vector_gen_params),
	KUNIT_CASE(hash_test_sum_of_all_lengths),
	KUNIT_CASE(hash_test_lengths_and_alignments),
	KUNIT_CASE(hash_test_signs),
	KUNIT_CASE(hash_test_names_of_chance),
	KUNIT_CASE(hash_test_nothing_behind_the_name),
	{}
};

static struct kunit_suite hash_test_suite = {
	.name = "ext4_dirhash",
	.test_cases = hash_test_cases,
};

kunit_test_suites(&hash_test_suite);
