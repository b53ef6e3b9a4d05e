// SPDX-License-Identifier: GPL-2.0
/*
 * Extendible hashing: a directory of buckets, which doubles when it must.
 *
 * The upper bits of a key's hash are its place in the directory. A bucket of
 * depth d is pointed to from all places that share d upper bits; when it is full
 * it is split in two of depth d + 1, and the directory doubled first if it has
 * no more than d bits itself. When a bucket and the one that it was split from
 * have few entries they become one again; the directory halves when no bucket
 * needs its last bit.
 */
#include <linux/build_bug.h>
#include <linux/hash.h>
#include <linux/slab.h>

#include "index_ops.h"
#include "pieces.h"

#define BUCKET_SLOTS	15
#define DEPTH_MAX	24
/* Joined buckets are no more than half full: what comes does not split them. */
#define JOIN_BELOW	(BUCKET_SLOTS / 2)

/* Four lines of cache. */
struct bucket {
	unsigned int depth;
	unsigned int used;
	unsigned long keys[BUCKET_SLOTS];
	struct entry *entries[BUCKET_SLOTS];
};

static struct pieces directory;
static unsigned int directory_depth;
static unsigned long buckets_of_depth[DEPTH_MAX + 1];
static unsigned long nr_buckets;
static struct kmem_cache *cache;

/* A directory of depth 0 has one place: no bit of the hash is its number. */
static __always_inline unsigned long place_of(unsigned long key)
{
	return key * GOLDEN_RATIO_64 >> 1 >> (63 - directory_depth);
}

static __always_inline struct bucket *bucket_of(unsigned long key)
{
	return *slot_of(&directory, place_of(key));
}

static struct bucket *new_bucket(unsigned int depth)
{
	struct bucket *bucket = kmem_cache_alloc(cache, GFP_KERNEL);

	if (!bucket)
		return NULL;
	bucket->depth = depth;
	bucket->used = 0;
	buckets_of_depth[depth]++;
	nr_buckets++;
	return bucket;
}

static void free_bucket(struct bucket *bucket)
{
	buckets_of_depth[bucket->depth]--;
	nr_buckets--;
	kmem_cache_free(cache, bucket);
}

static void set_depth(struct bucket *bucket, unsigned int depth)
{
	buckets_of_depth[bucket->depth]--;
	buckets_of_depth[depth]++;
	bucket->depth = depth;
}

static int create(unsigned int bits)
{
	int error = take_pieces(&directory, 1);

	BUILD_BUG_ON(sizeof(struct bucket) > 256);
	if (!cache)
		cache = kmem_cache_create("bench_bucket", sizeof(struct bucket), 256,
					  SLAB_PANIC | SLAB_NO_MERGE, NULL);
	directory_depth = 0;
	if (!error)
		*slot_of(&directory, 0) = new_bucket(0);
	return error ?: *slot_of(&directory, 0) ? 0 : -ENOMEM;
}

static void destroy(void)
{
	unsigned long at = 0;

	while (at < 1UL << directory_depth) {
		struct bucket *bucket = *slot_of(&directory, at);

		at += 1UL << (directory_depth - bucket->depth);
		free_bucket(bucket);
	}
}

/* From the end: places are read before they are written. */
static int double_directory(void)
{
	unsigned long n = 1UL << directory_depth;
	int error;

	if (directory_depth == DEPTH_MAX)
		return -ENOSPC;
	error = take_pieces(&directory, 2 * n);
	if (error)
		return error;
	while (n--) {
		*slot_of(&directory, 2 * n + 1) = *slot_of(&directory, n);
		*slot_of(&directory, 2 * n) = *slot_of(&directory, n);
	}
	directory_depth++;
	return 0;
}

static void halve_directory(void)
{
	unsigned long n;

	directory_depth--;
	for (n = 0; n < 1UL << directory_depth; n++)
		*slot_of(&directory, n) = *slot_of(&directory, 2 * n);
}

/* All places of the directory that share @depth upper bits with @place. */
static void point(unsigned long place, unsigned int depth, struct bucket *bucket)
{
	unsigned long nr = 1UL << (directory_depth - depth), n;

	place &= ~(nr - 1);
	for (n = place; n < place + nr; n++)
		*slot_of(&directory, n) = bucket;
}

static void append(struct bucket *bucket, unsigned long key, struct entry *entry)
{
	bucket->keys[bucket->used] = key;
	bucket->entries[bucket->used++] = entry;
}

static int split_bucket(unsigned long key)
{
	struct bucket *full = bucket_of(key), *upper;
	unsigned int n, kept = 0;
	unsigned long bit;
	int error;

	if (full->depth == directory_depth) {
		error = double_directory();
		if (error)
			return error;
	}
	upper = new_bucket(full->depth + 1);
	if (!upper)
		return -ENOMEM;
	set_depth(full, full->depth + 1);
	/* The bit of a place that tells the two buckets apart. */
	bit = 1UL << (directory_depth - full->depth);
	point(place_of(key) | bit, full->depth, upper);
	for (n = 0; n < full->used; n++) {
		if (place_of(full->keys[n]) & bit) {
			append(upper, full->keys[n], full->entries[n]);
		} else {
			full->keys[kept] = full->keys[n];
			full->entries[kept++] = full->entries[n];
		}
	}
	full->used = kept;
	return 0;
}

static int insert(unsigned long key, struct entry *entry)
{
	int error = 0;

	while (bucket_of(key)->used == BUCKET_SLOTS && !error)
		error = split_bucket(key);
	if (!error)
		append(bucket_of(key), key, entry);
	return error;
}

static __always_inline unsigned int slot_in(const struct bucket *bucket, unsigned long key)
{
	unsigned int n;

	for (n = 0; n < bucket->used; n++)
		if (bucket->keys[n] == key)
			break;
	return n;
}

static struct entry *find(unsigned long key)
{
	const struct bucket *bucket = bucket_of(key);
	unsigned int n = slot_in(bucket, key);

	return n < bucket->used ? bucket->entries[n] : NULL;
}

/* Join a bucket and what it was split from; false when they have too much. */
static bool join(unsigned long key)
{
	struct bucket *bucket = bucket_of(key), *other;
	unsigned int n;

	if (!bucket->depth)
		return false;
	other = *slot_of(&directory, place_of(key) ^
				     1UL << (directory_depth - bucket->depth));
	if (other->depth != bucket->depth || other->used + bucket->used > JOIN_BELOW)
		return false;
	for (n = 0; n < other->used; n++)
		append(bucket, other->keys[n], other->entries[n]);
	set_depth(bucket, bucket->depth - 1);
	point(place_of(key), bucket->depth, bucket);
	free_bucket(other);
	while (directory_depth && !buckets_of_depth[directory_depth])
		halve_directory();
	return true;
}

static struct entry *erase(unsigned long key, struct entry *entry)
{
	struct bucket *bucket = bucket_of(key);
	unsigned int n = slot_in(bucket, key);

	if (n == bucket->used)
		return NULL;
	entry = bucket->entries[n];
	bucket->used--;
	bucket->keys[n] = bucket->keys[bucket->used];
	bucket->entries[n] = bucket->entries[bucket->used];
	while (join(key))
		;
	return entry;
}

static unsigned long bytes(void)
{
	return (sizeof(void *) << directory_depth) + nr_buckets * 256;
}

const struct index_ops extendible_ops = {
	.name		= "extendible",
	.create		= create,
	.destroy	= destroy,
	.insert		= insert,
	.find		= find,
	.erase		= erase,
	.bytes		= bytes,
};
