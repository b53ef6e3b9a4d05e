// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table of the buffers of block devices.
 *
 * File systems ask for their metadata by device and block. What the per-CPU
 * LRU of buffers does not have was looked up in the page cache of the device,
 * and then in the buffers of the folio, under the folio lock, or, by who cannot
 * sleep, under the i_private_lock of the device. Here it is found by its key.
 *
 * The table is a shortcut and not the truth. A buffer may be missing: then it
 * is found as before, and added. But what is found in the table
 *
 * - is a buffer of the page cache of the device. Buffers of file data have the
 *   same device and block, and never enter: only grow_dev_folio(), and
 *   __find_get_block_slow() for a folio that is in the mapping of the device,
 *   add buffers.
 *
 * - has the key that it was added with. While a buffer is in the table it is
 *   mapped, and nobody sets b_bdev and b_blocknr: blkdev_get_block() is asked
 *   for buffers that are not mapped. discard_buffer() takes it out before it
 *   unmaps it; thus truncation of the device (kill_bdev()) and a change of its
 *   block size, which begins and ends with that, leave none.
 *
 * - is not being freed. Who frees buffers (drop_buffers()) takes those of the
 *   folio out of the table, and looks at their reference counts after that.
 *   A look-up takes its reference under the lock of the bucket. So either it
 *   came before, and the buffers are busy, or it does not find the buffer.
 *
 * - does not move. Migration takes the buffers out before it looks at their
 *   reference counts, in the same way, and does not put them back.
 *
 * Buffers are added and taken out under the lock of their folio. So who holds
 * that knows that none is added, and needs no lock to see that a buffer is not
 * in the table. Some write b_state as a whole, and would drop BH_Hashed: nilfs2,
 * when it copies buffers, but to folios of its own mappings; and
 * map_buffer_to_folio(), but to buffers that it has just made.
 *
 * Lock order: folio lock, then the buffer lock (discard_buffer(), migration) or
 * i_private_lock (try_to_free_buffers()), then the lock of a bucket. Under that
 * no other lock is taken.
 */

#include <linux/blk_types.h>
#include <linux/boot_hash.h>
#include <linux/buffer_hash.h>
#include <linux/buffer_head.h>
#include <linux/hash.h>
#include <linux/pagemap.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>

#include <asm/runtime-const.h>

/* A chain is linked by b_hash_next. */
struct buffer_bucket {
	struct buffer_head	*first;
};

DEFINE_BOOT_HASH_TABLE(struct buffer_bucket, buffer_table, 10);

/* The one for a machine without memory for more. */
static DEFINE_SPINLOCK(the_bucket_lock);
static spinlock_t *bucket_locks __ro_after_init = &the_bucket_lock;
static unsigned int bucket_lock_mask __ro_after_init;

/* So many that two CPUs seldom want the same, in a page for 16 of them. */
#define LOCKS_PER_CPU	64

static unsigned int index_of(const struct block_device *bdev, sector_t block)
{
	unsigned long word = block;

	if (BITS_PER_LONG == 32)
		word ^= upper_32_bits(block);
	return boot_hash_index(buffer_table, hash_pair, word,
			       (unsigned long)bdev);
}

static spinlock_t *lock_of(unsigned int index)
{
	return &bucket_locks[index & bucket_lock_mask];
}

static unsigned int chain_length(void *bucket, unsigned int max)
{
	struct buffer_bucket *of = bucket;
	spinlock_t *lock = lock_of(of - boot_hash_table(buffer_table));
	struct buffer_head *bh;
	unsigned int length = 0;

	spin_lock(lock);
	for (bh = of->first; bh && length < max; bh = bh->b_hash_next)
		length++;
	spin_unlock(lock);
	return length;
}

static DEFINE_PER_CPU(struct boot_hash_lookups, lookups);

/*
 * Metadata is seldom more than some per cent of memory: with 1/16 of it in
 * buffers of 4 KiB there is one in each bucket. At the maximum it takes 8 MiB.
 */
struct boot_hash buffer_boot_hash = {
	.name		= "buffer",
	.title		= "Buffer",
	.bucket_size	= sizeof(struct buffer_bucket),
	.mem_per_bucket	= SZ_64K,
	.min		= 512,
	.max		= SZ_1M,
	.chain_length	= PTR_IF(IS_ENABLED(CONFIG_HASHSTATS), chain_length),
	.lookups	= &lookups,
	.flags		= BOOT_HASH_CACHED,
};

