// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds of a wakeup, with and without waiters in its queue.
 *
 * The first part times wakeups that find no waiter, of keys all over memory,
 * while the task reads a working set that takes part of the second level of
 * cache or all of it, with nobody waiting and among tasks that wait for other
 * keys all over memory.
 *
 * The second part has one entry that waits for the key of the wakeup, and W
 * foreign entries, which only share its queue. The entries have the wake
 * functions of the kernel and belong to this task, which is running. So the
 * walk of the queue and the calls are timed, without a task switch. The keys
 * are chosen to share one of 256 queues. In a larger table most of them have
 * other queues, and "queued" says how many foreign entries are in this one.
 *
 * harness/guest/uml.py builds this into user-mode Linux. It runs at the end of
 * the boot, on one CPU and before there is any process. The results go to the
 * log, then the machine is switched off.
 */
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/prandom.h>
#include <linux/sort.h>
#include <linux/wait_bit.h>

#include "../../lib/um/boot_hash_table.h"
#include "../../lib/um/um_bench.h"

#define TABLE_BITS	8		/* of the table without our series */
#define WAITERS_MAX	512
#define SAMPLES_MAX	100000U
#define STACK_SIZE	16384		/* of a task of x86-64 */
#define STACK_JITTER	1024		/* its random offset, below this */
#define STACKS_CHUNK	(CHUNK_SIZE / STACK_SIZE)

static unsigned int samples = 1000;
module_param(samples, uint, 0);
MODULE_PARM_DESC(samples, "Samples of each case");

static unsigned int evict_mb = 8;
module_param(evict_mb, uint, 0);
MODULE_PARM_DESC(evict_mb, "Memory to read before a wakeup out of cache, in MiB");

enum key_kind { KEY_BIT, KEY_VAR, KEY_FOLIO };
static const char * const key_names[] = { "bit", "var", "folio" };

enum layout { PACKED, STACKS };
static const char * const layout_names[] = { "packed", "stacks" };

/* One cache line is enough for either kind of entry, with its key. */
struct waiter {
	union {
		struct wait_bit_queue_entry bit;
		struct wait_page_queue page;
	};
};

static struct waiter *waiters[WAITERS_MAX];
static unsigned int nr_waiters;
static struct waiter own;
static wait_queue_func_t wake_page_function;

static void *foreign_keys[WAITERS_MAX];
static unsigned long word;
static struct folio *folio;

static struct waiter *packed;
static void *stacks[WAITERS_MAX / STACKS_CHUNK];
static u64 *cycles;

/* The series counts the entries before they are added. */
static wait_queue_head_t *get_queue(enum key_kind kind, void *key)
{
#ifdef HAVE_BOOT_HASH
	return kind == KEY_BIT ? bit_waitqueue_get(key, 0) : var_waitqueue_get(key);
#else
	return kind == KEY_BIT ? bit_waitqueue(key, 0) : __var_waitqueue(key);
#endif
}

static void put_queue(enum key_kind kind, void *key)
{
#ifdef HAVE_BOOT_HASH
	if (kind == KEY_BIT)
		bit_waitqueue_put(key, 0);
	else
		var_waitqueue_put(key);
#endif
}

/* Key number n that shares one of 256 queues with the key that is woken. */
static bool collides(enum key_kind kind, void *key)
{
	const int shift = kind == KEY_BIT ? 6 : 0;

	return hash_long((unsigned long)key << shift, TABLE_BITS) ==
	       hash_long((unsigned long)&word << shift, TABLE_BITS);
}

static void *own_key(enum key_kind kind)
{
	return kind == KEY_FOLIO ? (void *)folio : &word;
}

/*
 * Foreign keys need no object: a wakeup of one of them only tests a bit there.
 * Those of folios need not collide: an entry for any folio can be added to the
 * queue of ours.
 */
static void choose_keys(enum key_kind kind)
{
	struct rnd_state random;
	unsigned int n = 0;

	prandom_seed_state(&random, 1);
	while (n < WAITERS_MAX) {
		void *key = __va(((u64)prandom_u32_state(&random) << 3) % SZ_4G);

		if (key == own_key(kind))
			continue;
		if (kind == KEY_FOLIO || collides(kind, key))
			foreign_keys[n++] = key;
	}
}

