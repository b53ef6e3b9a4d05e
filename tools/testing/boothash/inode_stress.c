// SPDX-License-Identifier: GPL-2.0
/*
 * inode_stress - what races in the inode table, and what must hold meanwhile
 *
 * In each DIR, a directory of a mounted file system, several processes create,
 * link, rename, stat, read and unlink files of their own. Each knows what must
 * be there and checks it: the number of an inode stays, its links and its
 * content are right, a name that is gone is gone, and no call fails. All open
 * by handle: their own files, which must succeed; files of others, which may be
 * unlinked or evicted at the moment; and files unlinked before, whose inode
 * number may be another file's by now. In a directory that all share they
 * create, link, rename and unlink the same few names.
 *
 * At the same time one process drops inodes and dentries from memory, one
 * remounts each DIR, and for each -m one mounts that device, checks the files
 * which it left there, changes them, and unmounts.
 *
 * Prints one line. Status 1: something was wrong; 3: a process is stuck, and
 * the line says in what.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

#define MAX_DIRS	8
#define MAX_MOUNTS	4
#define MAX_PROCS	256
#define SLOTS		32	/* files of a process */
#define GRAVES		32	/* handles of unlinked files */
#define NAMES		8	/* in the shared directory */
#define MOUNTED		64	/* files on a device of -m */
#define NAME_SIZE	64
#define PATH_SIZE	4096
#define HANDLE_SIZE	64
#define MAGIC		0x626fULL

struct handle {
	struct file_handle head;
	unsigned char bytes[HANDLE_SIZE];
};

/* A file that was published for others to open. */
struct published {
	int valid;
	unsigned long long content;
	struct handle handle;
};

struct slot {
	int exists, linked, has_handle;
	unsigned int dir, version;
	ino_t ino;
	unsigned long long content;
	struct handle handle;
};

struct device {
	const char *source, *type, *dir;
};

static struct {
	const char *dir[MAX_DIRS];
	unsigned int dirs;
	struct device device[MAX_MOUNTS];
	unsigned int devices;
	unsigned int procs;	/* in all DIRs */
	unsigned int seconds;
	unsigned int patience;	/* seconds more until it is stuck */
} opt = { .procs = 8, .seconds = 10, .patience = 300 };

static struct {
	int failed;
	unsigned long long operations[MAX_PROCS];
	const char *doing[MAX_PROCS + MAX_MOUNTS + 2];
	unsigned long long evictions, remounts, mounts, foreign, stale, reborn;
	pthread_mutex_t lock[MAX_PROCS];
	struct published published[MAX_PROCS][SLOTS];
} *shared;

static unsigned int self;	/* number of this process */
static double end_time;

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "inode_stress: process %u: %s %s: %s\n", self, what, path,
		errno ? strerror(errno) : "not as it must be");
	__atomic_store_n(&shared->failed, 1, __ATOMIC_RELAXED);
	exit(1);
}

/* Not an error of a call: what it said is wrong. */
static void wrong(const char *what, const char *path)
{
	errno = 0;
	fail(what, path);
}

static void doing(const char *what)
{
	shared->doing[self] = what;
}

