// SPDX-License-Identifier: GPL-2.0
/*
 * fstree - a file system load that fills the dentry and the inode table
 *
 * Several processes make a tree of directories and small files, look up names
 * that exist and names that do not, read, rename and unlink.  What is done is
 * a function of the arguments alone, only the order between processes is not.
 * With -c the processes create, rename and unlink for a number of seconds
 * instead, in one directory that all of them share.
 *
 * Prints "name: value" lines.  A call that fails when it must not, or succeeds
 * when it must not, ends the program with status 1.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define MOST	1000000	/* of anything */

enum work { CREATE, HIT, MISS, READ, RENAME, UNLINK, WORKS };

static const char * const work_name[WORKS] = {
	"create", "stat-hit", "stat-miss", "read", "rename", "unlink",
};

static struct {
	const char *dir;
	unsigned int procs;
	unsigned int dirs;
	unsigned int files;	/* in each directory */
	unsigned int seconds;	/* of churn, 0: make a tree */
	unsigned long long seed;
} opt = { .procs = 4, .dirs = 200, .files = 40, .seed = 1 };

static unsigned long long *count;		/* of this process, WORKS numbers, shared */

static void dir_path(char *path, size_t size, unsigned int dir)
{
	snprintf(path, size, "%s/dir-%u", opt.dir, dir);
}

static void file_path(char *path, size_t size, const char *kind,
		      unsigned int dir, unsigned int file)
{
	snprintf(path, size, "%s/dir-%u/%s-%u.c", opt.dir, dir, kind, file);
}

static void make_file(const char *path, size_t bytes)
{
	static char data[4096];
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);

	if (fd < 0)
		fail("create", path);
	if (write(fd, data, bytes) != (ssize_t)bytes)
		fail("write", path);
	close(fd);
	count[CREATE]++;
}

static void read_file(const char *path)
{
	char data[4096];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		fail("open", path);
	if (read(fd, data, sizeof(data)) < 0)
		fail("read", path);
	close(fd);
	count[READ]++;
}

static void rename_file(const char *from, const char *to)
{
	if (rename(from, to))
		fail("rename", from);
	count[RENAME]++;
}

static void unlink_file(const char *path)
{
	if (unlink(path))
		fail("unlink", path);
	count[UNLINK]++;
}

static void expect(const char *path, int there)
{
	struct stat st;
	int error = stat(path, &st);

	if (there && error)
		fail("stat", path);
	if (!there && !error)
		errno = 0;
	if (!there && (!error || errno != ENOENT))
		fail("stat", path);
	count[there ? HIT : MISS]++;
}

/* Names that exist and names that do not, in no order of creation. */
static void look_up(unsigned int dir, unsigned long long *random)
{
	char path[4096];
	unsigned int i;

	for (i = 0; i < 2 * opt.files; i++) {
		file_path(path, sizeof(path), "file", dir,
			  next(random) % opt.files);
		expect(path, 1);
	}
	for (i = 0; i < opt.files; i++) {
		file_path(path, sizeof(path), "none", dir, i);
		expect(path, 0);
	}
}

/* One in four gets another name, one in eight goes. */
static void change(unsigned int dir)
{
	char from[4096], to[4096];
	unsigned int i;

	for (i = 0; i < opt.files; i++) {
		file_path(from, sizeof(from), "file", dir, i);
		file_path(to, sizeof(to), "renamed", dir, i);
		if (i % 4 == 1)
			rename_file(from, to);
		else if (i % 8 == 7)
			unlink_file(from);
		else
			read_file(from);
	}
}

static void tree(unsigned int proc)
{
	unsigned long long random = opt.seed * opt.procs + proc;
	char path[4096];
	unsigned int dir, i;

	for (dir = proc; dir < opt.dirs; dir += opt.procs) {
		dir_path(path, sizeof(path), dir);
		if (mkdir(path, 0755))
			fail("mkdir", path);
		for (i = 0; i < opt.files; i++) {
			file_path(path, sizeof(path), "file", dir, i);
			make_file(path, next(&random) % 2048);
		}
	}
	for (dir = proc; dir < opt.dirs; dir += opt.procs)
		look_up(dir, &random);
	for (dir = proc; dir < opt.dirs; dir += opt.procs)
		change(dir);
}

static void churn_path(char *path, size_t size, const char *kind,
		       unsigned int proc, unsigned long i)
{
	snprintf(path, size, "%s/%s-%u-%lu", opt.dir, kind, proc, i);
}

/* A hundred files of each process stay for a while, so that chains grow. */
static void churn(unsigned int proc)
{
	const unsigned long stay = 100;
	double end = now() + opt.seconds;
	char old[4096], new[4096];
	unsigned long i, made;

	for (i = 0; i % 64 || now() < end; i++) {
		churn_path(old, sizeof(old), "old", proc, i);
		churn_path(new, sizeof(new), "new", proc, i);
		make_file(old, 0);
		rename_file(old, new);
		if (i < stay)
			continue;
		churn_path(new, sizeof(new), "new", proc, i - stay);
		unlink_file(new);
	}
	made = i;
	for (i = made < stay ? 0 : made - stay; i < made; i++) {
		churn_path(new, sizeof(new), "new", proc, i);
		unlink_file(new);
	}
}

static const char help[] =
	"usage: fstree DIR [-p PROCESSES] [-d DIRECTORIES] [-f FILES] [-s SEED]\n"
	"       fstree DIR -c SECONDS [-p PROCESSES]\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "p:d:f:s:c:")) != -1) {
		switch (c) {
		case 'p':
			opt.procs = to_number("-p", optarg, 0, MOST);
			break;
		case 'd':
			opt.dirs = to_number("-d", optarg, 0, MOST);
			break;
		case 'f':
			opt.files = to_number("-f", optarg, 0, MOST);
			break;
		case 's':
			opt.seed = to_number("-s", optarg, 0, MOST);
			break;
		case 'c':
			opt.seconds = to_number("-c", optarg, 0, MOST);
			break;
		default:
			usage(help);
		}
	}
	if (optind != argc - 1 || !opt.procs || !opt.files)
		usage(help);
	opt.dir = argv[optind];
}

static void start(unsigned int proc)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork", "");
	if (pid)
		return;
	count += proc * WORKS;
	if (opt.seconds)
		churn(proc);
	else
		tree(proc);
	exit(0);
}

static void report(double seconds)
{
	unsigned long long sum, all = 0;
	unsigned int proc;
	int work;

	printf("processes: %u\n", opt.procs);
	for (work = 0; work < WORKS; work++) {
		sum = 0;
		for (proc = 0; proc < opt.procs; proc++)
			sum += count[proc * WORKS + work];
		printf("%s: %llu\n", work_name[work], sum);
		all += sum;
	}
	printf("operations: %llu\nseconds: %.3f\n", all,
	       seconds);
}

int main(int argc, char **argv)
{
	int status, failed = 0;
	unsigned int proc;
	double begin;

	arguments(argc, argv);
	count = mmap(NULL, opt.procs * WORKS * sizeof(*count),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED)
		fail("mmap", "");
	begin = now();
	for (proc = 0; proc < opt.procs; proc++)
		start(proc);
	while (wait(&status) > 0)
		failed |= status;
	report(now() - begin);
	return !!failed;
}
