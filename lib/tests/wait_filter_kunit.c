// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for filtered wakeups and for the counters of waiters.
 *
 * Boot with hash_entries=bit_wait:2,folio_wait:2 so that half of all pairs of
 * keys share a queue.
 *
 * The first cases have no tasks: the wake functions of their entries record
 * that they were called, so that the order and the end of the walk can be
 * checked. The last cases have tasks that wait for bits, variables and folios.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hashstats_walk.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/wait_filter.h>

/* A task that sleeps longer than this missed its wakeup. */
#define PATIENCE	(30 * HZ)

static unsigned long words[64];

/* An entry whose wake function records when it was called. */
struct probe {
	struct wait_bit_queue_entry	wait;
	int				result;
	unsigned int			calls;
	unsigned int			turn;	/* of the last match */
};

static unsigned int turns;
static DEFINE_PER_CPU(struct hashstats_wakes, wakes);

/* Like wake_bit_function(), it may be called for a key that is not its own. */
static int probe_function(struct wait_queue_entry *entry, unsigned int mode,
			  int flags, void *arg)
{
	struct probe *probe = container_of(entry, struct probe, wait.wq_entry);
	struct wait_bit_key *key = arg;

	probe->calls++;
	if (probe->wait.key.flags != key->flags ||
	    probe->wait.key.bit_nr != key->bit_nr)
		return 0;
	probe->turn = ++turns;
	return probe->result;
}

/* For an entry that waits for anything. */
static int any_key_function(struct wait_queue_entry *entry, unsigned int mode,
			    int flags, void *arg)
{
	struct probe *probe = container_of(entry, struct probe, wait.wq_entry);

	probe->calls++;
	probe->turn = ++turns;
	return probe->result;
}

/* Like autoremove_wake_function(), but frees the entry. */
static int vanish_function(struct wait_queue_entry *entry, unsigned int mode,
			   int flags, void *arg)
{
	struct probe *probe = container_of(entry, struct probe, wait.wq_entry);

	list_del(&entry->entry);
	memset(probe, 0xff, sizeof(*probe));
	kfree(probe);
	return 1;
}

static __always_inline enum wait_match
match_probe(struct wait_queue_entry *entry, void *arg)
{
	struct probe *probe = container_of(entry, struct probe, wait.wq_entry);
	struct wait_bit_key *key = arg;

	if (entry->func != probe_function && entry->func != vanish_function)
		return WAIT_MATCH_UNKNOWN;
	if (probe->wait.key.flags != key->flags)
		return WAIT_MATCH_NOT;
	if (probe->wait.key.bit_nr != key->bit_nr)
		return WAIT_MATCH_OBJECT;
	return WAIT_MATCH_KEY;
}

static __always_inline int wake_probe(struct wait_queue_entry *entry, void *arg)
{
	if (entry->func == vanish_function)
		return vanish_function(entry, TASK_NORMAL, 0, arg);
	return probe_function(entry, TASK_NORMAL, 0, arg);
}

static void probe_init(struct probe *probe, void *word, int nr, int result,
		       unsigned int flags)
{
	DEFINE_WAIT_BIT(wait, word, nr);

	*probe = (struct probe){ .wait = wait, .result = result };
	INIT_LIST_HEAD(&probe->wait.wq_entry.entry);
	probe->wait.wq_entry.func = probe_function;
	probe->wait.wq_entry.flags |= flags;
}

/* Add @probe behind the entries that are in the queue. */
static void probe_add(struct wait_queue_head *queue, struct probe *probe,
		      void *word, int nr, int result, unsigned int flags)
{
	probe_init(probe, word, nr, result, flags);
	spin_lock_irq(&queue->lock);
	__add_wait_queue_entry_tail(queue, &probe->wait.wq_entry);
	spin_unlock_irq(&queue->lock);
}

static void probe_add_unknown(struct wait_queue_head *queue,
			      struct probe *probe, int result)
{
	probe_init(probe, NULL, 0, result, 0);
	probe->wait.wq_entry.func = any_key_function;
	spin_lock_irq(&queue->lock);
	__add_wait_queue_entry_tail(queue, &probe->wait.wq_entry);
	spin_unlock_irq(&queue->lock);
}

