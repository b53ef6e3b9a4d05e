// SPDX-License-Identifier: GPL-2.0
/*
 * Structures that a page index could be, on the same keys.
 *
 * An entry stands for a page: one line of cache. Structures whose nodes are in
 * the entries look at them on their way; those that only point to entries do
 * not, until the page is touched.
 */
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "../../lib/um/um_bench.h"
#include "cells.h"
#include "index_ops.h"
#include "parts.h"

#define PER_CHUNK	(CHUNK_SIZE / sizeof(struct entry))
#define VERIFY_BITS	14

static const struct index_ops * const structures[] = {
	&xarray_kernel_ops, &xarray_4_ops, &xarray_7_ops, &xarray_8_ops,
	&extendible_ops, &threaded_rbtree_ops, &treap_ops, &chained_ops,
	&rhashtable_ops,
};

static struct entry *chunks[(1UL << BITS_MAX) / PER_CHUNK];
static const struct index_ops *ops;

static struct entry *entry_of(unsigned int key)
{
	return chunks[key / PER_CHUNK] + key % PER_CHUNK;
}

static u64 insert(const u32 *keys, unsigned int count)
{
	unsigned int n, done = 0;

	for (n = 0; n < count; n++)
		done += !ops->insert(keys[n], entry_of(keys[n]));
	return done;
}

static u64 find(const u32 *keys, unsigned int count)
{
	unsigned int n, found = 0;

	for (n = 0; n < count; n++)
		found += ops->find(keys[n]) == entry_of(keys[n]);
	return found;
}

static u64 erase(const u32 *keys, unsigned int count)
{
	unsigned int n, done = 0;

	for (n = 0; n < count; n++)
		done += ops->erase(keys[n], entry_of(keys[n])) == entry_of(keys[n]);
	return done;
}

static u64 insert_touching(const u32 *keys, unsigned int count)
{
	unsigned int n, done = 0;

	for (n = 0; n < count; n++) {
		done += !ops->insert(keys[n], entry_of(keys[n]));
		entry_of(keys[n])->word = keys[n];
	}
	return done;
}

static u64 find_touching(const u32 *keys, unsigned int count)
{
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++)
		sum += ops->find(keys[n])->word;
	return sum;
}

static u64 erase_touching(const u32 *keys, unsigned int count)
{
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < count; n++)
		sum += ops->erase(keys[n], entry_of(keys[n]))->word;
	return sum;
}

static int allocate_entries(unsigned int bits)
{
	unsigned int n;

	for (n = 0; n <= ((1UL << bits) - 1) / PER_CHUNK; n++) {
		if (!chunks[n])
			chunks[n] = get_chunk();
		if (!chunks[n])
			return -ENOMEM;
	}
	for (n = 0; n < 1U << bits; n++)
		entry_of(n)->word = n;
	return 0;
}

static u64 all(u64 (*segment)(const u32 *keys, unsigned int count), unsigned int bits)
{
	unsigned int n;
	u64 sum = 0;

	for (n = 0; n < 1U << (bits - SEGMENT_BITS); n++) {
		sum += segment(segment_keys(n), SEGMENT);
		/* A structure's worker may run meanwhile. */
		cond_resched();
	}
	return sum;
}

/* Insert all keys into a new structure: a table that grows does it here. */
static int fill_first(unsigned int bits)
{
	const u64 number = number_of_keys(bits), start = tsc();

	if (all(insert, bits) != number)
		return -EINVAL;
	if (ops->settle)
		ops->settle();
	pr_info("index_bench: index %s bits %u first_fill_ps %llu\n", ops->name, bits,
		picoseconds(tsc() - start, number));
	pr_info("index_bench: index %s bits %u bytes %llu\n", ops->name, bits,
		ops->bytes() + number * ops->in_entry);
	return all(erase, bits) == number ? 0 : -EINVAL;
}

static int run_structure(unsigned int bits, enum order order)
{
	const u64 sum = sum_of_keys(bits), number = number_of_keys(bits);
	const struct cell cells[] = {
		{ ops->name, "insert", "alone", false, insert, number },
		{ ops->name, "lookup", "alone", true, find, number },
		{ ops->name, "delete", "alone", false, erase, number },
		{ ops->name, "insert", "touching", false, insert_touching, number },
		{ ops->name, "lookup", "touching", true, find_touching, sum },
		{ ops->name, "delete", "touching", false, erase_touching, sum },
	};
	int error = ops->create(bits);

	if (!error)
		error = fill_first(bits);
	if (!error)
		error = run_cells("structures", cells, ARRAY_SIZE(cells), order, bits);
	if (!error)
		ops->destroy();
	return error;
}

int run_structures(unsigned int bits)
{
	int error = allocate_entries(bits);
	enum order order;
	unsigned int n;

	for (order = SEQUENTIAL; order < NR_ORDERS && !error; order++) {
		error = order_keys(order, bits);
		for (n = 0; n < ARRAY_SIZE(structures) && !error; n++) {
			ops = structures[n];
			error = run_structure(bits, order);
		}
	}
	return error;
}

/* Every third key is to be gone, the others found. */
static bool two_thirds_are_there(unsigned int number)
{
	unsigned int n;

	for (n = 0; n < number; n++)
		if (ops->find(n) != (n % 3 ? entry_of(n) : NULL))
			return false;
	return !ops->find(number) && !ops->find(2 * number + 1);
}

static bool behaves(unsigned int number)
{
	unsigned int n, round;

	if (ops->find(0) || all(insert, VERIFY_BITS) != number ||
	    all(find, VERIFY_BITS) != number)
		return false;
	for (round = 0; round < 2; round++) {
		for (n = 0; n < number; n += 3)
			if (ops->erase(n, entry_of(n)) != entry_of(n))
				return false;
		if (!two_thirds_are_there(number))
			return false;
		for (n = 0; n < number; n += 3)
			if (ops->insert(n, entry_of(n)))
				return false;
		if (all(find, VERIFY_BITS) != number)
			return false;
	}
	if (all(erase, VERIFY_BITS) != number)
		return false;
	for (n = 0; n < number; n++)
		if (ops->find(n))
			return false;
	return true;
}

int verify_structures(void)
{
	int error = allocate_entries(VERIFY_BITS);
	enum order order;
	unsigned int n;

	for (order = SEQUENTIAL; order < NR_ORDERS && !error; order++) {
		error = order_keys(order, VERIFY_BITS);
		for (n = 0; n < ARRAY_SIZE(structures) && !error; n++) {
			ops = structures[n];
			error = ops->create(VERIFY_BITS);
			if (!error && !behaves(1U << VERIFY_BITS)) {
				pr_err("index_bench: %s loses or keeps entries\n", ops->name);
				error = -EINVAL;
			}
			if (!error)
				ops->destroy();
		}
	}
	return error;
}
