/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cell is one operation on 2^bits keys in one order. It is timed segment by
 * segment, several passes over all keys; the time of a cell is the sum over its
 * segments of the least that each took in any pass, so that what comes between
 * once is not in it.
 *
 * The clock of the processor may change meanwhile, which the time stamp counter
 * does not show. So a chain of multiplications is timed before and behind each
 * segment, and the segment counted in steps of it too.
 */
#ifndef INDEX_BENCH_CELLS_H
#define INDEX_BENCH_CELLS_H

#include "keys.h"

#define PASSES_MAX	256U

/* Settings: passes over all keys, and operations of a cell with few keys. */
extern unsigned int least_passes, budget_bits;

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

/* Picoseconds of a step of the chain. */
u64 step_ps(void);

#endif /* INDEX_BENCH_CELLS_H */
