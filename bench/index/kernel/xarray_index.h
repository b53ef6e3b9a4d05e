/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The XArray as one of the structures: the kernel's own, or the same source
 * built with another number of slots a node (xarray_shift.h).
 */
#include <linux/xarray.h>

#include "index_ops.h"

static DEFINE_XARRAY(array);

static void destroy(void)
{
	xa_destroy(&array);
}

static int insert(unsigned long key, struct entry *entry)
{
	return xa_err(xa_store(&array, key, entry, GFP_KERNEL));
}

static struct entry *find(unsigned long key)
{
	return xa_load(&array, key);
}

static struct entry *erase(unsigned long key, struct entry *entry)
{
	return xa_erase(&array, key);
}

static unsigned long bytes_below(const void *entry)
{
	unsigned long sum = sizeof(struct xa_node);
	unsigned int n;

	if (!xa_is_node(entry))
		return 0;
	for (n = 0; n < XA_CHUNK_SIZE; n++)
		sum += bytes_below(xa_to_node(entry)->slots[n]);
	return sum;
}

static unsigned long bytes(void)
{
	return sizeof(array) + bytes_below(array.xa_head);
}

#define DEFINE_XARRAY_OPS(shift)	\
const struct index_ops xarray_##shift##_ops = {	\
	.name		= "xarray_" #shift,	\
	.create		= create,	\
	.destroy	= destroy,	\
	.insert		= insert,	\
	.find		= find,	\
	.erase		= erase,	\
	.bytes		= bytes,	\
}
