// SPDX-License-Identifier: GPL-2.0
/*
 * hash_spread - how hash functions of the inode table spread inode numbers
 *
 * Inode numbers as file systems give them, and what is hashed in their place,
 * go through each function together with the addresses of many super blocks,
 * into tables of several sizes, with half a key, one and two for each bucket.
 * What is said is the mean of the nodes that a successful lookup examines,
 * divided by that of a random function, 1 + (n - 1) / 2m: the median, the 95th
 * percentile and the worst over all addresses, sizes and loads.
 *
 * Which address a super block has is chance, so for one that is mounted the
 * median is what to hope for and the worst what to be afraid of. `random` is
 * a function without structure: what it shows beyond 1 is the noise of the
 * smaller tables.
 *
 * Prints lines "pattern P function F median X p95 X worst X longest N" and
 * "function F ns X". Everything but the nanoseconds is the same in each run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hash_copies.h"

#define DIRECT_MAP	0xffff888000000000ull

#define LEAST_BITS	10
#define MOST_BITS	19
#define MOST_KEYS	(2u << MOST_BITS)
#define MOST_ADDRESSES	1000

/* The functions: @v is hashed with the super block at @sb. */

static u32 hash_pair(u64 v, u64 sb, unsigned int bits)
{
	return pair_64(v, sb, bits);
}

static u32 hash_mainline(u64 v, u64 sb, unsigned int bits)
{
	return inode_6_12(v, sb, bits);
}

/* fs/namei.c of 6.12: fold_hash() */
static u32 hash_fold(u64 v, u64 sb, unsigned int bits)
{
	u64 y = (sb ^ v * GOLDEN_RATIO_64) * GOLDEN_RATIO_64;

	return (u32)(y >> 32) >> (32 - bits);
}

/* One multiplication of a sum. */
static u32 hash_sum(u64 v, u64 sb, unsigned int bits)
{
	return golden_64(v + sb, bits);
}

/* Linux 2.2, the shift-add function that CITI TR 00-1 measured. */
static u32 hash_shift_add(u64 v, u64 sb, unsigned int bits)
{
	u64 tmp = v | sb;

	tmp += (tmp >> bits) + (tmp >> 2 * bits);
	return tmp & ((1u << bits) - 1);
}

/* CITI TR 00-1: the multiplicative one, in words of 32 bits as there. */
static u32 hash_citi(u64 v, u64 sb, unsigned int bits)
{
	return ((u32)v + (u32)sb) * 2654435761u >> (32 - bits);
}

static u32 hash_random(u64 v, u64 sb, unsigned int bits)
{
	return mix(v ^ mix(sb)) >> (64 - bits);
}

static const struct function {
	const char	*name;
	u32		(*hash)(u64 v, u64 sb, unsigned int bits);
} functions[] = {
	{ "mainline",	hash_mainline },
	{ "pair",	hash_pair },
	{ "fold",	hash_fold },
	{ "sum",	hash_sum },
	{ "shift-add",	hash_shift_add },
	{ "citi-mult",	hash_citi },
	{ "random",	hash_random },
};

/*
 * The keys: @groups of runs that lie side by side, 2^@group_shift apart; in
 * each, runs of @run keys, @step apart, and the next run begins @jump after the
 * last one began. Objects in slabs, and random numbers, have a rule of their
 * own.
 */
enum rule { RUNS, SLABS, RANDOM_64, RANDOM_32, GAPS };

