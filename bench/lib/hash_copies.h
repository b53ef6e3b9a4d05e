/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hash functions of the kernel for programs in user space. Tests hold them to
 * the kernel's.
 */
#ifndef BOOTHASH_HASH_COPIES_H
#define BOOTHASH_HASH_COPIES_H

#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define GOLDEN_RATIO_32	0x61C88647u
#define GOLDEN_RATIO_64	0x61C8864680B583EBull
#define CACHE_LINE	64

/* splitmix64, for what must not be regular: the same in each run. */
static inline u64 mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* include/linux/hash.h: hash_32(), hash_64(), hash_pair() */
static inline u32 golden_32(u32 x, unsigned int bits)
{
	return x * GOLDEN_RATIO_32 >> (32 - bits);
}

static inline u32 golden_64(u64 x, unsigned int bits)
{
	return x * GOLDEN_RATIO_64 >> (64 - bits);
}

static inline u32 pair_64(u64 x, u64 y, unsigned int bits)
{
	x ^= y << 24 | y >> 40;
	x *= GOLDEN_RATIO_64;
	return golden_32(x ^ x >> 32, bits);
}

static inline u32 pair_32(u32 x, u32 y, unsigned int bits)
{
	x ^= y * GOLDEN_RATIO_32;
	x ^= x >> 16;
	x *= GOLDEN_RATIO_32;
	return golden_32(x ^ x >> 16, bits);
}

/* fs/inode.c of 6.12: the number @v with the super block at @sb */
static inline u32 inode_6_12(u64 v, u64 sb, unsigned int bits)
{
	u64 tmp = v * sb ^ (GOLDEN_RATIO_64 + v) / CACHE_LINE;

	tmp ^= (tmp ^ GOLDEN_RATIO_64) >> bits;
	return tmp & ((1u << bits) - 1);
}

#endif /* BOOTHASH_HASH_COPIES_H */
