// SPDX-License-Identifier: GPL-2.0
/*
 * How well are the objects of a hash table spread?
 *
 * Compare them with a random function. If it puts n objects into m buckets,
 * then, with the load factor a = n / m,
 *
 *	m * (1 - (1 - 1/m)^n)	buckets are used,
 *	1 + (n - 1) / 2m	nodes are examined to find an object, on average
 *				over all objects (itself, and half of those
 *				that are in the same chain by chance),
 *	1 - 1/m			is the variance of the chain lengths, divided by
 *				their mean (the lengths are nearly Poisson).
 *
 * For a table, the same three values follow from the lengths L of its chains:
 *
 *	the number of L > 0	buckets are used,
 *	sum L(L + 1)/2 / n	nodes are examined to find an object: one for the
 *				first of its chain, two for the second ...
 *	(sum L^2 / m - a^2) / a	is the variance over the mean.
 *
 * If a lookup examines more nodes than with a random function, the hash
 * function is bad or the keys were chosen to collide, and a larger table does
 * not help. If it examines many nodes, but no more than that, the table is too
 * small.
 *
 * The histogram has the columns of Chuck Lever, "Linux Kernel Hash Table
 * Behavior: Analysis and Improvements", CITI TR 00-1, 2000.
 *
 * The kernel does not use floating point: values that are not integers are in
 * thousandths, rounded to the nearest.
 */

#include <linux/hash_histogram.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>

/* Fixed point in units of 2^-FRACTION; 1.0 leaves one spare bit for sums. */
#define FRACTION	62

/**
 * hash_histogram_add - count one bucket
 * @histogram: the histogram
 * @length: objects in the bucket
 *
 * Context: any; the caller serializes calls for the same @histogram.
 */
void hash_histogram_add(struct hash_histogram *histogram, unsigned int length)
{
	unsigned int row = min_t(unsigned int, length, HASH_HISTOGRAM_LONG);

	histogram->rows[row].buckets++;
	histogram->rows[row].objects += length;
	histogram->buckets++;
	histogram->objects += length;
	histogram->squares += (u64)length * length;
	histogram->longest = max(histogram->longest, length);
}

/**
 * hash_histogram_sum_pct - objects in chains up to a length
 * @histogram: the histogram
 * @row: the longest of these chains, HASH_HISTOGRAM_LONG for all
 *
 * Return: percent of all objects, rounded down as in the paper; 0 if there
 * are none.
 */
unsigned int hash_histogram_sum_pct(const struct hash_histogram *histogram,
				    unsigned int row)
{
	u64 objects = 0;
	unsigned int i;

	if (!histogram->objects)
		return 0;
	for (i = 0; i <= row; i++)
		objects += histogram->rows[i].objects;
	return div64_u64(objects * 100, histogram->objects);
}

/**
 * hash_histogram_used - buckets that are not empty
 * @histogram: the histogram
 *
 * Return: number of buckets.
 */
u64 hash_histogram_used(const struct hash_histogram *histogram)
{
	return histogram->buckets - histogram->rows[0].buckets;
}

/* (1 - 1/buckets)^objects in units of 2^-FRACTION, by squaring. */
static u64 empty_share(u64 buckets, u64 objects)
{
	const u64 one = 1ULL << FRACTION;
	u64 power = one - div64_u64(one, buckets);
	u64 share = one;

	for (; objects; objects >>= 1) {
		if (objects & 1)
			share = mul_u64_u64_shr(share, power, FRACTION);
		power = mul_u64_u64_shr(power, power, FRACTION);
	}
	return share;
}

/**
 * hash_histogram_used_expected - buckets that a random function would use
 * @histogram: the histogram
 *
 * Return: thousandths of buckets.
 */
u64 hash_histogram_used_expected(const struct hash_histogram *histogram)
{
	u64 used;

	if (!histogram->buckets)
		return 0;
	used = (1ULL << FRACTION) -
	       empty_share(histogram->buckets, histogram->objects);
	/* One bit more, to round. */
	return (mul_u64_u64_shr(histogram->buckets * 1000, used,
				FRACTION - 1) + 1) >> 1;
}

/**
 * hash_histogram_ratio - a fraction in thousandths
 * @a: the dividend
 * @b: the divisor
 *
 * Return: @a / @b in thousandths, 0 if @b is; U64_MAX if that does not fit.
 */
u64 hash_histogram_ratio(u64 a, u64 b)
{
	u64 whole, rest;

	if (!b)
		return 0;
	whole = div64_u64_rem(a, b, &rest);
	if (whole >= U64_MAX / 1000)
		return U64_MAX;
	/* One bit more, to round. */
	return whole * 1000 + (mul_u64_u64_div_u64(rest, 2000, b) + 1) / 2;
}

/**
 * hash_histogram_nodes_per_hit - nodes examined to find an object
 * @histogram: the histogram
 *
 * The mean over all objects, if each is looked up as often.
 *
 * Return: thousandths of nodes, 0 if there are no objects.
 */
u64 hash_histogram_nodes_per_hit(const struct hash_histogram *histogram)
{
	/* L(L + 1)/2 is whole for each L, so it is for the sum. */
	return hash_histogram_ratio((histogram->squares +
				     histogram->objects) / 2,
				    histogram->objects);
}

/**
 * hash_histogram_nodes_per_hit_expected - the same for a random function
 * @histogram: the histogram
 *
 * Return: thousandths of nodes, 0 if there are no objects.
 */
u64 hash_histogram_nodes_per_hit_expected(const struct hash_histogram *histogram)
{
	if (!histogram->objects)
		return 0;
	return 1000 + hash_histogram_ratio(histogram->objects - 1,
					   histogram->buckets * 2);
}

/**
 * hash_histogram_variance_over_mean - of the lengths of the chains
 * @histogram: the histogram
 *
 * About 1 for a random function, less for keys that fill the buckets evenly,
 * more for keys that cluster.
 *
 * Return: thousandths, 0 if there are no objects.
 */
u64 hash_histogram_variance_over_mean(const struct hash_histogram *histogram)
{
	const u64 million = 1000 * 1000;
	u64 squares, mean;

	if (!histogram->objects)
		return 0;
	squares = mul_u64_u64_div_u64(histogram->squares, million,
				      histogram->objects);
	mean = mul_u64_u64_div_u64(histogram->objects, million,
				   histogram->buckets);
	/* Each was rounded down, so the difference may be just below 0. */
	return squares > mean ? div_u64(squares - mean + 500, 1000) : 0;
}
