// SPDX-License-Identifier: GPL-2.0
/*
 * Stress test for waits on bits, variables and folios: no wakeup may get lost.
 *
 * Write the number of waits, 1 to 10^9, to
 * /sys/kernel/debug/wait_filter_stress. The write returns after the last wait,
 * or fails with EIO if no wait ends for a minute. The kernel log has the
 * counts.
 *
 * The first part has threads that work in pairs. Each has a gate: a bit, a
 * variable or a folio that is locked. A thread waits for its gate to open. It
 * shuts it, and opens the partner's gate, once. Only the partner opens it, so
 * after a lost wakeup the pair stops. Some waits are interruptible or time out.
 * A thread sometimes sends a signal before it opens a gate. A thread that
 * returns early waits again. In 1 of 8 waits for a bit or variable, a timeout
 * hides a lost wakeup.
 *
 * Other threads contend for a bit and a folio as locks. The queues of the first
 * gates have entries whose wake functions the filter does not know. Each
 * opening of these gates must call them.
 *
 * The second part has one waiter and one waker on two CPUs. If no other task
 * shares its counter, each wait takes the counter before the queues from 0 to 1
 * and back. The waker tests it at a random time meanwhile.
 *
 * Boot with hash_entries=bit_wait:2,folio_wait:2 to use two queues only.
 */

#define pr_fmt(fmt) "wait_filter_stress: " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>

#define PAIRS		24
#define LOCKERS		8
#define THREADS		(2 * PAIRS + LOCKERS)
#define MOST_WAITS	1000000000UL

/* If no wait ends for this time, a wakeup was lost. Emulators are slow. */
#define PATIENCE	(60 * HZ)

enum gate_kind { BIT, VARIABLE, FOLIO, KINDS };

struct gate {
	enum gate_kind	kind;
	unsigned long	word;		/* bit 0 is set: shut */
	int		variable;	/* not 0: shut */
	struct folio	*folio;		/* locked: shut */
};

/* Each thread has its own. */
struct tally {
	unsigned long	waits;
	unsigned long	signals;	/* waits ended by one */
	unsigned long	timeouts;
	unsigned long	early;		/* by the previous wakeup */
	unsigned long	sleeps;		/* voluntary switches */
	unsigned long	wrong;		/* gate was shut, or lock shared */
};

struct worker {
	struct task_struct	*task;
	struct gate		gate;
	struct worker		*partner;
	unsigned long		quota;
	struct tally		tally;
	struct rnd_state	random;
};

/* Static, because a thread that is never woken never stops using them. */
static struct worker workers[THREADS];
static unsigned long lock_word;
static struct folio *lock_folio;
static unsigned int inside_bit, inside_folio;
static atomic_t running;
static DECLARE_COMPLETION(all_ended);
static bool broken;
static DEFINE_MUTEX(stress_mutex);

/* An entry that the filter does not know, and how often it was called. */
struct bystander {
	struct wait_queue_entry	entry;
	struct wait_queue_head	*queue;
	void			*word;		/* its key */
	atomic_long_t		calls;		/* for this key */
};

static struct bystander bystanders[2];
static atomic_long_t opened[2];

static int bystander_function(struct wait_queue_entry *entry, unsigned int mode,
			      int flags, void *key)
{
	struct bystander *bystander = container_of(entry, struct bystander, entry);
	struct wait_bit_key *opened_key = key;

	if (opened_key->flags == bystander->word)
		atomic_long_inc(&bystander->calls);
	return 0;
}

static void gate_shut(struct gate *gate)
{
	switch (gate->kind) {
	case BIT:
		set_bit(0, &gate->word);
		break;
	case VARIABLE:
		WRITE_ONCE(gate->variable, 1);
		break;
	default:
		folio_lock(gate->folio);
	}
}

static void gate_open(struct gate *gate)
{
	switch (gate->kind) {
	case BIT:
		clear_and_wake_up_bit(0, &gate->word);
		break;
	case VARIABLE:
		store_release_wake_up(&gate->variable, 0);
		break;
	default:
		folio_unlock(gate->folio);
	}
}