/* Returns what wake_up_filtered() does. */
static bool wake(struct wait_queue_head *queue, void *word, int nr)
{
	struct wait_bit_key key = __WAIT_BIT_KEY_INITIALIZER(word, nr);
	bool met;

	turns = 0;
	spin_lock_irq(&queue->lock);
	met = wake_up_filtered(queue, &key, match_probe, wake_probe, &wakes);
	spin_unlock_irq(&queue->lock);
	return met;
}

static void wait_filter_test_key(struct kunit *test)
{
	static const struct {
		int	word, nr;
		bool	match;
	} cases[] = {
		{ 0, 3, true }, { 0, 4, false }, { 1, 3, false },
		{ 1, 4, false }, { 0, -1, false },
	};
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe probes[ARRAY_SIZE(cases)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		probe_add(&queue, &probes[i], &words[cases[i].word],
			  cases[i].nr, 1, 0);
	wake(&queue, &words[0], 3);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ_MSG(test, !!probes[i].turn, cases[i].match,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, probes[i].calls, cases[i].match,
				    "case %u", i);
	}
}

static void wait_filter_test_order(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe probes[9];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (i % 3 == 2)
			probe_add_unknown(&queue, &probes[i], 1);
		else
			probe_add(&queue, &probes[i], &words[i % 3], 0, 1, 0);
	}
	wake(&queue, &words[0], 0);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ_MSG(test, probes[i].turn,
				    i % 3 == 1 ? 0 : i / 3 * 2 + i % 3 / 2 + 1,
				    "probe %u", i);
}

static void wait_filter_test_exclusive(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe shared, foreign, busy, first, second, last;

	probe_add(&queue, &shared, &words[0], 0, 1, 0);
	probe_add(&queue, &foreign, &words[1], 0, 1, WQ_FLAG_EXCLUSIVE);
	probe_add(&queue, &busy, &words[0], 0, 0, WQ_FLAG_EXCLUSIVE);
	probe_add(&queue, &first, &words[0], 0, 1, WQ_FLAG_EXCLUSIVE);
	probe_add(&queue, &second, &words[0], 0, 1, WQ_FLAG_EXCLUSIVE);
	probe_add(&queue, &last, &words[0], 0, 1, 0);
	wake(&queue, &words[0], 0);
	KUNIT_EXPECT_EQ(test, shared.turn, 1);
	KUNIT_EXPECT_EQ(test, foreign.turn, 0);
	/* An entry that could not be woken does not use up the wakeup. */
	KUNIT_EXPECT_EQ(test, busy.turn, 2);
	KUNIT_EXPECT_EQ(test, first.turn, 3);
	KUNIT_EXPECT_EQ(test, second.calls, 0);
	KUNIT_EXPECT_EQ(test, last.calls, 0);
}

/* Negative: the lock is taken, wake no later entry. */
static void wait_filter_test_negative_ends(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe foreign, first, second;

	probe_add(&queue, &foreign, &words[1], 0, -1, 0);
	probe_add(&queue, &first, &words[0], 0, -1, 0);
	probe_add(&queue, &second, &words[0], 0, 1, 0);
	wake(&queue, &words[0], 0);
	KUNIT_EXPECT_EQ(test, foreign.turn, 0);
	KUNIT_EXPECT_EQ(test, first.turn, 1);
	KUNIT_EXPECT_EQ(test, second.calls, 0);
}

static void wait_filter_test_unknown(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe first, second;

	probe_add_unknown(&queue, &first, 0);
	probe_add_unknown(&queue, &second, 1);
	wake(&queue, &words[0], 0);
	wake(&queue, &words[1], 5);
	wake(&queue, NULL, 0);
	KUNIT_EXPECT_EQ(test, first.calls, 3);
	KUNIT_EXPECT_EQ(test, second.calls, 3);
}

