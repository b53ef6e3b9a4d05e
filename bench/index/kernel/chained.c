// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table with chains: golden-ratio multiplication, a bucket an entry.
 *
 * It is as large as what it holds, as a table sized from memory is that indexes
 * all of memory.
 */
#include <linux/build_bug.h>
#include <linux/hash.h>

#include "index_ops.h"
#include "pieces.h"

struct chained {
	struct entry *next;
};

static struct pieces heads;
static unsigned int table_bits;

static struct chained *chained(struct entry *entry)
{
	BUILD_BUG_ON(sizeof(struct chained) > sizeof(entry->node));
	return (struct chained *)entry->node;
}

static __always_inline struct entry **head_of(unsigned long key)
{
	return (struct entry **)slot_of(&heads, hash_long(key, table_bits));
}

static int create(unsigned int bits)
{
	int error = take_pieces(&heads, 1UL << bits);

	table_bits = bits;
	if (!error)
		clear_pieces(&heads, 1UL << bits);
	return error;
}

static void destroy(void)
{
}

static int insert(unsigned long key, struct entry *entry)
{
	struct entry **head = head_of(key);

	entry->key = key;
	chained(entry)->next = *head;
	*head = entry;
	return 0;
}

static struct entry *find(unsigned long key)
{
	struct entry *entry = *head_of(key);

	while (entry && entry->key != key)
		entry = chained(entry)->next;
	return entry;
}

static struct entry *erase(unsigned long key, struct entry *entry)
{
	struct entry **link = head_of(key);

	while (*link && *link != entry)
		link = &chained(*link)->next;
	if (*link)
		*link = chained(entry)->next;
	else
		entry = NULL;
	return entry;
}

static unsigned long bytes(void)
{
	return sizeof(void *) << table_bits;
}

const struct index_ops chained_ops = {
	.name		= "chained",
	.in_entry	= sizeof(struct chained) + sizeof(unsigned long),
	.create		= create,
	.destroy	= destroy,
	.insert		= insert,
	.find		= find,
	.erase		= erase,
	.bytes		= bytes,
};
