// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that a wake-up takes when others wait in the same queue.
 *
 * Entries are hung into the queue by hand: none is awake or asleep, so nothing
 * but the walk of the queue is timed. One of them waits for the key that is
 * woken, W are foreign: their keys share the queue, no more. The keys are
 * chosen to share one of 256 queues; in a larger table most of them have a
 * queue of their own, and "queued" says how many have not.
 *
 * Built into user-mode Linux by scripts/guest/uml.py. It runs at the end of the boot,
 * on one CPU and before there is any process; results go to the log, then the
 * machine is switched off.
 */
#include <linux/hash.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/prandom.h>
#include <linux/reboot.h>
#include <linux/sort.h>
#include <linux/wait_bit.h>

#include "../um_bench.h"

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
MODULE_PARM_DESC(evict_mb, "Memory to walk between two wake-ups out of cache");

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
static unsigned long own_calls;

static void *foreign_keys[WAITERS_MAX];
static unsigned long word;
static struct folio *folio;

static struct waiter *packed;
static void *stacks[WAITERS_MAX / STACKS_CHUNK];
static u64 *cycles;

/*
 * The function of the entry that matches. It compares as those of the kernel
 * do, and leaves the entry in the queue.
 */
static int own_function(struct wait_queue_entry *entry, unsigned int mode,
			int sync, void *arg)
{
	struct wait_bit_queue_entry *wait =
		container_of(entry, struct wait_bit_queue_entry, wq_entry);
	struct wait_bit_key *key = arg;

	if (wait->key.flags == key->flags && wait->key.bit_nr == key->bit_nr &&
	    !test_bit(0, key->flags))
		own_calls++;
	return 0;
}

/* That of folios also tells the waker that somebody waits for the folio. */
static int page_function(struct wait_queue_entry *entry, unsigned int mode,
			 int sync, void *arg)
{
	struct wait_page_queue *wait = container_of(entry, struct wait_page_queue, wait);

	if (wake_page_match(wait, arg))
		own_calls++;
	return 0;
}

static wait_queue_head_t *queue_of(enum key_kind kind, void *key)
{
	return kind == KEY_BIT ? bit_waitqueue(key, 0) : __var_waitqueue(key);
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
 * Foreign keys are compared, never followed. Those of folios need not collide,
 * an entry for any folio can be hung into the queue of ours.
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
		init_waitqueue_func_entry(&waiter->page.wait, page_function);
#ifdef WQ_FLAG_KEYED
		waiter->page.wait.flags |= WQ_FLAG_KEYED;
#endif
	} else if (kind == KEY_VAR) {
		init_wait_var_entry(&waiter->bit, key, 0);
	} else {
		DEFINE_WAIT_BIT(entry, key, 0);

		waiter->bit = entry;
	}
}

static void queue(struct waiter *waiter, enum key_kind kind, void *key)
{
	if (kind == KEY_FOLIO)
		folio_add_wait_queue(folio, &waiter->page.wait);
	else
		__add_wait_queue_entry_tail(queue_of(kind, key), &waiter->bit.wq_entry);
}

/* How many foreign waiters are in the queue that is woken. */
static unsigned int queue_all(enum key_kind kind, unsigned int wanted)
{
	unsigned int n, same = 0;

	nr_waiters = wanted;
	for (n = 0; n < wanted; n++) {
		set_up(waiters[n], kind, foreign_keys[n]);
		queue(waiters[n], kind, foreign_keys[n]);
		same += kind == KEY_FOLIO ||
			queue_of(kind, foreign_keys[n]) == queue_of(kind, &word);
	}
	set_up(&own, kind, own_key(kind));
	if (kind != KEY_FOLIO)
		own.bit.wq_entry.func = own_function;
	queue(&own, kind, own_key(kind));
	return same;
}

static void unqueue(struct waiter *waiter, enum key_kind kind)
{
	if (kind == KEY_FOLIO)
		list_del(&waiter->page.wait.entry);
	else
		list_del(&waiter->bit.wq_entry.entry);
}

static void unqueue_all(enum key_kind kind)
{
	unsigned int n;

	for (n = 0; n < nr_waiters; n++)
		unqueue(waiters[n], kind);
	unqueue(&own, kind);
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
		while (count--) {
			__folio_set_locked(folio);
			folio_unlock(folio);
		}
	}
	return tsc() - start;
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

static int sample(enum key_kind kind, bool hot, unsigned int count, unsigned int times)
{
	const u64 clock = clock_cost();
	unsigned int n;
	u64 taken;

	time_wakes(kind, count);
	own_calls = 0;
	for (n = 0; n < times; n++) {
		if (!hot)
			evict_caches();
		local_irq_disable();
		taken = time_wakes(kind, count);
		local_irq_enable();
		cycles[n] = taken > clock ? taken - clock : 0;
		cond_resched();
	}
	sort(cycles, times, sizeof(*cycles), compare_u64, NULL);
	return own_calls == (unsigned long)times * count ? 0 : -EINVAL;
}

static int run_case(enum key_kind kind, enum layout layout, bool hot, unsigned int wanted)
{
	/* Long against the clock, short against the tick. */
	const unsigned int count = hot ? 8192 / (wanted + 8) : 1;
	const unsigned int times = hot ? samples : samples / 5 + 1;
	unsigned int same = queue_all(kind, wanted);
	int error = sample(kind, hot, count, times);

	unqueue_all(kind);
	if (error) {
		pr_err("wake_bench: %s: the entry that matches was called %lu times for %u wake-ups\n",
		       key_names[kind], own_calls, times * count);
		return error;
	}
	pr_info("wake_bench: key %s layout %s cache %s foreign %u queued %u min_ps %llu median_ps %llu\n",
		key_names[kind], layout_names[layout], hot ? "hot" : "cold", wanted, same,
		picoseconds(cycles[0], count), picoseconds(cycles[times / 2], count));
	return 0;
}

/* A wake-up that nobody waits for, in a queue that is empty. */
static void run_empty(enum key_kind kind)
{
	sample(kind, true, 1024, samples);
	pr_info("wake_bench: key %s layout none cache hot foreign 0 queued 0 min_ps %llu median_ps %llu\n",
		key_names[kind], picoseconds(cycles[0], 1024),
		picoseconds(cycles[samples / 2], 1024));
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
	return allocate_chunks(evict_mb);
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
	kernel_power_off();
	return 0;
}
late_initcall(run_wake_bench);
