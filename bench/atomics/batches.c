// SPDX-License-Identifier: GPL-2.0
/*
 * batches - pages of a file one by one and all together
 *
 * Makes a file in DIR and does one thing with its pages, either page by page or
 * in one go, between two marker instructions, for an emulator that counts what
 * is executed in between:
 *
 *   read       pread(2) of pages in memory, a page or all at a time
 *   fault      reads one byte of each page of a new mapping, and the kernel maps
 *              one page at a fault; or of the first page, and it maps all
 *   readahead  posix_fadvise(2) has pages read in, a page or all at a time; the
 *              file is a hole, so that no disk is waited for
 *   write      pwrite(2) of new pages, a page or all at a time
 *   evict      posix_fadvise(2) has clean pages dropped, a page or all at a time
 *   truncate   ftruncate(2) shortens the file, by a page or to nothing
 *
 * Pages that are to be there were read in one by one, each a folio of its own;
 * with -l they were written in one go, and are one large folio where the file
 * system has any. They were read often enough that a further read changes
 * nothing about their age.
 *
 * What is done is a function of the arguments alone. Prints "name: value" lines.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "markers.h"

#define PAGE		4096UL
#define PAGES_MAX	256
/* What one page of a page table maps. */
#define REGION		(512 * PAGE)
#define FAULT_AROUND	"/sys/kernel/debug/fault_around_bytes"

enum { READ, FAULT, READAHEAD, WRITE, EVICT, TRUNCATE, OPERATIONS };

static const char * const operation_name[OPERATIONS] = {
	"read", "fault", "readahead", "write", "evict", "truncate"
};

static struct {
	const char *dir;
	int operation;
	int together;
	unsigned int pages;
	unsigned int repeats;
	int large;
} opt = { .pages = 16, .repeats = 1 };

static int fd;
static char *region, *data;
static long around;		/* of the kernel, to be put back */

static size_t size(void)
{
	return opt.pages * PAGE;
}

static void advise(size_t page, size_t pages, int advice)
{
	errno = posix_fadvise(fd, page * PAGE, pages * PAGE, advice);
	if (errno)
		fail("give advice on a file in", opt.dir);
}

static void shorten(size_t pages)
{
	if (ftruncate(fd, pages * PAGE))
		fail("set the size of a file in", opt.dir);
}

static void read_pages(size_t page, size_t pages)
{
	if (pread(fd, data, pages * PAGE, page * PAGE) != (ssize_t)(pages * PAGE))
		fail("read a file in", opt.dir);
}

static void write_pages(size_t page, size_t pages)
{
	if (pwrite(fd, data, pages * PAGE, page * PAGE) != (ssize_t)(pages * PAGE))
		fail("write a file in", opt.dir);
}

static void flush(void)
{
	if (fsync(fd))
		fail("write back a file in", opt.dir);
}

/*
 * The file's first pages, so that its page table is there: the page behind the
 * file's stays in it.
 */