static bool gate_is_open(struct gate *gate)
{
	switch (gate->kind) {
	case BIT:
		return !test_bit_acquire(0, &gate->word);
	case VARIABLE:
		/* Pairs with store_release_wake_up() in gate_open(). */
		return !smp_load_acquire(&gate->variable);
	default:
		return !folio_test_locked(gate->folio);
	}
}

/* 0, -EAGAIN after a timeout, or another error after a signal. */
static int wait_bit_once(struct gate *gate, unsigned int how)
{
	switch (how) {
	case 0:
		return wait_on_bit(&gate->word, 0, TASK_INTERRUPTIBLE);
	case 1:
		return wait_on_bit_timeout(&gate->word, 0, TASK_UNINTERRUPTIBLE,
					   1);
	case 2:
		return wait_on_bit_io(&gate->word, 0, TASK_KILLABLE);
	default:
		return wait_on_bit(&gate->word, 0, TASK_UNINTERRUPTIBLE);
	}
}

static int wait_variable_once(struct gate *gate, unsigned int how)
{
	switch (how) {
	case 0:
		return wait_var_event_interruptible(&gate->variable,
						    gate_is_open(gate));
	case 1:
		return wait_var_event_timeout(&gate->variable,
					      gate_is_open(gate), 1) ?
			0 : -EAGAIN;
	case 2:
		return wait_var_event_killable(&gate->variable,
					       gate_is_open(gate));
	default:
		wait_var_event(&gate->variable, gate_is_open(gate));
		return 0;
	}
}

static int wait_folio_once(struct gate *gate, unsigned int how)
{
	int err;

	switch (how) {
	case 0:
		return folio_wait_locked_killable(gate->folio);
	case 1:
		/* Takes the lock and gives it back: the gate stays open. */
		err = folio_lock_killable(gate->folio);
		if (!err)
			folio_unlock(gate->folio);
		return err;
	case 2:
		folio_lock(gate->folio);
		folio_unlock(gate->folio);
		return 0;
	default:
		folio_wait_locked(gate->folio);
		return 0;
	}
}

static int gate_wait_once(struct gate *gate, unsigned int how)
{
	switch (gate->kind) {
	case BIT:
		return wait_bit_once(gate, how);
	case VARIABLE:
		return wait_variable_once(gate, how);
	default:
		return wait_folio_once(gate, how);
	}
}

/*
 * A task that waits for a folio to be unlocked, without taking the lock, is
 * woken by any wakeup for it. It may be that of the previous unlock, if the
 * partner was delayed before it. So test again, as folio_wait_writeback() does.
 * Waits for a bit or a variable do so themselves.
 */
static bool woken_early(struct worker *worker)
{
	if (worker->gate.kind != FOLIO || gate_is_open(&worker->gate))
		return false;
	worker->tally.early++;
	return true;
}

static void gate_wait(struct worker *worker)
{
	int err;

	do {
		err = gate_wait_once(&worker->gate,
				     prandom_u32_state(&worker->random) % 8);
		if (err == -EAGAIN) {
			worker->tally.timeouts++;
		} else if (err) {
			worker->tally.signals++;
			flush_signals(current);
		}
	} while (err || woken_early(worker));
	if (!gate_is_open(&worker->gate))
		worker->tally.wrong++;
}

static void count_opened(const struct worker *worker)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opened); i++)
		if (worker == &workers[2 * i])
			atomic_long_inc(&opened[i]);
}

static void pair_work(struct worker *worker)
{
	struct worker *partner = worker->partner;

	while (worker->tally.waits < worker->quota) {
		gate_wait(worker);
		gate_shut(&worker->gate);
		if (prandom_u32_state(&worker->random) % 8 == 0)
			send_sig(prandom_u32_state(&worker->random) % 2 ?
				 SIGKILL : SIGUSR1, partner->task, 1);
		gate_open(&partner->gate);
		count_opened(partner);
		WRITE_ONCE(worker->tally.waits, worker->tally.waits + 1);
	}
}

/* Hold a lock long enough, now and then, for the others to queue up. */
static void linger(struct worker *worker)
{
	if (prandom_u32_state(&worker->random) % 256 == 0)
		schedule_timeout_uninterruptible(1);
}

