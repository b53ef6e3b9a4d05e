// SPDX-License-Identifier: GPL-2.0
/*
 * Filtered wakeups: see include/linux/wait_filter.h.
 *
 * The rules of __wake_up_common() hold: entries are visited in the order of the
 * queue, under its lock; the wake function may take its entry out of the queue
 * and free it, so that neither the entry nor its key is looked at again; a
 * negative result ends the walk, and so does the first exclusive entry that was
 * woken.
 *
 * The key of an entry needs no barrier of its own: it is written before the
 * entry goes into the queue, and both that and this walk hold the lock.
 */
#include <linux/boot_hash.h>
#include <linux/wait_filter.h>

/* What one wake-up did. */
struct wake_count {
	unsigned int	examined;
	unsigned int	matched;
	unsigned int	called;
};

/*
 * @count is NULL in the copy for those who do not count. Returns true if an
 * entry for @word was met, whatever its number.
 */
static __always_inline bool
wake_matching(struct wait_queue_head *wq_head, const void *word, int nr,
	      void *arg, struct wake_count *count)
{
	struct wait_queue_entry *curr, *next;
	bool word_met = false;

	list_for_each_entry_safe(curr, next, &wq_head->head, entry) {
		/*
		 * Before the call: a woken waiter may change them. Once: a
		 * waiter that comes back (prepare_to_wait()) sets and clears
		 * WQ_FLAG_EXCLUSIVE before it takes the lock.
		 */
		unsigned int flags = READ_ONCE(curr->flags);
		int ret;

		if (count)
			count->examined++;
		if (flags & WQ_FLAG_KEYED) {
			struct wait_queue_keyed *keyed =
				container_of(curr, struct wait_queue_keyed, entry);

			if (keyed->key.word != word)
				continue;
			word_met = true;
			if (keyed->key.nr != nr)
				continue;
			if (count)
				count->matched++;
		}
		if (count)
			count->called++;
		ret = curr->func(curr, TASK_NORMAL, 0, arg);
		if (ret < 0)
			break;
		if (ret && (flags & WQ_FLAG_EXCLUSIVE))
			break;
	}
	return word_met;
}

static noinline bool
wake_matching_counted(struct wait_queue_head *wq_head, const void *word, int nr,
		      void *arg, struct boot_hash *hash)
{
	struct wake_count count = {};
	bool word_met = wake_matching(wq_head, word, nr, arg, &count);

	boot_hash_count_wake(hash, count.examined, count.matched, count.called);
	return word_met;
}

/* A copy in each of the two below spares a wake-up a call. */
static __always_inline bool
wake_filtered(struct wait_queue_head *wq_head, const void *word, int nr,
	      void *arg, struct boot_hash *hash)
{
	if (boot_hash_counts() && hash)
		return wake_matching_counted(wq_head, word, nr, arg, hash);
	return wake_matching(wq_head, word, nr, arg, NULL);
}

/**
 * __wake_up_locked_filtered - wake those that wait for a key
 * @wq_head: the queue, locked
 * @word: the folio, the word of the bit, or the variable
 * @nr: the bit; -1 for a variable
 * @arg: passed to the wake functions
 * @hash: table of the queue, which counts the wake-up, or NULL
 *
 * Like __wake_up_locked_key(wq_head, TASK_NORMAL, arg), which wakes one
 * exclusive waiter, but the functions of entries that carry another key are
 * not called. Wake functions must still compare: not every wake-up is filtered.
 *
 * If this wakes a task, it executes a full memory barrier before it looks at
 * the task's state.
 *
 * Context: any but NMI; the lock of @wq_head is held and interrupts are off.
 * Return: true if an entry waits, or waited, for @word, with any number. Of
 * entries without a key this is not known.
 */
bool __wake_up_locked_filtered(struct wait_queue_head *wq_head,
			       const void *word, int nr, void *arg,
			       struct boot_hash *hash)
{
	lockdep_assert_held(&wq_head->lock);

	return wake_filtered(wq_head, word, nr, arg, hash);
}

/**
 * wake_up_filtered - wake those that wait for a key
 * @wq_head: the queue
 * @word: the word of the bit, or the variable
 * @nr: the bit; -1 for a variable
 * @arg: passed to the wake functions
 * @hash: table of the queue, which counts the wake-up, or NULL
 *
 * Like __wake_up(wq_head, TASK_NORMAL, 1, arg), but the functions of entries
 * that carry another key are not called; see __wake_up_locked_filtered().
 * Out of line, so that wake_up_bit() saves no registers where nobody waits.
 *
 * Context: any but NMI. Takes the lock of @wq_head with interrupts off.
 */
noinline void wake_up_filtered(struct wait_queue_head *wq_head,
			       const void *word, int nr, void *arg,
			       struct boot_hash *hash)
{
	unsigned long flags;

	spin_lock_irqsave(&wq_head->lock, flags);
	wake_filtered(wq_head, word, nr, arg, hash);
	spin_unlock_irqrestore(&wq_head->lock, flags);
}
