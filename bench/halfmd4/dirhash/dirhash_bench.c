// SPDX-License-Identifier: GPL-2.0
/*
 * dirhash_bench - nanoseconds to hash the name of a directory entry
 *
 * fs/ext4/hash.c of the base, the same once more, and ours are in this program
 * and take turns in each round; of each the fastest round counts. The base once
 * more tells what the place of the code in memory and the machine do to it.
 *
 *   stream  one name after the other: what a hash costs where the processor has
 *           something else to do meanwhile
 *   chain   a name begins where the hash of the last one says (and that is
 *           where it would begin anyway), so that one hash waits for the other:
 *           how long it takes until the hash is there
 *
 * Prints lines "hash H how W length L base X again Y ours Z", in nanoseconds;
 * length 0 stands for names of 1 to 32 bytes that follow each other at random.
 */
#include <stdio.h>
#include <unistd.h>

#include "common.h"
#include "ext4.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define NAMES		1024
#define NAME_MAX_LEN	255
#define MIXED		0
#define MIXED_MAX	32
#define ROUND_BYTES	1000000	/* to be hashed in a round, names with 32 more */

static const struct {
	const char	*name;
	int		version;
} hashes[] = {
	{ "half_md4",		DX_HASH_HALF_MD4 },
	{ "half_md4_unsigned",	DX_HASH_HALF_MD4_UNSIGNED },
	{ "tea",		DX_HASH_TEA },
};

static const int lengths[] = {
	1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 31, 32, 48, 64, 96, 128, 192, 255,
	MIXED
};

enum { BASE, AGAIN, OURS, SIDES };

static dirhash *const sides[SIDES] = {
	[BASE] = base_dirhash, [AGAIN] = again_dirhash, [OURS] = ours_dirhash,
};

/* As a kernel has them: nowhere in particular, and not aligned. */
static struct name {
	char	text[NAME_MAX_LEN + 8];
	int	start, len;
} names[NAMES];

static void choose_names(int len)
{
	unsigned long long random = len;
	unsigned int i, at;

	for (i = 0; i < NAMES; i++) {
		for (at = 0; at < sizeof(names[i].text); at++)
			names[i].text[at] = 'a' + next(&random) % 26;
		names[i].start = next(&random) % 8;
		names[i].len = len;
		if (len == MIXED)
			names[i].len = 1 + next(&random) % MIXED_MAX;
	}
}

static void hash_stream(dirhash *hash, struct dx_hash_info *info)
{
	unsigned int i;

	for (i = 0; i < NAMES; i++)
		hash(NULL, names[i].text + names[i].start, names[i].len, info);
}

/* A hash is even, but the compiler does not know. */
static void hash_chain(dirhash *hash, struct dx_hash_info *info)
{
	unsigned int i;

	for (i = 0; i < NAMES; i++)
		hash(NULL, names[i].text + names[i].start + (info->hash & 1),
		     names[i].len, info);
}

static const struct {
	const char	*name;
	void		(*go)(dirhash *hash, struct dx_hash_info *info);
} hows[] = {
	{ "stream",	hash_stream },
	{ "chain",	hash_chain },
};

static double time_round(unsigned int side, unsigned int which,
			 unsigned int how, unsigned int passes)
{
	struct dx_hash_info info = { .hash_version = hashes[which].version };
	double start = now();
	unsigned int pass;

	for (pass = 0; pass < passes; pass++)
		hows[how].go(sides[side], &info);
	return (now() - start) * 1e9 / passes / NAMES;
}

static void time_names(unsigned int which, unsigned int how, int len,
		       unsigned int rounds)
{
	unsigned int passes = ROUND_BYTES / (NAMES * (len + 32)), round, i, side;
	double best[SIDES] = { 0 }, ns;

	/* The first round is not counted. */
	for (round = 0; round <= rounds; round++) {
		for (i = 0; i < SIDES; i++) {
			side = (round + i) % SIDES;
			ns = time_round(side, which, how, passes);
			if (round == 1 || (round && ns < best[side]))
				best[side] = ns;
		}
	}
	printf("hash %s how %s length %d base %.3f again %.3f ours %.3f\n",
	       hashes[which].name, hows[how].name, len, best[BASE], best[AGAIN],
	       best[OURS]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int rounds = 100, which, how, i;
	int c;

	while ((c = getopt(argc, argv, "r:")) == 'r')
		rounds = to_number("-r", optarg, 1, 1000000);
	if (c != -1 || optind != argc)
		usage("usage: dirhash_bench [-r ROUNDS]\n");
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		choose_names(lengths[i]);
		for (which = 0; which < ARRAY_SIZE(hashes); which++)
			for (how = 0; how < ARRAY_SIZE(hows); how++)
				time_names(which, how, lengths[i], rounds);
	}
	return 0;
}
