// SPDX-License-Identifier: GPL-2.0
/*
 * failing - operations of which the first allocation fails, then the second, ...
 *
 * An operation runs in a process of its own, again and again: its first allocation
 * fails, then its second, and so on, see /proc/self/fail-nth in
 * Documentation/fault-injection. Each is tried twice: when a slab needs one more
 * allocation than before, the numbers move, and one can be skipped. If the operation
 * makes fewer than N allocations, it must succeed. It ends when both tries did.
 * Whatever it has made goes before the process ends, and nothing fails meanwhile.
 *
 * Prints a line for each time: operation, N, "fault" or "none", result.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common.h"

#define DIR		"/mnt"
#define FILE_NAME	DIR "/file"
#define CGROUP		"/sys/fs/cgroup/failing"
#define MOST		5000	/* allocations of an operation */
#define FAULT		3	/* exit status: there may be one more allocation */
#define TURNS		2

static const char *device;
static char number[16];		/* differs each time */

static int error_of(long result)
{
	return result < 0 ? errno : 0;
}

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), error;

	if (fd < 0)
		return errno;
	error = error_of(write(fd, text, strlen(text)));
	close(fd);
	return error;
}

/* A mount, and a file with an attribute and an owner that no other file has. */
static int mount_and_fill(const char *type, const char *options)
{
	char value[512] = "";	/* too long for an inode of ext4 */
	int fd;

	if (mount(device, DIR, type, 0, options))
		return errno;
	fd = open(FILE_NAME, O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return errno;
	close(fd);
	if (strcmp(type, "tmpfs") && strcmp(type, "ext4"))
		return error_of(mkdir(DIR "/dir", 0700));
	strcpy(value, number);
	if (setxattr(FILE_NAME, "trusted.number", value, sizeof(value), 0))
		return errno;
	return error_of(chown(FILE_NAME, atoi(number), -1));
}

static void unmount(void)
{
	unlink(FILE_NAME);
	rmdir(DIR "/dir");
	if (umount(DIR) && errno != EINVAL)
		fail("unmount", DIR);
}

static int mount_tmpfs(void)
{
	return mount_and_fill("tmpfs", "");
}

static int mount_ext4(void)
{
	return mount_and_fill("ext4", "usrquota");
}

static int mount_vfat(void)
{
	return mount_and_fill("vfat", "");
}

static int mount_exfat(void)
{
	return mount_and_fill("exfat", "");
}

static int read_stats(void)
{
	static char text[1 << 16];
	int fd = open("/proc/hashstats", O_RDONLY), error;
	long done;

	if (fd < 0)
		return errno;
	while ((done = read(fd, text, sizeof(text))) > 0)
		;
	error = error_of(done);
	close(fd);
	return error;
}

static int count(void)
{
	return write_to("/proc/hashstats", "on") ?: write_to("/proc/hashstats", "reset");
}

static void stop_counting(void)
{
	write_to("/proc/hashstats", "off");
}

static int stress_waits(void)
{
	return write_to("/sys/kernel/debug/wait_filter_stress", "100");
}

static int change_user(void)
{
	return error_of(setresuid(atoi(number), -1, -1));
}

static int make_user_namespace(void)
{
	return error_of(unshare(CLONE_NEWUSER)) ?: error_of(inotify_init());
}

static int make_network(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/socket-%s", number);
	if (unshare(CLONE_NEWNET))
		return errno;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return errno;
	return error_of(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

static void remove_socket(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/socket-%s", number);
	unlink(path);
}

static int make_cgroup(void)
{
	return error_of(mkdir(CGROUP, 0700)) ?: write_to(CGROUP "/cgroup.procs", "0");
}

static void remove_cgroup(void)
{
	if (write_to("/sys/fs/cgroup/cgroup.procs", "0"))
		fail("leave", CGROUP);
	if (rmdir(CGROUP) && errno != ENOENT)
		fail("remove", CGROUP);
}

static int make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	int id;

	return error_of(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id));
}

static int lock_file(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int fd = open("/tmp/lock", O_RDWR | O_CREAT, 0600);

	return fd < 0 ? errno : error_of(fcntl(fd, F_SETLK, &lock));
}

/*
 * Memory that ksmd and khugepaged scan. The kernel tells khugepaged of it only if
 * a page is present.
 */
static int offer_memory(void)
{
	const size_t size = 4 << 20, page = 4096;
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		return errno;
	return error_of(madvise(place, size, MADV_MERGEABLE)) ?:
	       error_of(madvise(place, page, MADV_POPULATE_WRITE)) ?:
	       error_of(madvise(place, size, MADV_HUGEPAGE));
}

static const struct operation {
	const char *name;
	int (*run)(void);
	void (*undo)(void);
} operations[] = {
	{ "tmpfs", mount_tmpfs, unmount },
	{ "ext4", mount_ext4, unmount },
	{ "vfat", mount_vfat, unmount },
	{ "exfat", mount_exfat, unmount },
	{ "read", read_stats },
	{ "count", count, stop_counting },
	{ "waits", stress_waits },
	{ "user", change_user },
	{ "user-namespace", make_user_namespace },
	{ "network", make_network, remove_socket },
	{ "cgroup", make_cgroup, remove_cgroup },
	{ "timer", make_timer },
	{ "lock", lock_file },
	{ "memory", offer_memory },
};

static const struct operation *find(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	fail("no operation", name);
	return NULL;
}

/* Returns the exit status. */
static int run(const struct operation *operation, unsigned int nth)
{
	int fd = open("/proc/self/fail-nth", O_RDWR), failed, error;
	char left[16] = "";

	if (fd < 0)
		fail("open", "fail-nth");
	snprintf(left, sizeof(left), "%u", nth);
	if (write(fd, left, strlen(left)) < 0)
		fail("write", "fail-nth");
	error = operation->run();
	if (pread(fd, left, sizeof(left), 0) < 0 || pwrite(fd, "0", 1, 0) < 0)
		fail("read", "fail-nth");
	failed = !atoi(left);
	printf("%s %u %s %s\n", operation->name, nth, failed ? "fault" : "none",
	       error ? strerrorname_np(error) : "success");
	if (operation->undo)
		operation->undo();
	return failed ? FAULT : error ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct operation *operation;
	unsigned int nth = 0, turn;
	int status, fault;

	if (argc != 2 && argc != 3)
		usage("usage: failing OPERATION [DEVICE]\n");
	operation = find(argv[1]);
	device = argc == 3 ? argv[2] : "none";
	do {
		fault = 0;
		if (++nth > MOST)
			fail("too many allocations:", operation->name);
		for (turn = 0; turn < TURNS; turn++) {
			snprintf(number, sizeof(number), "%u", 100000 + nth * TURNS + turn);
			if (!fork())
				exit(run(operation, nth));
			if (wait(&status) < 0)
				fail("wait for", operation->name);
			if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != FAULT))
				return 1;
			fault |= WEXITSTATUS(status) == FAULT;
		}
	} while (fault);
	return 0;
}
