/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the benchmark of page indices share.
 *
 * A cell is one operation on 2^bits keys in one order. It is timed segment by
 * segment, several passes over all keys; the time of a cell is the sum over its
 * segments of the least that each took in any pass, so that what comes between
 * once is not in it.
 *
 * The clock of the processor may change meanwhile, which the time stamp counter
 * does not show. So a chain of multiplications is timed before and behind each
 * segment, and the segment counted in steps of it too.
 */
#ifndef BOOTHASH_INDEX_BENCH_H
#define BOOTHASH_INDEX_BENCH_H

#include <linux/errno.h>
#include <linux/types.h>

#define SEGMENT_BITS	12
#define SEGMENT		4096U
#define BITS_MAX	22
#define CELLS_MAX	12

enum order { SEQUENTIAL, RANDOM, STRIDED, NR_ORDERS };
extern const char * const order_names[NR_ORDERS];

/* The keys 0 to 2^bits - 1, the number of the entry that each one finds. */
int order_keys(enum order order, unsigned int bits);
/* Keys of a segment; behind them the first key of the segment that follows. */
const u32 *segment_keys(unsigned int segment);

struct cell {
	const char *index;
	const char *op;
	const char *how;
	/* Leaves everything as it was: can be timed again at once. */
	bool pure;
	/* Operates on so many keys; what it gives is summed up over a pass. */
	u64 (*segment)(const u32 *keys, unsigned int count);
	u64 expected;
};

/* Time cells that follow each other in each pass, and print their lines. */
int run_cells(const char *part, const struct cell *cells, unsigned int nr,
	      enum order order, unsigned int bits);

/* 4 MiB of zeroes, taken until the machine is switched off. */
void *take_chunk(void);
#define TAKEN_CHUNK	(4UL << 20)

/* Operations on all of 2^bits keys that each gives its key, or gives 1. */
static inline u64 sum_of_keys(unsigned int bits)
{
	return ((1ULL << bits) - 1) << (bits - 1);
}

static inline u64 number_of_keys(unsigned int bits)
{
	return 1ULL << bits;
}

int run_xarray(unsigned int bits);
int run_pages(unsigned int bits);
int run_structures(unsigned int bits);
int verify_structures(void);

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
	/* Bytes outside of the entries. */
	unsigned long (*bytes)(void);
};

extern const struct index_ops xarray_kernel_ops, xarray_4_ops, xarray_7_ops,
	xarray_8_ops, extendible_ops, threaded_rbtree_ops, treap_ops, chained_ops;

#endif /* BOOTHASH_INDEX_BENCH_H */
