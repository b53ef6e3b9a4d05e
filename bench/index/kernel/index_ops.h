/* SPDX-License-Identifier: GPL-2.0 */
/* A structure that a page index could be. */
#ifndef INDEX_BENCH_INDEX_OPS_H
#define INDEX_BENCH_INDEX_OPS_H

#include <linux/errno.h>
#include <linux/types.h>

/* Stands for a page: the line of its struct page, with its place in an index. */
struct entry {
	unsigned long key;
	unsigned long word;
	unsigned long node[6];
};

struct index_ops {
	const char *name;
	/* Bytes of an entry that only this structure needs, its key with them. */
	unsigned int in_entry;
	int (*create)(unsigned int bits);
	void (*destroy)(void);
	int (*insert)(unsigned long key, struct entry *entry);
	struct entry *(*find)(unsigned long key);
	struct entry *(*erase)(unsigned long key, struct entry *entry);
	/* Wait for work that changes leave to others; may be NULL. */
	void (*settle)(void);
	/* Bytes outside of the entries. */
	unsigned long (*bytes)(void);
};

extern const struct index_ops xarray_kernel_ops, xarray_4_ops, xarray_7_ops,
	xarray_8_ops, extendible_ops, threaded_rbtree_ops, treap_ops, chained_ops,
	rhashtable_ops;

#endif /* INDEX_BENCH_INDEX_OPS_H */