static void wait_filter_test_removal(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct wait_queue_entry *entry;
	unsigned int i, left = 0;

	for (i = 0; i < 64; i++) {
		struct probe *probe = kmalloc(sizeof(*probe), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, probe);
		probe_init(probe, &words[i / 2 % 2], 0, 1, 0);
		if (i / 2 % 2 == 0)
			probe->wait.wq_entry.func = vanish_function;
		__add_wait_queue_entry_tail(&queue, &probe->wait.wq_entry);
	}
	wake(&queue, &words[0], 0);
	list_for_each_entry(entry, &queue.head, entry) {
		struct probe *probe = container_of(entry, struct probe,
						   wait.wq_entry);

		KUNIT_EXPECT_PTR_EQ(test, probe->wait.key.flags,
				    (void *)&words[1]);
		entry->func = vanish_function;
		left++;
	}
	KUNIT_EXPECT_EQ(test, left, 32);
	wake(&queue, &words[1], 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&queue.head));
}

/* All keys in one queue: each wakeup finds its own, and no other. */
static void wait_filter_test_one_queue(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe *probes;
	unsigned int i, j;

	probes = kunit_kcalloc(test, ARRAY_SIZE(words), sizeof(*probes),
			       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		probe_add(&queue, &probes[i], &words[i], i % 4, 1, 0);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		for (j = 0; j < ARRAY_SIZE(words); j++)
			probes[j].turn = 0;
		wake(&queue, &words[i], i % 4);
		for (j = 0; j < ARRAY_SIZE(words); j++)
			KUNIT_EXPECT_EQ(test, probes[j].turn, j == i);
	}
	for (i = 0; i < ARRAY_SIZE(words); i++)
		KUNIT_EXPECT_EQ(test, probes[i].calls, 1);
}

/* folio_wake_bit() keeps PG_waiters if true. */
static void wait_filter_test_met(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe foreign, number, unknown;

	KUNIT_EXPECT_FALSE(test, wake(&queue, &words[0], 0));
	probe_add(&queue, &foreign, &words[1], 0, 1, 0);
	KUNIT_EXPECT_FALSE(test, wake(&queue, &words[0], 0));
	probe_add(&queue, &number, &words[0], 7, 1, 0);
	KUNIT_EXPECT_TRUE(test, wake(&queue, &words[0], 0));
	KUNIT_EXPECT_EQ(test, number.calls, 0);
	KUNIT_EXPECT_TRUE(test, wake(&queue, &words[0], 7));
	KUNIT_EXPECT_EQ(test, number.calls, 1);
	KUNIT_EXPECT_FALSE(test, wake(&queue, &words[2], 0));
	probe_add_unknown(&queue, &unknown, 0);
	KUNIT_EXPECT_TRUE(test, wake(&queue, &words[2], 0));
}

#ifdef CONFIG_HASHSTATS

static void wait_filter_test_counters(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe foreign, number, unknown, own, behind;
	struct hashstats_wakes sum = {};
	bool was_on = hashstats_counting_is_on();
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&wakes, cpu), 0, sizeof(wakes));
	probe_add(&queue, &foreign, &words[1], 0, 1, 0);
	probe_add(&queue, &number, &words[0], 1, 1, 0);
	probe_add_unknown(&queue, &unknown, 0);
	probe_add(&queue, &own, &words[0], 0, 1, WQ_FLAG_EXCLUSIVE);
	probe_add(&queue, &behind, &words[0], 0, 1, WQ_FLAG_EXCLUSIVE);

	hashstats_counting_set(false);
	wake(&queue, &words[0], 0);
	hashstats_counting_set(true);
	wake(&queue, &words[0], 0);
	wake(&queue, &words[2], 0);
	hashstats_counting_set(was_on);

	for_each_possible_cpu(cpu) {
		const struct hashstats_wakes *of_cpu = per_cpu_ptr(&wakes, cpu);

		sum.wakes += of_cpu->wakes;
		sum.examined += of_cpu->examined;
		sum.matched += of_cpu->matched;
		sum.called += of_cpu->called;
	}
	KUNIT_EXPECT_EQ(test, sum.wakes, 2);
	KUNIT_EXPECT_EQ(test, sum.examined, 4 + 5);
	KUNIT_EXPECT_EQ(test, sum.matched, 1);
	KUNIT_EXPECT_EQ(test, sum.called, 2 + 1);
}

