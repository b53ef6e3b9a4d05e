// SPDX-License-Identifier: GPL-2.0
/*
 * herd - many threads that wait for a slow disk
 *
 * The load of tiobench, one phase a call, with each thread on a file of its
 * own, in blocks of 4 KiB:
 *
 *   write         the file from its start to its end, then fsync
 *   random-write  blocks of it in no order, an fsync after every fourth
 *   read          the file from its start to its end
 *   random-read   blocks of it in no order
 *
 * and herds, which wait for many locks at the same time:
 *
 *   page-locks    pages of one file, each wanted by one thread; half of the
 *                 threads read and half of them fault the pages in
 *   same-pages    pages of one file, each wanted by all threads, and sixteen
 *                 times as many for a thread as in page-locks
 *   buffer-locks  inodes, read and written back: on an ext2 file system whose
 *                 inodes fill a block each (mkfs.ext2 -I 4096) these are reads
 *                 and writes of a buffer for each
 *
 * What a phase reads is dropped from the caches before. The files of the first
 * four are made by `write`, those of a herd before its clock runs.
 *
 * Prints "name: value" lines. A phase that does not end in time is left where
 * it hangs: the program says how far its threads came and exits with status 3.
 * An emulator that knows the markers counts what is executed in the phase.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "counters.h"
#include "markers.h"

#define BLOCK		4096u
#define SYNC_EVERY	4u		/* blocks of random-write */
#define STACK		(64u << 10)
#define STATS		"/proc/hashstats"

static struct {
	const char *dir;
	unsigned int threads;
	unsigned int blocks;	/* of a thread's file */
	unsigned int ops;	/* of a thread in the other phases */
	unsigned int same;	/* of a thread in same-pages */
	unsigned int seconds;	/* until a phase counts as hung */
	int counters;
} opt = { .threads = 512, .blocks = 64, .ops = 8, .seconds = 600 };

struct thread {
	pthread_t handle;
	unsigned int id;
	unsigned int *done;	/* operations, seen by the watchdog */
	unsigned long long random;
};

struct phase {
	const char *name;
	void (*prepare)(void);
	void (*work)(struct thread *thread);
	unsigned int *ops;	/* of each thread */
	int cold;		/* drop the caches before */
};

struct usage {
	double time, user, system;
	double busy;			/* of all processors, everything */
	unsigned long long switches;	/* of the machine */
	unsigned long long own;		/* of this process */
};

static pthread_barrier_t start_line;
static const unsigned char *shared;	/* the mapped file of page-locks */

static void empty_caches(void)
{
	sync();
	write_text("/proc/sys/vm/drop_caches", "3");
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		fail("open", path);
	return fd;
}

static int open_own(struct thread *thread, int flags)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/file-%u", opt.dir, thread->id);
	return open_file(path, flags);
}

static void read_block(struct thread *thread, int fd, unsigned long block)
{
	char data[BLOCK];

	if (pread(fd, data, BLOCK, (off_t)block * BLOCK) != BLOCK)
		fail("read", opt.dir);
	(*thread->done)++;
}

static void write_block(struct thread *thread, int fd, unsigned long block)
{
	char data[BLOCK];

	memset(data, thread->id, BLOCK);
	if (pwrite(fd, data, BLOCK, (off_t)block * BLOCK) != BLOCK)
		fail("write", opt.dir);
	(*thread->done)++;
}

static void reach_disk(int fd)
{
	if (fsync(fd))
		fail("fsync", opt.dir);
}

static void do_write(struct thread *thread)
{
	int fd = open_own(thread, O_CREAT | O_TRUNC | O_WRONLY);
	unsigned int i;

	for (i = 0; i < opt.blocks; i++)
		write_block(thread, fd, i);
	reach_disk(fd);
	close(fd);
}

static void do_random_write(struct thread *thread)
{
	int fd = open_own(thread, O_WRONLY);
	unsigned int i;

	for (i = 0; i < opt.ops; i++) {
		write_block(thread, fd, next(&thread->random) % opt.blocks);
		if (i % SYNC_EVERY == SYNC_EVERY - 1)
			reach_disk(fd);
	}
	reach_disk(fd);
	close(fd);
}

static void do_read(struct thread *thread)
{
	int fd = open_own(thread, O_RDONLY);
	unsigned int i;

	for (i = 0; i < opt.blocks; i++)
		read_block(thread, fd, i);
	close(fd);
}

static void do_random_read(struct thread *thread)
{
	int fd = open_own(thread, O_RDONLY);
	unsigned int i;

	for (i = 0; i < opt.ops; i++)
		read_block(thread, fd, next(&thread->random) % opt.blocks);
	close(fd);
}

static void shared_path(char *path, size_t size)
{
	snprintf(path, size, "%s/shared", opt.dir);
}

