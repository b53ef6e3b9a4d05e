// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's XArray, operation by operation.
 *
 * The entry at a key is a value, the key of the lookup that follows: a lookup
 * that depends on the one before it costs a shift more than one that does not.
 */
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#include "cells.h"
#include "parts.h"

/* Every so many entries one has the mark that is searched for. */
#define MARKED_EVERY	8

static DEFINE_XARRAY(array);

static u64 store(const u32 *keys, unsigned int count)
{
	unsigned int n, done = 0;

	for (n = 0; n < count; n++)
		done += !xa_store(&array, keys[n], xa_mk_value(keys[n + 1]), GFP_KERNEL);
	return done;
}

static u64 replace(const u32 *keys, unsigned int count)
{
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++)
		sum += xa_to_value(xa_store(&array, keys[n], xa_mk_value(keys[n + 1]),
					    GFP_KERNEL));
	return sum;
}

static u64 independent(const u32 *keys, unsigned int count)
{
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++)
		sum += xa_to_value(xa_load(&array, keys[n]));
	return sum;
}

static u64 dependent(const u32 *keys, unsigned int count)
{
	unsigned long key = keys[0];
	u64 sum = 0;

	while (count--) {
		key = xa_to_value(xa_load(&array, key));
		sum += key;
	}
	return sum;
}

static u64 erase(const u32 *keys, unsigned int count)
{
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++)
		sum += xa_to_value(xa_erase(&array, keys[n]));
	return sum;
}

static u64 set_mark(const u32 *keys, unsigned int count)
{
	unsigned int n;

	for (n = 0; n < count; n++)
		xa_set_mark(&array, keys[n], XA_MARK_0);
	return count;
}

static u64 get_mark(const u32 *keys, unsigned int count)
{
	unsigned int n, found = 0;

	for (n = 0; n < count; n++)
		found += xa_get_mark(&array, keys[n], XA_MARK_0);
	return found;
}

/* All but one in MARKED_EVERY. */
static u64 clear_mark(const u32 *keys, unsigned int count)
{
	unsigned int n;

	for (n = 0; n < count; n++)
		if (keys[n] % MARKED_EVERY)
			xa_clear_mark(&array, keys[n], XA_MARK_0);
	return count;
}

/* The walks go over the keys of a segment in order, from its first one. */
static u64 walk(const u32 *keys, unsigned int count)
{
	XA_STATE(xas, &array, keys[0]);
	void *entry;
	u64 sum = 0;

	rcu_read_lock();
	xas_for_each(&xas, entry, keys[0] + count - 1)
		sum += xa_to_value(entry);
	rcu_read_unlock();
	return sum;
}

static u64 find(const u32 *keys, unsigned int count)
{
	unsigned long index;
	void *entry;
	u64 sum = 0;

	xa_for_each_range(&array, index, entry, keys[0], keys[0] + count - 1)
		sum += xa_to_value(entry);
	return sum;
}

static u64 walk_marked(const u32 *keys, unsigned int count)
{
	XA_STATE(xas, &array, keys[0]);
	u64 found = 0;
	void *entry;

	rcu_read_lock();
	xas_for_each_marked(&xas, entry, keys[0] + count - 1, XA_MARK_0)
		found += xa_is_value(entry);
	rcu_read_unlock();
	return found;
}

int run_xarray(unsigned int bits)
{
	const u64 sum = sum_of_keys(bits), number = number_of_keys(bits);
	const struct cell cells[] = {
		{ "xarray", "store", "empty", false, store, number },
		{ "xarray", "lookup", "independent", true, independent, sum },
		{ "xarray", "lookup", "dependent", true, dependent, sum },
		{ "xarray", "set_mark", "all", false, set_mark, number },
		{ "xarray", "get_mark", "all", true, get_mark, number },
		{ "xarray", "clear_mark", "most", false, clear_mark, number },
		{ "xarray", "store", "replace", true, replace, sum },
		{ "xarray", "erase", "all", false, erase, sum },
	};
	const struct cell walks[] = {
		{ "xarray", "store", "before_walks", false, store, number },
		{ "xarray", "set_mark", "before_walks", false, set_mark, number },
		{ "xarray", "clear_mark", "before_walks", false, clear_mark, number },
		{ "xarray", "walk", "xas_for_each", true, walk, sum },
		{ "xarray", "walk", "xa_for_each", true, find, sum },
		{ "xarray", "walk", "marked", true, walk_marked, number / MARKED_EVERY },
		{ "xarray", "erase", "after_walks", false, erase, sum },
	};
	enum order order;
	int error;

	for (order = SEQUENTIAL; order < NR_ORDERS; order++) {
		error = order_keys(order, bits);
		if (!error)
			error = run_cells("xarray", cells, ARRAY_SIZE(cells), order, bits);
		if (!error && order == SEQUENTIAL)
			error = run_cells("xarray", walks, ARRAY_SIZE(walks), order, bits);
		if (error)
			return error;
	}
	return 0;
}
