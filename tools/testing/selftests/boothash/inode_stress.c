// SPDX-License-Identifier: GPL-2.0
/*
 * inode_stress - stress the inode table with concurrent operations
 *
 * In each DIR, a directory of a mounted file system, several processes create,
 * link, rename, stat, read and unlink files of their own. Each process checks
 * its files: an inode keeps its number, its link count and content are right, a
 * name that was removed is not found, and no call fails. All processes open
 * files by handle: their own files, where this must succeed; files of others,
 * which may be unlinked or evicted at that moment; and files that were unlinked
 * before, whose inode number another file may have by now. In a directory that
 * they share, they create, link, rename and unlink the same few names.
 *
 * At the same time, one process drops inodes and dentries from memory, and one
 * remounts each DIR. For each -m, one process mounts that device, checks the
 * files that it left there, changes them, and unmounts the device.
 *
 * Without DIR, all of this is done on a tmpfs that only the test sees.
 */
#include <pthread.h>
#include <sys/stat.h>

#include "stress.h"

#define MAX_DIRS	8
#define MAX_MOUNTS	4
#define MAX_PROCS	256
#define SLOTS		32	/* files of a process */
#define GRAVES		32	/* handles of unlinked files */
#define NAMES		8	/* in the shared directory */
#define MOUNTED		64	/* files on a device of -m */
#define NAME_SIZE	64
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
} opt;

enum {
	OPERATIONS, EVICTIONS, REMOUNTS, MOUNTS, FOREIGN, STALE, REBORN, KINDS
};

static const char * const kind_name[KINDS] = {
	"operations", "evictions", "remounts", "mounts", "foreign handles", "stale",
	"unlinked and open",
};

static struct {
	pthread_mutex_t lock[MAX_PROCS];
	struct published published[MAX_PROCS][SLOTS];
} *shared;

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
		call_failed("make a handle of", name);
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
		call_failed("create", name);
	if (write(fd, &slot->content, sizeof(slot->content)) != sizeof(slot->content))
		call_failed("write", name);
	if (fstat(fd, &st))
		call_failed("fstat", name);
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
		call_failed("read", name);
	if (size != sizeof(found) || found != content)
		wrong("content of", name);
}

static void check_name(struct worker *w, const struct slot *slot, const char *name)
{
	struct stat st;
	int fd;

	doing("stat");
	if (fstatat(w->root, name, &st, AT_SYMLINK_NOFOLLOW))
		call_failed("stat", name);
	check_stat(slot, &st, name);
	doing("read");
	fd = openat(w->root, name, O_RDONLY);
	if (fd < 0)
		call_failed("open", name);
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
		call_failed("stat", name);
}

static void unlink_name(struct worker *w, const char *name)
{
	doing("unlink");
	if (unlinkat(w->root, name, 0))
		call_failed("unlink", name);
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
			call_failed("link", name);
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
		call_failed("rename", old);
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
		call_failed("open by handle", name);
	if (fstat(fd, &st))
		call_failed("fstat", name);
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
		call_failed("open by handle", what);
	add(STALE);
}

/* Theirs may go at any moment; what opens must be what was published. */
static void open_foreign(struct worker *w)
{
	unsigned int mates = (procs - self % opt.dirs + opt.dirs - 1) / opt.dirs;
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
	add(FOREIGN);
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
		call_failed("fstat", "an unlinked file");
	if (st.st_nlink)
		wrong("links of", "an unlinked file");
	close(fd);
	add(REBORN);
}

/* Of two processes with one name only one may win, the other must be told. */
static void may_lose(int result, const char *what, const char *name)
{
	if (result < 0 && errno != ENOENT && errno != EEXIST)
		call_failed(what, name);
}

static void create_shared(struct worker *w, const char *name)
{
	unsigned long long content = MAGIC << 48 | (unsigned long long)self << 40;
	int fd = openat(w->root, name, O_CREAT | O_EXCL | O_WRONLY, 0644);

	may_lose(fd, "create", name);
	if (fd < 0)
		return;
	if (write(fd, &content, sizeof(content)) != sizeof(content))
		call_failed("write", name);
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
		call_failed("read", name);
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
	add(OPERATIONS);
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
			call_failed(make ? "mkdir" : "rmdir", name);
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
		call_failed("open", dir);
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
			call_failed("write", "/proc/sys/vm/drop_caches");
		add(EVICTIONS);
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
				call_failed("remount", opt.dir[i]);
			add(REMOUNTS);
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
		call_failed("create", path);
	if (write(fd, &content, sizeof(content)) != sizeof(content))
		call_failed("write", path);
	if (fstat(fd, &st))
		call_failed("fstat", path);
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
		call_failed("open", path);
	if (fstat(fd, &st))
		call_failed("fstat", path);
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
		call_failed("unlink", path);
}