static void add(unsigned long long *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static int time_left(void)
{
	return now() < end_time && !__atomic_load_n(&shared->failed, __ATOMIC_RELAXED);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int bad = fd < 0 || write(fd, text, strlen(text)) < 0;

	if (fd >= 0)
		close(fd);
	return bad ? -1 : 0;
}

/* Processes with files of their own. */

struct worker {
	int root;		/* the DIR */
	unsigned long long random;
	unsigned long long made;
	struct slot slot[SLOTS];
	struct {
		int valid;
		struct handle handle;
	} grave[GRAVES];
	unsigned int graves;
};

static void own_name(char *name, const struct slot *slot, unsigned int number)
{
	snprintf(name, NAME_SIZE, "stress-%u/%c/file-%u-%u", self, 'a' + slot->dir,
		 number, slot->version);
}

static void link_name(char *name, unsigned int number)
{
	snprintf(name, NAME_SIZE, "stress-%u/a/link-%u", self, number);
}

static void shared_name(char *name, unsigned int number)
{
	snprintf(name, NAME_SIZE, "stress-shared/name-%u", number);
}

static void publish(const struct slot *slot, unsigned int number)
{
	struct published *to = &shared->published[self][number];

	pthread_mutex_lock(&shared->lock[self]);
	to->valid = slot->has_handle;
	to->content = slot->content;
	to->handle = slot->handle;
	pthread_mutex_unlock(&shared->lock[self]);
}

static void get_handle(struct worker *w, struct slot *slot, const char *name)
{
	int mount;

	slot->handle.head.handle_bytes = HANDLE_SIZE;
	slot->has_handle = !name_to_handle_at(w->root, name, &slot->handle.head,
					      &mount, 0);
	if (!slot->has_handle && errno != EOPNOTSUPP)
		fail("make a handle of", name);
}

static void create_file(struct worker *w, unsigned int number)
{
	struct slot *slot = &w->slot[number];
	char name[NAME_SIZE];
	struct stat st;
	int fd;

	doing("create");
	*slot = (struct slot){ .exists = 1, .dir = next(&w->random) % 2,
			       .version = slot->version + 1 };
	slot->content = MAGIC << 48 | (unsigned long long)self << 40 | w->made++;
	own_name(name, slot, number);
	fd = openat(w->root, name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (fd < 0)
		fail("create", name);
	if (write(fd, &slot->content, sizeof(slot->content)) != sizeof(slot->content))
		fail("write", name);
	if (fstat(fd, &st))
		fail("fstat", name);
	close(fd);
	slot->ino = st.st_ino;
	get_handle(w, slot, name);
	publish(slot, number);
}

static void check_stat(const struct slot *slot, const struct stat *st,
		       const char *name)
{
	if (st->st_ino != slot->ino)
		wrong("inode number of", name);
	if (st->st_nlink != 1 + (nlink_t)slot->linked)
		wrong("links of", name);
	if (st->st_size != sizeof(slot->content))
		wrong("size of", name);
}

static void check_content(int fd, unsigned long long content, const char *name)
{
	unsigned long long found = 0;
	ssize_t size = pread(fd, &found, sizeof(found), 0);

	if (size < 0)
		fail("read", name);
	if (size != sizeof(found) || found != content)
		wrong("content of", name);
}

static void check_name(struct worker *w, const struct slot *slot, const char *name)
{
	struct stat st;
	int fd;

	doing("stat");
	if (fstatat(w->root, name, &st, AT_SYMLINK_NOFOLLOW))
		fail("stat", name);
	check_stat(slot, &st, name);
	doing("read");
	fd = openat(w->root, name, O_RDONLY);
	if (fd < 0)
		fail("open", name);
	check_content(fd, slot->content, name);
	close(fd);
}

static void check_file(struct worker *w, unsigned int number)
{
	const struct slot *slot = &w->slot[number];
	char name[NAME_SIZE];

	own_name(name, slot, number);
	check_name(w, slot, name);
	if (slot->linked) {
		link_name(name, number);
		check_name(w, slot, name);
	}
}

static void check_missing(struct worker *w, const char *name)
{
	struct stat st;

	doing("stat of a name that is gone");
	if (!fstatat(w->root, name, &st, AT_SYMLINK_NOFOLLOW))
		wrong("there must be no", name);
	if (errno != ENOENT)
		fail("stat", name);
}

static void unlink_name(struct worker *w, const char *name)
{
	doing("unlink");
	if (unlinkat(w->root, name, 0))
		fail("unlink", name);
	check_missing(w, name);
}

static void unlink_file(struct worker *w, unsigned int number)
{
	struct slot *slot = &w->slot[number];
	char name[NAME_SIZE];

	if (slot->linked) {
		link_name(name, number);
		unlink_name(w, name);
		slot->linked = 0;
		check_file(w, number);
	}
	own_name(name, slot, number);
	unlink_name(w, name);
	slot->exists = 0;
	if (slot->has_handle) {
		w->grave[w->graves % GRAVES].valid = 1;
		w->grave[w->graves++ % GRAVES].handle = slot->handle;
	}
}

static void link_file(struct worker *w, unsigned int number)
{
	struct slot *slot = &w->slot[number];
	char name[NAME_SIZE], other[NAME_SIZE];

	own_name(name, slot, number);
	link_name(other, number);
	if (slot->linked) {
		unlink_name(w, other);
	} else {
		doing("link");
		if (linkat(w->root, name, w->root, other, 0))
			fail("link", name);
	}
	slot->linked = !slot->linked;
	check_file(w, number);
}

static void rename_file(struct worker *w, unsigned int number)
{
	struct slot *slot = &w->slot[number];
	char old[NAME_SIZE], new[NAME_SIZE];

	own_name(old, slot, number);
	slot->version++;
	slot->dir ^= next(&w->random) % 2;
	own_name(new, slot, number);
	doing("rename");
	if (renameat(w->root, old, w->root, new))
		fail("rename", old);
	check_missing(w, old);
	check_file(w, number);
}

static void open_own(struct worker *w, unsigned int number)
{
	struct slot *slot = &w->slot[number];
	char name[NAME_SIZE];
	struct stat st;
	int fd;

	if (!slot->has_handle)
		return;
	doing("open by handle");
	own_name(name, slot, number);
	fd = open_by_handle_at(w->root, &slot->handle.head, O_RDONLY);
	if (fd < 0)
		fail("open by handle", name);
	if (fstat(fd, &st))
		fail("fstat", name);
	check_stat(slot, &st, name);
	check_content(fd, slot->content, name);
	close(fd);
}

/*
 * Stale, or its number belongs to an inode that is being created: iget_locked()
 * gives no inode then, and the file systems call that ENOMEM.
 */
static void check_gone(const char *what)
{
	if (errno != ESTALE && errno != ENOMEM)
		fail("open by handle", what);
	add(&shared->stale);
}

/* Theirs may go at any moment; what opens must be what was published. */
static void open_foreign(struct worker *w)
{
	unsigned int mates = (opt.procs - self % opt.dirs + opt.dirs - 1) / opt.dirs;
	unsigned int mate = self % opt.dirs + next(&w->random) % mates * opt.dirs;
	struct published copy;
	int fd;

	doing("open by handle of another process");
	pthread_mutex_lock(&shared->lock[mate]);
	copy = shared->published[mate][next(&w->random) % SLOTS];
	pthread_mutex_unlock(&shared->lock[mate]);
	if (!copy.valid)
		return;
	fd = open_by_handle_at(w->root, &copy.handle.head, O_RDONLY);
	if (fd < 0) {
		check_gone("of another process");
		return;
	}
	check_content(fd, copy.content, "a file of another process");
	close(fd);
	add(&shared->foreign);
}

/* Stale, unless another process has it open still. */
static void open_dead(struct worker *w)
{
	unsigned int grave = next(&w->random) % GRAVES;
	struct stat st;
	int fd;

	if (!w->grave[grave].valid)
		return;
	doing("open by handle of an unlinked file");
	fd = open_by_handle_at(w->root, &w->grave[grave].handle.head, O_RDONLY);
	if (fd < 0) {
		check_gone("an unlinked file");
		return;
	}
	if (fstat(fd, &st))
		fail("fstat", "an unlinked file");
	if (st.st_nlink)
		wrong("links of", "an unlinked file");
	close(fd);
	add(&shared->reborn);
}

/* Of two processes with one name only one may win, the other must be told. */
static void may_lose(int result, const char *what, const char *name)
{
	if (result < 0 && errno != ENOENT && errno != EEXIST)
		fail(what, name);
}

static void create_shared(struct worker *w, const char *name)
{
	unsigned long long content = MAGIC << 48 | (unsigned long long)self << 40;
	int fd = openat(w->root, name, O_CREAT | O_EXCL | O_WRONLY, 0644);

	may_lose(fd, "create", name);
	if (fd < 0)
		return;
	if (write(fd, &content, sizeof(content)) != sizeof(content))
		fail("write", name);
	close(fd);
}

static void read_shared(struct worker *w, const char *name)
{
	int fd = openat(w->root, name, O_RDONLY);
	unsigned long long content;
	ssize_t size;

	may_lose(fd, "open", name);
	if (fd < 0)
		return;
	size = read(fd, &content, sizeof(content));
	if (size < 0)
		fail("read", name);
	/* Its writer may not have come to it. */
	if (size && (size != sizeof(content) || content >> 48 != MAGIC))
		wrong("content of", name);
	close(fd);
}

static void race(struct worker *w)
{
	char name[NAME_SIZE], other[NAME_SIZE];

	doing("the same names as others");
	shared_name(name, next(&w->random) % NAMES);
	shared_name(other, next(&w->random) % NAMES);
	switch (next(&w->random) % 5) {
	case 0:
		create_shared(w, name);
		break;
	case 1:
		may_lose(unlinkat(w->root, name, 0), "unlink", name);
		break;
	case 2:
		may_lose(renameat(w->root, name, w->root, other), "rename", name);
		break;
	case 3:
		may_lose(linkat(w->root, name, w->root, other, 0), "link", name);
		break;
	default:
		read_shared(w, name);
	}
}

static void one_operation(struct worker *w)
{
	unsigned int number = next(&w->random) % SLOTS;
	unsigned int what = next(&w->random) % 16;

	if (what >= 14)
		race(w);
	else if (what >= 12)
		open_dead(w);
	else if (what >= 10)
		open_foreign(w);
	else if (!w->slot[number].exists)
		create_file(w, number);
	else if (what >= 8)
		open_own(w, number);
	else if (what >= 6)
		rename_file(w, number);
	else if (what >= 4)
		unlink_file(w, number);
	else if (what >= 3)
		link_file(w, number);
	else
		check_file(w, number);
	shared->operations[self]++;
}

static void own_dirs(struct worker *w, int make)
{
	static const char * const format[] = {
		"stress-%u", "stress-%u/a", "stress-%u/b",
	};
	char name[NAME_SIZE];
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), format[make ? i : 2 - i], self);
		if (make ? mkdirat(w->root, name, 0755) :
			   unlinkat(w->root, name, AT_REMOVEDIR))
			fail(make ? "mkdir" : "rmdir", name);
	}
}

