/* SPDX-License-Identifier: GPL-2.0 */
/* The load that reclaim weighs names against pages in. */
#ifndef DENTRY_BENCH_PRESSURE_H
#define DENTRY_BENCH_PRESSURE_H

int run_pressure(unsigned int pressure, unsigned int steps);

#endif /* DENTRY_BENCH_PRESSURE_H */
