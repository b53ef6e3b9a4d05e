/* SPDX-License-Identifier: GPL-2.0 */
/* What the loads share: a clock and random numbers. */
#ifndef BOOTHASH_LOAD_H
#define BOOTHASH_LOAD_H

#include <time.h>

/* Seconds since some moment. */
static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* splitmix64: any seed will do, also 0 */
static inline unsigned long long next(unsigned long long *state)
{
	unsigned long long z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#endif /* BOOTHASH_LOAD_H */