static void work(void)
{
	const char *dir = opt.dir[self % opt.dirs];
	static struct worker worker;
	unsigned int i;

	worker.random = self;
	worker.root = open(dir, O_RDONLY | O_DIRECTORY);
	if (worker.root < 0)
		fail("open", dir);
	own_dirs(&worker, 1);
	while (time_left())
		one_operation(&worker);
	for (i = 0; i < SLOTS; i++) {
		if (!worker.slot[i].exists)
			continue;
		check_file(&worker, i);
		open_own(&worker, i);
		unlink_file(&worker, i);
	}
	own_dirs(&worker, 0);
}

/* Processes that disturb them. */

static void evict(void)
{
	unsigned int turn;

	for (turn = 0; time_left(); turn++) {
		doing("sync");
		if (turn % 4 == 0)
			sync();
		doing("drop_caches");
		if (write_text("/proc/sys/vm/drop_caches", turn % 8 ? "2" : "3"))
			fail("write", "/proc/sys/vm/drop_caches");
		add(&shared->evictions);
		usleep(20000);
	}
}

static void remount(void)
{
	unsigned int turn, i;

	for (turn = 0; time_left(); turn++) {
		for (i = 0; i < opt.dirs; i++) {
			doing("remount");
			if (mount(NULL, opt.dir[i], NULL, MS_REMOUNT |
				  (turn % 2 ? MS_NOATIME : MS_RELATIME), NULL))
				fail("remount", opt.dir[i]);
			add(&shared->remounts);
		}
		usleep(100000);
	}
}

