// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table of the buffers of block devices.
 *
 * File systems look up their metadata by device and block. Without this table,
 * a lookup that the per-CPU LRU of buffers does not answer finds the folio in
 * the page cache of the device, and then the buffer in the list of the folio.
 * It holds the folio lock for that, or the i_private_lock of the device if the
 * caller cannot sleep. A lookup in this table takes no lock.
 *
 * The table is a shortcut. If a buffer is not in it, the lookup goes to the
 * page cache, and adds the buffer if it holds the folio lock. Each buffer in
 * the table
 *
 * - is in the page cache of a block device. Buffers of file data have the same
 *   device and block, and are never added. Only grow_dev_folio() adds buffers,
 *   and __find_get_block_slow(), for a folio in the mapping of the device.
 *
 * - has the key that it was added with, and is mapped. Nothing sets b_bdev and
 *   b_blocknr of a mapped buffer: blkdev_get_block() is called for buffers that
 *   are not mapped. discard_buffer() removes a buffer from the table before it
 *   unmaps it. So truncation of the device (kill_bdev()) leaves no buffer in
 *   the table. A change of the block size truncates the device first, and a
 *   lookup compares b_size, which never changes. If the buffer is added again,
 *   it has the same key, which the index of its folio determines. So a lookup
 *   that is at this buffer meanwhile stays in the same chain.
 *
 * Freeing and migration
 * ---------------------
 *
 * drop_buffers() and __buffer_migrate_folio() test b_count. Until they are
 * done, no task may take a reference on a buffer of the folio. Lookups in the
 * page cache cannot take one meanwhile: the folio lock and i_private_lock
 * prevent it. (During migration on Linux 7.3, the folio lock and BH_Migrate
 * do.) Lookups in the table check none of these. Therefore the test freezes the
 * reference counts (buffer_hash_freeze()): it changes b_count from 0 to
 * BUFFER_FROZEN, a large negative number, by one atomic operation. If one
 * buffer has a reference, the test fails and thaws the others. A lookup takes
 * its reference by atomic_inc_unless_negative(). Both operations are on the
 * same word, so one comes first:
 *
 * - The lookup: then the test fails, and the buffers are busy.
 * - The freeze: then the lookup gets no reference, and goes to the page cache,
 *   where it waits for the lock, or returns nothing if it finds BH_Migrate.
 *
 * A buffer that was removed from the table may still be seen by a lookup that
 * has read the chain before. So all buffers that have ever been in the table
 * (BH_RCU_Free) are frozen before they are freed, and they are freed after a
 * grace period.
 *
 * A buffer may be dirtied and released between the test of its state in
 * buffer_busy() and the freeze. So drop_buffers() tests the state again after
 * the freeze, in buffer_hash_evict().
 *
 * Migration thaws the buffers when they point to the new folio. It does so
 * before it unlocks i_private_lock (on Linux 7.3, before it clears BH_Migrate),
 * since other tasks then use get_bh(), which does not test for BUFFER_FROZEN.
 * The buffers remain in the table.
 *
 * mmb_sync() of Linux 7.3 takes references without a test, also while buffers
 * are frozen. A thaw adds to b_count, so it keeps them. drop_buffers() looks for
 * such a reference after it has taken the buffer off its list, and then thaws.
 *
 * A lookup that runs at the same time as discard_buffer() may return the buffer
 * or miss it, like a lookup in the LRU or in the page cache. A lookup that begins
 * later finds neither the buffer in its chain nor the key in the buffer.
 *
 * Barriers
 * --------
 *
 * - hlist_bl_set_first_rcu() in buffer_hash_add() orders the key and the link of
 *   a buffer before the buffer becomes visible. It pairs with the address
 *   dependency from READ_ONCE() of the first link, or of a later one, to the
 *   reads of the buffer in buffer_hash_find().
 * - atomic_inc_unless_negative(), if successful, is a full barrier. It orders
 *   the second comparison of the key, and all that the caller does with the
 *   buffer, after the reference. It pairs with the release in
 *   buffer_hash_thaw(), so that the caller sees the new folio.
 * - atomic_cmpxchg() in buffer_hash_freeze(), if successful, is a full barrier.
 *   It orders the test of the state in buffer_hash_evict() after it. It pairs
 *   with smp_mb__before_atomic() in put_bh(): a task that sees the count of 0
 *   also sees that the last user made the buffer dirty.
 *
 * Locks
 * -----
 *
 * Buffers are added and removed under the lock of their folio. A caller that
 * holds it knows that no other task adds or removes the buffer, and can test
 * BH_Hashed without a lock. Code that writes b_state as a whole could lose
 * BH_Hashed and BH_RCU_Free. This is safe in nilfs2, which copies the state of
 * buffers in its own mappings only; in map_buffer_to_folio(), whose buffers are
 * new; and in affs, which has a reference from a lookup that has already added
 * the buffer, so that no other task changes these bits.
 *
 * Bit 0 of a bucket is its lock. Only tasks that add or remove a buffer take it.
 * Lock order: folio lock, then the buffer lock (discard_buffer()) or
 * i_private_lock (try_to_free_buffers()), then the lock of a bucket, under which
 * no other lock is taken.
 */