static void locker_work(struct worker *worker)
{
	while (worker->tally.waits < worker->quota) {
		if (wait_on_bit_lock(&lock_word, 0, TASK_UNINTERRUPTIBLE) ||
		    inside_bit++)
			worker->tally.wrong++;
		linger(worker);
		inside_bit--;
		clear_and_wake_up_bit(0, &lock_word);

		folio_lock(lock_folio);
		if (inside_folio++)
			worker->tally.wrong++;
		linger(worker);
		inside_folio--;
		folio_unlock(lock_folio);
		WRITE_ONCE(worker->tally.waits, worker->tally.waits + 2);
	}
}

static int stress_worker(void *data)
{
	struct worker *worker = data;

	allow_signal(SIGUSR1);
	allow_signal(SIGKILL);
	if (worker->partner)
		pair_work(worker);
	else
		locker_work(worker);
	worker->tally.sleeps = current->nvcsw;
	if (atomic_dec_and_test(&running))
		complete(&all_ended);
	return 0;
}

static int gate_init(struct gate *gate, unsigned int number)
{
	*gate = (struct gate){ .kind = number % KINDS };
	if (gate->kind == FOLIO) {
		gate->folio = folio_alloc(GFP_KERNEL, 0);
		if (!gate->folio)
			return -ENOMEM;
	}
	gate_shut(gate);
	return 0;
}

static void gates_free(void)
{
	unsigned int i;

	for (i = 0; i < 2 * PAIRS; i++) {
		struct folio *folio = workers[i].gate.folio;

		workers[i].gate.folio = NULL;
		if (!folio)
			continue;
		if (folio_test_locked(folio))
			folio_unlock(folio);
		folio_put(folio);
	}
	if (lock_folio)
		folio_put(lock_folio);
	lock_folio = NULL;
}

static void put_tasks(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		if (workers[i].task)
			put_task_struct(workers[i].task);
}

static int workers_init(unsigned long waits)
{
	unsigned int i;
	int err;

	memset(workers, 0, sizeof(workers));
	lock_folio = folio_alloc(GFP_KERNEL, 0);
	if (!lock_folio)
		return -ENOMEM;
	for (i = 0; i < THREADS; i++) {
		struct worker *worker = &workers[i];

		prandom_seed_state(&worker->random, i + 1);
		worker->quota = DIV_ROUND_UP(waits, THREADS);
		if (i >= 2 * PAIRS)
			continue;
		worker->partner = &workers[i ^ 1];
		/* Pairs of a bit and a folio, a variable and a bit, ... */
		err = gate_init(&worker->gate, i / 2 + i % 2 * 2);
		if (err)
			return err;
	}
	return 0;
}

static int create_threads(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		struct task_struct *task;

		task = kthread_create(stress_worker, &workers[i], "wait_stress/%u",
				      i);
		if (IS_ERR(task)) {
			/* kthread_stop() ends unstarted ones. */
			while (i--) {
				kthread_stop(workers[i].task);
				put_task_struct(workers[i].task);
				workers[i].task = NULL;
			}
			return PTR_ERR(task);
		}
		workers[i].task = get_task_struct(task);
	}
	return 0;
}

static void bystanders_add(void)
{
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(bystanders) != ARRAY_SIZE(opened));
	for (i = 0; i < ARRAY_SIZE(bystanders); i++) {
		struct bystander *bystander = &bystanders[i];
		struct gate *gate = &workers[2 * i].gate;

		WARN_ON_ONCE(gate->kind == FOLIO);
		if (gate->kind == BIT) {
			bystander->word = &gate->word;
			bystander->queue = bit_waitqueue_get(&gate->word, 0);
		} else {
			bystander->word = &gate->variable;
			bystander->queue = var_waitqueue_get(&gate->variable);
		}
		atomic_long_set(&bystander->calls, 0);
		atomic_long_set(&opened[i], 0);
		init_waitqueue_func_entry(&bystander->entry, bystander_function);
		add_wait_queue(bystander->queue, &bystander->entry);
	}
}

