// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for filtered wakeups.
 *
 * The rules are those of an unfiltered wake-up, so that most cases pass with
 * and without CONFIG_FILTERED_WAKEUPS; those that look for a call that must not
 * happen are skipped without. Boot with hash_entries=bit_wait:2,folio_wait:2 to
 * let nearly everything share a queue.
 *
 * First come queues without tasks: their entries have a function that writes
 * down that it was called, so that order and end of the walk show. Then tasks
 * that wait for real bits, variables and folios.
 */

#include <kunit/test.h>
#include <linux/boot_hash_stats.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/wait_filter.h>

#define FILTERED	IS_ENABLED(CONFIG_FILTERED_WAKEUPS)

/* A task that does not go on within this time never will. */
#define PATIENCE	(30 * HZ)

static unsigned long words[64];

/* An entry whose function writes down when it was called. */
struct probe {
	struct wait_bit_queue_entry	wait;
	bool				any_key;	/* it waits for all */
	int				result;
	unsigned int			calls;
	unsigned int			turn;	/* of the last call */
};

static unsigned int turns;

/* Called for a key that is not its own, it behaves as wake_bit_function(). */
static int probe_function(struct wait_queue_entry *entry, unsigned int mode,
			  int flags, void *arg)
{
	struct probe *probe = container_of(entry, struct probe, wait.wq_entry);
	struct wait_bit_key *key = arg;

	probe->calls++;
	if (!probe->any_key &&
	    (probe->wait.key.flags != key->flags ||
	     probe->wait.key.bit_nr != key->bit_nr))
		return 0;
	probe->turn = ++turns;
	return probe->result;
}

static void probe_init(struct probe *probe, void *word, int nr, int result,
		       unsigned int flags)
{
	DEFINE_WAIT_BIT(wait, word, nr);

	*probe = (struct probe){ .wait = wait, .result = result };
	probe->wait.wq_entry.func = probe_function;
	probe->wait.wq_entry.flags |= flags;
}

/* Hang @probe behind those that are there. */
static void probe_add(struct wait_queue_head *queue, struct probe *probe,
		      void *word, int nr, int result, unsigned int flags)
{
	probe_init(probe, word, nr, result, flags);
	spin_lock_irq(&queue->lock);
	__add_wait_queue_entry_tail(queue, &probe->wait.wq_entry);
	spin_unlock_irq(&queue->lock);
}

static void probe_add_without_key(struct wait_queue_head *queue,
				  struct probe *probe, int result)
{
	probe_add(queue, probe, NULL, 0, result, 0);
	probe->wait.wq_entry.flags &= ~WQ_FLAG_KEYED;
	probe->any_key = true;
}

static void wake(struct wait_queue_head *queue, void *word, int nr)
{
	struct wait_bit_key key = __WAIT_BIT_KEY_INITIALIZER(word, nr);

	turns = 0;
	wake_up_filtered(queue, word, nr, &key, NULL);
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
		if (FILTERED)
			KUNIT_EXPECT_EQ_MSG(test, probes[i].calls,
					    cases[i].match, "case %u", i);
	}
}

static void wait_filter_test_order(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe probes[9];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (i % 3 == 2)
			probe_add_without_key(&queue, &probes[i], 1);
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
	/* One that could not be woken does not use up the wake-up. */
	KUNIT_EXPECT_EQ(test, busy.turn, 2);
	KUNIT_EXPECT_EQ(test, first.turn, 3);
	KUNIT_EXPECT_EQ(test, second.calls, 0);
	KUNIT_EXPECT_EQ(test, last.calls, 0);
}

/* "The lock is taken": nobody behind may be woken. */
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

static void wait_filter_test_without_key(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe first, second;

	probe_add_without_key(&queue, &first, 0);
	probe_add_without_key(&queue, &second, 1);
	wake(&queue, &words[0], 0);
	wake(&queue, &words[1], 5);
	wake(&queue, NULL, 0);
	KUNIT_EXPECT_EQ(test, first.calls, 3);
	KUNIT_EXPECT_EQ(test, second.calls, 3);
}

/* As autoremove_wake_function(), but what is woken is gone at once. */
static int vanish_function(struct wait_queue_entry *entry, unsigned int mode,
			   int flags, void *arg)
{
	struct probe *probe = container_of(entry, struct probe, wait.wq_entry);

	list_del(&entry->entry);
	memset(probe, 0xff, sizeof(*probe));
	kfree(probe);
	return 1;
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

/* All keys in one queue: each wake-up finds its own, and no other. */
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
	for (i = 0; FILTERED && i < ARRAY_SIZE(words); i++)
		KUNIT_EXPECT_EQ(test, probes[i].calls, 1);
}

/* The same in the table of the kernel. */
static void wait_filter_test_table(struct kunit *test)
{
	struct probe *probes;
	unsigned int i;

	probes = kunit_kcalloc(test, ARRAY_SIZE(words), sizeof(*probes),
			       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		probe_add(bit_waitqueue(&words[i], i), &probes[i], &words[i],
			  i, 1, 0);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		wake_up_bit(&words[i], i);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		remove_wait_queue(bit_waitqueue(&words[i], i),
				  &probes[i].wait.wq_entry);
		KUNIT_EXPECT_NE(test, probes[i].turn, 0);
		if (FILTERED)
			KUNIT_EXPECT_EQ(test, probes[i].calls, 1);
	}
}

static void wait_filter_test_variable(struct kunit *test)
{
	struct wait_queue_head *queue = __var_waitqueue(&words[0]);
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
}

static bool word_met(struct wait_queue_head *queue, void *word, int nr)
{
	struct wait_bit_key key = __WAIT_BIT_KEY_INITIALIZER(word, nr);
	bool met;

	spin_lock_irq(&queue->lock);
	met = __wake_up_locked_filtered(queue, word, nr, &key, NULL);
	spin_unlock_irq(&queue->lock);
	return met;
}