#else

static void wait_filter_test_counters(struct kunit *test)
{
	kunit_skip(test, "CONFIG_HASHSTATS=n");
}

#endif

/*
 * The tables of the kernel. They do not know probe_function(), so each wakeup
 * that looks at the queue calls it.
 */
static void wait_filter_test_table(struct kunit *test)
{
	struct probe *probes;
	unsigned int i;

	probes = kunit_kcalloc(test, ARRAY_SIZE(words), sizeof(*probes),
			       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		probe_add(bit_waitqueue_get(&words[i], i), &probes[i],
			  &words[i], i, 1, 0);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		wake_up_bit(&words[i], i);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		remove_wait_queue(__bit_waitqueue(&words[i], i),
				  &probes[i].wait.wq_entry);
		bit_waitqueue_put(&words[i], i);
		KUNIT_EXPECT_NE(test, probes[i].turn, 0);
	}
}

static void wait_filter_test_variable(struct kunit *test)
{
	struct wait_queue_head *queue = var_waitqueue_get(&words[0]);
	struct probe bit, variable, other;

	probe_add(queue, &bit, &words[0], 0, 1, 0);
	probe_add(queue, &other, &words[1], -1, 1, 0);
	variable = (struct probe){ .result = 1 };
	init_wait_var_entry(&variable.wait, &words[0], 0);
	variable.wait.wq_entry.func = probe_function;
	add_wait_queue(queue, &variable.wait.wq_entry);

	turns = 0;
	wake_up_var(&words[0]);
	KUNIT_EXPECT_EQ(test, variable.turn, 1);
	KUNIT_EXPECT_EQ(test, bit.turn, 0);
	KUNIT_EXPECT_EQ(test, other.turn, 0);

	remove_wait_queue(queue, &bit.wait.wq_entry);
	remove_wait_queue(queue, &other.wait.wq_entry);
	remove_wait_queue(queue, &variable.wait.wq_entry);
	var_waitqueue_put(&words[0]);
}

/*
 * Does a wakeup of this bit look at its queue? It calls the function of an
 * uncounted entry if, and only if, the counter of the bit is above 0.
 */
static bool looks_at_queue(void *word, int nr)
{
	struct wait_queue_head *queue = __bit_waitqueue(word, nr);
	struct probe probe;

	probe_add(queue, &probe, word, nr, 0, 0);
	wake_up_bit(word, nr);
	remove_wait_queue(queue, &probe.wait.wq_entry);
	return probe.turn;
}

/*
 * Find two bits that share a counter with each other and with no task that waits
 * now. Numbers beyond a word are fine: probe_function() does not test the bit.
 */
static bool find_sharing_bits(int *first, int *second)
{
	int a, b;

	for (a = 0; a < 16; a++) {
		if (looks_at_queue(&words[0], a))
			continue;
		bit_waitqueue_get(&words[0], a);
		for (b = 64; b < 64 + 65536; b++) {
			bool shared = looks_at_queue(&words[0], b);

			if (!shared)
				continue;
			bit_waitqueue_put(&words[0], a);
			shared = !looks_at_queue(&words[0], b);
			if (shared) {
				*first = a;
				*second = b;
				return true;
			}
			bit_waitqueue_get(&words[0], a);
		}
		bit_waitqueue_put(&words[0], a);
	}
	return false;
}

/* No waiter: wakeups skip the queue, although it has an entry. */
static void wait_filter_test_empty(struct kunit *test)
{
	unsigned int i, looked = 0;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		looked += looks_at_queue(&words[i], 0);
	/* Tasks that wait for other things may share a counter or two. */
	KUNIT_EXPECT_LT(test, looked, ARRAY_SIZE(words) / 2);
}

