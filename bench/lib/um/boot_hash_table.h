/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BOOT_HASH_TABLE_H
#define BOOT_HASH_TABLE_H

/* A table of the kernel's register; the base kernel has no register. */

#if __has_include("../../../mm/boot_hash.h")
#define HAVE_BOOT_HASH

#include <linux/string.h>

#include "../../../mm/boot_hash.h"

static inline const struct boot_hash_table *boot_hash_table(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_boot_hash_tables; i++) {
		if (!strcmp(boot_hash_tables[i].name, name))
			return &boot_hash_tables[i];
	}
	return NULL;
}
#endif

#endif /* BOOT_HASH_TABLE_H */