static void set_up(struct waiter *waiter, enum key_kind kind, void *key)
{
	if (kind == KEY_FOLIO) {
		waiter->page = (struct wait_page_queue){
			.folio = key,
			.bit_nr = PG_locked,
		};
		init_waitqueue_func_entry(&waiter->page.wait, wake_page_function);
		waiter->page.wait.private = current;
	} else if (kind == KEY_VAR) {
		init_wait_var_entry(&waiter->bit, key, 0);
	} else {
		DEFINE_WAIT_BIT(entry, key, 0);

		waiter->bit = entry;
	}
}

/* Returns the queue, to be compared only. */
static wait_queue_head_t *queue(struct waiter *waiter, enum key_kind kind, void *key)
{
	wait_queue_head_t *head = NULL;

	if (kind == KEY_FOLIO) {
		folio_add_wait_queue(folio, &waiter->page.wait);
	} else {
		head = get_queue(kind, key);
		__add_wait_queue_entry_tail(head, &waiter->bit.wq_entry);
	}
	return head;
}

/* How many foreign waiters are in the queue that is woken. */
static unsigned int queue_all(enum key_kind kind, unsigned int wanted)
{
	static wait_queue_head_t *heads[WAITERS_MAX];
	wait_queue_head_t *head;
	unsigned int n, same = 0;

	nr_waiters = wanted;
	for (n = 0; n < wanted; n++) {
		set_up(waiters[n], kind, foreign_keys[n]);
		heads[n] = queue(waiters[n], kind, foreign_keys[n]);
	}
	set_up(&own, kind, own_key(kind));
	head = queue(&own, kind, own_key(kind));
	for (n = 0; n < wanted; n++)
		same += heads[n] == head;
	return same;
}

static void unqueue(struct waiter *waiter, enum key_kind kind, void *key)
{
	if (kind == KEY_FOLIO) {
		list_del_init(&waiter->page.wait.entry);
	} else {
		list_del_init(&waiter->bit.wq_entry.entry);
		put_queue(kind, key);
	}
}

static void unqueue_foreign(enum key_kind kind)
{
	unsigned int n;

	for (n = 0; n < nr_waiters; n++)
		unqueue(waiters[n], kind, foreign_keys[n]);
}

static void unqueue_all(enum key_kind kind)
{
	unqueue_foreign(kind);
	unqueue(&own, kind, own_key(kind));
}

static noinline u64 time_wakes(enum key_kind kind, unsigned int count)
{
	u64 start = tsc();

	switch (kind) {
	case KEY_BIT:
		while (count--)
			wake_up_bit(&word, 0);
		break;
	case KEY_VAR:
		while (count--)
			wake_up_var(&word);
		break;
	case KEY_FOLIO:
		/* The wake function takes the entry off the queue. */
		while (count--) {
			__folio_set_locked(folio);
			if (list_empty(&own.page.wait.entry))
				folio_add_wait_queue(folio, &own.page.wait);
			folio_unlock(folio);
		}
	}
	return tsc() - start;
}

/*
 * The address and the size of the table are constants in the code of the series
 * on x86-64. User-mode Linux has no such constants, so it reads variables. They
 * are in the cache after this.
 */
static void read_constants(void)
{
#ifdef HAVE_BOOT_HASH
	sink += (unsigned long)__bit_waitqueue(&word, 0);
#endif
}

/* What two readings of the clock and an empty loop take. */
static u64 clock_cost(void)
{
	u64 least = U64_MAX;
	int n;

	for (n = 0; n < 1000; n++)
		least = min(least, time_wakes(KEY_BIT, 0));
	return least;
}

static void sample(enum key_kind kind, bool hot, unsigned int count, unsigned int times)
{
	const u64 clock = clock_cost();
	unsigned int n;
	u64 taken;

	time_wakes(kind, count);
	for (n = 0; n < times; n++) {
		if (!hot) {
			evict_caches();
			read_constants();
		}
		local_irq_disable();
		taken = time_wakes(kind, count);
		local_irq_enable();
		cycles[n] = taken > clock ? taken - clock : 0;
		cond_resched();
	}
	sort(cycles, times, sizeof(*cycles), compare_u64, NULL);
}