static void wait_filter_test_counted(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		bit_waitqueue_get(&words[i], 1);
		KUNIT_EXPECT_TRUE(test, looks_at_queue(&words[i], 1));
		/* The last waiter leaves, and another comes. */
		bit_waitqueue_put(&words[i], 1);
		bit_waitqueue_get(&words[i], 1);
		KUNIT_EXPECT_TRUE(test, looks_at_queue(&words[i], 1));
		bit_waitqueue_put(&words[i], 1);
	}
}

/* A waiter that leaves must not hide another of the same counter. */
static void wait_filter_test_shared_counter(struct kunit *test)
{
	int first, second;

	if (!find_sharing_bits(&first, &second))
		kunit_skip(test, "no two bits found that share a counter");
	bit_waitqueue_get(&words[0], first);
	bit_waitqueue_get(&words[0], second);
	KUNIT_EXPECT_TRUE(test, looks_at_queue(&words[0], first));
	KUNIT_EXPECT_TRUE(test, looks_at_queue(&words[0], second));
	bit_waitqueue_put(&words[0], first);
	KUNIT_EXPECT_TRUE(test, looks_at_queue(&words[0], second));
	bit_waitqueue_get(&words[0], first);
	bit_waitqueue_put(&words[0], second);
	KUNIT_EXPECT_TRUE(test, looks_at_queue(&words[0], first));
	bit_waitqueue_put(&words[0], first);
}

/*
 * Tasks. Their data is static, because a task that was never woken stays in its
 * queue after a failed test.
 */
struct sleeper {
	struct task_struct	*task;
	bool			started;
	bool			pinned;
	struct completion	done;
	int			(*wait)(struct sleeper *sleeper);
	unsigned long		*word;
	struct folio		*folio;
	int			result;
};

static struct sleeper sleepers[16];

static void pin_to_first_cpu(void)
{
	unsigned int cpu = cpumask_first(cpu_online_mask);

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

static int sleeper_thread(void *data)
{
	struct sleeper *sleeper = data;

	allow_signal(SIGKILL);
	if (sleeper->pinned)
		pin_to_first_cpu();
	WRITE_ONCE(sleeper->started, true);
	sleeper->result = sleeper->wait(sleeper);
	complete(&sleeper->done);
	return 0;
}

/* A task is queued before it sets its state to sleeping. */
static bool sleeper_waits(struct sleeper *sleeper)
{
	return READ_ONCE(sleeper->started) &&
	       READ_ONCE(sleeper->task->__state) & TASK_UNINTERRUPTIBLE;
}

static void sleeper_start(struct kunit *test, struct sleeper *sleeper,
			  int (*wait)(struct sleeper *sleeper))
{
	unsigned long end = jiffies + PATIENCE;

	init_completion(&sleeper->done);
	sleeper->started = false;
	sleeper->wait = wait;
	sleeper->task = kthread_run(sleeper_thread, sleeper, "wait_filter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(sleeper->task));
	while (!sleeper_waits(sleeper) && time_before(jiffies, end))
		msleep(20);
	KUNIT_ASSERT_TRUE(test, sleeper_waits(sleeper));
}

static bool sleeper_ends(struct sleeper *sleeper)
{
	return wait_for_completion_timeout(&sleeper->done, PATIENCE);
}

static bool sleeper_sleeps(struct sleeper *sleeper)
{
	msleep(20);
	return !completion_done(&sleeper->done);
}

static int wait_bit_0(struct sleeper *sleeper)
{
	return wait_on_bit(sleeper->word, 0, TASK_UNINTERRUPTIBLE);
}

static void wait_filter_test_tasks(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sleepers); i++) {
		words[i] = 1;
		sleepers[i].word = &words[i];
		sleeper_start(test, &sleepers[i], wait_bit_0);
	}
	/* Wake the last first, so that each is behind others. */
	for (i = ARRAY_SIZE(sleepers); i--;) {
		KUNIT_EXPECT_TRUE(test, sleeper_sleeps(&sleepers[i]));
		clear_and_wake_up_bit(0, &words[i]);
		KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[i]));
		KUNIT_EXPECT_EQ(test, sleepers[i].result, 0);
	}
}