/* folio_wake_bit() keeps PG_waiters by this. */
static void wait_filter_test_word_met(struct kunit *test)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe foreign, number, plain;

	if (!FILTERED)
		kunit_skip(test, "CONFIG_FILTERED_WAKEUPS=n");
	KUNIT_EXPECT_FALSE(test, word_met(&queue, &words[0], 0));
	probe_add_without_key(&queue, &plain, 0);
	probe_add(&queue, &foreign, &words[1], 0, 1, 0);
	KUNIT_EXPECT_FALSE(test, word_met(&queue, &words[0], 0));
	probe_add(&queue, &number, &words[0], 7, 1, 0);
	KUNIT_EXPECT_TRUE(test, word_met(&queue, &words[0], 0));
	KUNIT_EXPECT_EQ(test, number.calls, 0);
	KUNIT_EXPECT_TRUE(test, word_met(&queue, &words[0], 7));
	KUNIT_EXPECT_EQ(test, number.calls, 1);
}

#if defined(CONFIG_HASHSTATS) && defined(CONFIG_FILTERED_WAKEUPS)

static DEFINE_PER_CPU(struct boot_hash_wakes, wakes);

static void wait_filter_test_counters(struct kunit *test)
{
	struct boot_hash hash = { .name = "test", .wakes = &wakes };
	struct boot_hash_wakes sum = {};
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct probe foreign, number, plain, own, behind;
	struct wait_bit_key key = __WAIT_BIT_KEY_INITIALIZER(&words[0], 0);
	bool was_on = boot_hash_counting_is_on();
	int cpu;

	probe_add(&queue, &foreign, &words[1], 0, 1, 0);
	probe_add(&queue, &number, &words[0], 1, 1, 0);
	probe_add_without_key(&queue, &plain, 0);
	probe_add(&queue, &own, &words[0], 0, 1, WQ_FLAG_EXCLUSIVE);
	probe_add(&queue, &behind, &words[0], 0, 1, WQ_FLAG_EXCLUSIVE);

	boot_hash_counting_set(false);
	wake_up_filtered(&queue, &words[0], 0, &key, &hash);
	boot_hash_counting_set(true);
	wake_up_filtered(&queue, &words[0], 0, &key, &hash);
	wake_up_filtered(&queue, &words[2], 0, &key, &hash);
	boot_hash_counting_set(was_on);

	for_each_possible_cpu(cpu) {
		const struct boot_hash_wakes *of_cpu = per_cpu_ptr(&wakes, cpu);

		sum.wakes += of_cpu->wakes;
		sum.examined += of_cpu->examined;
		sum.matched += of_cpu->matched;
		sum.called += of_cpu->called;
		memset(per_cpu_ptr(&wakes, cpu), 0, sizeof(wakes));
	}
	KUNIT_EXPECT_EQ(test, sum.wakes, 2);
	KUNIT_EXPECT_EQ(test, sum.examined, 4 + 5);
	KUNIT_EXPECT_EQ(test, sum.matched, 1);
	KUNIT_EXPECT_EQ(test, sum.called, 2 + 1);
}

#else

static void wait_filter_test_counters(struct kunit *test)
{
	kunit_skip(test, "CONFIG_HASHSTATS=n or CONFIG_FILTERED_WAKEUPS=n");
}

#endif

/*
 * Tasks. What they use outlives a test that failed: a task that was never woken
 * still stands in its queue.
 */
struct sleeper {
	struct task_struct	*task;
	bool			started;
	struct completion	done;
	int			(*wait)(struct sleeper *sleeper);
	unsigned long		*word;
	struct folio		*folio;
	int			result;
};

static struct sleeper sleepers[16];

static int sleeper_thread(void *data)
{
	struct sleeper *sleeper = data;

	allow_signal(SIGKILL);
	WRITE_ONCE(sleeper->started, true);
	sleeper->result = sleeper->wait(sleeper);
	complete(&sleeper->done);
	return 0;
}

/* Who sleeps is in the queue: the state is set after that. */
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
	/* From the last to the first, so that each is behind others. */
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

/* Each wake-up lets one of those in who want to have the bit. */
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

/* A wake-up ends at the first who wants the lock; who is behind waits on. */
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

/*
 * When the lock was stolen too often, or at once with an unfairness of 0, it is
 * handed over: it is never free between.
 */
static void wait_filter_test_hand_off(struct kunit *test)
{
	int unfairness = sysctl_page_lock_unfairness;
	struct folio *folio = new_folio(test);
	unsigned int i;

	sysctl_page_lock_unfairness = 0;
	__folio_set_locked(folio);
	for (i = 0; i < 4; i++) {
		sleepers[i].folio = folio;
		sleeper_start(test, &sleepers[i], lock_folio);
	}
	/* They have read it. */
	sysctl_page_lock_unfairness = unfairness;
	for (i = 0; i < 4; i++) {
		folio_unlock(folio);
		KUNIT_EXPECT_TRUE(test, folio_test_locked(folio));
		KUNIT_EXPECT_FALSE(test, folio_trylock(folio));
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

/* Who is killed leaves the queue by itself; those behind are still woken. */
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
	KUNIT_CASE(wait_filter_test_without_key),
	KUNIT_CASE(wait_filter_test_removal),
	KUNIT_CASE(wait_filter_test_one_queue),
	KUNIT_CASE(wait_filter_test_table),
	KUNIT_CASE(wait_filter_test_variable),
	KUNIT_CASE(wait_filter_test_word_met),
	KUNIT_CASE(wait_filter_test_counters),
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