/* A power of two, so that an odd factor visits each once. */
static unsigned long shared_pages(void)
{
	unsigned long pages = 1;

	while (pages < (unsigned long)opt.threads * opt.ops)
		pages *= 2;
	return pages;
}

static void make_shared(void)
{
	size_t size = shared_pages() * BLOCK, done;
	static char data[1 << 20];
	char path[4096];
	void *map;
	int fd;

	shared_path(path, sizeof(path));
	fd = open_file(path, O_CREAT | O_TRUNC | O_RDWR);
	for (done = 0; done < size; done += sizeof(data))
		if (write(fd, data, sizeof(data)) != sizeof(data))
			fail("write", path);
	reach_disk(fd);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || madvise(map, size, MADV_RANDOM))
		fail("map", path);
	close(fd);
	shared = map;
}

static int open_shared(void)
{
	char path[4096];
	int fd;

	shared_path(path, sizeof(path));
	fd = open_file(path, O_RDONLY);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		fail("posix_fadvise", path);
	return fd;
}

static void do_page_locks(struct thread *thread)
{
	unsigned long pages = shared_pages(), page;
	int fd = open_shared();
	unsigned int i;

	for (i = 0; i < opt.ops; i++) {
		page = ((unsigned long)i * opt.threads + thread->id) * 40503 % pages;
		if (thread->id % 2) {
			thread->random ^= shared[page * BLOCK];
			(*thread->done)++;
		} else {
			read_block(thread, fd, page);
		}
	}
	close(fd);
}

static void do_same_pages(struct thread *thread)
{
	int fd = open_shared();
	unsigned int i;

	for (i = 0; i < opt.same; i++)
		read_block(thread, fd, i * 40503ul % shared_pages());
	close(fd);
}

static void inode_path(char *path, size_t size, unsigned int thread, unsigned int i)
{
	snprintf(path, size, "%s/dir-%u/inode-%u", opt.dir, thread, i);
}

static void make_inodes(void)
{
	unsigned int id, i;
	char path[4096];

	for (id = 0; id < opt.threads; id++) {
		snprintf(path, sizeof(path), "%s/dir-%u", opt.dir, id);
		if (mkdir(path, 0755))
			fail("mkdir", path);
		for (i = 0; i < opt.ops; i++) {
			inode_path(path, sizeof(path), id, i);
			close(open_file(path, O_CREAT | O_EXCL | O_WRONLY));
		}
	}
}

/* The inode is read at open, and written by fsync since its mode is new. */
static void do_buffer_locks(struct thread *thread)
{
	char path[4096];
	unsigned int i;
	int fd;

	for (i = 0; i < opt.ops; i++) {
		inode_path(path, sizeof(path), thread->id, i);
		fd = open_file(path, O_RDONLY);
		if (fchmod(fd, 0600))
			fail("fchmod", path);
		reach_disk(fd);
		close(fd);
		(*thread->done)++;
	}
}

static const struct phase phases[] = {
	{ "write", NULL, do_write, &opt.blocks, 0 },
	{ "random-write", NULL, do_random_write, &opt.ops, 0 },
	{ "read", NULL, do_read, &opt.blocks, 1 },
	{ "random-read", NULL, do_random_read, &opt.ops, 1 },
	{ "page-locks", make_shared, do_page_locks, &opt.ops, 1 },
	{ "same-pages", make_shared, do_same_pages, &opt.same, 1 },
	{ "buffer-locks", make_inodes, do_buffer_locks, &opt.ops, 1 },
	{}
};

/* Busy seconds and context switches of the whole machine. */
static void machine_usage(struct usage *usage)
{
	unsigned long long t[8];
	FILE *file = fopen("/proc/stat", "r");
	char line[4096];

	if (!file)
		fail("open", "/proc/stat");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "ctxt %llu", &usage->switches) == 1)
			continue;
		/* user nice system idle iowait irq softirq steal */
		if (!strncmp(line, "cpu ", 4) &&
		    sscanf(line + 4, "%llu %llu %llu %llu %llu %llu %llu %llu",
			   t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7) == 8)
			usage->busy = (double)(t[0] + t[1] + t[2] + t[5] + t[6]) /
				      sysconf(_SC_CLK_TCK);
	}
	fclose(file);
}

static void get_usage(struct usage *usage)
{
	struct rusage own;

	getrusage(RUSAGE_SELF, &own);
	usage->user = own.ru_utime.tv_sec + own.ru_utime.tv_usec / 1e6;
	usage->system = own.ru_stime.tv_sec + own.ru_stime.tv_usec / 1e6;
	usage->own = own.ru_nvcsw + own.ru_nivcsw;
	machine_usage(usage);
	usage->time = now();
}

