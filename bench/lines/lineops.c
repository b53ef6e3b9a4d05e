// SPDX-License-Identifier: GPL-2.0
/*
 * lineops - operations of processes that take turns, each on a CPU of its own
 *
 * One process for each CPU carries out the same operation on objects of its own:
 * its own file, directory, user, timer, port.  They take turns, one operation at a
 * time, so that an emulator's plugin sees which cache lines each operation needs
 * from another CPU, and sees the same in every run.  The others wait for a token
 * in user space.
 *
 *	lineops CPUS WARM ROUNDS [GROUP...]
 *
 * Operations that belong together are a group, whose steps follow each other in
 * each round: create and unlink.  A round is WARM + ROUNDS times.  Without GROUP
 * all groups run.  File systems are expected at /tmpfs, /ext4, /orphan and /quota.
 *
 * Prints "op LABEL NAME" for each step, and "end" when all have ended well.  The
 * label is that of the markers around the step.  It is four times the number of
 * the group plus that of the step, whatever groups run.
 *
 * The group "known" has known answers.  It works on a window of shared memory, at
 * WINDOW, which the plugin observes as it does the kernel.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common.h"
#include "markers.h"

#define CPUS_MAX	16
#define ROUNDS_MAX	100000
#define STEPS		4
#define LABELS		256
#define DIR_SIZE	32
#define PATH_SIZE	64
#define FIRST_UID	1000
#define NEW_UID		100000	/* never of another process */
#define FIRST_PORT	20000
#define XATTR		"user.shared"
#define XATTR_SIZE	600	/* more than an inode of ext4 has room for */
#define LINKS		20	/* more than the buffers that a CPU remembers */
#define TARGET_SIZE	100	/* more than an inode of ext4 has room for */
#define PAGE		4096
/* As in bench/lines/observe.py. */
#define WINDOW		0x626800000000

#define STRING(number)	STRING_(number)
#define STRING_(number)	#number

/* A marker for each label, eight bytes each: the number of a step is data. */
#define MARKERS(name, kind)					\
	asm(".pushsection .text\n.balign 8\n" #name ":\n"	\
	    ".set label, 0\n.rept " STRING(LABELS) "\n"		\
	    "nopl 0x62680000 + label * 256 + " #kind "(%rax)\nret\n"	\
	    ".set label, label + 1\n.endr\n.popsection");	\
	extern const char name[] __attribute__((visibility("hidden")))

MARKERS(open_markers, 1);
MARKERS(close_markers, 2);

static void run_marker(const char *markers, unsigned int label)
{
	((void (*)(void))(markers + 8 * label))();
}

struct group {
	const char *name;
	const char *dir;		/* of the file system, or NULL */
	void (*prepare)(void);
	struct step {
		const char *name;	/* NULL: is not measured */
		long (*run)(void);
	} steps[STEPS];
};

/* In the window; a line each, but for `slots`. */
struct known {
	unsigned int lock, locked;
	unsigned int slots[CPUS_MAX] __attribute__((aligned(64)));
	unsigned int published __attribute__((aligned(64)));
	struct {
		unsigned long value __attribute__((aligned(64)));
	} counters[CPUS_MAX];
};

static struct known *known = (struct known *)WINDOW;
static volatile unsigned int *token;
static unsigned int turn, cpus, me, rounds, number;
static const char *dir;
static char own[DIR_SIZE], file[PATH_SIZE], new[PATH_SIZE], other[PATH_SIZE];
static char value[XATTR_SIZE], page[PAGE];
static int fd, pipes[2];
static int timer;
static unsigned int word;

static void wait_turn(void)
{
	while (*token != turn * cpus + me)
		asm volatile("pause");
}

static void pass_turn(void)
{
	turn++;
	*token += 1;
	asm volatile("pause");
}

static void must(long ret, const char *what)
{
	if (ret < 0)
		fail(what, dir ?: "");
}

