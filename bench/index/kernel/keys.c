// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which all keys are visited.
 *
 * Nothing larger than a chunk can be had in one piece, so that keys are kept in
 * segments. Behind each segment stands the key that follows, and behind the last
 * the first of all: who comes from one key to the next goes round.
 */
#include <linux/minmax.h>
#include <linux/prandom.h>

#include "../../lib/um/um_bench.h"
#include "keys.h"

#define SEGMENT_WORDS	(SEGMENT + 1)
#define PER_CHUNK	(CHUNK_SIZE / (SEGMENT_WORDS * sizeof(u32)))
#define SEGMENTS	(1U << (BITS_MAX - SEGMENT_BITS))
/* A stride reaches each time another leaf of a tree with 64 slots a node. */
#define STRIDE_BITS	6

const char * const order_names[NR_ORDERS] = { "sequential", "random", "strided" };

static u32 *chunks[SEGMENTS / PER_CHUNK + 1];

static u32 *segment_at(unsigned int segment)
{
	return chunks[segment / PER_CHUNK] + segment % PER_CHUNK * SEGMENT_WORDS;
}

const u32 *segment_keys(unsigned int segment)
{
	return segment_at(segment);
}

static u32 *key_at(unsigned int n)
{
	return segment_at(n / SEGMENT) + n % SEGMENT;
}

static u32 strided(unsigned int n, unsigned int bits)
{
	const unsigned int round_bits = bits - STRIDE_BITS;

	return (n & ((1U << round_bits) - 1)) << STRIDE_BITS | n >> round_bits;
}

static void shuffle(unsigned int nr)
{
	struct rnd_state random;
	unsigned int n, other;

	prandom_seed_state(&random, 1);
	for (n = nr - 1; n; n--) {
		other = prandom_u32_state(&random) % (n + 1);
		swap(*key_at(n), *key_at(other));
	}
}

int order_keys(enum order order, unsigned int bits)
{
	const unsigned int nr = 1U << bits, segments = nr / SEGMENT;
	unsigned int n;

	for (n = 0; n <= (segments - 1) / PER_CHUNK; n++) {
		if (!chunks[n])
			chunks[n] = get_chunk();
		if (!chunks[n])
			return -ENOMEM;
	}
	for (n = 0; n < nr; n++)
		*key_at(n) = order == STRIDED ? strided(n, bits) : n;
	if (order == RANDOM)
		shuffle(nr);
	for (n = 0; n < segments; n++)
		segment_at(n)[SEGMENT] = *segment_at((n + 1) % segments);
	return 0;
}
