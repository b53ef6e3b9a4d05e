// SPDX-License-Identifier: GPL-2.0
/*
 * A red-black tree (lib/rbtree.c) whose nodes know their neighbours.
 *
 * The threads have words of their own, not those of the children that are not
 * there: the tree of the kernel is used as it is. A new leaf is a neighbour of
 * its parent, so that threading costs no search. A lookup first asks the
 * neighbour of what was found last: that is what threads are for.
 */
#include <linux/build_bug.h>
#include <linux/rbtree.h>

#include "index_ops.h"

struct threaded {
	struct rb_node rb;
	struct entry *before;
	struct entry *after;
};

static struct rb_root root;
static struct entry *last;

static __always_inline struct threaded *node_of(struct entry *entry)
{
	BUILD_BUG_ON(sizeof(struct threaded) > sizeof(entry->node));
	return (struct threaded *)entry->node;
}

static __always_inline struct entry *entry_of(struct rb_node *rb)
{
	return container_of((void *)rb, struct entry, node);
}

static int create(unsigned int bits)
{
	root = RB_ROOT;
	last = NULL;
	return 0;
}

static void destroy(void)
{
}

static void thread(struct entry *entry, struct entry *before, struct entry *after)
{
	node_of(entry)->before = before;
	node_of(entry)->after = after;
	if (before)
		node_of(before)->after = entry;
	if (after)
		node_of(after)->before = entry;
}

static int insert(unsigned long key, struct entry *entry)
{
	struct rb_node **link = &root.rb_node, *parent = NULL;
	struct entry *above = NULL;
	bool left = false;

	entry->key = key;
	while (*link) {
		parent = *link;
		above = entry_of(parent);
		left = key < above->key;
		link = left ? &parent->rb_left : &parent->rb_right;
	}
	if (!above)
		thread(entry, NULL, NULL);
	else if (left)
		thread(entry, node_of(above)->before, above);
	else
		thread(entry, above, node_of(above)->after);
	rb_link_node(&node_of(entry)->rb, parent, link);
	rb_insert_color(&node_of(entry)->rb, &root);
	return 0;
}

static struct entry *find(unsigned long key)
{
	struct entry *entry = last ? node_of(last)->after : NULL;
	struct rb_node *rb = root.rb_node;

	if (entry && entry->key == key) {
		last = entry;
		return entry;
	}
	while (rb) {
		entry = entry_of(rb);
		if (entry->key == key) {
			last = entry;
			return entry;
		}
		rb = key < entry->key ? rb->rb_left : rb->rb_right;
	}
	return NULL;
}

static struct entry *erase(unsigned long key, struct entry *entry)
{
	struct threaded *node = node_of(entry);

	if (node->before)
		node_of(node->before)->after = node->after;
	if (node->after)
		node_of(node->after)->before = node->before;
	rb_erase(&node->rb, &root);
	if (last == entry)
		last = NULL;
	return entry;
}

static unsigned long bytes(void)
{
	return sizeof(root);
}

const struct index_ops threaded_rbtree_ops = {
	.name		= "threaded_rbtree",
	.in_entry	= sizeof(struct threaded) + sizeof(unsigned long),
	.create		= create,
	.destroy	= destroy,
	.insert		= insert,
	.find		= find,
	.erase		= erase,
	.bytes		= bytes,
};
