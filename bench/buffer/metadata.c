// SPDX-License-Identifier: GPL-2.0
/*
 * metadata - files that come, are listed, are given attributes, and go
 *
 * Phases, one after the other, of one process in a directory of an ext4
 * with a journal:
 *
 *   create        makes the files, empty, one directory after the other
 *   cold-list     lists all of them as `ls -lR` does, a stat for each name,
 *                 with nothing in memory (the journal is written back, so that
 *                 it needs no buffer any more; sync, drop_caches=3)
 *   warm-list     the same once more, all in memory
 *   reread-list   the same, when names and inodes are not in memory, but the
 *                 blocks that they are read from are (sync, drop_caches=2)
 *   setxattr      sets an attribute, small enough for the inode, of files taken
 *                 at random
 *   follow        a stat through each of the symbolic links, which are so long
 *                 that each fills a block, one lookup of a buffer by a caller
 *                 that cannot sleep; all is in memory, and no block comes again
 *                 before all others have been looked up
 *   follow-one    as many through one link, whose block was looked up last
 *   readlink      what the links say, one lookup by a caller that can sleep
 *   readlink-one  as many of one link
 *   remove        removes the files and their directories
 *
 * What is done is a function of the arguments alone. An emulator that knows the
 * markers counts what is executed in each phase, in their order. Making the
 * links and removing them is not part of a phase.
 *
 * Prints "name: value" lines, a group for each phase.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common.h"
#include "counters.h"
#include "markers.h"

#define NAME_SIZE	64
#define VALUE_SIZE	32
/* From linux/ext4.h, which distributions do not install. */
#define EXT4_IOC_CHECKPOINT	_IOW('f', 43, unsigned int)

#define LINKS		"links"
#define TARGET		LINKS "/target"
/* More than the 59 bytes that an inode of ext4 has room for. */
#define DETOUR		"./././././././././././././././././././././././././././././././target"
#define LRU		16	/* buffers that a CPU remembers */
#define LOCK_STAT	"/proc/lock_stat"

static struct {
	const char *dir;
	unsigned int files;
	unsigned int dir_files;	/* of one directory */
	unsigned int sets;
	unsigned int links;
	int locks;	/* print LOCK_STAT after each phase */
} opt = { .files = 1000, .dir_files = 500, .sets = 1000, .links = 1000 };

static void drop(const char *what)
{
	sync();
	write_text("/proc/sys/vm/drop_caches", what);
}

static void drop_all(void)
{
	unsigned int flags = 0;
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	if (fd < 0 || ioctl(fd, EXT4_IOC_CHECKPOINT, &flags))
		fail("write back the journal of", opt.dir);
	close(fd);
	drop("3");
}

static void drop_inodes(void)
{
	drop("2");
}

static unsigned int dirs(void)
{
	return (opt.files + opt.dir_files - 1) / opt.dir_files;
}

static void dir_name(char *name, unsigned int i)
{
	snprintf(name, NAME_SIZE, "files/dir-%05u", i);
}

static void file_name(char *name, unsigned int i)
{
	snprintf(name, NAME_SIZE, "files/dir-%05u/file-%06u", i / opt.dir_files, i);
}

static void link_name(char *name, unsigned int i)
{
	snprintf(name, NAME_SIZE, LINKS "/link-%06u", i);
}

static void make_file(const char *name)
{
	int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);

	if (fd < 0)
		fail("create", name);
	close(fd);
}

static void make_dir(const char *name)
{
	if (mkdir(name, 0755))
		fail("mkdir", name);
}

static void remove_dir(const char *name)
{
	if (rmdir(name))
		fail("rmdir", name);
}

static void remove_file(const char *name)
{
	if (unlink(name))
		fail("unlink", name);
}

static void create(void)
{
	char name[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < dirs(); i++) {
		dir_name(name, i);
		make_dir(name);
	}
	for (i = 0; i < opt.files; i++) {
		file_name(name, i);
		make_file(name);
	}
}

static unsigned int list_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned int found = 0;
	struct dirent *entry;
	struct stat st;

	if (!dir)
		fail("open", name);
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			fail("stat", entry->d_name);
		if (S_ISDIR(st.st_mode))
			found += list_dir(fd, entry->d_name);
		else
			found++;
	}
	closedir(dir);
	return found;
}

static void list(void)
{
	unsigned int found = list_dir(AT_FDCWD, "files");

	if (found != opt.files) {
		fprintf(stderr, "metadata: %u files are listed, %u were made\n",
			found, opt.files);
		exit(1);
	}
}

static void set_attributes(void)
{
	unsigned long long random = 1;
	char name[NAME_SIZE], value[VALUE_SIZE];
	unsigned int i;

	for (i = 0; i < opt.sets; i++) {
		file_name(name, next(&random) % opt.files);
		snprintf(value, sizeof(value), "value-%025u", i);
		if (setxattr(name, "user.note", value, sizeof(value), 0))
			fail("setxattr", name);
	}
}

