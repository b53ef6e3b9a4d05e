/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_BOOT_HASH_POLICY_H
#define _MM_BOOT_HASH_POLICY_H

/* What mm/boot_hash.c decides with, apart so that KUnit can ask it too. */

#include <linux/boot_hash.h>

/* Fewest buckets: hash_32(x, 0) is undefined. */
#define BOOT_HASH_FEWEST	2UL

/* Most buckets: the shift of a 32-bit hash is 1 or more. */
#define BOOT_HASH_MOST		0x80000000UL

/**
 * struct boot_hash_machine - what sizes follow
 * @kernel_pages: free pages that the kernel maps
 * @all_pages: free pages
 * @cpus: possible CPUs
 */
struct boot_hash_machine {
	unsigned long	kernel_pages;
	unsigned long	all_pages;
	unsigned int	cpus;
};

unsigned long boot_hash_buckets(const struct boot_hash *hash,
				const struct boot_hash_machine *machine,
				enum boot_hash_origin *origin);
unsigned long boot_hash_limit(const struct boot_hash *hash,
			      const struct boot_hash_machine *machine,
			      unsigned long long wanted,
			      enum boot_hash_origin *origin);

#endif /* _MM_BOOT_HASH_POLICY_H */
