/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_HASH_KEYED_H
#define _LINUX_HASH_KEYED_H

/*
 * Hash functions for keys that users choose, such as user ids.
 *
 * The golden ratio is no secret, so a user who may choose ids can compute some
 * that share a bucket. These functions multiply by random factors, which are
 * drawn at boot.
 *
 * The first step, the upper half of a * x + b * y + c modulo 2^64, is strongly
 * universal if a, b and c are uniform: the results for two keys are independent
 * and uniform. See Dietzfelbinger, "Universal hashing and k-wise independent
 * random variables via integer arithmetic without primes", STACS 1996, and
 * "Multilinear" in Lemire and Kaser, "Strongly universal string hashing is
 * fast", The Computer Journal 57 (2014). It needs neither odd factors nor a
 * prime. The keys must differ in y or in the lower 33 bits of x.
 *
 * That bounds pairs of keys, but not the longest chain: the first step is
 * linear, and for some factors it puts many keys of an arithmetic progression
 * into one bucket. Therefore the second step is not linear. It permutes the
 * results of the first, so these remain independent and uniform.
 */

#include <linux/hash.h>
#include <linux/init.h>
#include <linux/types.h>

/* Random numbers of 64 bits. */
struct hash_boot_key {
	u64	x_factor;
	u64	y_factor;
	u64	offset;
};

extern struct hash_boot_key hash_boot_key;

void __init hash_key_init(void);

/* The second step. */
static __always_inline u32 __hash_keyed(u64 sum, unsigned int bits)
{
	u32 upper = sum >> 32;

	return hash_32(upper ^ upper >> 16, bits);
}

/* The same with the caller's key, for tests. */
static __always_inline u32 __hash_32_keyed(u32 x, unsigned int bits,
					   const struct hash_boot_key *key)
{
	return __hash_keyed(key->x_factor * x + key->offset, bits);
}

static __always_inline u32 __hash_pair_keyed(unsigned long x, u32 y,
					     unsigned int bits,
					     const struct hash_boot_key *key)
{
	return __hash_keyed(key->x_factor * x + key->y_factor * y + key->offset,
			    bits);
}

/**
 * hash_32_keyed - hash of a number that a user chooses
 * @x: the number
 * @bits: log2 of the number of buckets, 1 to 32
 *
 * Two numbers that were chosen without knowledge of the boot-time key share a
 * bucket with probability 1 / 2^@bits. Do not call it before hash_key_init().
 *
 * Return: number of a bucket, below 1 << @bits.
 */
static __always_inline u32 hash_32_keyed(u32 x, unsigned int bits)
{
	return __hash_32_keyed(x, bits, &hash_boot_key);
}

/**
 * hash_pair_keyed - hash of an address and a number that a user chooses
 * @x: a word, usually the address of an object that the kernel made
 * @y: the number
 * @bits: log2 of the number of buckets, 1 to 32
 *
 * Two pairs that were chosen without knowledge of the boot-time key share a
 * bucket with probability 1 / 2^@bits, unless @y is the same and the words
 * differ by a multiple of 8 GiB. Do not call it before hash_key_init().
 *
 * Return: number of a bucket, below 1 << @bits.
 */
static __always_inline u32 hash_pair_keyed(unsigned long x, u32 y,
					   unsigned int bits)
{
	return __hash_pair_keyed(x, y, bits, &hash_boot_key);
}

#endif /* _LINUX_HASH_KEYED_H */
