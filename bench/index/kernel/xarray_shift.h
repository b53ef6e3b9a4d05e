/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree's own lib/xarray.c once more, with 1 << XA_CHUNK_SHIFT slots a node.
 *
 * Its functions get names of their own before any header declares them, and its
 * nodes a slab cache of their own: those of the kernel's are smaller or larger.
 */
#define RENAMED(name)			RENAMED_FOR(name, XA_CHUNK_SHIFT)
#define RENAMED_FOR(name, shift)	RENAMED_AS(name, shift)
#define RENAMED_AS(name, shift)		bench_##shift##_##name

#define __xa_alloc		RENAMED(__xa_alloc)
#define __xa_alloc_cyclic	RENAMED(__xa_alloc_cyclic)
#define __xa_clear_mark		RENAMED(__xa_clear_mark)
#define __xa_cmpxchg		RENAMED(__xa_cmpxchg)
#define __xa_erase		RENAMED(__xa_erase)
#define __xa_insert		RENAMED(__xa_insert)
#define __xa_set_mark		RENAMED(__xa_set_mark)
#define __xa_store		RENAMED(__xa_store)
#define __xas_next		RENAMED(__xas_next)
#define __xas_prev		RENAMED(__xas_prev)
#define xa_clear_mark		RENAMED(xa_clear_mark)
#define xa_delete_node		RENAMED(xa_delete_node)
#define xa_destroy		RENAMED(xa_destroy)
#define xa_erase		RENAMED(xa_erase)
#define xa_extract		RENAMED(xa_extract)
#define xa_find			RENAMED(xa_find)
#define xa_find_after		RENAMED(xa_find_after)
#define xa_get_mark		RENAMED(xa_get_mark)
#define xa_load			RENAMED(xa_load)
#define xa_set_mark		RENAMED(xa_set_mark)
#define xa_store		RENAMED(xa_store)
#define xas_clear_mark		RENAMED(xas_clear_mark)
#define xas_create_range	RENAMED(xas_create_range)
#define xas_destroy		RENAMED(xas_destroy)
#define xas_find		RENAMED(xas_find)
#define xas_find_conflict	RENAMED(xas_find_conflict)
#define xas_find_marked		RENAMED(xas_find_marked)
#define xas_get_mark		RENAMED(xas_get_mark)
#define xas_init_marks		RENAMED(xas_init_marks)
#define xas_load		RENAMED(xas_load)
#define xas_nomem		RENAMED(xas_nomem)
#define xas_pause		RENAMED(xas_pause)
#define xas_set_mark		RENAMED(xas_set_mark)
#define xas_store		RENAMED(xas_store)
#define radix_tree_node_cachep	RENAMED(radix_tree_node_cachep)
#define radix_tree_node_rcu_free	RENAMED(radix_tree_node_rcu_free)

#include "../../../lib/xarray.c"
#include "xarray_index.h"

struct kmem_cache *radix_tree_node_cachep;

/* A node is free of entries and marks when it is handed out. */
static void clear_node(void *node)
{
	memset(node, 0, sizeof(struct xa_node));
	INIT_LIST_HEAD(&((struct xa_node *)node)->private_list);
}

void radix_tree_node_rcu_free(struct rcu_head *head)
{
	struct xa_node *node = container_of(head, struct xa_node, rcu_head);

	clear_node(node);
	kmem_cache_free(radix_tree_node_cachep, node);
}

static int create(unsigned int bits)
{
	if (!radix_tree_node_cachep)
		radix_tree_node_cachep =
			kmem_cache_create("bench_node_" __stringify(XA_CHUNK_SHIFT),
					  sizeof(struct xa_node), 0,
					  SLAB_PANIC | SLAB_RECLAIM_ACCOUNT | SLAB_NO_MERGE,
					  clear_node);
	return 0;
}