static void map_file(void)
{
	if (mmap(region, size(), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		fail("map a file in", opt.dir);
}

/* A file that is mapped costs more to truncate. */
static void unmap_file(void)
{
	if (mmap(region, size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		fail("unmap a file in", opt.dir);
}

static unsigned int pages_in_memory(void)
{
	unsigned char there[PAGES_MAX];
	unsigned int i, found = 0;

	map_file();
	if (mincore(region, size(), there))
		fail("look for the pages of a file in", opt.dir);
	for (i = 0; i < opt.pages; i++)
		found += there[i] & 1;
	unmap_file();
	return found;
}

static void check_pages(unsigned int wanted)
{
	unsigned int found = pages_in_memory();

	if (found != wanted) {
		fprintf(stderr, "batches: %s: %u of %u pages are in memory, expected %u\n",
			operation_name[opt.operation], found, opt.pages, wanted);
		exit(1);
	}
}

/*
 * A page is active once it was read twice, and that was worked off; the advice
 * on a page behind the file does that and nothing else.
 */
static void age_pages(void)
{
	unsigned int turn;

	for (turn = 0; turn < 4; turn++) {
		read_pages(0, opt.pages);
		advise(opt.pages, 1, POSIX_FADV_DONTNEED);
	}
}

static void for_pages(void (*function)(size_t page, size_t pages))
{
	size_t page;

	if (opt.together) {
		function(0, opt.pages);
		return;
	}
	for (page = 0; page < opt.pages; page++)
		function(page, 1);
}

static void readahead_pages(size_t page, size_t pages)
{
	advise(page, pages, POSIX_FADV_WILLNEED);
}

static void evict_pages(size_t page, size_t pages)
{
	advise(page, pages, POSIX_FADV_DONTNEED);
}

/* From the end of the file. */
static void truncate_pages(size_t page, size_t pages)
{
	shorten(opt.pages - page - pages);
}

/* Where all are mapped by one fault, the first page is enough. */
static void fault_pages(size_t page, size_t pages)
{
	(void)pages;
	__atomic_load_n(region + page * PAGE, __ATOMIC_RELAXED);
}

static void (* const function[OPERATIONS])(size_t page, size_t pages) = {
	read_pages, fault_pages, readahead_pages, write_pages, evict_pages,
	truncate_pages
};

static long get_fault_around(void)
{
	FILE *file = fopen(FAULT_AROUND, "r");
	long bytes;

	if (!file || fscanf(file, "%li", &bytes) != 1)
		fail("read", FAULT_AROUND);
	fclose(file);
	return bytes;
}

static void set_fault_around(long bytes)
{
	FILE *file = fopen(FAULT_AROUND, "w");

	if (!file || fprintf(file, "%ld\n", bytes) < 0 || fclose(file))
		fail("write", FAULT_AROUND);
}

static void put_back(void)
{
	set_fault_around(around);
}

static void make_pages(void)
{
	size_t page;

	shorten(0);
	if (opt.operation == WRITE)
		return;
	if (opt.large) {
		write_pages(0, opt.pages);
		flush();
	} else {
		shorten(opt.pages);
		if (opt.operation == READAHEAD)
			return;
		for (page = 0; page < opt.pages; page++)
			readahead_pages(page, 1);
	}
	check_pages(opt.pages);
	age_pages();
	if (opt.operation == FAULT)
		map_file();
}

static void check_after(void)
{
	if (opt.operation == TRUNCATE)
		return;
	check_pages(opt.operation == EVICT ? 0 : opt.pages);
	/* Nothing is to be written back behind the back of the next turn. */
	if (opt.operation == WRITE)
		flush();
}

static void repeat(void)
{
	make_pages();
	mark(OPEN(1));
	for_pages(function[opt.operation]);
	mark(CLOSE(1));
	check_after();
}

/* No thread of the kernel runs between the markers, unless this one sleeps. */
static void keep_processor(void)
{
	struct sched_param param = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("set the scheduler of", "batches");
}

static void prepare(void)
{
	size_t at;
	char *map;

	fd = open("batches", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		fail("open a file in", opt.dir);
	map = mmap(NULL, 2 * REGION, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	data = malloc(PAGES_MAX * PAGE);
	if (map == MAP_FAILED || !data)
		fail("get", "memory");
	at = -(unsigned long)map % REGION;
	region = map + at;
	region[PAGES_MAX * PAGE] = 1;
	memset(data, 1, PAGES_MAX * PAGE);
	if (opt.operation == FAULT) {
		around = get_fault_around();
		atexit(put_back);
		set_fault_around(opt.together ? size() : PAGE);
	}
}

static const char help[] =
	"usage: batches DIR OPERATION one|together [-n PAGES] [-r REPEATS] [-l]\n"
	"  OPERATION is read, fault, readahead, write, evict or truncate\n"
	"  -l has pages that are there in one large folio\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:r:l")) != -1) {
		if (c == 'n')
			opt.pages = to_number("-n", optarg, 1, PAGES_MAX);
		else if (c == 'r')
			opt.repeats = to_number("-r", optarg, 1, 1000);
		else if (c == 'l')
			opt.large = 1;
		else
			usage(help);
	}
	if (argc - optind != 3)
		usage(help);
	opt.dir = argv[optind];
	while (opt.operation < OPERATIONS &&
	       strcmp(argv[optind + 1], operation_name[opt.operation]))
		opt.operation++;
	opt.together = !strcmp(argv[optind + 2], "together");
	if (opt.operation == OPERATIONS ||
	    (!opt.together && strcmp(argv[optind + 2], "one")))
		usage(help);
}

int main(int argc, char **argv)
{
	unsigned int i;

	arguments(argc, argv);
	if (chdir(opt.dir))
		fail("enter", opt.dir);
	keep_processor();
	prepare();
	for (i = 0; i < opt.repeats; i++)
		repeat();
	printf("operation: %s\nhow: %s\npages: %u\nfolios: %s\nrepeats: %u\n",
	       operation_name[opt.operation], opt.together ? "together" : "one",
	       opt.pages, opt.large ? "large" : "small", opt.repeats);
	return 0;
}
