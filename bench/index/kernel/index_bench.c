// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that an index of pages takes to look up, insert and delete.
 *
 * Three parts, of which a kernel runs one: "xarray" is lib/xarray.c of the
 * kernel, operation by operation; "pages" is filemap_get_entry() on one file;
 * "structures" compares the XArray with other structures on the same keys.
 *
 * Built into user-mode Linux by harness/guest/uml.py. It runs at the end of the boot,
 * on one CPU and before there is any process; results go to the log, then the
 * machine is switched off. Every operation gives a number, whose sum over a
 * pass is known: an index that finds what it should not prints no time.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "../../lib/um/um_bench.h"
#include "cells.h"
#include "parts.h"

static char *part = "xarray";
module_param(part, charp, 0);
MODULE_PARM_DESC(part, "xarray, pages or structures");

static unsigned int bits[8] = { 12 };
static unsigned int nr_bits = 1;
module_param_array(bits, uint, &nr_bits, 0);
MODULE_PARM_DESC(bits, "Logarithms of the numbers of entries, 12 to 22");

module_param(least_passes, uint, 0);
MODULE_PARM_DESC(least_passes, "Passes over all keys, at least");

module_param(budget_bits, uint, 0);
MODULE_PARM_DESC(budget_bits, "Operations of a cell with few keys, at least 2 to this");

static unsigned int evict_mb = 8;
module_param(evict_mb, uint, 0);
MODULE_PARM_DESC(evict_mb, "Memory to walk before each group of cells");

static int run_part(void)
{
	int (*run)(unsigned int bits);
	unsigned int n;
	int error = 0;

	if (!strcmp(part, "xarray"))
		run = run_xarray;
	else if (!strcmp(part, "pages"))
		run = run_pages;
	else if (!strcmp(part, "structures"))
		run = run_structures;
	else
		return -ENOENT;
	if (run == run_structures)
		error = verify_structures();
	for (n = 0; n < nr_bits && !error; n++)
		error = bits[n] < SEGMENT_BITS || bits[n] > BITS_MAX ? -ERANGE :
			run(bits[n]);
	return error;
}

static int __init run_index_bench(void)
{
	int error;

	least_passes = clamp(least_passes, 1U, PASSES_MAX);
	error = allocate_chunks(evict_mb);
	if (!error) {
		calibrate();
		error = run_part();
	}
	if (!error)
		pr_info("index_bench: step_ps %llu\n", step_ps());
	pr_info("index_bench: end %d\n", error);
	power_off();
	return 0;
}
late_initcall(run_index_bench);
