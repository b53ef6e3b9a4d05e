/* SPDX-License-Identifier: GPL-2.0 */
/* What loads share: failures, numbers of the command line, a clock, chance. */
#ifndef BOOTHASH_COMMON_H
#define BOOTHASH_COMMON_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call failed, or, with no error in errno, did what it must not. */
static inline void fail(const char *what, const char *name)
{
	fprintf(stderr, "%s: %s %s: %s\n", program_invocation_short_name, what, name,
		errno ? strerror(errno) : "not as expected");
	exit(1);
}

static inline void usage(const char *text)
{
	fputs(text, stderr);
	exit(2);
}

/* The number behind an option, or of another word of the command line. */
static inline unsigned long to_number(const char *what, const char *text,
				      unsigned long min, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < min || value > max) {
		fprintf(stderr, "%s: %s %s: accepted: %lu to %lu\n",
			program_invocation_short_name, what, text, min, max);
		exit(2);
	}
	return value;
}

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

#endif /* BOOTHASH_COMMON_H */
