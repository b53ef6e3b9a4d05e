/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_WAIT_FILTER_H
#define _LINUX_WAIT_FILTER_H

/*
 * Filtered wakeups, after "[0/2] filtered wakeups" (William Lee Irwin III,
 * linux-kernel, 2 May 2004).
 *
 * Tasks that wait for different things share a wait queue when the queues are
 * a hash table. An entry can carry the key that it waits for: it is the member
 * of a struct wait_queue_keyed, or of a structure that begins or continues so
 * (struct wait_bit_queue_entry, struct wait_page_queue), and says so by
 * WQ_FLAG_KEYED. A filtered wake-up compares the keys and calls the wake
 * functions of those that match. An entry without a key may wait for anything,
 * so its function is always called.
 *
 * The filter saves calls, not the walk: entries that do not match are passed
 * over one by one, under the lock of the queue and with interrupts off. And it
 * does nothing for those who wait for one same key.
 */

#include <linux/stddef.h>
#include <linux/wait.h>

struct boot_hash;

/**
 * struct wait_queue_key - what a waiter waits for
 * @word: the folio, the word of the bit, or the variable
 * @nr: the bit; -1 for a variable
 */
struct wait_queue_key {
	const void	*word;
	int		nr;
};

/**
 * struct wait_queue_keyed - a wait queue entry with WQ_FLAG_KEYED
 * @key: does not change while @entry is in a queue
 * @entry: hangs in the queue
 */
struct wait_queue_keyed {
	struct wait_queue_key	key;
	struct wait_queue_entry	entry;
};

/* Does @member of @type have its key before it, as in wait_queue_keyed? */
#define wait_queue_is_keyed(type, word_member, nr_member, member)	\
	(offsetof(type, member) - offsetof(type, word_member) ==	\
	 offsetof(struct wait_queue_keyed, entry) &&			\
	 offsetof(type, member) - offsetof(type, nr_member) ==		\
	 offsetof(struct wait_queue_keyed, entry) -			\
	 offsetof(struct wait_queue_keyed, key.nr))

#ifdef CONFIG_FILTERED_WAKEUPS

bool __wake_up_locked_filtered(struct wait_queue_head *wq_head,
			       const void *word, int nr, void *arg,
			       struct boot_hash *hash);
void wake_up_filtered(struct wait_queue_head *wq_head, const void *word, int nr,
		      void *arg, struct boot_hash *hash);

#else /* Every wake function is called, and compares by itself. */

static inline bool __wake_up_locked_filtered(struct wait_queue_head *wq_head,
					     const void *word, int nr,
					     void *arg, struct boot_hash *hash)
{
	__wake_up_locked_key(wq_head, TASK_NORMAL, arg);
	return false;
}

static inline void wake_up_filtered(struct wait_queue_head *wq_head,
				    const void *word, int nr, void *arg,
				    struct boot_hash *hash)
{
	__wake_up(wq_head, TASK_NORMAL, 1, arg);
}

#endif

#endif /* _LINUX_WAIT_FILTER_H */