struct left {
	ino_t ino;
	unsigned long long content;
};

static void left_path(char *path, const struct device *device, unsigned int i)
{
	snprintf(path, PATH_SIZE, "%s/left-%u", device->dir, i);
}

static void leave_file(const struct device *device, unsigned int i,
		       struct left *left, unsigned long long content)
{
	char path[PATH_SIZE];
	struct stat st;
	int fd;

	left_path(path, device, i);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (fd < 0)
		fail("create", path);
	if (write(fd, &content, sizeof(content)) != sizeof(content))
		fail("write", path);
	if (fstat(fd, &st))
		fail("fstat", path);
	close(fd);
	left->ino = st.st_ino;
	left->content = content;
}

static void check_left(const struct device *device, unsigned int i,
		       const struct left *left)
{
	char path[PATH_SIZE];
	struct stat st;
	int fd;

	left_path(path, device, i);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		fail("open", path);
	if (fstat(fd, &st))
		fail("fstat", path);
	if (st.st_ino != left->ino)
		wrong("inode number of", path);
	check_content(fd, left->content, path);
	close(fd);
}

static void remove_left(const struct device *device, unsigned int i)
{
	char path[PATH_SIZE];

	left_path(path, device, i);
	if (unlink(path))
		fail("unlink", path);
}

static void mount_device(const struct device *device)
{
	doing("mount");
	if (mount(device->source, device->dir, device->type, 0, NULL))
		fail("mount", device->dir);
	add(&shared->mounts);
}

static void unmount_device(const struct device *device)
{
	doing("umount");
	if (umount2(device->dir, 0))
		fail("umount", device->dir);
}

/* A tmpfs is empty when it is mounted again. */
static void mount_and_unmount(const struct device *device)
{
	int keeps = strcmp(device->type, "tmpfs");
	static struct left left[MOUNTED];
	unsigned int turn, i;

	for (turn = 0; turn < 2 || time_left(); turn++) {
		mount_device(device);
		doing("files of a mount");
		for (i = 0; i < MOUNTED; i++) {
			if (turn && keeps)
				check_left(device, i, &left[i]);
			if (turn && keeps && i % 2 == turn % 2)
				remove_left(device, i);
			else if (turn && keeps)
				continue;
			leave_file(device, i, &left[i], MAGIC << 48 | turn);
		}
		for (i = 0; i < MOUNTED; i++)
			check_left(device, i, &left[i]);
		unmount_device(device);
	}
	mount_device(device);
	for (i = 0; keeps && i < MOUNTED; i++) {
		check_left(device, i, &left[i]);
		remove_left(device, i);
	}
	unmount_device(device);
}

