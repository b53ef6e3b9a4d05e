// SPDX-License-Identifier: GPL-2.0
/*
 * readers - threads that read a few cached files at the same time
 *
 * Makes the files in DIR, reads all of them until their pages are active in the
 * page cache, and then lets each thread carry out its reads, begun by all
 * together.
 * The threads take the files in turn: of two files each has half the threads.
 *
 *   sequential  pread(2) of a page, one after the other, from the beginning
 *               again at the end; the threads of a file begin apart
 *   mapped      the same pages through a mapping, which is made anew at the end
 *               of the file: each page is found by a fault, or by the fault of a
 *               page next to it
 *   random      pread(2) of a page anywhere
 *
 * The files are allocated and, but on a tmpfs, never written, so that no disk is
 * read. All of their pages must be in memory at the end still.
 *
 * What is done is a function of the arguments alone. With one thread it is
 * between two marker instructions, for an emulator that counts what is executed
 * in between.
 *
 * Prints "name: value" lines.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common.h"
#include "counters.h"
#include "markers.h"

#define PAGE		4096
#define MAX_FILES	16
#define MAX_THREADS	64
#define NAME_SIZE	64

enum { SEQUENTIAL, MAPPED, RANDOM, MODES };

static const char * const mode_name[MODES] = { "sequential", "mapped", "random" };

static struct {
	const char *dir;
	int mode;
	unsigned int threads;
	unsigned int files;
	unsigned int mebibytes;	/* of a file */
	unsigned int reads;	/* of a thread */
	int locks;
} opt = { .threads = 1, .files = 2, .mebibytes = 16, .reads = 10000 };

static int fds[MAX_FILES];
static pthread_barrier_t line;
static double ends[MAX_THREADS];

static size_t pages(void)
{
	return (size_t)opt.mebibytes << 8;
}

static void read_page(int fd, size_t page)
{
	char data[PAGE];

	if (pread(fd, data, PAGE, page * PAGE) != PAGE)
		fail("read of a page in", opt.dir);
}

/* A page is active when it has been read again; none is filled any more then. */
static void touch_pages(int fd)
{
	unsigned int turn;
	size_t page;
	char byte;

	for (turn = 0; turn < 3; turn++)
		for (page = 0; page < pages(); page++)
			if (pread(fd, &byte, 1, page * PAGE) != 1)
				fail("read of a page in", opt.dir);
}

/* A page of a tmpfs that was never written is read from elsewhere. */
static void write_pages(int fd)
{
	size_t page;

	for (page = 0; page < pages(); page++)
		if (pwrite(fd, "", 1, page * PAGE) != 1)
			fail("write of a page in", opt.dir);
}

static void open_file(unsigned int i)
{
	char path[NAME_SIZE];
	struct statfs fs;

	snprintf(path, sizeof(path), "readers-%u", i);
	fds[i] = open(path, O_RDWR | O_CREAT, 0644);
	if (fds[i] < 0)
		fail("open", path);
	if (fallocate(fds[i], 0, 0, pages() * PAGE))
		fail("allocate", path);
	if (fstatfs(fds[i], &fs))
		fail("statfs", path);
	if (fs.f_type == TMPFS_MAGIC)
		write_pages(fds[i]);
	touch_pages(fds[i]);
}