static const struct pattern {
	const char	*name;
	enum rule	rule;
	u64		start;
	u64		run, step, jump;
	u64		groups;
	unsigned int	group_shift;
} patterns[] = {
	/* btrfs, tmpfs by handle, minix, new file systems of any kind */
	{ "consecutive",		RUNS, 257, 1, 0, 1 },
	{ "stride 2 (erofs)",		RUNS, 0, 1, 0, 2 },
	{ "stride 3",			RUNS, 0, 1, 0, 3 },
	{ "stride 7",			RUNS, 0, 1, 0, 7 },
	{ "stride 8",			RUNS, 0, 1, 0, 8 },
	{ "stride 16",			RUNS, 0, 1, 0, 16 },
	{ "stride 64",			RUNS, 0, 1, 0, 64 },
	{ "stride 100",			RUNS, 0, 1, 0, 100 },
	{ "stride 256",			RUNS, 0, 1, 0, 256 },
	{ "stride 1000",		RUNS, 0, 1, 0, 1000 },
	{ "stride 4096",		RUNS, 0, 1, 0, 4096 },
	{ "stride 65536",		RUNS, 0, 1, 0, 1ull << 16 },
	{ "stride 65537",		RUNS, 0, 1, 0, 65537 },
	{ "stride 2^20",		RUNS, 0, 1, 0, 1ull << 20 },
	{ "stride 2^24 (lustre)",	RUNS, 1ull << 40, 1, 0, 1ull << 24 },
	{ "stride 2^32",		RUNS, 0, 1, 0, 1ull << 32 },
	{ "stride 2^40",		RUNS, 0, 1, 0, 1ull << 40 },
	{ "stride 2^48",		RUNS, 0, 1, 0, 1ull << 48 },
	/* So many used inodes in each block group. */
	{ "ext4 8 of 8192",		RUNS, 1, 8, 1, 8192 },
	{ "ext4 64 of 8192",		RUNS, 1, 64, 1, 8192 },
	{ "ext4 1000 of 8192",		RUNS, 1, 1000, 1, 8192 },
	{ "ext4 64 of 2048",		RUNS, 1, 64, 1, 2048 },
	{ "ext2 16 of 1024",		RUNS, 1, 16, 1, 1024 },
	/* Chunks of 64 inodes; the group's number stands above its width. */
	{ "xfs 4 groups of 2^22",	RUNS, 128, 64, 1, 64, 4, 22 },
	{ "xfs 4 groups of 2^28",	RUNS, 128, 64, 1, 512, 4, 28 },
	{ "xfs 32 groups of 2^25",	RUNS, 128, 64, 1, 512, 32, 25 },
	{ "xfs 500 groups of 2^31",	RUNS, 128, 64, 1, 128, 500, 31 },
	{ "squashfs",			RUNS, 64, 128, 64, 2500ull << 16 },
	{ "ceph, 2 servers",		RUNS, 1ull << 40, 1, 0, 1, 2, 40 },
	{ "overlayfs xino, 3 layers",	RUNS, 2, 1, 0, 1, 3, 60 },
	{ "fuse, 1024 volumes",		RUNS, 1, 1, 0, 1, 1024, 32 },
	/* What is hashed is the address of another inode: so many bytes. */
	{ "overlayfs, ext4 below",	SLABS, 0, 1080 },
	{ "overlayfs, xfs below",	SLABS, 0, 1024 },
	{ "overlayfs, tmpfs below",	SLABS, 0, 768 },
	{ "ecryptfs, ext2 below",	SLABS, 0, 704 },
	{ "nfs, random file ids",	RANDOM_64 },
	{ "nfs, 32 bits of file ids",	RANDOM_32 },
	{ "one of 16 left",		GAPS, 0, 16 },
};

#define SLAB_BYTES	32768u

static u64 slab_object(u64 i, u64 size)
{
	u64 in_slab = SLAB_BYTES / size;

	/* Slabs lie anywhere; an odd factor keeps them apart. */
	return DIRECT_MAP +
	       (i / in_slab * 0x9e3779b1 & 0x1fffff) * SLAB_BYTES +
	       i % in_slab * size;
}

static u64 key(const struct pattern *pattern, u64 i)
{
	u64 groups = pattern->groups ? pattern->groups : 1;
	u64 group = i % groups;

	switch (pattern->rule) {
	case SLABS:
		return slab_object(i, pattern->run);
	case RANDOM_64:
		return mix(i);
	case RANDOM_32:
		return (u32)((i + 1) * 0x9e3779b1);
	case GAPS:
		return i * pattern->run + mix(i) % pattern->run;
	case RUNS:
		break;
	}
	i /= groups;
	return pattern->start + (group << pattern->group_shift) +
	       i / pattern->run * pattern->jump + i % pattern->run * pattern->step;
}

/* Are the first @n keys different? They wrap at 2^64. */
static int has_keys(const struct pattern *pattern, u64 n)
{
	u64 runs;

	if (pattern->rule != RUNS)
		return 1;
	runs = (n - 1) / pattern->run;
	return !runs || pattern->jump <= UINT64_MAX / runs;
}

struct result {
	double		*ratios;
	unsigned int	nr;
	unsigned int	longest;
};

static struct {
	unsigned int	addresses;
	unsigned int	most_bits;
	const char	*pattern;
} opt = { .addresses = 100, .most_bits = 17 };

static u64 *keys, *super_blocks;
static u32 *counts;