static unsigned int all_procs(void)
{
	return opt.procs + 2 + opt.devices;
}

static void run_process(void)
{
	if (self < opt.procs)
		work();
	else if (self == opt.procs)
		evict();
	else if (self == opt.procs + 1)
		remount();
	else
		mount_and_unmount(&opt.device[self - opt.procs - 2]);
	doing(NULL);
}

static void give_up(int signal)
{
	unsigned int i;

	(void)signal;
	for (i = 0; i < all_procs(); i++)
		if (shared->doing[i])
			fprintf(stderr, "inode_stress: process %u is stuck in: %s\n",
				i, shared->doing[i]);
	_exit(3);
}

static void shared_dirs(int make)
{
	char path[PATH_SIZE], name[NAME_SIZE];
	unsigned int i, j;

	for (i = 0; i < opt.dirs; i++) {
		snprintf(path, sizeof(path), "%s/stress-shared", opt.dir[i]);
		if (make && mkdir(path, 0755))
			fail("mkdir", path);
		if (make)
			continue;
		for (j = 0; j < NAMES; j++) {
			shared_name(name, j);
			snprintf(path, sizeof(path), "%s/%s", opt.dir[i], name);
			may_lose(unlink(path), "unlink", path);
		}
		snprintf(path, sizeof(path), "%s/stress-shared", opt.dir[i]);
		if (rmdir(path))
			fail("rmdir", path);
	}
}

static void make_locks(void)
{
	pthread_mutexattr_t attr;
	unsigned int i;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (i = 0; i < opt.procs; i++)
		pthread_mutex_init(&shared->lock[i], &attr);
}

static void print_usage(void)
{
	fputs("usage: inode_stress DIR... [-t SECONDS] [-p PROCESSES] [-w SECONDS]\n"
	      "                    [-m DEVICE:TYPE:DIR]...\n"
	      "  -w is how long after its time it may take to end\n", stderr);
	exit(2);
}

static void to_device(char *text)
{
	struct device *device = &opt.device[opt.devices++];

	if (opt.devices > MAX_MOUNTS)
		print_usage();
	device->source = strsep(&text, ":");
	device->type = strsep(&text, ":");
	device->dir = text;
	if (!device->dir)
		print_usage();
}

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:p:w:m:")) != -1) {
		if (c == 't')
			opt.seconds = option_number(optarg, c, 1000000);
		else if (c == 'p')
			opt.procs = option_number(optarg, c, MAX_PROCS);
		else if (c == 'w')
			opt.patience = option_number(optarg, c, 1000000);
		else if (c == 'm')
			to_device(optarg);
		else
			print_usage();
	}
	opt.dirs = argc - optind;
	if (!opt.dirs || opt.dirs > MAX_DIRS || opt.procs < opt.dirs)
		print_usage();
	memcpy(opt.dir, argv + optind, opt.dirs * sizeof(*opt.dir));
}

static void start_all(void)
{
	pid_t pid;

	for (self = 0; self < all_procs(); self++) {
		pid = fork();
		if (pid < 0)
			fail("fork", "");
		if (pid)
			continue;
		signal(SIGALRM, SIG_DFL);
		run_process();
		exit(0);
	}
}

static int wait_all(void)
{
	int status, failed = 0;

	while (wait(&status) > 0) {
		if (WIFSIGNALED(status))
			fprintf(stderr, "inode_stress: a process ended by signal %d\n",
				WTERMSIG(status));
		failed |= !!status;
	}
	return failed;
}

static void report(int failed)
{
	unsigned long long operations = 0;
	unsigned int i;

	for (i = 0; i < opt.procs; i++)
		operations += shared->operations[i];
	printf("inode_stress: %llu operations, %llu evictions, %llu remounts, %llu mounts, ",
	       operations, shared->evictions, shared->remounts, shared->mounts);
	printf("%llu foreign handles, %llu stale, %llu unlinked and open: %s\n",
	       shared->foreign, shared->stale, shared->reborn,
	       failed ? "failed" : "passed");
}

int main(int argc, char **argv)
{
	int failed;

	arguments(argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		fprintf(stderr, "inode_stress: no shared memory: %s\n", strerror(errno));
		return 1;
	}
	make_locks();
	shared_dirs(1);
	end_time = now() + opt.seconds;
	signal(SIGALRM, give_up);
	alarm(opt.seconds + opt.patience);
	start_all();
	failed = wait_all();
	if (!failed)
		shared_dirs(0);
	report(failed);
	return failed;
}