static void *map_file(int fd)
{
	void *map = mmap(NULL, pages() * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		fail("map a file of", opt.dir);
	return map;
}

static void check_cached(unsigned int i)
{
	unsigned char *there = malloc(pages());
	void *map = map_file(fds[i]);
	size_t page;

	if (!there || mincore(map, pages() * PAGE, there))
		fail("look for the pages of", opt.dir);
	for (page = 0; page < pages(); page++)
		if (!(there[page] & 1)) {
			fprintf(stderr, "readers: page %zu of file %u is not in memory\n",
				page, i);
			exit(1);
		}
	munmap(map, pages() * PAGE);
	free(there);
}

static void read_sequentially(int fd, size_t page)
{
	unsigned int i;

	for (i = 0; i < opt.reads; i++)
		read_page(fd, (page + i) % pages());
}

static void read_mapping(int fd, size_t page)
{
	const char *map = map_file(fd);
	unsigned int i;

	for (i = 0; i < opt.reads; i++, page++) {
		if (page == pages()) {
			munmap((void *)map, pages() * PAGE);
			map = map_file(fd);
			page = 0;
		}
		__atomic_load_n(map + page * PAGE, __ATOMIC_RELAXED);
	}
	munmap((void *)map, pages() * PAGE);
}

static void read_randomly(int fd, unsigned long long seed)
{
	unsigned int i;

	for (i = 0; i < opt.reads; i++)
		read_page(fd, next(&seed) % pages());
}

static void read_all(unsigned int thread)
{
	int fd = fds[thread % opt.files];
	size_t page = pages() / opt.threads * (thread / opt.files);

	if (opt.mode == SEQUENTIAL)
		read_sequentially(fd, page);
	else if (opt.mode == MAPPED)
		read_mapping(fd, page);
	else
		read_randomly(fd, thread);
}

static void *run_thread(void *argument)
{
	unsigned int thread = (unsigned long)argument;

	pthread_barrier_wait(&line);
	if (opt.threads == 1)
		mark(OPEN(1));
	read_all(thread);
	if (opt.threads == 1)
		mark(CLOSE(1));
	ends[thread] = now();
	return NULL;
}

static void report(double begin)
{
	unsigned long long reads = (unsigned long long)opt.threads * opt.reads;
	double seconds = 0;
	unsigned int i;

	for (i = 0; i < opt.threads; i++)
		if (ends[i] - begin > seconds)
			seconds = ends[i] - begin;
	printf("mode: %s\nthreads: %u\nreads: %llu\n", mode_name[opt.mode], opt.threads,
	       reads);
	printf("seconds: %.6f\nreads-per-second: %.1f\n", seconds, reads / seconds);
}

static void run_all(void)
{
	pthread_t thread[MAX_THREADS];
	unsigned long i;
	double begin;

	pthread_barrier_init(&line, NULL, opt.threads + 1);
	for (i = 0; i < opt.threads; i++) {
		errno = pthread_create(&thread[i], NULL, run_thread, (void *)i);
		if (errno)
			fail("start", "a thread");
	}
	if (opt.locks)
		write_text("/proc/lock_stat", "0");
	begin = now();
	pthread_barrier_wait(&line);
	for (i = 0; i < opt.threads; i++)
		pthread_join(thread[i], NULL);
	report(begin);
	if (opt.locks)
		print_file("locks", "/proc/lock_stat", NULL);
}

static const char help[] =
	"usage: readers DIR MODE [-t THREADS] [-f FILES] [-s MIB] [-n READS] [-l]\n"
	"  MODE is sequential, mapped or random\n"
	"  -s is the size of a file, -n the reads of each thread\n"
	"  -l prints /proc/lock_stat after them\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:f:s:n:l")) != -1) {
		if (c == 't')
			opt.threads = to_number("-t", optarg, 1, MAX_THREADS);
		else if (c == 'f')
			opt.files = to_number("-f", optarg, 1, MAX_FILES);
		else if (c == 's')
			opt.mebibytes = to_number("-s", optarg, 1, 1 << 20);
		else if (c == 'n')
			opt.reads = to_number("-n", optarg, 1, 1000000000);
		else if (c == 'l')
			opt.locks = 1;
		else
			usage(help);
	}
	if (argc - optind != 2)
		usage(help);
	opt.dir = argv[optind];
	while (opt.mode < MODES && strcmp(argv[optind + 1], mode_name[opt.mode]))
		opt.mode++;
	if (opt.mode == MODES)
		usage(help);
}

int main(int argc, char **argv)
{
	unsigned int i;

	arguments(argc, argv);
	if (chdir(opt.dir))
		fail("enter", opt.dir);
	for (i = 0; i < opt.files; i++)
		open_file(i);
	run_all();
	for (i = 0; i < opt.files; i++)
		check_cached(i);
	return 0;
}
