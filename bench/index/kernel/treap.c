// SPDX-License-Identifier: GPL-2.0
/*
 * A treap: a search tree by key, a heap by priority.
 *
 * The priority is a hash of the key, so that the shape of the tree depends on
 * the keys alone. An insertion goes down until the heap wants the new node, and
 * splits what is below by its key; a deletion joins the two subtrees. That makes
 * the same tree as rotations do.
 */
#include <linux/build_bug.h>
#include <linux/hash.h>

#include "index_ops.h"

struct treap_node {
	struct entry *left;
	struct entry *right;
	unsigned long priority;
};

static struct entry *root;

static __always_inline struct treap_node *node_of(struct entry *entry)
{
	BUILD_BUG_ON(sizeof(struct treap_node) > sizeof(entry->node));
	return (struct treap_node *)entry->node;
}

/* Multiplied once, neighbouring keys would have priorities in a pattern. */
static unsigned long priority_of(unsigned long key)
{
	unsigned long once = (key + 1) * GOLDEN_RATIO_64;

	return (once ^ once >> 32) * GOLDEN_RATIO_64;
}

static int create(unsigned int bits)
{
	root = NULL;
	return 0;
}

static void destroy(void)
{
}

/* Hang what is in @entry's subtree below @key to *@left, the rest to *@right. */
static void split(struct entry *entry, unsigned long key, struct entry **left,
		  struct entry **right)
{
	while (entry) {
		if (entry->key < key) {
			*left = entry;
			left = &node_of(entry)->right;
			entry = *left;
		} else {
			*right = entry;
			right = &node_of(entry)->left;
			entry = *right;
		}
	}
	*left = NULL;
	*right = NULL;
}

static int insert(unsigned long key, struct entry *entry)
{
	struct treap_node *node = node_of(entry);
	struct entry **link = &root;

	entry->key = key;
	node->priority = priority_of(key);
	while (*link && node_of(*link)->priority >= node->priority)
		link = key < (*link)->key ? &node_of(*link)->left :
					    &node_of(*link)->right;
	split(*link, key, &node->left, &node->right);
	*link = entry;
	return 0;
}

static struct entry *find(unsigned long key)
{
	struct entry *entry = root;

	while (entry && entry->key != key)
		entry = key < entry->key ? node_of(entry)->left :
					   node_of(entry)->right;
	return entry;
}

/* All keys of @left are below those of @right. */
static void join(struct entry *left, struct entry *right, struct entry **link)
{
	while (left && right) {
		if (node_of(left)->priority >= node_of(right)->priority) {
			*link = left;
			link = &node_of(left)->right;
			left = *link;
		} else {
			*link = right;
			link = &node_of(right)->left;
			right = *link;
		}
	}
	*link = left ?: right;
}

static struct entry *erase(unsigned long key, struct entry *entry)
{
	struct entry **link = &root;

	while (*link && *link != entry)
		link = key < (*link)->key ? &node_of(*link)->left :
					    &node_of(*link)->right;
	if (!*link)
		return NULL;
	join(node_of(entry)->left, node_of(entry)->right, link);
	return entry;
}

static unsigned long bytes(void)
{
	return sizeof(root);
}

const struct index_ops treap_ops = {
	.name		= "treap",
	.in_entry	= sizeof(struct treap_node) + sizeof(unsigned long),
	.create		= create,
	.destroy	= destroy,
	.insert		= insert,
	.find		= find,
	.erase		= erase,
	.bytes		= bytes,
};
