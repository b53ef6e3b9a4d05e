// SPDX-License-Identifier: GPL-2.0
/*
 * What the distance of wait queue heads costs: 24 bytes pack them, so that a
 * cache line has several and some lie across two; 32 keeps each in one line,
 * 64 gives each a line of its own.
 *
 * A table of heads as the kernel has them (a lock and a list). A thread picks
 * heads, of all or of a few that only it uses, and either looks whether the
 * list is empty, which is all that most wakeups do, or takes the lock, links
 * an entry, takes it out and unlocks, which is a wait and a wakeup without the
 * sleep. It is alone, or another thread on another processor links meanwhile.
 *
 * A line for each round and case:
 * bits B stride S heads all|own op check|link others 0|1 ns N
 * where N is the time of one operation of the first thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS		2
#define OWN_HEADS	64
#define HUGE_PAGE	(2UL << 20)
#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))

struct list {
	struct list *next, *prev;
};

/* As wait_queue_head_t without lock debugging. */
struct head {
	atomic_uint lock;
	struct list list;
};

enum op { CHECK, LINK };

static const char * const op_names[] = { "check", "link" };

enum heads { ALL, OWN };

static const char * const heads_names[] = { "all", "own" };
static const unsigned int table_bits[] = { 8, 11, 14, 17 };
static const unsigned int strides[] = { 24, 32, 64 };

struct job {
	char *table;
	unsigned int bits;
	unsigned int stride;
	enum heads heads;
	enum op op;
	unsigned long ops;		/* 0: until the first thread has ended */
	uint64_t seed;
	uint32_t own[OWN_HEADS];
	pthread_barrier_t *barrier;
	atomic_bool *over;
	double ns;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* xorshift64: a few cycles, and no multiplication to wait for. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void lock_head(struct head *head)
{
	unsigned int unlocked = 0;

	while (!atomic_compare_exchange_weak_explicit(&head->lock, &unlocked, 1,
						      memory_order_acquire,
						      memory_order_relaxed)) {
		__builtin_ia32_pause();
		unlocked = 0;
	}
}

static void unlock_head(struct head *head)
{
	atomic_store_explicit(&head->lock, 0, memory_order_release);
}

static void link_once(struct head *head, struct list *entry)
{
	struct list *last;

	lock_head(head);
	last = head->list.prev;
	entry->next = &head->list;
	entry->prev = last;
	last->next = entry;
	head->list.prev = entry;
	unlock_head(head);

	lock_head(head);
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	unlock_head(head);
}

static unsigned int is_active(struct head *head)
{
	struct list *next = __atomic_load_n(&head->list.next, __ATOMIC_RELAXED);

	return next != &head->list;
}

static struct head *pick(const struct job *job, uint64_t *state)
{
	uint64_t at = next_random(state) >> (64 - job->bits);

	if (job->heads == OWN)
		at = job->own[at % OWN_HEADS];
	return (struct head *)(job->table + at * job->stride);
}

static void run_ops(struct job *job)
{
	/* On the stack, as the entry of a task. */
	struct list entry;
	uint64_t state = job->seed;
	unsigned long n;

	for (n = 0; job->ops ? n < job->ops : !*job->over; n++) {
		struct head *head = pick(job, &state);

		/* The next head waits for this one, as a caller would. */
		if (job->op == CHECK)
			state += is_active(head);
		else
			link_once(head, &entry);
	}
}

static void *work(void *arg)
{
	struct job *job = arg;
	double start;

	pthread_barrier_wait(job->barrier);
	start = now_ns();
	run_ops(job);
	if (job->ops) {
		job->ns = (now_ns() - start) / job->ops;
		*job->over = true;
	}
	return NULL;
}

/* Heads that no other thread has: those of thread n are n modulo THREADS. */
static void choose_own(struct job *job, unsigned int thread)
{
	uint64_t state = job->seed;
	unsigned int n;

	for (n = 0; n < OWN_HEADS; n++) {
		uint64_t at = next_random(&state) >> (64 - job->bits);

		job->own[n] = at / THREADS * THREADS + thread;
	}
}

static void init_table(char *table, unsigned int bits, unsigned int stride)
{
	unsigned long n;

	for (n = 0; n < 1UL << bits; n++) {
		struct head *head = (struct head *)(table + n * stride);

		atomic_init(&head->lock, 0);
		head->list.next = &head->list;
		head->list.prev = &head->list;
	}
}

static void start(struct job *job, pthread_t *id, unsigned int cpu)
{
	cpu_set_t cpus;
	pthread_attr_t attr;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_attr_init(&attr);
	if (pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus) ||
	    pthread_create(id, &attr, work, job)) {
		fprintf(stderr, "wait_heads: no thread on processor %u\n", cpu);
		exit(1);
	}
	pthread_attr_destroy(&attr);
}

/* The first thread is timed; the other, if any, links until it has ended. */
static double run_case(struct job job, unsigned int others)
{
	struct job jobs[THREADS];
	pthread_t ids[THREADS];
	pthread_barrier_t barrier;
	atomic_bool over = false;
	unsigned int n;

	init_table(job.table, job.bits, job.stride);
	pthread_barrier_init(&barrier, NULL, 1 + others);
	for (n = 0; n <= others; n++) {
		jobs[n] = job;
		jobs[n].seed = job.seed * (2 * n + 1);
		jobs[n].barrier = &barrier;
		jobs[n].over = &over;
		choose_own(&jobs[n], n);
		if (n) {
			jobs[n].op = LINK;
			jobs[n].ops = 0;
		}
		start(&jobs[n], &ids[n], n);
	}
	for (n = 0; n <= others; n++)
		pthread_join(ids[n], NULL);
	pthread_barrier_destroy(&barrier);
	return jobs[0].ns;
}

/* The kernel's table is mapped by large pages. */
static char *get_table(void)
{
	size_t size = 64UL << table_bits[ARRAY_SIZE(table_bits) - 1];
	void *table = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));

	if (!table) {
		perror("wait_heads: aligned_alloc");
		exit(1);
	}
	madvise(table, size, MADV_HUGEPAGE);
	return table;
}

static void run_strides(struct job job, unsigned int others)
{
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(strides); n++) {
		job.stride = strides[n];
		printf("bits %u stride %u heads %s op %s others %u ns %.3f\n",
		       job.bits, job.stride, heads_names[job.heads],
		       op_names[job.op], others, run_case(job, others));
	}
}

static void run_round(char *table, unsigned long ops, unsigned int round)
{
	unsigned int size, others;
	struct job job = {
		.table = table,
		.ops = ops,
		.seed = 0x9e3779b97f4a7c15 + 2 * round,
	};

	for (size = 0; size < ARRAY_SIZE(table_bits); size++) {
		job.bits = table_bits[size];
		for (job.heads = ALL; job.heads <= OWN; job.heads++)
			for (job.op = CHECK; job.op <= LINK; job.op++)
				for (others = 0; others < THREADS; others++)
					run_strides(job, others);
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds, ops;
	char *table;
	unsigned int n;

	rounds = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	ops = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (!rounds || !ops) {
		fprintf(stderr, "usage: wait_heads ROUNDS OPERATIONS\n");
		return 2;
	}
	if (sysconf(_SC_NPROCESSORS_ONLN) < THREADS) {
		fprintf(stderr, "wait_heads: %d processors are needed\n", THREADS);
		return 1;
	}
	table = get_table();
	for (n = 0; n < rounds; n++)
		run_round(table, ops, n);
	return 0;
}