/* Files. */

static long make(const char *path)
{
	int made = open(path, O_CREAT | O_EXCL | O_RDWR, 0644);

	return made < 0 ? made : close(made);
}

static void own_file(void)
{
	if (make(file))
		fail("cannot make", file);
}

static void open_own(void)
{
	own_file();
	fd = open(file, O_RDWR);
	must(fd, "open");
}

static void written(void)
{
	open_own();
	must(write(fd, page, PAGE), "write");
	must(fsync(fd), "fsync");
}

static void links(void)
{
	char target[TARGET_SIZE + 1], path[PATH_SIZE];
	int i;

	memset(target, 'x', TARGET_SIZE);
	target[TARGET_SIZE] = 0;
	for (i = 0; i < LINKS; i++) {
		snprintf(path, sizeof(path), "%s/link%d", own, i);
		must(symlink(target, path), "symlink");
	}
}

static long create(void) { return make(new); }
static long unlink_new(void) { return unlink(new); }
static long make_dir(void) { return mkdir(new, 0755); }
static long remove_dir(void) { return rmdir(new); }
static long rename_there(void) { return rename(file, other); }
static long rename_back(void) { return rename(other, file); }
static long append(void) { return pwrite(fd, page, PAGE, 0); }
static long truncate_own(void) { return ftruncate(fd, 0); }
static long drop(void) { return posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); }
static long read_own(void) { return pread(fd, page, PAGE, 0); }
static long set_xattr(void) { return setxattr(file, XATTR, value, XATTR_SIZE, 0); }
static long get_xattr(void) { return getxattr(file, XATTR, page, PAGE); }
static long remove_xattr(void) { return removexattr(file, XATTR); }

static long stat_own(void)
{
	struct stat buffer;

	return stat(file, &buffer);
}

static long open_close(void)
{
	int opened = open(file, O_RDONLY);

	return opened < 0 ? opened : close(opened);
}

static long lock_as(short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, F_SETLK, &lock);
}

static long lock_own(void) { return lock_as(F_WRLCK); }
static long unlock_own(void) { return lock_as(F_UNLCK); }

static long read_link(void)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/link%u", own, number++ % LINKS);
	return readlink(path, page, PAGE);
}

/* Users and timers. */

static long set_user(unsigned int uid)
{
	return syscall(SYS_setresuid, uid, -1, -1);
}

static void own_user(void) { must(set_user(FIRST_UID + 2 * me), "setresuid"); }
static long next_user(void) { return set_user(FIRST_UID + 2 * me + (number++ & 1)); }
static long new_user(void) { return set_user(NEW_UID + number++ * CPUS_MAX + me); }
static long delete_timer(void) { return syscall(SYS_timer_delete, timer); }

static long create_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer);
}

/* The two users of each process exist: a process of each sleeps. */
static void keep_users(void)
{
	unsigned int i;

	for (i = 0; i < 2 * cpus; i++) {
		pid_t child = fork();

		must(child, "fork");
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		must(set_user(FIRST_UID + i), "setresuid");
		for (;;)
			pause();
	}
}

/* Sockets and what else has a table. */

static long new_socket(int family, int type)
{
	fd = socket(family, type, 0);
	return fd;
}

static long udp_socket(void) { return new_socket(AF_INET, SOCK_DGRAM); }
static long tcp_socket(void) { return new_socket(AF_INET, SOCK_STREAM); }
static long unix_socket(void) { return new_socket(AF_UNIX, SOCK_DGRAM); }
static long listen_own(void) { return listen(fd, 1); }
static long close_own(void) { return close(fd); }

