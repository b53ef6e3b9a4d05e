/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_WAIT_FILTER_H
#define _LINUX_WAIT_FILTER_H

/*
 * Filtered wakeups, after "[0/2] filtered wakeups" (William Lee Irwin III,
 * linux-kernel, 2 May 2004).
 *
 * Tasks that wait for different things share a wait queue when the queues are
 * a hash table. __wake_up() calls the wake function of every entry in the
 * queue, by pointer, and the function compares what its task waits for with
 * the key of the wakeup.
 *
 * The owner of such a table knows the wake functions that are used in it, and
 * where the entries with these functions have their keys. So it can compare
 * the keys while it walks the queue, and wake the entries that match without
 * an indirect call. An entry with any other wake function may wait for
 * anything, so its function is called.
 *
 * This saves calls, not the walk: it skips entries that do not match one by
 * one, under the queue lock and with interrupts off. It does not help tasks
 * that wait for the same key.
 */

#include <linux/hashstats.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/wait.h>

/* How an entry in a queue compares with the key of a wakeup. */
enum wait_match {
	WAIT_MATCH_NOT,		/* it waits for another object */
	WAIT_MATCH_OBJECT,	/* it waits for another event of the object */
	WAIT_MATCH_KEY,		/* it waits for the key */
	WAIT_MATCH_UNKNOWN,	/* call its wake function */
};

typedef enum wait_match wait_match_f(struct wait_queue_entry *entry, void *key);
typedef int wait_wake_f(struct wait_queue_entry *entry, void *key);

/* Entries of one wakeup. */
struct wake_count {
	unsigned int	examined;
	unsigned int	matched;
	unsigned int	called;
};

/*
 * As in __wake_up_common(), walk the entries in queue order, under the lock. A
 * negative result ends the walk. So does the first exclusive entry that was
 * woken. A called entry may be freed: do not look at it again.
 *
 * Reading the key needs no barrier: the lock that this walk holds orders it
 * after the write, which precedes adding the entry.
 */
static __always_inline bool
__wake_up_filtered(struct wait_queue_head *wq_head, void *key,
		   wait_match_f *match, wait_wake_f *wake,
		   struct wake_count *count)
{
	struct wait_queue_entry *curr, *next;
	bool met = false;

	list_for_each_entry_safe(curr, next, &wq_head->head, entry) {
		enum wait_match result = match(curr, key);
		unsigned int flags;
		int ret;

		if (count)
			count->examined++;
		if (result == WAIT_MATCH_NOT)
			continue;
		met = true;
		if (result == WAIT_MATCH_OBJECT)
			continue;
		if (count) {
			count->matched += result == WAIT_MATCH_KEY;
			count->called++;
		}

		/*
		 * Read the flags once and before the call: the woken task may
		 * write them in prepare_to_wait(), without the lock.
		 */
		flags = READ_ONCE(curr->flags);
		if (result == WAIT_MATCH_KEY)
			ret = wake(curr, key);
		else
			ret = curr->func(curr, TASK_NORMAL, 0, key);
		if (ret < 0)
			break;
		if (ret && (flags & WQ_FLAG_EXCLUSIVE))
			break;
	}
	return met;
}

/**
 * wake_up_filtered - wake the tasks that wait for a key
 * @wq_head: the queue, locked
 * @key: passed to @match, @wake and the wake functions
 * @match: compares an entry with @key
 * @wake: replaces the wake function of entries that match @key
 * @wakes: counters of the table
 *
 * Like __wake_up_locked_key(wq_head, TASK_NORMAL, key), which wakes one
 * exclusive waiter, but the wake functions of entries with another key are not
 * called. @match and @wake should be __always_inline functions: each caller
 * gets a copy of the loop without indirect calls for known entries.
 *
 * If this wakes a task, it executes a full memory barrier before it reads the
 * state of the task.
 *
 * Context: any but NMI; the lock of @wq_head is held and interrupts are off.
 * Return: true if an entry may wait for the object of @key, or waited for it
 * before this wakeup.
 */
static __always_inline bool
wake_up_filtered(struct wait_queue_head *wq_head, void *key,
		 wait_match_f *match, wait_wake_f *wake,
		 struct hashstats_wakes __percpu *wakes)
{
	struct wake_count count = {};
	bool met;

	lockdep_assert_held(&wq_head->lock);

	if (!hashstats_counting())
		return __wake_up_filtered(wq_head, key, match, wake, NULL);
	met = __wake_up_filtered(wq_head, key, match, wake, &count);
	hashstats_count_wake(wakes, count.examined, count.matched, count.called);
	return met;
}

#endif /* _LINUX_WAIT_FILTER_H */
