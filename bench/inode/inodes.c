// SPDX-License-Identifier: GPL-2.0
/*
 * inodes - processes that create, look up and unlink files of their own
 *
 * Each process has a directory of its own in each DIR, and takes the DIRs in
 * turn, file by file: with two file systems each process works on both at once.
 * The phases come one after the other, each begun by all processes together:
 *
 *   create  makes the files, empty
 *   stat    looks their names up anew: everything is written and dropped before
 *           (sync, drop_caches=2), so that names and inodes are not in memory
 *           and each inode is read and hashed again. A tmpfs keeps both, there
 *           it is a lookup of a known name.
 *   unlink  removes them, and their inodes with them
 *   handle  opens files by their handles, while their inodes are in memory:
 *           one lookup by number each, which finds. The files are made before
 *           and removed after; making a handle is not part of the phase, and
 *           hashes the inode on a tmpfs, which hashes none without.
 *
 * What is done is a function of the arguments alone. With one process each
 * phase is between two marker instructions, for an emulator that counts what is
 * executed in between; the marker's label is the number of the phase, from 1.
 *
 * Prints "name: value" lines, a group for each phase.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "counters.h"
#include "markers.h"

#define MAX_DIRS	8
#define NAME_SIZE	64
#define HANDLE_SIZE	64

enum { CREATE, STAT, UNLINK, HANDLE, PHASES };

static const char * const phase_name[PHASES] = {
	"create", "stat", "unlink", "handle",
};

/* What is set back before a phase, and printed after it. */
struct counters {
	const char *path;
	const char *reset;	/* is written to it */
	const char *lines;	/* only those with this text, NULL: all */
};

static const struct counters hashstats = { "/proc/hashstats", "reset", NULL };
static const struct counters lock_stat = { "/proc/lock_stat", "0", "inode_hash_lock" };

static struct {
	const char *dir[MAX_DIRS];
	unsigned int dirs;
	unsigned int procs;
	unsigned int files;	/* of a process */
	int keep;		/* end with the files there and in memory */
	const struct counters *counters;
} opt = { .procs = 1, .files = 1000 };

static struct {
	pthread_barrier_t line;
	double end[];		/* of each process */
} *shared;

/* Names are relative to the DIR, so that its path costs nothing. */
static void file_name(char *name, unsigned int proc, unsigned int i)
{
	snprintf(name, NAME_SIZE, "proc-%u/file-%06u", proc, i);
}

static int open_dir(unsigned int i)
{
	int fd = open(opt.dir[i], O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		fail("open", opt.dir[i]);
	return fd;
}

static void make_dirs(void)
{
	char name[NAME_SIZE];
	unsigned int i, proc;
	int fd;

	for (i = 0; i < opt.dirs; i++) {
		fd = open_dir(i);
		for (proc = 0; proc < opt.procs; proc++) {
			snprintf(name, sizeof(name), "proc-%u", proc);
			if (mkdirat(fd, name, 0755))
				fail("mkdir", name);
		}
		close(fd);
	}
}

static void remove_dirs(void)
{
	char name[NAME_SIZE];
	unsigned int i, proc;
	int fd;

	for (i = 0; i < opt.dirs; i++) {
		fd = open_dir(i);
		for (proc = 0; proc < opt.procs; proc++) {
			snprintf(name, sizeof(name), "proc-%u", proc);
			if (unlinkat(fd, name, AT_REMOVEDIR))
				fail("rmdir", name);
		}
		close(fd);
	}
}

/* What a process works with: made before the clock runs. */
struct work {
	int fd[MAX_DIRS];
	char (*names)[NAME_SIZE];
	struct {
		struct file_handle head;
		unsigned char bytes[HANDLE_SIZE];
	} *handles;
};

static int at(const struct work *work, unsigned int i)
{
	return work->fd[i % opt.dirs];
}

static void create_all(const struct work *work)
{
	unsigned int i;
	int fd;

	for (i = 0; i < opt.files; i++) {
		fd = openat(at(work, i), work->names[i],
			    O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0)
			fail("create", work->names[i]);
		close(fd);
	}
}

static void stat_all(const struct work *work)
{
	struct stat st;
	unsigned int i;

	for (i = 0; i < opt.files; i++)
		if (fstatat(at(work, i), work->names[i], &st, 0))
			fail("stat", work->names[i]);
}

static void unlink_all(const struct work *work)
{
	unsigned int i;

	for (i = 0; i < opt.files; i++)
		if (unlinkat(at(work, i), work->names[i], 0))
			fail("unlink", work->names[i]);
}

static void handle_all(const struct work *work)
{
	unsigned int i;
	int fd;

	for (i = 0; i < opt.files; i++) {
		fd = open_by_handle_at(at(work, i), &work->handles[i].head,
				       O_RDONLY);
		if (fd < 0)
			fail("open by handle", work->names[i]);
		close(fd);
	}
}

static void make_handles(struct work *work)
{
	unsigned int i;
	int mount;

	work->handles = calloc(opt.files, sizeof(*work->handles));
	if (!work->handles)
		fail("memory for", "handles");
	for (i = 0; i < opt.files; i++) {
		work->handles[i].head.handle_bytes = HANDLE_SIZE;
		if (name_to_handle_at(at(work, i), work->names[i],
				      &work->handles[i].head, &mount, 0))
			fail("make a handle of", work->names[i]);
	}
}

static void prepare(struct work *work, unsigned int proc, int phase)
{
	unsigned int i;

	for (i = 0; i < opt.dirs; i++)
		work->fd[i] = open_dir(i);
	work->names = calloc(opt.files, sizeof(*work->names));
	if (!work->names)
		fail("memory for", "names");
	for (i = 0; i < opt.files; i++)
		file_name(work->names[i], proc, i);
	if (phase == HANDLE) {
		create_all(work);
		make_handles(work);
	}
}

static void run_phase(const struct work *work, int phase)
{
	if (phase == CREATE)
		create_all(work);
	else if (phase == STAT)
		stat_all(work);
	else if (phase == UNLINK)
		unlink_all(work);
	else
		handle_all(work);
}

/* The marker is part of an instruction, so each phase has a call of its own. */
static void run_marked(const struct work *work, int phase)
{
	switch (phase) {
	case CREATE:
		mark(OPEN(CREATE + 1));
		create_all(work);
		mark(CLOSE(CREATE + 1));
		break;
	case STAT:
		mark(OPEN(STAT + 1));
		stat_all(work);
		mark(CLOSE(STAT + 1));
		break;
	case UNLINK:
		mark(OPEN(UNLINK + 1));
		unlink_all(work);
		mark(CLOSE(UNLINK + 1));
		break;
	case HANDLE:
		mark(OPEN(HANDLE + 1));
		handle_all(work);
		mark(CLOSE(HANDLE + 1));
		break;
	}
}

static void process(unsigned int proc, int phase)
{
	struct work work = {};

	prepare(&work, proc, phase);
	pthread_barrier_wait(&shared->line);	/* prepared */
	pthread_barrier_wait(&shared->line);	/* go */
	if (opt.procs == 1)
		run_marked(&work, phase);
	else
		run_phase(&work, phase);
	shared->end[proc] = now();
	pthread_barrier_wait(&shared->line);	/* through */
	pthread_barrier_wait(&shared->line);	/* counters are read */
	if (phase == HANDLE)
		unlink_all(&work);
}

/* One that fails leaves the others at a barrier: all end, see start(). */
static void on_child(int signal)
{
	int status;

	(void)signal;
	while (waitpid(-1, &status, WNOHANG) > 0)
		if (status)
			_exit(1);
}

static void start(unsigned int proc, int phase)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork", "");
	if (pid)
		return;
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	process(proc, phase);
	exit(0);
}