static void make_links(void)
{
	char name[NAME_SIZE];
	unsigned int i;

	make_dir(LINKS);
	make_file(TARGET);
	for (i = 0; i < opt.links; i++) {
		link_name(name, i);
		if (symlink(DETOUR, name))
			fail("symlink", name);
	}
}

static void follow_link(unsigned int i)
{
	char name[NAME_SIZE];
	struct stat st;

	link_name(name, i);
	if (stat(name, &st))
		fail("stat", name);
}

static void read_link(unsigned int i)
{
	char name[NAME_SIZE], target[2 * sizeof(DETOUR)];

	link_name(name, i);
	if (readlink(name, target, sizeof(target)) != sizeof(DETOUR) - 1)
		fail("readlink", name);
}

static void follow(void)
{
	unsigned int i;

	for (i = 0; i < opt.links; i++)
		follow_link(i);
}

static void follow_one(void)
{
	unsigned int i;

	for (i = 0; i < opt.links; i++)
		follow_link(0);
}

static void read_links(void)
{
	unsigned int i;

	for (i = 0; i < opt.links; i++)
		read_link(i);
}

static void read_one_link(void)
{
	unsigned int i;

	for (i = 0; i < opt.links; i++)
		read_link(0);
}

/* After this a link is in memory, and its access time needs no update. */
static void warm_links(void)
{
	sync();
	read_links();
	follow();
	sync();
}

static void warm_one_link(void)
{
	follow_link(0);
}

static void remove_links(void)
{
	char name[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < opt.links; i++) {
		link_name(name, i);
		remove_file(name);
	}
	remove_file(TARGET);
	remove_dir(LINKS);
}

static void remove_all(void)
{
	char name[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < opt.files; i++) {
		file_name(name, i);
		remove_file(name);
	}
	for (i = 0; i < dirs(); i++) {
		dir_name(name, i);
		remove_dir(name);
	}
}

static const struct phase {
	const char *name;
	unsigned int *operations;
	void (*prepare)(void);
	void (*work)(void);
} phases[] = {
	{ "create",       &opt.files, sync,          create         },
	{ "cold-list",    &opt.files, drop_all,      list           },
	{ "warm-list",    &opt.files, sync,          list           },
	{ "reread-list",  &opt.files, drop_inodes,   list           },
	{ "setxattr",     &opt.sets,  sync,          set_attributes },
	{ "follow",       &opt.links, warm_links,    follow         },
	{ "follow-one",   &opt.links, warm_one_link, follow_one     },
	{ "readlink",     &opt.links, warm_links,    read_links     },
	{ "readlink-one", &opt.links, warm_one_link, read_one_link  },
	{ "remove",       &opt.files, sync,          remove_all     },
};

static void run(const struct phase *phase)
{
	phase->prepare();
	/* What was dropped is freed after a grace period: not in the phase. */
	usleep(200000);
	if (opt.locks)
		write_text(LOCK_STAT, "0");
	mark(OPEN(1));
	phase->work();
	mark(CLOSE(1));
	printf("phase: %s\noperations: %u\n", phase->name, *phase->operations);
	if (opt.locks)
		print_file("counters", LOCK_STAT, "i_private_lock");
	fflush(stdout);
}

static const char help[] =
	"usage: metadata DIR [-n FILES] [-d FILES] [-x SETS] [-l LINKS] [-p]\n"
	"  -d is how many files a directory has\n"
	"  -p prints how often i_private_lock was taken, from /proc/lock_stat\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:d:x:l:p")) != -1) {
		if (c == 'n')
			opt.files = to_number("-n", optarg, 1, 1000000);
		else if (c == 'd')
			opt.dir_files = to_number("-d", optarg, 1, 1000000);
		else if (c == 'x')
			opt.sets = to_number("-x", optarg, 1, 100000000);
		else if (c == 'l')
			opt.links = to_number("-l", optarg, 1, 1000000);
		else if (c == 'p')
			opt.locks = 1;
		else
			usage(help);
	}
	if (optind + 1 != argc)
		usage(help);
	opt.dir = argv[optind];
	if (opt.links <= LRU) {
		fprintf(stderr, "metadata: -l %u: accepted: more than the %d of an LRU\n",
			opt.links, LRU);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	unsigned int i;

	arguments(argc, argv);
	if (chdir(opt.dir))
		fail("chdir", opt.dir);
	make_dir("files");
	make_links();
	for (i = 0; i < sizeof(phases) / sizeof(*phases); i++)
		run(&phases[i]);
	remove_links();
	remove_dir("files");
	return 0;
}
