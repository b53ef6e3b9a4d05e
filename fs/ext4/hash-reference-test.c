// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test that compares the half-MD4 and the TEA hash of names with a
 * reference which takes one character after the other. The hash of a name is
 * on the disk, so it must never change.
 */

#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>
#include "ext4.h"

#define LONGEST_NAME	255
/* A folded name may be longer than one on the disk. */
#define LONGEST_FOLDED	600
#define RANDOM_NAMES	20000

static const int versions[] = {
	DX_HASH_HALF_MD4, DX_HASH_HALF_MD4_UNSIGNED,
	DX_HASH_TEA, DX_HASH_TEA_UNSIGNED,
};

/* What ext4fs_dirhash() reads of a directory without encryption or folding. */
struct fake_dir {
	struct inode		inode;
	struct super_block	sb;
};

/* Source: R. Rivest: The MD4 Message-Digest Algorithm, RFC 1320 (1992) */
static void reference_half_md4(__u32 state[4], const __u32 words[8])
{
	static const __u32 constants[] = { 0, 0x5a827999, 0x6ed9eba1 };
	static const u8 shifts[][4] = {
		{ 3, 7, 11, 19 }, { 3, 5, 9, 13 }, { 3, 9, 11, 15 },
	};
	static const u8 order[][8] = {
		{ 0, 1, 2, 3, 4, 5, 6, 7 },
		{ 1, 3, 5, 7, 0, 2, 4, 6 },
		{ 3, 7, 2, 6, 1, 5, 0, 4 },
	};
	__u32 a = state[0], b = state[1], c = state[2], d = state[3], mixed;
	int round, step;

	for (round = 0; round < 3; round++) {
		for (step = 0; step < 8; step++) {
			if (round == 0)		/* selection */
				mixed = (b & c) | (~b & d);
			else if (round == 1)	/* majority */
				mixed = (b & c) | (b & d) | (c & d);
			else			/* parity */
				mixed = b ^ c ^ d;
			mixed += a + words[order[round][step]] +
				 constants[round];
			a = d;
			d = c;
			c = b;
			b = rol32(mixed, shifts[round][step % 4]);
		}
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

/* Source: D. Wheeler, R. Needham: TEA, a Tiny Encryption Algorithm (1994) */
static void reference_tea(__u32 state[4], const __u32 key[4])
{
	__u32 left = state[0], right = state[1], sum = 0;
	int cycle;

	for (cycle = 0; cycle < 16; cycle++) {
		sum += 0x9e3779b9;
		left += ((right << 4) + key[0]) ^ (right + sum) ^
			((right >> 5) + key[1]);
		right += ((left << 4) + key[2]) ^ (left + sum) ^
			 ((left >> 5) + key[3]);
	}
	state[0] += left;
	state[1] += right;
}

static __u32 reference_char(char c, bool is_signed)
{
	return is_signed ? (__u32)(signed char)c : (unsigned char)c;
}

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
			reference_tea(state, words);
		else
			reference_half_md4(state, words);
	}
	info->hash = state[is_tea ? 0 : 1] & ~1;
	info->minor_hash = state[is_tea ? 1 : 2];
	if (info->hash == EXT4_HTREE_EOF_32BIT << 1)
		info->hash -= 2;
}

/* Fail once and return false if a hash differs from the reference. */
static bool same_hash(struct kunit *test, const char *name, int len)
{
	struct fake_dir *dir = test->priv;
	struct dx_hash_info info = {}, wanted = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		info.hash_version = versions[i];
		wanted.hash_version = versions[i];
		ext4fs_dirhash(&dir->inode, name, len, &info);
		reference_hash(name, len, &wanted);
		if (info.hash == wanted.hash &&
		    info.minor_hash == wanted.minor_hash)
			continue;
		KUNIT_FAIL(test, "version %d, %d bytes: %08x %08x, not %08x %08x",
			   versions[i], len, info.hash, info.minor_hash,
			   wanted.hash, wanted.minor_hash);
		return false;
	}
	return true;
}

/*
 * A checksum over the hashes of one name of each length, computed once with
 * mainline's code: the reference cannot change together with ext4.
 */
static const __u32 sums[] = {
	[DX_HASH_HALF_MD4] = 0x0093053c,
	[DX_HASH_TEA] = 0x0dafc7df,
	[DX_HASH_HALF_MD4_UNSIGNED] = 0xf7b30acc,
	[DX_HASH_TEA_UNSIGNED] = 0xd124ab02,
};

static void hash_test_sum_of_all_lengths(struct kunit *test)
{
	struct fake_dir *dir = test->priv;
	struct dx_hash_info info = {};
	char name[LONGEST_NAME];
	int version, len, i;
	__u32 sum;

	for (version = 0; version < ARRAY_SIZE(versions); version++) {
		info.hash_version = versions[version];
		sum = 0;
		for (len = 0; len <= LONGEST_NAME; len++) {
			for (i = 0; i < len; i++)
				name[i] = 37 * i + 11 * len;
			ext4fs_dirhash(&dir->inode, name, len, &info);
			sum = 31 * sum + info.hash;
			sum = 31 * sum + info.minor_hash;
		}
		KUNIT_EXPECT_EQ_MSG(test, sums[versions[version]], sum,
				    "version %d", versions[version]);
	}
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

static void hash_test_random_names(struct kunit *test)
{
	struct rnd_state random;
	char name[LONGEST_NAME];
	int n, len;

	prandom_seed_state(&random, 2);
	for (n = 0; n < RANDOM_NAMES; n++) {
		len = prandom_u32_state(&random) % (LONGEST_NAME + 1);
		prandom_bytes_state(&random, name, len);
		if (!same_hash(test, name, len))
			return;
	}
}

KUNIT_DEFINE_ACTION_WRAPPER(free_page_with_guard, vfree, const void *);

/* The page after a vmalloc() area is not mapped: reading it oopses. */
static void hash_test_no_read_past_the_end(struct kunit *test)
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

static int hash_test_init(struct kunit *test)
{
	struct fake_dir *dir = kunit_kzalloc(test, sizeof(*dir), GFP_KERNEL);

	if (!dir)
		return -ENOMEM;
	dir->inode.i_sb = &dir->sb;
	test->priv = dir;
	return 0;
}

static struct kunit_case hash_test_cases[] = {
	KUNIT_CASE(hash_test_sum_of_all_lengths),
	KUNIT_CASE(hash_test_lengths_and_alignments),
	KUNIT_CASE(hash_test_signs),
	KUNIT_CASE(hash_test_random_names),
	KUNIT_CASE(hash_test_no_read_past_the_end),
	{}
};

static struct kunit_suite hash_test_suite = {
	.name = "ext4_hash_reference",
	.init = hash_test_init,
	.test_cases = hash_test_cases,
};

kunit_test_suites(&hash_test_suite);