static void report(const struct phase *phase, const struct usage *a,
		   const struct usage *b)
{
	double seconds = b->time - a->time;
	double mb = (double)opt.threads * *phase->ops * BLOCK / 1e6;

	printf("phase: %s\nthreads: %u\nseconds: %.3f\n", phase->name,
	       opt.threads, seconds);
	printf("megabytes: %.3f\nmb-per-second: %.3f\n", mb, mb / seconds);
	printf("user-percent: %.1f\nsystem-percent: %.1f\n",
	       100 * (b->user - a->user) / seconds,
	       100 * (b->system - a->system) / seconds);
	printf("machine-percent: %.1f\n", 100 * (b->busy - a->busy) / seconds);
	printf("context-switches: %llu\ncontext-switches-own: %llu\n",
	       b->switches - a->switches, b->own - a->own);
}

static const struct phase *current;

static void *run_thread(void *data)
{
	struct thread *thread = data;

	pthread_barrier_wait(&start_line);
	current->work(thread);
	return NULL;
}

static void start_threads(struct thread *threads, unsigned int *done)
{
	pthread_attr_t attr;
	unsigned int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_barrier_init(&start_line, NULL, opt.threads + 1);
	for (i = 0; i < opt.threads; i++) {
		threads[i].id = i;
		threads[i].done = &done[i];
		threads[i].random = i;
		errno = pthread_create(&threads[i].handle, &attr, run_thread,
				       &threads[i]);
		if (errno)
			fail("start", "a thread");
	}
}

static void run_phase(unsigned int *done)
{
	struct thread *threads = calloc(opt.threads, sizeof(*threads));
	struct usage before = {}, after = {};
	unsigned int i;

	if (!threads)
		fail("allocate", "threads");
	if (current->prepare)
		current->prepare();
	start_threads(threads, done);
	if (current->cold)
		empty_caches();
	if (opt.counters)
		write_text(STATS, "reset");
	get_usage(&before);
	mark(OPEN(1));
	pthread_barrier_wait(&start_line);
	for (i = 0; i < opt.threads; i++)
		pthread_join(threads[i].handle, NULL);
	mark(CLOSE(1));
	get_usage(&after);
	report(current, &before, &after);
	if (opt.counters)
		print_file("counters", STATS, NULL);
	fflush(stdout);
}

static void hung(const unsigned int *done)
{
	unsigned int i, first = opt.threads, waiting = 0;

	for (i = opt.threads; i-- > 0;) {
		if (done[i] < *current->ops) {
			first = i;
			waiting++;
		}
	}
	fprintf(stderr, "herd: %s did not end within %u s: %u of %u threads are not through",
		current->name, opt.seconds, waiting, opt.threads);
	if (waiting)
		fprintf(stderr, "; thread %u did %u of %u", first, done[first],
			*current->ops);
	fputs("\n", stderr);
}

/*
 * The threads are in a child: one that sleeps forever in the kernel cannot be
 * killed, and would keep the whole process. Nobody waits for it then.
 */
static int watch(pid_t child, const unsigned int *done, const sigset_t *set)
{
	struct timespec limit = { .tv_sec = opt.seconds };
	int status;

	if (sigtimedwait(set, NULL, &limit) < 0) {
		hung(done);
		kill(child, SIGKILL);
		return 3;
	}
	if (waitpid(child, &status, 0) < 0)
		fail("wait", "");
	if (WIFSIGNALED(status))
		fprintf(stderr, "herd: %s ended by signal %d\n", current->name,
			WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void print_usage(void)
{
	const struct phase *phase;

	fputs("usage: herd DIR PHASE [-t THREADS] [-b BLOCKS] [-n OPERATIONS] [-w SECONDS] [-c]\n"
	      "  -c counts wakeups by " STATS "; phases:", stderr);
	for (phase = phases; phase->name; phase++)
		fprintf(stderr, " %s", phase->name);
	fputs("\n", stderr);
	exit(2);
}

static void arguments(int argc, char **argv)
{
	const struct phase *phase;
	int c;

	while ((c = getopt(argc, argv, "t:b:n:w:c")) != -1) {
		if (c == 't')
			opt.threads = to_number("-t", optarg, 1, 1000000);
		else if (c == 'b')
			opt.blocks = to_number("-b", optarg, 1, 1000000);
		else if (c == 'n')
			opt.ops = to_number("-n", optarg, 1, 1000000);
		else if (c == 'w')
			opt.seconds = to_number("-w", optarg, 1, 1000000);
		else if (c == 'c')
			opt.counters = 1;
		else
			print_usage();
	}
	if (optind != argc - 2)
		print_usage();
	opt.dir = argv[optind];
	opt.same = 16 * opt.ops;
	for (phase = phases; phase->name; phase++)
		if (!strcmp(phase->name, argv[optind + 1]))
			current = phase;
	if (!current)
		print_usage();
}

int main(int argc, char **argv)
{
	unsigned int *done;
	sigset_t set;
	pid_t child;

	arguments(argc, argv);
	done = mmap(NULL, opt.threads * sizeof(*done), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		fail("allocate", "counts");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (!child) {
		run_phase(done);
		exit(0);
	}
	return watch(child, done, &set);
}
