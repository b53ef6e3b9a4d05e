/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the benchmark, each in a file with its cells. */
#ifndef INDEX_BENCH_PARTS_H
#define INDEX_BENCH_PARTS_H

int run_xarray(unsigned int bits);
int run_pages(unsigned int bits);
int run_structures(unsigned int bits);
int verify_structures(void);

#endif /* INDEX_BENCH_PARTS_H */
