// SPDX-License-Identifier: GPL-2.0
/*
 * xattr_bench - processes that set extended attributes out of a pool of values
 *
 * After the stress test of the mbcache rewrite of 2015. Each of P processes has
 * F files of its own and sets one attribute of each in turn, from the first to
 * the last and over again, until it has made N sets. Each value is drawn from a
 * pool of V, which all processes share. So every process sets F different files
 * as soon as N is at least F, and P * F files have attributes. That processes do
 * not share files is read from the results of 2015: without the cache they get
 * slow where P * F goes from 3,200 to 4,000, whatever P and F are.
 *
 * By default a value fills 256 bytes. Inodes of up to 256 bytes cannot hold it,
 * so it goes to a block, which files with equal attributes can share: the cache
 * is there to find it. The bytes are random, so that different values have
 * different keys. What a process does is a function of the arguments alone.
 *
 * With -t the processes take turns, a set each, so that on one processor the
 * order of all sets is a function of the arguments as well. Work that the kernel
 * leaves to its threads then waits until the end.
 *
 * An emulator that knows the markers counts what is executed while sets are
 * made. After that the attribute of each file must be the last that was set.
 *
 * Prints "name: value" lines. `blocks` is what the sets took from the file
 * system, `distinct` how many different values the files have in the end: with
 * one process the two are equal when all that can be shared is shared. Several
 * that set a new value at the same time may each make a block for it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common.h"
#include "markers.h"

#define NAME_SIZE	64
#define DIR_FILES	1000	/* ext2 reads a directory from its start */
#define ATTRIBUTE	"user.boothash"

static struct {
	const char *dir;
	unsigned int procs;
	unsigned int files;	/* of a process */
	unsigned int values;	/* in the pool */
	unsigned int sets;	/* of a process */
	unsigned int size;	/* of a value, in bytes */
	unsigned int seed;
	int turns;		/* processes take turns, set by set */
} opt = { .procs = 1, .files = 100, .values = 100, .sets = 50000, .size = 256,
	  .seed = 1 };

/* Seen by all processes. */
static struct shared {
	pthread_barrier_t line;
	unsigned int errors;
	unsigned int last[];	/* by file: 1 + the value set last, 0: none */
} *shared;

static void *share(size_t bytes, const char *what)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		fail("memory for", what);
	return start;
}

/* Names are relative to DIR, so that its path costs nothing. */
static void file_name(char *name, unsigned int proc, unsigned int i)
{
	snprintf(name, NAME_SIZE, "proc-%u/dir-%u/file-%u", proc, i / DIR_FILES,
		 i);
}

static void make_dir(const char *name)
{
	if (mkdir(name, 0755))
		fail("mkdir", name);
}

static void make_files(unsigned int proc)
{
	char name[NAME_SIZE];
	unsigned int i;
	int fd;

	snprintf(name, sizeof(name), "proc-%u", proc);
	make_dir(name);
	for (i = 0; i < opt.files; i++) {
		if (i % DIR_FILES == 0) {
			snprintf(name, sizeof(name), "proc-%u/dir-%u", proc,
				 i / DIR_FILES);
			make_dir(name);
		}
		file_name(name, proc, i);
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0)
			fail("create", name);
		close(fd);
	}
}

/* The bytes of a value; different values begin differently. */
static void fill(char *value, unsigned int number)
{
	unsigned long long state = number, bytes;
	unsigned int at, rest;

	memcpy(value, &number, sizeof(number));
	for (at = sizeof(number); at < opt.size; at += rest) {
		bytes = next(&state);
		rest = opt.size - at;
		if (rest > sizeof(bytes))
			rest = sizeof(bytes);
		memcpy(value + at, &bytes, rest);
	}
}

/* A full disk is counted, as it may be what a run is about. */
static void set_one(const char *name, unsigned int file, unsigned int number,
		    char *value)
{
	fill(value, number);
	if (!setxattr(name, ATTRIBUTE, value, opt.size, 0)) {
		shared->last[file] = number + 1;
		return;
	}
	if (errno != ENOSPC && errno != EBUSY)
		fail("set the attribute of", name);
	__atomic_fetch_add(&shared->errors, 1, __ATOMIC_RELAXED);
}

static void work(unsigned int proc)
{
	unsigned long long random = (unsigned long long)opt.seed << 32 | proc;
	char name[NAME_SIZE], value[opt.size];
	unsigned int i, file;

	for (i = 0; i < opt.sets; i++) {
		file = i % opt.files;
		file_name(name, proc, file);
		set_one(name, proc * opt.files + file, next(&random) % opt.values,
			value);
		if (opt.turns)
			sched_yield();
	}
}