static int lock_bit_0(struct sleeper *sleeper)
{
	return wait_on_bit_lock(sleeper->word, 0, TASK_UNINTERRUPTIBLE);
}

/* Each wakeup lets one task take the bit. */
static void wait_filter_test_bit_lock(struct kunit *test)
{
	unsigned int i, turn, done;

	words[0] = 1;
	for (i = 0; i < 4; i++) {
		sleepers[i].word = &words[0];
		sleeper_start(test, &sleepers[i], lock_bit_0);
	}
	for (turn = 1; turn <= 4; turn++) {
		clear_and_wake_up_bit(0, &words[0]);
		KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[turn - 1]));
		msleep(20);
		for (i = 0, done = turn; i < 4; i++)
			done += completion_done(&sleepers[i].done);
		KUNIT_EXPECT_EQ(test, done, turn);
		KUNIT_EXPECT_EQ(test, words[0], 1);
	}
	words[0] = 0;
}

static struct folio *new_folio(struct kunit *test)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	return folio;
}

static int wait_unlocked(struct sleeper *sleeper)
{
	folio_wait_locked(sleeper->folio);
	return 0;
}

static int wait_killable(struct sleeper *sleeper)
{
	return folio_wait_locked_killable(sleeper->folio);
}

static int wait_private_2(struct sleeper *sleeper)
{
	folio_wait_private_2(sleeper->folio);
	return 0;
}

static int lock_folio(struct sleeper *sleeper)
{
	folio_lock(sleeper->folio);
	return 0;
}

static void wait_filter_test_folios(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sleepers); i++) {
		sleepers[i].folio = new_folio(test);
		__folio_set_locked(sleepers[i].folio);
		sleeper_start(test, &sleepers[i], wait_unlocked);
		KUNIT_EXPECT_TRUE(test, folio_test_waiters(sleepers[i].folio));
	}
	for (i = ARRAY_SIZE(sleepers); i--;) {
		KUNIT_EXPECT_TRUE(test, sleeper_sleeps(&sleepers[i]));
		folio_unlock(sleepers[i].folio);
		KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[i]));
		folio_put(sleepers[i].folio);
	}
}

/* A wakeup ends at the first task that wants the lock; the rest wait. */
static void wait_filter_test_folio_lock(struct kunit *test)
{
	struct folio *folio = new_folio(test);
	unsigned int i;

	__folio_set_locked(folio);
	for (i = 0; i < 4; i++) {
		sleepers[i].folio = folio;
		sleeper_start(test, &sleepers[i],
			      i % 2 ? lock_folio : wait_unlocked);
	}
	folio_unlock(folio);
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[0]));
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[1]));
	KUNIT_EXPECT_TRUE(test, sleeper_sleeps(&sleepers[2]));
	KUNIT_EXPECT_TRUE(test, sleeper_sleeps(&sleepers[3]));
	KUNIT_EXPECT_TRUE(test, folio_test_locked(folio));
	folio_unlock(folio);
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[2]));
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[3]));
	folio_unlock(folio);
	folio_put(folio);
}

/* Unlock and lock again before a task that this wakes can lock the folio. */
static bool steal_lock(struct folio *folio)
{
	folio_unlock(folio);
	return folio_trylock(folio);
}

/*
 * A task from which the lock was stolen too often gets the lock handed over,
 * never free in between. This thread steals the lock, on the CPU of the other
 * tasks, which cannot preempt it.
 */