static void evict(void)
{
	sync();
	write_text("/proc/sys/vm/drop_caches", "2");
}

static void report(int phase, double begin)
{
	unsigned long long operations = (unsigned long long)opt.procs * opt.files;
	double seconds = 0;
	unsigned int proc;

	for (proc = 0; proc < opt.procs; proc++)
		if (shared->end[proc] - begin > seconds)
			seconds = shared->end[proc] - begin;
	printf("phase: %s\nprocesses: %u\noperations: %llu\n", phase_name[phase],
	       opt.procs, operations);
	printf("seconds: %.6f\noperations-per-second: %.1f\n", seconds,
	       operations / seconds);
	if (opt.counters)
		print_file("counters", opt.counters->path, opt.counters->lines);
	fflush(stdout);
}

static void phase(int number)
{
	unsigned int proc;
	double begin;

	if (number == STAT)
		evict();
	/* Inodes are freed after a grace period: not in the next phase. */
	usleep(200000);
	for (proc = 0; proc < opt.procs; proc++)
		start(proc, number);
	pthread_barrier_wait(&shared->line);	/* prepared */
	if (opt.counters)
		write_text(opt.counters->path, opt.counters->reset);
	begin = now();
	pthread_barrier_wait(&shared->line);	/* go */
	pthread_barrier_wait(&shared->line);	/* through */
	report(number, begin);
	pthread_barrier_wait(&shared->line);	/* counters are read */
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static const char help[] =
	"usage: inodes DIR... [-p PROCESSES] [-n FILES] [-k] [-c | -l]\n"
	"  -k ends with the files there and their inodes in memory\n"
	"  -c prints /proc/hashstats after each phase\n"
	"  -l prints how often the hash locks were taken, from /proc/lock_stat\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "p:n:kcl")) != -1) {
		if (c == 'p')
			opt.procs = to_number("-p", optarg, 1, 1000);
		else if (c == 'n')
			opt.files = to_number("-n", optarg, 1, 1000000);
		else if (c == 'k')
			opt.keep = 1;
		else if (c == 'c')
			opt.counters = &hashstats;
		else if (c == 'l')
			opt.counters = &lock_stat;
		else
			usage(help);
	}
	opt.dirs = argc - optind;
	if (!opt.dirs || opt.dirs > MAX_DIRS)
		usage(help);
	memcpy(opt.dir, argv + optind, opt.dirs * sizeof(*opt.dir));
}

static void share(void)
{
	pthread_barrierattr_t attr;

	shared = mmap(NULL, sizeof(*shared) + opt.procs * sizeof(double),
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("allocate", "shared memory");
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->line, &attr, opt.procs + 1);
}

int main(int argc, char **argv)
{
	int number;

	arguments(argc, argv);
	share();
	signal(SIGCHLD, on_child);
	if (opt.counters == &hashstats)
		write_text(hashstats.path, "on");
	make_dirs();
	for (number = 0; number < PHASES; number++) {
		if (opt.keep && number == UNLINK)
			return 0;
		phase(number);
	}
	remove_dirs();
	return 0;
}