static double spread(const struct function *function, u64 sb, unsigned int bits,
		     u32 n, unsigned int *longest)
{
	u32 i, buckets = 1u << bits;
	double nodes = 0;

	memset(counts, 0, buckets * sizeof(*counts));
	for (i = 0; i < n; i++) {
		u32 length = ++counts[function->hash(keys[i], sb, bits)];

		/* The objects of a chain of k take 1 + 2 + ... + k nodes. */
		nodes += length;
		if (length > *longest)
			*longest = length;
	}
	return nodes / n / (1 + (n - 1) / (2.0 * buckets));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run_function(const struct pattern *pattern,
			 const struct function *function, struct result *result)
{
	static const unsigned int sizes[] = { LEAST_BITS, 12, 14, 17, MOST_BITS };
	unsigned int size, load, i;

	result->nr = 0;
	result->longest = 0;
	for (size = 0; size < ARRAY_SIZE(sizes); size++) {
		const unsigned int bits = sizes[size];

		if (bits > opt.most_bits)
			continue;
		for (load = 0; load < 3; load++) {
			u32 n = (1u << bits) / 2 << load;

			if (!has_keys(pattern, n))
				continue;
			for (i = 0; i < opt.addresses; i++)
				result->ratios[result->nr++] =
					spread(function, super_blocks[i], bits,
					       n, &result->longest);
		}
	}
}

static void run_pattern(const struct pattern *pattern, struct result *result)
{
	u32 i, n = 2u << opt.most_bits;
	unsigned int f;

	for (i = 0; i < n; i++)
		keys[i] = key(pattern, i);
	for (f = 0; f < ARRAY_SIZE(functions); f++) {
		run_function(pattern, &functions[f], result);
		qsort(result->ratios, result->nr, sizeof(double), compare);
		printf("pattern %s function %s median %.3f p95 %.3f worst %.3f longest %u\n",
		       pattern->name, functions[f].name,
		       result->ratios[result->nr / 2],
		       result->ratios[result->nr * 95 / 100],
		       result->ratios[result->nr - 1], result->longest);
	}
	fflush(stdout);
}

/* Each hash waits for the one before, as a lookup waits for its bucket. */
static double nanoseconds(const struct function *function)
{
	double best = 1e9;
	int turn;

	for (turn = 0; turn < 20; turn++) {
		struct timespec start, end;
		u64 v = turn;
		double ns;
		int i;

		clock_gettime(CLOCK_MONOTONIC, &start);
		for (i = 0; i < 100000; i++)
			v += function->hash(v, super_blocks[0], 17);
		clock_gettime(CLOCK_MONOTONIC, &end);
		__asm__ volatile("" : : "r" (v));
		ns = (end.tv_sec - start.tv_sec) * 1e9 +
		     (end.tv_nsec - start.tv_nsec);
		if (ns / 100000 < best)
			best = ns / 100000;
	}
	return best;
}

/* What lib/tests/hash_spread_kunit.c expects of the kernel's functions. */
static void print_vectors(void)
{
	u64 x, y, i;

	for (i = 0; i < 8; i++) {
		x = mix(2 * i) >> 8 * i;
		y = mix(2 * i + 1);
		printf("vector %#llx %#llx %#x %#x\n", (unsigned long long)x,
		       (unsigned long long)y, pair_64(x, y, 32),
		       pair_32(x, y, 32));
	}
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory) {
		fprintf(stderr, "hash_spread: no memory for %zu bytes\n",
			n * size);
		exit(1);
	}
	return memory;
}

static void refuse(const char *wrong)
{
	fprintf(stderr,
		"hash_spread: %s; accepted: -a ADDRESSES (1 to %u), -b BITS of the largest table (%u to %u), -p PATTERN, -v (print test vectors)\n",
		wrong, MOST_ADDRESSES, LEAST_BITS, MOST_BITS);
	exit(2);
}

static unsigned int number(const char *text, unsigned int least,
			   unsigned int most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || end == text || value < least || value > most)
		refuse(text);
	return value;
}

int main(int argc, char **argv)
{
	struct result result;
	unsigned int i, found = 0;
	int c;

	while ((c = getopt(argc, argv, "a:b:p:v")) != -1) {
		switch (c) {
		case 'a':
			opt.addresses = number(optarg, 1, MOST_ADDRESSES);
			break;
		case 'b':
			opt.most_bits = number(optarg, LEAST_BITS, MOST_BITS);
			break;
		case 'p':
			opt.pattern = optarg;
			break;
		case 'v':
			print_vectors();
			return 0;
		default:
			refuse("unknown option");
		}
	}
	if (optind < argc)
		refuse(argv[optind]);

	keys = allocate(MOST_KEYS, sizeof(*keys));
	counts = allocate(1u << MOST_BITS, sizeof(*counts));
	super_blocks = allocate(opt.addresses, sizeof(*super_blocks));
	result.ratios = allocate(opt.addresses * 3 * (MOST_BITS - LEAST_BITS),
				 sizeof(*result.ratios));
	/* 2 KiB objects, anywhere in 64 GiB. */
	for (i = 0; i < opt.addresses; i++)
		super_blocks[i] = DIRECT_MAP + (mix(~(u64)i) >> 39) * 2048;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (opt.pattern && strcmp(opt.pattern, patterns[i].name))
			continue;
		found = 1;
		run_pattern(&patterns[i], &result);
	}
	if (!found)
		refuse(opt.pattern);
	for (i = 0; i < ARRAY_SIZE(functions); i++)
		printf("function %s ns %.2f\n", functions[i].name,
		       nanoseconds(&functions[i]));
	return 0;
}