static void wait_filter_test_hand_off(struct kunit *test)
{
	struct folio *folio = new_folio(test);
	unsigned long end;
	unsigned int i;

	/* Each case has its own thread: no need to undo this. */
	pin_to_first_cpu();
	sched_set_fifo(current);
	__folio_set_locked(folio);
	for (i = 0; i < 4; i++) {
		sleepers[i].folio = folio;
		sleepers[i].pinned = true;
		sleeper_start(test, &sleepers[i], lock_folio);
		sleepers[i].pinned = false;
	}
	for (i = 0, end = jiffies + PATIENCE; i < 4; i++) {
		while (steal_lock(folio)) {
			KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
			/* Let the woken task queue itself again. */
			msleep(20);
		}
		KUNIT_EXPECT_TRUE(test, folio_test_locked(folio));
		KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[i]));
	}
	folio_unlock(folio);
	KUNIT_EXPECT_FALSE(test, folio_test_locked(folio));
	folio_put(folio);
}

/* A waiter for another bit of the folio must not be forgotten. */
static void wait_filter_test_other_bit(struct kunit *test)
{
	struct folio *folio = new_folio(test);

	__folio_set_locked(folio);
	folio_get(folio);
	folio_set_private_2(folio);
	sleepers[0].folio = folio;
	sleeper_start(test, &sleepers[0], wait_private_2);
	folio_unlock(folio);
	KUNIT_EXPECT_TRUE(test, folio_test_waiters(folio));
	KUNIT_EXPECT_TRUE(test, sleeper_sleeps(&sleepers[0]));
	folio_end_private_2(folio);
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[0]));
	folio_put(folio);
}

/* A killed task leaves the queue by itself; those behind are still woken. */
static void wait_filter_test_killed(struct kunit *test)
{
	struct folio *folio = new_folio(test);
	unsigned int i;

	__folio_set_locked(folio);
	for (i = 0; i < 4; i++) {
		sleepers[i].folio = folio;
		sleeper_start(test, &sleepers[i], wait_killable);
	}
	send_sig(SIGKILL, sleepers[0].task, 1);
	send_sig(SIGKILL, sleepers[2].task, 1);
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[0]));
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[2]));
	KUNIT_EXPECT_TRUE(test, sleeper_sleeps(&sleepers[1]));
	folio_unlock(folio);
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[1]));
	KUNIT_ASSERT_TRUE(test, sleeper_ends(&sleepers[3]));
	KUNIT_EXPECT_EQ(test, sleepers[0].result, -EINTR);
	KUNIT_EXPECT_EQ(test, sleepers[1].result, 0);
	KUNIT_EXPECT_EQ(test, sleepers[2].result, -EINTR);
	KUNIT_EXPECT_EQ(test, sleepers[3].result, 0);
	folio_put(folio);
}

static struct kunit_case wait_filter_cases[] = {
	KUNIT_CASE(wait_filter_test_key),
	KUNIT_CASE(wait_filter_test_order),
	KUNIT_CASE(wait_filter_test_exclusive),
	KUNIT_CASE(wait_filter_test_negative_ends),
	KUNIT_CASE(wait_filter_test_unknown),
	KUNIT_CASE(wait_filter_test_removal),
	KUNIT_CASE(wait_filter_test_one_queue),
	KUNIT_CASE(wait_filter_test_met),
	KUNIT_CASE(wait_filter_test_counters),
	KUNIT_CASE(wait_filter_test_table),
	KUNIT_CASE(wait_filter_test_variable),
	KUNIT_CASE(wait_filter_test_empty),
	KUNIT_CASE(wait_filter_test_counted),
	KUNIT_CASE(wait_filter_test_shared_counter),
	KUNIT_CASE(wait_filter_test_tasks),
	KUNIT_CASE(wait_filter_test_bit_lock),
	KUNIT_CASE(wait_filter_test_folios),
	KUNIT_CASE(wait_filter_test_folio_lock),
	KUNIT_CASE(wait_filter_test_hand_off),
	KUNIT_CASE(wait_filter_test_other_bit),
	KUNIT_CASE(wait_filter_test_killed),
	{}
};

static struct kunit_suite wait_filter_suite = {
	.name		= "wait_filter",
	.test_cases	= wait_filter_cases,
};

kunit_test_suite(wait_filter_suite);

MODULE_DESCRIPTION("KUnit test for filtered wakeups");
MODULE_LICENSE("GPL");
