/* SPDX-License-Identifier: GPL-2.0 */
/* What the loads share: a clock, random numbers, numbers of the command line. */
#ifndef BOOTHASH_LOAD_H
#define BOOTHASH_LOAD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The number behind an option, from 1 on; anything else ends the program. */
static inline unsigned int option_number(const char *text, int option,
					 unsigned int max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !value || value > max) {
		fprintf(stderr, "%s: -%c %s: accepted are 1 to %u\n",
			program_invocation_short_name, option, text, max);
		exit(2);
	}
	return value;
}

#endif /* BOOTHASH_LOAD_H */