static void mount_device(const struct device *device)
{
	doing("mount");
	if (mount(device->source, device->dir, device->type, 0, NULL))
		call_failed("mount", device->dir);
	add(MOUNTS);
}

static void unmount_device(const struct device *device)
{
	doing("umount");
	if (umount2(device->dir, 0))
		call_failed("umount", device->dir);
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

static void run_process(void)
{
	if (self < procs)
		work();
	else if (self == procs)
		evict();
	else if (self == procs + 1)
		remount();
	else
		mount_and_unmount(&opt.device[self - procs - 2]);
}

static void shared_dirs(int make)
{
	char path[PATH_SIZE], name[NAME_SIZE];
	unsigned int i, j;

	for (i = 0; i < opt.dirs; i++) {
		snprintf(path, sizeof(path), "%s/stress-shared", opt.dir[i]);
		if (make && mkdir(path, 0755))
			call_failed("mkdir", path);
		if (make)
			continue;
		for (j = 0; j < NAMES; j++) {
			shared_name(name, j);
			snprintf(path, sizeof(path), "%s/%s", opt.dir[i], name);
			may_lose(unlink(path), "unlink", path);
		}
		snprintf(path, sizeof(path), "%s/stress-shared", opt.dir[i]);
		if (rmdir(path))
			call_failed("rmdir", path);
	}
}

static void make_locks(void)
{
	pthread_mutexattr_t attr;
	unsigned int i;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (i = 0; i < procs; i++)
		pthread_mutex_init(&shared->lock[i], &attr);
}

static const char help[] =
	"usage: inode_stress [DIR...] " STRESS_USAGE "\n"
	"                    [-m DEVICE:TYPE:DIR]...\n"
	STRESS_HELP;

static void to_device(char *text)
{
	struct device *device = &opt.device[opt.devices++];

	if (opt.devices > MAX_MOUNTS)
		usage(help);
	device->source = strsep(&text, ":");
	device->type = strsep(&text, ":");
	device->dir = text;
	if (!device->dir)
		usage(help);
}

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, STRESS_OPTIONS "m:")) != -1) {
		if (c == 'm')
			to_device(optarg);
		else if (!stress_option(c, optarg, MAX_PROCS))
			usage(help);
	}
	opt.dirs = argc - optind;
	if (opt.dirs > MAX_DIRS || procs < opt.dirs)
		usage(help);
	memcpy(opt.dir, argv + optind, opt.dirs * sizeof(*opt.dir));
}

/* And one more of its own to mount and unmount. */
static void use_tmpfs(void)
{
	static const char path[] = "/tmp/mounted";

	opt.dir[0] = private_tmpfs();
	opt.dirs = 1;
	if (mkdir(path, 0755))
		call_failed("mkdir", path);
	if (!opt.devices)
		opt.device[opt.devices++] = (struct device){ "none", "tmpfs", path };
}

static void need_handles(void)
{
	struct handle handle = { .head.handle_bytes = HANDLE_SIZE };
	int mount;

	if (name_to_handle_at(AT_FDCWD, "/", &handle.head, &mount, 0) &&
	    errno != EOPNOTSUPP)
		ksft_exit_skip("needs CONFIG_FHANDLE\n");
}

static void remove_shared_dirs(void)
{
	shared_dirs(0);
}

int main(int argc, char **argv)
{
	int failed;

	arguments(argc, argv);
	begin_test();
	need_handles();
	if (!opt.dirs)
		use_tmpfs();
	ksft_set_plan(1);
	shared = shared_memory(sizeof(*shared));
	make_locks();
	shared_dirs(1);
	failed = run_processes(procs + 2 + opt.devices, run_process);
	if (!failed)
		failed = check_in_child(remove_shared_dirs);
	end_test("inode_stress", failed, kind_name, KINDS);
}