/**
 * buffer_hash_init - make the table
 *
 * Context: once at boot, before there is any buffer and any other CPU.
 */
void __init buffer_hash_init(void)
{
	boot_hash_init(buffer_table, &buffer_boot_hash, HASH_ZERO);
	/* Without memory for more it remains the one. */
	alloc_bucket_spinlocks(&bucket_locks, &bucket_lock_mask,
			       buffer_boot_hash.nr_buckets, LOCKS_PER_CPU,
			       GFP_KERNEL);
}

/**
 * buffer_hash_find - find a buffer of a block device
 * @bdev: the device
 * @block: number of the block
 * @size: bytes of a block
 *
 * Context: any but interrupts; takes the lock of a bucket.
 * Return: the buffer with a reference; NULL if the page cache must be asked.
 */
struct buffer_head *buffer_hash_find(struct block_device *bdev, sector_t block,
				     size_t size)
{
	unsigned int index = index_of(bdev, block), nodes = 0;
	spinlock_t *lock = lock_of(index);
	struct buffer_head *bh;

	spin_lock(lock);
	for (bh = boot_hash_table(buffer_table)[index].first; bh;
	     bh = bh->b_hash_next) {
		nodes++;
		if (bh->b_blocknr == block && bh->b_bdev == bdev &&
		    bh->b_size == size) {
			get_bh(bh);
			break;
		}
	}
	spin_unlock(lock);
	if (boot_hash_counts())
		boot_hash_count_lookup(&buffer_boot_hash, bh, nodes);
	return bh;
}

/**
 * buffer_hash_add - let a buffer be found
 * @bh: a buffer in the page cache of a block device; one that is not mapped,
 *	or in the table, is left as it is
 *
 * Context: the caller holds the lock of the folio; takes the lock of a bucket.
 */
void buffer_hash_add(struct buffer_head *bh)
{
	struct buffer_bucket *bucket;
	unsigned int index;

	if (!buffer_mapped(bh) || buffer_hashed(bh))
		return;
	index = index_of(bh->b_bdev, bh->b_blocknr);
	bucket = boot_hash_table(buffer_table) + index;
	set_buffer_hashed(bh);
	spin_lock(lock_of(index));
	bh->b_hash_next = bucket->first;
	bucket->first = bh;
	spin_unlock(lock_of(index));
}

/**
 * buffer_hash_remove - let a buffer be found no longer
 * @bh: any buffer of a folio
 *
 * Context: the caller holds the lock of the folio; takes the lock of a bucket
 * if the buffer is in the table.
 */
void buffer_hash_remove(struct buffer_head *bh)
{
	struct buffer_head **link;
	unsigned int index;

	if (!buffer_hashed(bh))
		return;
	index = index_of(bh->b_bdev, bh->b_blocknr);
	spin_lock(lock_of(index));
	link = &boot_hash_table(buffer_table)[index].first;
	while (*link != bh)
		link = &(*link)->b_hash_next;
	*link = bh->b_hash_next;
	spin_unlock(lock_of(index));
	clear_buffer_hashed(bh);
}

/**
 * buffer_hash_add_folio - let all buffers of a folio be found
 * @folio: a folio with buffers in the page cache of a block device
 *
 * Context: as buffer_hash_add().
 */
void buffer_hash_add_folio(struct folio *folio)
{
	struct buffer_head *head = folio_buffers(folio), *bh = head;

	do {
		buffer_hash_add(bh);
		bh = bh->b_this_page;
	} while (bh != head);
}

/**
 * buffer_hash_remove_folio - let no buffer of a folio be found
 * @folio: a folio with buffers
 *
 * Who looks at the reference counts of the buffers after that knows that the
 * table hands out none any more.
 *
 * Context: as buffer_hash_remove().
 * Return: whether there was one in the table.
 */
bool buffer_hash_remove_folio(struct folio *folio)
{
	struct buffer_head *head = folio_buffers(folio), *bh = head;
	bool removed = false;

	do {
		removed |= buffer_hashed(bh);
		buffer_hash_remove(bh);
		bh = bh->b_this_page;
	} while (bh != head);
	return removed;
}