static unsigned long bystanders_remove(void)
{
	unsigned long missed = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bystanders); i++) {
		long calls, wakes = atomic_long_read(&opened[i]);

		remove_wait_queue(bystanders[i].queue, &bystanders[i].entry);
		if (workers[2 * i].gate.kind == BIT)
			bit_waitqueue_put(bystanders[i].word, 0);
		else
			var_waitqueue_put(bystanders[i].word);
		calls = atomic_long_read(&bystanders[i].calls);
		/* The entry was queued: each opening must have called it. */
		missed += abs(wakes - calls);
	}
	return missed;
}

static struct tally sum_tallies(void)
{
	struct tally sum = {};
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		sum.waits += workers[i].tally.waits;
		sum.signals += workers[i].tally.signals;
		sum.timeouts += workers[i].tally.timeouts;
		sum.early += workers[i].tally.early;
		sum.sleeps += workers[i].tally.sleeps;
		sum.wrong += workers[i].tally.wrong;
	}
	return sum;
}

static unsigned long pairs_done(void)
{
	unsigned long waits = 0;
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		waits += READ_ONCE(workers[i].tally.waits);
	return waits;
}

/* Returns false if no wait ends any more. */
static bool wait_for_threads(unsigned long (*waits_done)(void))
{
	unsigned long before, waits = 0, since = jiffies;

	while (!wait_for_completion_timeout(&all_ended, HZ)) {
		before = waits;
		waits = waits_done();
		if (waits != before)
			since = jiffies;
		else if (time_after(jiffies, since + PATIENCE))
			return false;
	}
	return true;
}

static void report_stuck(void)
{
	static const char * const names[] = { "bit", "variable", "folio" };
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		struct worker *worker = &workers[i];

		if (READ_ONCE(worker->tally.waits) >= worker->quota)
			continue;
		if (!worker->partner)
			pr_err("thread %u waits for a lock\n", i);
		else
			pr_err("thread %u waits for a %s that is %s\n", i,
			       names[worker->gate.kind],
			       gate_is_open(&worker->gate) ? "open" : "shut");
	}
}

static int run_pairs(unsigned long waits)
{
	unsigned long missed;
	struct tally sum;
	unsigned int i;
	int err;

	err = workers_init(waits);
	if (!err)
		err = create_threads();
	if (err) {
		gates_free();
		return err;
	}
	bystanders_add();
	reinit_completion(&all_ended);
	atomic_set(&running, THREADS);
	for (i = 0; i < THREADS; i++)
		wake_up_process(workers[i].task);
	for (i = 0; i < 2 * PAIRS; i += 2) {
		gate_open(&workers[i].gate);
		count_opened(&workers[i]);
	}
	if (!wait_for_threads(pairs_done)) {
		broken = true;
		report_stuck();
		pr_err("a wakeup was lost: no wait ended for %u s\n",
		       PATIENCE / HZ);
		return -EIO;
	}
	missed = bystanders_remove();
	sum = sum_tallies();
	put_tasks();
	gates_free();
	pr_info("%lu waits, %lu sleeps, %lu cut short by signals, %lu by timeouts, %lu woken early\n",
		sum.waits, sum.sleeps, sum.signals, sum.timeouts, sum.early);
	if (sum.wrong || missed) {
		pr_err("%lu waits ended too early or not exclusive, %lu missed or surplus calls\n",
		       sum.wrong, missed);
		return -EIO;
	}
	return 0;
}

/* One waiter and one waker. */
static struct {
	struct task_struct	*waiter;
	struct task_struct	*waker;
	unsigned long		quota;
	unsigned long		round;		/* whose gate is shut */
	unsigned long		word;		/* in odd rounds: bit 0 is set */
	int			variable;	/* in even rounds: not 0 */
	unsigned long		sleeps;
	unsigned long		wrong;
} duo;

static unsigned long duo_done(void)
{
	return READ_ONCE(duo.round);
}