static long bind_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(FIRST_PORT + me) };

	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static long bind_name(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	/* Abstract: the first byte is 0. */
	int length = sprintf(address.sun_path + 1, "lines%u", me);

	return bind(fd, (struct sockaddr *)&address,
		    offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static long make_pipe(void) { return pipe(pipes); }
static long close_pipe(void) { return close(pipes[0]) | close(pipes[1]); }
static long wake_futex(void) { return syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0); }

static long map_touch_unmap(void)
{
	char *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (mapped == MAP_FAILED)
		return -1;
	*mapped = 1;
	return munmap(mapped, PAGE);
}

/* Known answers. */

static long name_of_system(void)
{
	struct utsname name;

	return uname(&name);
}

/* Exactly one transfer: the lock and what it protects are in one line. */
static long take_lock(void)
{
	while (__atomic_exchange_n(&known->lock, 1, __ATOMIC_ACQUIRE))
		;
	known->locked++;
	__atomic_store_n(&known->lock, 0, __ATOMIC_RELEASE);
	return 0;
}

/* None. */
static long count_own(void)
{
	known->counters[me].value++;
	return 0;
}

/* Exactly one, of a line whose bytes nobody shares. */
static long count_slot(void)
{
	known->slots[me]++;
	return 0;
}

/* One for each round, of the CPU that writes. */
static long publish(void)
{
	if (!me)
		known->published++;
	return 0;
}

/* One for each round: the first CPU that reads; those behind it find a clean line. */
static long read_published(void)
{
	return __atomic_load_n(&known->published, __ATOMIC_RELAXED) & 1;
}

static const struct group groups[] = {
	{ "known", NULL, NULL, { { "lock", take_lock }, { "own counter", count_own },
				 { "false sharing", count_slot }, { "uname", name_of_system } } },
	{ "known", NULL, NULL, { { "publish", publish }, { "read published", read_published } } },
#define FILES(name) \
	{ name, "/" name, NULL, { { "create", create }, { "unlink", unlink_new } } }, \
	{ name, "/" name, own_file, { { "stat", stat_own } } }, \
	{ name, "/" name, own_file, { { "open+close", open_close } } }, \
	{ name, "/" name, own_file, { { "rename", rename_there }, { NULL, rename_back } } }, \
	{ name, "/" name, NULL, { { "mkdir", make_dir }, { "rmdir", remove_dir } } }, \
	{ name, "/" name, open_own, { { "write", append }, { "truncate", truncate_own } } }, \
	{ name, "/" name, open_own, { { "lock", lock_own }, { "unlock", unlock_own } } }, \
	{ name, "/" name, own_file, { { "setxattr", set_xattr }, { "getxattr", get_xattr }, \
				      { "removexattr", remove_xattr } } }
	FILES("tmpfs"),
	FILES("ext4"),
	{ "ext4", "/ext4", written, { { "drop page", drop }, { "read page", read_own } } },
	{ "ext4", "/ext4", links, { { "readlink", read_link } } },
	{ "orphan", "/orphan", NULL, { { "create", create }, { "unlink", unlink_new } } },
	{ "quota", "/quota", NULL, { { "create", create }, { "unlink", unlink_new } } },
	{ "quota", "/quota", open_own, { { "write", append }, { "truncate", truncate_own } } },
	{ "user", NULL, own_user, { { "setresuid", next_user } } },
	{ "timer", NULL, own_user, { { "timer_create", create_timer },
				     { "timer_delete", delete_timer } } },
	{ "newuser", NULL, NULL, { { "setresuid, new user", new_user } } },
	{ "udp", NULL, NULL, { { "socket", udp_socket }, { "bind", bind_port },
			       { "close", close_own } } },
	{ "tcp", NULL, NULL, { { "socket", tcp_socket }, { "bind", bind_port },
			       { "listen", listen_own }, { "close", close_own } } },
	{ "unix", NULL, NULL, { { "socket", unix_socket }, { "bind", bind_name },
				{ "close", close_own } } },
	{ "pipe", NULL, NULL, { { "pipe", make_pipe }, { "close", close_pipe } } },
	{ "futex", NULL, NULL, { { "futex_wake", wake_futex } } },
	{ "memory", NULL, NULL, { { "map+touch+unmap", map_touch_unmap } } },
};
#define GROUPS	(sizeof(groups) / sizeof(*groups))
_Static_assert(GROUPS * STEPS <= LABELS, "a label is one byte of a marker");

static void in_turn(const struct step *step, unsigned int label)
{
	long ret;

	wait_turn();
	if (step->name)
		run_marker(open_markers, label);
	ret = step->run();
	if (step->name)
		run_marker(close_markers, label);
	must(ret, step->name ?: "a step");
	pass_turn();
}

static void run_group(unsigned int group)
{
	const struct step *steps = groups[group].steps;
	unsigned int i, step;

	dir = groups[group].dir;
	number = 0;
	wait_turn();
	if (dir) {
		snprintf(own, DIR_SIZE, "%s/%u-%u", dir, group, me);
		must(mkdir(own, 0755), "mkdir");
		snprintf(file, PATH_SIZE, "%s/file", own);
		snprintf(new, PATH_SIZE, "%s/new", own);
		snprintf(other, PATH_SIZE, "%s/other", own);
	}
	if (groups[group].prepare)
		groups[group].prepare();
	pass_turn();
	for (i = 0; i < rounds; i++)
		for (step = 0; step < STEPS && steps[step].run; step++)
			in_turn(&steps[step], group * STEPS + step);
	wait_turn();
	must(set_user(0), "setresuid");
	pass_turn();
}

static void check_groups(int argc, char **argv)
{
	unsigned int group;
	int i;

	for (i = 4; i < argc; i++) {
		for (group = 0; group < GROUPS; group++)
			if (!strcmp(argv[i], groups[group].name))
				break;
		if (group == GROUPS) {
			fprintf(stderr, "lineops: GROUP %s: no group of operations has this name\n",
				argv[i]);
			exit(2);
		}
	}
}

static bool wanted(unsigned int group, int argc, char **argv)
{
	int i;

	for (i = 4; i < argc; i++)
		if (!strcmp(argv[i], groups[group].name))
			return true;
	return argc == 4;
}

static void run_process(int argc, char **argv)
{
	cpu_set_t set;
	unsigned int group;

	CPU_ZERO(&set);
	CPU_SET(me, &set);
	must(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
	for (group = 0; group < GROUPS; group++)
		if (wanted(group, argc, argv))
			run_group(group);
	exit(0);
}

static void list_steps(int argc, char **argv)
{
	unsigned int group, step;

	for (group = 0; group < GROUPS; group++)
		for (step = 0; step < STEPS && wanted(group, argc, argv); step++)
			if (groups[group].steps[step].name)
				printf("op %u %s %s\n", group * STEPS + step, groups[group].name,
				       groups[group].steps[step].name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	if (argc < 4)
		usage("lineops: accepted: CPUS WARM ROUNDS [GROUP...]\n");
	cpus = to_number("CPUS", argv[1], 2, CPUS_MAX);
	rounds = to_number("WARM", argv[2], 0, ROUNDS_MAX) +
		 to_number("ROUNDS", argv[3], 1, ROUNDS_MAX);
	check_groups(argc, argv);
	memset(value, 'v', sizeof(value));
	list_steps(argc, argv);
	keep_users();
	token = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (token == MAP_FAILED ||
	    mmap(known, PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != known)
		fail("cannot map", "shared memory");
	*token = -1U;
	for (me = 0; me < cpus; me++) {
		pid_t child = fork();

		must(child, "fork");
		if (!child)
			run_process(argc, argv);
	}
	usleep(100000);
	mark(MARKER(3, 0));
	usleep(10000);
	*token = 0;
	while (cpus--) {
		must(wait(&status), "wait");
		failed |= status;
		if (failed)
			exit(1);
	}
	mark(MARKER(4, 0));
	puts("end");
	return 0;
}