#include <linux/atomic.h>
#include <linux/blk_types.h>
#include <linux/buffer_hash.h>
#include <linux/buffer_head.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/memblock.h>
#include <linux/pagemap.h>
#include <linux/rculist_bl.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>

#include <asm/runtime-const.h>

static unsigned int buffer_hash_shift __ro_after_init __used;
static struct hlist_bl_head *buffer_hashtable __ro_after_init __used;

DEFINE_PER_CPU(struct hashstats_lookups, buffer_hash_lookups);

static const struct hashstats_info buffer_hash_info = {
	.chain		= HASHSTATS_HLIST_BL,
	.guard		= HASHSTATS_RCU,
	.lookups	= &buffer_hash_lookups,
	.flags		= HASHSTATS_CACHED,
};

static struct hlist_bl_head *bucket_of(const struct block_device *bdev,
				       sector_t block)
{
	u32 hash = hash_pair_64(block, (unsigned long)bdev, 32);

	return runtime_const_ptr(buffer_hashtable) +
		runtime_const_shift_right_32(hash, buffer_hash_shift);
}

/*
 * The nodes of a chain have no pprev, which would take 8 bytes more for each
 * buffer. Chains are short, so removal looks for the predecessor.
 */
static struct hlist_bl_node *node_of(struct buffer_head *bh)
{
	return (struct hlist_bl_node *)&bh->b_hash_next;
}

static struct buffer_head *buffer_of(struct hlist_bl_node *node)
{
	return container_of((struct hlist_bl_node **)node, struct buffer_head,
			    b_hash_next);
}

/**
 * buffer_hash_init - allocate the table
 *
 * Metadata is seldom more than a few per cent of memory. If buffers of 4 KiB
 * take 1/16 of memory, there is one per bucket. By default the table takes at
 * most 8 MiB.
 *
 * Context: once at boot, before there are buffers or other CPUs.
 */
void __init buffer_hash_init(void)
{
	buffer_hashtable =
		alloc_large_system_hash("Buffer", sizeof(*buffer_hashtable), 0,
					16 /* one bucket per 64 KiB */,
					HASH_ZERO | HASH_SOFT_LIMITS,
					&buffer_hash_shift, NULL, 512, SZ_1M);
	buffer_hash_shift = 32 - buffer_hash_shift;
	WARN_ON(num_online_cpus() > 1);
	runtime_const_init(shift, buffer_hash_shift);
	runtime_const_init(ptr, buffer_hashtable);
	hashstats_describe(buffer_hashtable, &buffer_hash_info);
}

static bool has_key(const struct buffer_head *bh,
		    const struct block_device *bdev, sector_t block)
{
	return READ_ONCE(bh->b_blocknr) == block &&
	       READ_ONCE(bh->b_bdev) == bdev;
}

/* In newer kernels hlist_bl_first_rcu() leaves the lock bit in. */
static struct hlist_bl_node *first_of(const struct hlist_bl_head *bucket)
{
	unsigned long first = (unsigned long)READ_ONCE(bucket->first);

	return (struct hlist_bl_node *)(first & ~LIST_BL_LOCKMASK);
}

/**
 * buffer_hash_find - find a buffer of a block device
 * @bdev: the device
 * @block: number of the block
 * @size: bytes of a block
 *
 * Context: any but interrupts; takes the RCU read lock.
 * Return: the buffer with a reference; NULL if the caller must look in the page
 * cache.
 */
struct buffer_head *buffer_hash_find(struct block_device *bdev, sector_t block,
				     size_t size)
{
	struct buffer_head *bh, *found = NULL;
	struct hlist_bl_node *node;
	unsigned int nodes = 0;

	rcu_read_lock();
	for (node = first_of(bucket_of(bdev, block)); node;
	     node = READ_ONCE(bh->b_hash_next)) {
		bh = buffer_of(node);
		nodes++;
		if (!has_key(bh, bdev, block) || bh->b_size != size)
			continue;
		/* Full barrier; see "Barriers" above. */
		if (!atomic_inc_unless_negative(&bh->b_count))
			break;
		/* Still in the table? */
		if (likely(buffer_hashed(bh) && has_key(bh, bdev, block)))
			found = bh;
		else
			put_bh(bh);
		break;
	}
	rcu_read_unlock();
	if (hashstats_counting())
		hashstats_count_lookup(&buffer_hash_lookups, found, nodes);
	return found;
}