static int duo_waiter(void *unused)
{
	unsigned long round;

	for (round = 1; round <= duo.quota; round++) {
		if (round % 2)
			set_bit(0, &duo.word);
		else
			WRITE_ONCE(duo.variable, 1);
		/* Pairs with smp_load_acquire() in duo_waker(). */
		smp_store_release(&duo.round, round);
		if (round % 2) {
			wait_on_bit(&duo.word, 0, TASK_UNINTERRUPTIBLE);
			duo.wrong += test_bit_acquire(0, &duo.word);
		} else {
			wait_var_event(&duo.variable,
				       /* Pairs with store_release_wake_up(). */
				       !smp_load_acquire(&duo.variable));
			duo.wrong += READ_ONCE(duo.variable);
		}
		cond_resched();
	}
	duo.sleeps = current->nvcsw;
	if (atomic_dec_and_test(&running))
		complete(&all_ended);
	return 0;
}

static int duo_waker(void *unused)
{
	struct rnd_state random;
	unsigned long round;
	unsigned int delay;

	prandom_seed_state(&random, 1);
	for (round = 1; round <= duo.quota; round++) {
		/* Pairs with smp_store_release() in duo_waiter(). */
		while (smp_load_acquire(&duo.round) < round) {
			if (READ_ONCE(broken))
				return 0;
			cpu_relax();
			cond_resched();
		}
		/* The wakeup may precede, meet or follow the sleep. */
		delay = prandom_u32_state(&random) % 1024;
		for (delay = delay % 2 ? delay / 2 : delay / 64; delay; delay--)
			cpu_relax();
		if (round % 2)
			clear_and_wake_up_bit(0, &duo.word);
		else
			store_release_wake_up(&duo.variable, 0);
	}
	if (atomic_dec_and_test(&running))
		complete(&all_ended);
	return 0;
}

static int run_duo(unsigned long waits)
{
	unsigned int first = cpumask_first(cpu_online_mask);
	unsigned int second = cpumask_next(first, cpu_online_mask);

	if (second >= nr_cpu_ids) {
		pr_info("only one CPU, skipping one waiter and waker\n");
		return 0;
	}
	memset(&duo, 0, sizeof(duo));
	duo.quota = waits;
	duo.waiter = kthread_create(duo_waiter, NULL, "wait_stress/waiter");
	if (IS_ERR(duo.waiter))
		return PTR_ERR(duo.waiter);
	duo.waker = kthread_create(duo_waker, NULL, "wait_stress/waker");
	if (IS_ERR(duo.waker)) {
		kthread_stop(duo.waiter);
		return PTR_ERR(duo.waker);
	}
	kthread_bind(duo.waiter, first);
	kthread_bind(duo.waker, second);
	reinit_completion(&all_ended);
	atomic_set(&running, 2);
	wake_up_process(duo.waiter);
	wake_up_process(duo.waker);
	if (!wait_for_threads(duo_done)) {
		WRITE_ONCE(broken, true);
		pr_err("a wakeup was lost: wait %lu, for a %s that is %s, did not end for %u s\n",
		       duo_done(), duo_done() % 2 ? "bit" : "variable",
		       test_bit(0, &duo.word) || READ_ONCE(duo.variable) ?
		       "shut" : "open", PATIENCE / HZ);
		return -EIO;
	}
	pr_info("%lu waits of one waiter, %lu sleeps\n", waits, duo.sleeps);
	if (duo.wrong) {
		pr_err("%lu waits ended too early\n", duo.wrong);
		return -EIO;
	}
	return 0;
}

static int run(unsigned long waits)
{
	return run_pairs(waits) ?: run_duo(waits);
}

static ssize_t stress_write(struct file *file, const char __user *ubuf,
			    size_t count, loff_t *ppos)
{
	unsigned long waits;
	int err;

	err = kstrtoul_from_user(ubuf, count, 0, &waits);
	if (err)
		return err;
	if (!waits || waits > MOST_WAITS)
		return -EINVAL;
	mutex_lock(&stress_mutex);
	err = broken ? -EIO : run(waits);
	mutex_unlock(&stress_mutex);
	return err ?: count;
}

static const struct file_operations stress_fops = {
	.write	= stress_write,
	.llseek	= noop_llseek,
};

static int __init wait_filter_stress_init(void)
{
	debugfs_create_file("wait_filter_stress", 0200, NULL, NULL,
			    &stress_fops);
	return 0;
}
late_initcall(wait_filter_stress_init);