/* A wakeup of the key finds the entry that waits for it. */
static bool wakes_own(enum key_kind kind)
{
	bool woken;

	set_current_state(TASK_UNINTERRUPTIBLE);
	time_wakes(kind, 1);
	woken = READ_ONCE(current->__state) == TASK_RUNNING;
	__set_current_state(TASK_RUNNING);
	/* It left the queue; in the case of bits the caller still has this. */
	if (kind != KEY_FOLIO) {
		woken &= list_empty(&own.bit.wq_entry.entry);
		__add_wait_queue_entry_tail(get_queue(kind, own_key(kind)), &own.bit.wq_entry);
		put_queue(kind, own_key(kind));
	}
	return woken;
}

static int run_case(enum key_kind kind, enum layout layout, bool hot, unsigned int wanted)
{
	/* Long against the clock, short against the tick. */
	const unsigned int count = hot ? 8192 / (wanted + 8) : 1;
	const unsigned int times = hot ? samples : samples / 2 + 1;
	unsigned int same = queue_all(kind, wanted);
	bool woken = wakes_own(kind);

	sample(kind, hot, count, times);
	unqueue_all(kind);
	if (!woken) {
		pr_err("wake_bench: %s: a wakeup did not find its waiter\n", key_names[kind]);
		return -EINVAL;
	}
	pr_info("wake_bench: key %s layout %s cache %s foreign %u queued %u min_ps %llu median_ps %llu\n",
		key_names[kind], layout_names[layout], hot ? "hot" : "cold", wanted, same,
		picoseconds(cycles[0], count), picoseconds(cycles[times / 2], count));
	return 0;
}

/* Hot, and with an empty queue. */
static void run_empty(enum key_kind kind)
{
	if (kind == KEY_FOLIO)
		return;
	sample(kind, true, 1024, samples);
	pr_info("wake_bench: key %s layout none cache hot foreign 0 queued 0 min_ps %llu median_ps %llu\n",
		key_names[kind], picoseconds(cycles[0], 1024),
		picoseconds(cycles[samples / 2], 1024));
}

#define SPREAD_WAKES	8192	/* in one sample */
#define TOUCHES		8	/* cache lines of the working set per wakeup */

/*
 * The full barrier of a waker on SMP. This kernel is not SMP, so that its
 * smp_mb() is no instruction, and the CPU would overlap all wakeups.
 */
static __always_inline void waker_barrier(void)
{
	asm volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc");
}

/*
 * What unlock_buffer() does, for buffers all over memory, in a task that reads
 * other memory between two calls. @state goes on from one sample to the next:
 * all keys and all lines of the working set are used.
 */
static noinline u64 time_spread(const u8 *set, unsigned long size, u64 *state,
				bool wake)
{
	unsigned long line = *state, sum = 0;
	unsigned int n, k;
	u64 start = tsc();

	for (n = 0; n < SPREAD_WAKES; n++) {
		for (k = 0; k < TOUCHES; k++) {
			line = line * 6364136223846793005UL + 1442695040888963407UL;
			sum += READ_ONCE(set[(line >> 32) & (size - 1) & ~63UL]);
		}
		waker_barrier();
		if (wake)
			wake_up_bit(__va(line >> 34 << 3), 0);
	}
	start = tsc() - start;
	sink += sum;
	*state = line;
	return start;
}