/**
 * buffer_hash_add - let lookups find a buffer
 * @bh: a buffer in the page cache of a block device
 *
 * It does nothing if the buffer is not mapped, or is in the table already.
 *
 * Context: the caller holds the lock of the folio; takes the lock of a bucket.
 */
void buffer_hash_add(struct buffer_head *bh)
{
	struct hlist_bl_head *bucket;

	if (!buffer_mapped(bh) || buffer_hashed(bh))
		return;
	set_buffer_hashed(bh);
	set_buffer_rcu_free(bh);
	bucket = bucket_of(bh->b_bdev, bh->b_blocknr);
	hlist_bl_lock(bucket);
	/* A lookup may be at @bh if it was in the table before. */
	WRITE_ONCE(bh->b_hash_next, hlist_bl_first(bucket));
	/* A release; see "Barriers" above. */
	hlist_bl_set_first_rcu(bucket, node_of(bh));
	hlist_bl_unlock(bucket);
}

/* Remove @bh from its chain. Its link remains, for lookups that are at @bh. */
static void unlink_buffer(struct buffer_head *bh)
{
	struct hlist_bl_head *bucket = bucket_of(bh->b_bdev, bh->b_blocknr);
	struct hlist_bl_node *node;

	hlist_bl_lock(bucket);
	node = hlist_bl_first(bucket);
	if (node == node_of(bh)) {
		hlist_bl_set_first_rcu(bucket, bh->b_hash_next);
	} else {
		while (node && node->next != node_of(bh))
			node = node->next;
		/* Always found: the key does not change, see the top. */
		if (!WARN_ON_ONCE(!node))
			WRITE_ONCE(node->next, bh->b_hash_next);
	}
	hlist_bl_unlock(bucket);
}

/**
 * __buffer_hash_remove - remove a buffer from the table
 * @bh: a buffer that is in the table
 *
 * Call buffer_hash_remove().
 */
void __buffer_hash_remove(struct buffer_head *bh)
{
	unlink_buffer(bh);
	clear_buffer_hashed(bh);
}

/**
 * buffer_hash_add_folio - let lookups find all buffers of a folio
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
 * buffer_hash_freeze - prevent lookups from taking references
 * @head: a buffer of the folio
 *
 * The caller must prevent by other means that a task takes a reference on a
 * buffer that has never been in the table.
 *
 * Context: the caller holds the lock of the folio.
 * Return: false if a buffer has a reference. Then none is frozen.
 */
bool buffer_hash_freeze(struct buffer_head *head)
{
	struct buffer_head *bh = head;

	do {
		/* Full barrier if successful; see "Barriers" above. */
		if (buffer_rcu_free(bh) &&
		    atomic_cmpxchg(&bh->b_count, 0, BUFFER_FROZEN)) {
			buffer_hash_thaw(head);
			return false;
		}
		bh = bh->b_this_page;
	} while (bh != head);
	return true;
}

/**
 * buffer_hash_thaw - allow lookups to take references again
 * @head: a buffer of the folio
 *
 * Context: as buffer_hash_freeze().
 */
void buffer_hash_thaw(struct buffer_head *head)
{
	struct buffer_head *bh = head;

	do {
		/* See "Barriers" above for the release. */
		if (atomic_read(&bh->b_count) < 0)
			atomic_sub_return_release(BUFFER_FROZEN, &bh->b_count);
		bh = bh->b_this_page;
	} while (bh != head);
}

/**
 * buffer_hash_evict - remove the buffers of a folio to free them
 * @head: a buffer of the folio
 *
 * If this succeeds, no lookup takes a reference any more. The buffers must be
 * freed after a grace period.
 *
 * Context: as buffer_hash_freeze(); takes locks of buckets.
 * Return: false if a buffer is in use. Then all remain as they are.
 */
bool buffer_hash_evict(struct buffer_head *head)
{
	struct buffer_head *bh = head;

	if (!buffer_hash_freeze(head))
		return false;
	do {
		/* Ordered after the freeze; see "Barriers" above. */
		if (READ_ONCE(bh->b_state) & (BIT(BH_Dirty) | BIT(BH_Lock))) {
			buffer_hash_thaw(head);
			return false;
		}
		bh = bh->b_this_page;
	} while (bh != head);
	do {
		if (buffer_hashed(bh))
			unlink_buffer(bh);
		bh = bh->b_this_page;
	} while (bh != head);
	/* For the caller, which frees all buffers of the folio at once. */
	set_buffer_rcu_free(head);
	return true;
}