/*
 * Nothing but sched_yield() takes the processor away. Processes that are made
 * now inherit this, and begin in the order in which they are made.
 */
static void take_turns(void)
{
	struct sched_param param = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("set the scheduler of", "this process");
}

static void start(unsigned int proc)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork", "");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_wait(&shared->line);
	work(proc);
	_exit(0);
}

static void start_all(void)
{
	pthread_barrierattr_t attr;
	unsigned int proc;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->line, &attr, opt.procs + 1);
	fflush(stdout);
	if (opt.turns)
		take_turns();
	for (proc = 0; proc < opt.procs; proc++)
		start(proc);
}

/* Seconds from the start of all processes to the end of the last. */
static double run(void)
{
	int status, failed = 0;
	double begin, end;

	begin = now();
	mark(OPEN(1));
	pthread_barrier_wait(&shared->line);
	while (wait(&status) > 0)
		failed |= status;
	mark(CLOSE(1));
	end = now();
	if (failed)
		exit(1);	/* has been said */
	return end - begin;
}

static void check_file(const char *name, unsigned int last)
{
	char wanted[opt.size], value[opt.size];
	ssize_t size = getxattr(name, ATTRIBUTE, value, opt.size);

	if (size < 0 && !last && errno == ENODATA)
		return;
	if (size < 0)
		fail("get the attribute of", name);
	fill(wanted, last - 1);
	if (last && size == opt.size && !memcmp(value, wanted, size))
		return;
	fprintf(stderr, "xattr_bench: %s: not the attribute that was set\n", name);
	exit(1);
}

static void check(void)
{
	unsigned int proc, i;
	char name[NAME_SIZE];

	for (proc = 0; proc < opt.procs; proc++) {
		for (i = 0; i < opt.files; i++) {
			file_name(name, proc, i);
			check_file(name, shared->last[proc * opt.files + i]);
		}
	}
}

static unsigned int distinct(void)
{
	char *seen = share(opt.values + 1, "values");
	unsigned int i, last, count = 0;

	for (i = 0; i < opt.procs * opt.files; i++) {
		last = shared->last[i];
		count += last && !seen[last];
		seen[last] = 1;
	}
	return count;
}

static struct statfs space(void)
{
	struct statfs st;

	if (statfs(".", &st))
		fail("statfs", opt.dir);
	return st;
}

static void report(double seconds, long long blocks, long block_size)
{
	unsigned long long sets = (unsigned long long)opt.procs * opt.sets;

	printf("processes: %u\nfiles: %u\nvalues: %u\n", opt.procs, opt.files,
	       opt.values);
	printf("sets: %llu\nerrors: %u\nseconds: %.6f\n", sets - shared->errors,
	       shared->errors, seconds);
	printf("distinct: %u\nblocks: %lld\nblock-size: %ld\n", distinct(),
	       blocks, block_size);
}

static const char help[] =
	"usage: xattr_bench DIR [-p PROCESSES] [-f FILES] [-v VALUES] [-n SETS]\n"
	"                       [-s BYTES] [-r SEED] [-t]\n"
	"  files and sets of each process, bytes of a value; -t: take turns\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "p:f:v:n:s:r:t")) != -1) {
		if (c == 'p')
			opt.procs = to_number("-p", optarg, 1, 1000);
		else if (c == 'f')
			opt.files = to_number("-f", optarg, 1, 1000000);
		else if (c == 'v')
			opt.values = to_number("-v", optarg, 1, 10000000);
		else if (c == 'n')
			opt.sets = to_number("-n", optarg, 1, 100000000);
		else if (c == 's')
			opt.size = to_number("-s", optarg, sizeof(unsigned int), 3000);
		else if (c == 'r')
			opt.seed = to_number("-r", optarg, 1, 1000000);
		else if (c == 't')
			opt.turns = 1;
		else
			usage(help);
	}
	if (optind != argc - 1)
		usage(help);
	opt.dir = argv[optind];
}

int main(int argc, char **argv)
{
	struct statfs before, after;
	unsigned int proc;
	double seconds;

	arguments(argc, argv);
	if (chdir(opt.dir))
		fail("chdir", opt.dir);
	shared = share(sizeof(*shared) + sizeof(*shared->last) *
		       (size_t)opt.procs * opt.files, "files");
	for (proc = 0; proc < opt.procs; proc++)
		make_files(proc);
	/* What making the files left to write does not belong to the sets. */
	sync();
	before = space();
	start_all();
	seconds = run();
	after = space();
	check();
	report(seconds, (long long)before.f_bfree - (long long)after.f_bfree,
	       after.f_bsize);
	return 0;
}