static int compare_s64(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

/*
 * A sample is the difference of two loops, with and without wakeups, one right
 * after the other: what slows down the machine slows down both. The median may
 * be negative if a wakeup takes less than the noise.
 */
static void run_spread(unsigned long size, unsigned int waiting)
{
	const u8 *set = um_chunks[0];
	s64 *differences = (s64 *)cycles;
	u64 with, without, state = 1;
	unsigned int n;
	s64 median;

	time_spread(set, size, &state, true);
	for (n = 0; n < samples; n++) {
		local_irq_disable();
		/* Each of the two is second in half of the samples. */
		if (n % 2) {
			without = time_spread(set, size, &state, false);
			with = time_spread(set, size, &state, true);
		} else {
			with = time_spread(set, size, &state, true);
			without = time_spread(set, size, &state, false);
		}
		local_irq_enable();
		differences[n] = with - without;
		cond_resched();
	}
	sort(differences, samples, sizeof(*differences), compare_s64, NULL);
	median = differences[samples / 2];
	pr_info("wake_bench: spread set_kb %lu waiting %u wake_ps %s%llu\n",
		size >> 10, waiting, median < 0 ? "-" : "", picoseconds(abs(median), SPREAD_WAKES));
}

/* The waiters are in many queues: each shares its queue with few others, or none. */
static void queue_spread(unsigned int waiting)
{
	struct rnd_state random;
	unsigned int n;

	prandom_seed_state(&random, 3);
	nr_waiters = waiting;
	for (n = 0; n < waiting; n++) {
		foreign_keys[n] = __va(((u64)prandom_u32_state(&random) << 3) % SZ_4G);
		set_up(waiters[n], KEY_BIT, foreign_keys[n]);
		queue(waiters[n], KEY_BIT, foreign_keys[n]);
	}
}

/* So that what runs is known to have the tables that it should have. */
static int show_queues(void)
{
	unsigned long queues = 1 << TABLE_BITS;

#ifdef HAVE_BOOT_HASH
	const struct boot_hash_table *table = boot_hash_table("bit_wait");

	if (!table)
		return -ENOENT;
	queues = table->nr_buckets;
#endif
	pr_info("wake_bench: queues %lu\n", queues);
	return 0;
}

/*
 * The entries of tasks lie on their stacks, each at about the same depth, and
 * a queue has them in no order.
 */
static void lay_out(enum layout layout)
{
	struct rnd_state random;
	unsigned int n, other, at;

	prandom_seed_state(&random, 2);
	for (n = 0; n < WAITERS_MAX; n++) {
		at = prandom_u32_state(&random) % STACK_JITTER & ~15U;
		waiters[n] = layout == PACKED ? &packed[n] :
			stacks[n / STACKS_CHUNK] + n % STACKS_CHUNK * STACK_SIZE +
			STACK_SIZE - 2 * STACK_JITTER + at;
	}
	if (layout == PACKED)
		return;
	for (n = WAITERS_MAX - 1; n; n--) {
		other = prandom_u32_state(&random) % (n + 1);
		swap(waiters[n], waiters[other]);
	}
}

static int run_all(void)
{
	static const unsigned int counts[] = { 0, 8, 64, 512 };
	int kind, layout, hot, n, error;

	error = show_queues();
	if (error)
		return error;
	lay_out(STACKS);
	for (n = 0; n <= WAITERS_MAX; n += WAITERS_MAX) {
		queue_spread(n);
		/* What the second level of most caches holds, and what it does not. */
		run_spread(SZ_1M, n);
		run_spread(CHUNK_SIZE, n);
		unqueue_foreign(KEY_BIT);
	}
	for (kind = KEY_BIT; kind <= KEY_FOLIO; kind++) {
		choose_keys(kind);
		run_empty(kind);
		for (layout = PACKED; layout <= STACKS; layout++) {
			lay_out(layout);
			for (n = 0; n < ARRAY_SIZE(counts); n++) {
				/* Packed entries are the best case: hot only. */
				for (hot = layout == PACKED; hot <= 1; hot++) {
					error = run_case(kind, layout, hot, counts[n]);
					if (error)
						return error;
				}
			}
		}
	}
	return 0;
}

/* Taken until the machine is switched off. */
static int allocate(void)
{
	unsigned int n;

	wake_page_function = (wait_queue_func_t)kallsyms_lookup_name("wake_page_function");
	if (!wake_page_function)
		return -ENOENT;
	cycles = kvmalloc_array(samples, sizeof(*cycles), GFP_KERNEL);
	packed = get_chunk();
	folio = folio_alloc(GFP_KERNEL, 0);
	if (!cycles || !packed || !folio)
		return -ENOMEM;
	for (n = 0; n < ARRAY_SIZE(stacks); n++) {
		stacks[n] = get_chunk();
		if (!stacks[n])
			return -ENOMEM;
	}
	/* The first is the working set of run_spread(). */
	return allocate_chunks(max_t(unsigned int, evict_mb, CHUNK_SIZE / SZ_1M));
}

static int __init run_wake_bench(void)
{
	int error;

	samples = clamp(samples, 10U, SAMPLES_MAX);
	error = allocate();
	if (!error) {
		calibrate();
		error = run_all();
	}
	pr_info("wake_bench: end %d\n", error);
	power_off();
	return 0;
}
late_initcall(run_wake_bench);
