// SPDX-License-Identifier: GPL-2.0
/* How cells are timed, see cells.h. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "../../lib/um/um_bench.h"
#include "cells.h"

#define CELLS_MAX	12
#define SEGMENTS_MAX	(1U << (BITS_MAX - SEGMENT_BITS))
#define AGAIN		4	/* times that a pure cell is timed in a pass */
#define CHAIN		512	/* steps: short against a segment */

unsigned int least_passes = 4;
unsigned int budget_bits = 20;

/* The least of each segment, in cycles and in thousandths of a step. */
static u64 best[CELLS_MAX][SEGMENTS_MAX];
static u64 best_steps[CELLS_MAX][SEGMENTS_MAX];
static u64 least_chain = U64_MAX;
static u64 totals[CELLS_MAX][PASSES_MAX];

/* Each step waits for the one before it, and for nothing else. */
static noinline u64 time_chain(void)
{
	unsigned long product = 3, n;
	u64 start = tsc(), taken;

	for (n = 0; n < CHAIN; n++)
		asm volatile("imul %0, %0" : "+r" (product));
	taken = tsc() - start;
	least_chain = min(least_chain, taken);
	return taken;
}

/* All segments of a cell once; the sum of what the operations gave. */
static u64 time_segments(const struct cell *cell, unsigned int at, unsigned int nr,
			 u64 *total)
{
	u64 sum = 0, start, taken, before, behind = time_chain();
	unsigned int segment;

	*total = 0;
	for (segment = 0; segment < nr; segment++) {
		const u32 *keys = segment_keys(segment);

		before = behind;
		start = tsc();
		sum += cell->segment(keys, SEGMENT);
		taken = tsc() - start;
		behind = time_chain();
		best[at][segment] = min(best[at][segment], taken);
		/* One of the two chains may have been interrupted. */
		best_steps[at][segment] =
			min(best_steps[at][segment],
			    div64_u64(taken * CHAIN * 1000, min(before, behind)));
		*total += taken;
	}
	return sum;
}

static int time_cell(const struct cell *cell, unsigned int at, unsigned int nr,
		     unsigned int pass)
{
	unsigned int again = cell->pure ? AGAIN : 1;
	u64 sum, total;

	totals[at][pass] = U64_MAX;
	while (again--) {
		sum = time_segments(cell, at, nr, &total);
		if (sum != cell->expected) {
			pr_err("index_bench: %s %s %s with %u entries gave %llu, not %llu\n",
			       cell->index, cell->op, cell->how, nr * SEGMENT, sum,
			       cell->expected);
			return -EINVAL;
		}
		totals[at][pass] = min(totals[at][pass], total);
	}
	return 0;
}

static void print_cell(const char *of, const struct cell *cell, unsigned int at,
		       unsigned int nr, unsigned int passes, enum order order)
{
	unsigned int segment;
	u64 least = 0, steps = 0;

	for (segment = 0; segment < nr; segment++) {
		least += best[at][segment];
		steps += best_steps[at][segment];
	}
	sort(totals[at], passes, sizeof(*totals[at]), compare_u64, NULL);
	pr_info("index_bench: part %s index %s op %s how %s order %s bits %u min_ps %llu millisteps %llu median_ps %llu\n",
		of, cell->index, cell->op, cell->how, order_names[order],
		ilog2(nr * SEGMENT), picoseconds(least, nr * SEGMENT),
		div_u64(steps, nr * SEGMENT),
		picoseconds(totals[at][passes / 2], nr * SEGMENT));
}

int run_cells(const char *of, const struct cell *cells, unsigned int nr_cells,
	      enum order order, unsigned int size_bits)
{
	const unsigned int nr = 1U << (size_bits - SEGMENT_BITS);
	unsigned int passes, pass, n;
	int error;

	if (WARN_ON(nr_cells > CELLS_MAX))
		return -EINVAL;
	passes = budget_bits > size_bits ? 1U << (budget_bits - size_bits) : 1;
	passes = clamp(passes, least_passes, PASSES_MAX);
	memset(best, 0xff, sizeof(best));
	memset(best_steps, 0xff, sizeof(best_steps));
	evict_caches();
	for (pass = 0; pass < passes; pass++) {
		for (n = 0; n < nr_cells; n++) {
			error = time_cell(&cells[n], n, nr, pass);
			if (error)
				return error;
		}
		/* Nodes that were freed are there again for the next pass. */
		rcu_barrier();
		cond_resched();
	}
	for (n = 0; n < nr_cells; n++)
		print_cell(of, &cells[n], n, nr, passes, order);
	return 0;
}

u64 step_ps(void)
{
	return picoseconds(least_chain, CHAIN);
}
