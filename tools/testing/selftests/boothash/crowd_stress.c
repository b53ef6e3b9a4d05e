// SPDX-License-Identifier: GPL-2.0
/*
 * crowd_stress - stress the tables of objects that processes create and free
 *
 * These are users, POSIX timers, file locks, cgroups, user namespaces, disk
 * quotas, and memory to merge or to collapse into huge pages. Several processes
 * create, use and free them in random order and check the results. For two
 * seconds, the processes create and free; for the third one, all of them only
 * free.
 *
 * DIR gets the files that are locked. A process that holds a range records this
 * in shared memory, and the others check it. Processes take locks in any order,
 * so they wait for each other in circles, which the kernel must detect.
 *
 * -q is an ext4 with usrquota and prjquota, mounted at QDIR from DEVICE. Each
 * process knows how many files its own owners have. At the end, the usage of all
 * owners must be the sum of their files. One process unmounts it now and then.
 *
 * -g is the root of a cgroup2 mount. One process mounts and unmounts named
 * hierarchies, for which the kernel walks all sets of cgroups. It also switches
 * the pids controller on and off, and moves it to a hierarchy of its own.
 *
 * Without DIR, the files are on a tmpfs that only the test sees.
 */
#include <dirent.h>
#include <linux/fs.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "stress.h"

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE	67
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE		25
#endif
#ifndef PRJQUOTA
#define PRJQUOTA		2
#endif

#define MAX_PROCS	64
#define LOCKERS		3	/* processes that only lock files */
#define HELD		6	/* children of a process that wait */
#define FDS		16	/* each holds a user */
#define TIMERS		32	/* of a process */
#define THREADS		3
#define THREAD_TURNS	40
#define CLAIMS		1024
#define EXEC_IDS	512	/* ids of timers that exec must have removed */
#define LOCK_FILES	2
#define RANGES		3	/* of a file */
#define LOCK_SECONDS	5	/* a circle must be seen long before */
#define SHARED_GROUPS	4
#define HIERARCHIES	2
#define DEPTH		3	/* of user namespaces */
#define FILES		16	/* with owners, of a process */
#define OWNERS		8	/* of a process */
#define HUGE_SIZE	(2UL << 20)
#define PAGES		32	/* that hold something */
#define NAME_SIZE	64
#define QUOTA_OPTIONS	"usrquota,prjquota"

enum {
	USERS, NTIMERS, EXECS, LOCKS, DEADLOCKS, INTERRUPTED, GROUPS, MOUNTS,
	REBINDS, SPACES, CHANGES, QUOTA_MOUNTS, MEMORY, COUNTS
};

static const char * const count_name[COUNTS] = {
	"users", "timers", "execs", "locks", "deadlocks", "interrupted",
	"cgroups", "hierarchies", "rebinds", "namespaces", "quota changes",
	"quota mounts", "memories",
};

static struct {
	const char *dir, *quota_dir, *device, *groups;
} opt;

static struct {
	int writer[LOCK_FILES][RANGES];
	int readers[LOCK_FILES][RANGES];
	pthread_rwlock_t mounted;	/* the file system with quotas */
} *shared;

/* All processes agree on when to gather and when to drop. */
static int gathering(void)
{
	return (unsigned long)(now() - start_time) % 3 < 2;
}

static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t length;

	if (fd < 0)
		call_failed("open", path);
	length = read(fd, text, size - 1);
	if (length < 0)
		call_failed("read", path);
	text[length] = 0;
	close(fd);
}

/* A child that waits until it is told to check something and to end. */

struct child {
	pid_t pid;
	int to, from;
};

static void reap(pid_t pid, const char *what)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			call_failed("wait for", what);
	if (status)
		wrong("status of", what);
}

static pid_t fork_child(const char *what)
{
	pid_t pid = fork();

	if (pid < 0)
		call_failed("fork", what);
	/* So that none survives when its process ends by an error. */
	if (!pid && prctl(PR_SET_PDEATHSIG, SIGKILL))
		call_failed("prctl", what);
	return pid;
}

static void wait_byte(int fd, const char *what)
{
	char byte;
	ssize_t size;

	do
		size = read(fd, &byte, 1);
	while (size < 0 && errno == EINTR);
	if (size != 1)
		wrong("word of", what);
}

static void send_byte(int fd, const char *what)
{
	if (write(fd, "x", 1) != 1)
		call_failed("write to", what);
}

static void start_child(struct child *child, const char *what,
			void (*before)(void *data), void (*after)(void *data),
			void *data)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		call_failed("pipe", what);
	child->pid = fork_child(what);
	if (!child->pid) {
		if (before)
			before(data);
		send_byte(from[1], what);
		wait_byte(to[0], what);
		if (after)
			after(data);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child->to = to[1];
	child->from = from[0];
	wait_byte(child->from, what);
}

static void end_child(struct child *child, const char *what)
{
	send_byte(child->to, what);
	reap(child->pid, what);
	close(child->to);
	close(child->from);
	child->pid = 0;
}

/* A process that failed may have left it locked. */
static void lock_mounted(int (*lock)(pthread_rwlock_t *mounted,
				     const struct timespec *until))
{
	struct timespec until;
	int error;

	do {
		if (has_failed())
			_exit(1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		error = lock(&shared->mounted, &until);
	} while (error == ETIMEDOUT);
	errno = error;
	if (error)
		call_failed("pthread_rwlock", "");
}

/* One of the children of a process. */
struct held {
	struct child child;
	unsigned int kind;
	int fd;
	uid_t uid;
	unsigned int depth;
	unsigned int flags;
	char *memory;
	char name[NAME_SIZE];
};

struct owned {
	int exists;
	unsigned int owner;	/* OWNERS: one that all share */
	unsigned int project;
};

static struct worker {
	unsigned long long random;
	struct held held[HELD];
	int fds[FDS];
	int timer[TIMERS];		/* id, or -1 */
	struct owned file[FILES];
	unsigned int files[2][OWNERS];	/* of my users, of my projects */
	unsigned long long limit[2][OWNERS];
} worker;

static unsigned int pick(struct worker *w, unsigned int among)
{
	return next(&w->random) % among;
}

/* Users: few that all processes share, or one of many. */

static uid_t any_uid(struct worker *w)
{
	return 1 + pick(w, 2) * 70000 + pick(w, pick(w, 2) ? 4 : 1000000);
}

static void become(uid_t uid)
{
	uid_t real, effective, saved;

	if (syscall(SYS_setresuid, uid, 0, 0))
		call_failed("setresuid", "");
	if (getresuid(&real, &effective, &saved))
		call_failed("getresuid", "");
	if (real != uid || effective || saved)
		wrong_number("real user", uid);
}

static void users(struct worker *w)
{
	int *fd = &w->fds[pick(w, FDS)];
	struct epoll_event event = { .events = EPOLLIN };
	int watched;

	doing("users");
	if (*fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	become(pick(w, 8) ? any_uid(w) : 0);
	add(USERS);
	if (!gathering())
		return;
	/* Its credentials, and in an epoll also each watch, belong to the user. */
	*fd = epoll_create1(EPOLL_CLOEXEC);
	if (*fd < 0)
		call_failed("epoll_create1", "");
	if (pick(w, 2))
		return;
	watched = eventfd(0, EFD_CLOEXEC);
	if (watched < 0)
		call_failed("eventfd", "");
	if (epoll_ctl(*fd, EPOLL_CTL_ADD, watched, &event))
		call_failed("epoll_ctl", "");
	close(watched);
}

static void drop_users(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < FDS; i++)
		if (w->fds[i] >= 0)
			close(w->fds[i]);
	become(0);
}

/* POSIX timers, by system calls: glibc would hide their ids. */

static int claimed[CLAIMS];	/* id + 1 */

static int create_timer(unsigned int random)
{
	struct sigevent event = {
		.sigev_notify = random % 2 ? SIGEV_NONE : SIGEV_SIGNAL,
		.sigev_signo = SIGRTMIN,	/* blocked */
	};
	int id;

	if (syscall(SYS_timer_create, random % 4 < 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME,
		    &event, &id))
		call_failed("timer_create", "");
	if (id < 0 ||
	    __atomic_exchange_n(&claimed[id % CLAIMS], id + 1, __ATOMIC_SEQ_CST) == id + 1)
		wrong_number("id of a new timer", id);
	add(NTIMERS);
	return id;
}

/* @mine: nobody else may delete it meanwhile */
static void use_timer(int id, unsigned int random, int mine)
{
	/* Some expire at once and stay pending, as their signal is blocked. */
	struct itimerspec value = { .it_value.tv_sec = random % 8 ? 1000 : 0,
				    .it_value.tv_nsec = 1000000 };
	int bad;

	bad = syscall(SYS_timer_settime, id, 0, &value, NULL);
	if (bad && (mine || errno != EINVAL))
		call_failed("timer_settime", "");
	bad = syscall(SYS_timer_gettime, id, &value);
	if (bad && (mine || errno != EINVAL))
		call_failed("timer_gettime", "");
	if (mine && (value.it_value.tv_sec > 1000 ||
		     (random % 8 && value.it_value.tv_sec < 500)))
		wrong_number("time of timer", id);
}

static void check_no_timer(int id)
{
	struct itimerspec value;

	if (!syscall(SYS_timer_gettime, id, &value) || errno != EINVAL)
		wrong_number("there must be no timer", id);
	if (!syscall(SYS_timer_delete, id) || errno != EINVAL)
		wrong_number("there must be no timer", id);
}

static void delete_timer(int id)
{
	int claim = id + 1;

	__atomic_compare_exchange_n(&claimed[id % CLAIMS], &claim, 0, 0,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (syscall(SYS_timer_delete, id))
		call_failed("timer_delete", "");
	check_no_timer(id);
}

static void timers(struct worker *w)
{
	int *id = &w->timer[pick(w, TIMERS)];

	doing("timers");
	if (*id >= 0 && pick(w, 2)) {
		use_timer(*id, pick(w, 64), 1);
	} else if (*id >= 0) {
		delete_timer(*id);
		*id = -1;
	} else if (gathering()) {
		*id = create_timer(pick(w, 64));
		use_timer(*id, pick(w, 64), 1);
	}
}

/* Threads take ids from each other: who takes one out deletes it. */

static int ids[TIMERS];		/* id + 1 */

static void *race_for_timers(void *data)
{
	unsigned long long random = (unsigned long)data;
	int turn, *slot, id;

	for (turn = 0; turn < THREAD_TURNS; turn++) {
		slot = &ids[next(&random) % TIMERS];
		if (next(&random) % 2) {
			id = __atomic_load_n(slot, __ATOMIC_SEQ_CST);
			if (id)
				use_timer(id - 1, next(&random) % 64, 0);
			continue;
		}
		id = next(&random) % 4 ? create_timer(next(&random) % 64) + 1 : 0;
		id = __atomic_exchange_n(slot, id, __ATOMIC_SEQ_CST);
		if (id)
			delete_timer(id - 1);
	}
	return NULL;
}

/* Ends with timers left, at times with threads that still make some. */
static void timer_threads(unsigned long random)
{
	static char * const args[] = { "crowd_stress", "--after-exec", NULL };
	pthread_t thread[THREADS];
	int i;

	memset(ids, 0, sizeof(ids));
	memset(claimed, 0, sizeof(claimed));
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, race_for_timers,
				   (void *)(random + i)))
			wrong("pthread_create", "");
	for (i = 0; i < THREADS && random % 2; i++)
		pthread_join(thread[i], NULL);
	if (random % 4 < 2)
		_exit(0);
	execv("/proc/self/exe", args);
	call_failed("execv", "");
}

/* A program begins without timers. */
static int after_exec(void)
{
	int id;

	/* What is said here is said before _exit(). */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (id = 0; id < EXEC_IDS; id++)
		check_no_timer(id);
	return 0;
}

static void race_and_end(struct worker *w)
{
	unsigned long random = next(&w->random);
	pid_t pid;

	doing("threads with timers");
	pid = fork_child("threads with timers");
	if (!pid)
		timer_threads(random);
	reap(pid, "threads with timers");
	if (random % 4 >= 2)
		add(EXECS);
}

/* Locks of files. */

struct range {
	unsigned int file, number;
	short type;
};

static void interrupt(int signal)
{
	(void)signal;
}

static void limit_time(int seconds)
{
	/* Again and again: the first may come before the call. */
	struct itimerval value = { .it_value.tv_sec = seconds,
				   .it_interval.tv_sec = seconds };

	setitimer(ITIMER_REAL, &value, NULL);
}

static int lock_range(int fd, int how, const struct range *range, short type,
		      pid_t *owner)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET,
			      .l_start = range->number * 100, .l_len = 100 };
	int bad = fcntl(fd, how, &lock);

	if (!bad && owner)
		*owner = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
	return bad;
}

static void enter(const struct range *range)
{
	int *writer = &shared->writer[range->file][range->number];
	int *readers = &shared->readers[range->file][range->number];
	int bad;

	if (range->type == F_WRLCK) {
		bad = __atomic_exchange_n(writer, self + 1, __ATOMIC_SEQ_CST);
		bad |= __atomic_load_n(readers, __ATOMIC_SEQ_CST);
	} else {
		__atomic_add_fetch(readers, 1, __ATOMIC_SEQ_CST);
		bad = __atomic_load_n(writer, __ATOMIC_SEQ_CST);
	}
	if (bad)
		wrong_number("somebody else has locked range", range->number);
}

static void leave(const struct range *range)
{
	int *writer = &shared->writer[range->file][range->number];
	int old;

	if (range->type != F_WRLCK) {
		__atomic_sub_fetch(&shared->readers[range->file][range->number], 1,
				   __ATOMIC_SEQ_CST);
		return;
	}
	old = __atomic_exchange_n(writer, 0, __ATOMIC_SEQ_CST);
	if (old != (int)self + 1)
		wrong_number("somebody else had locked range", range->number);
}

static void check_holder(int fd, const struct range *range)
{
	pid_t owner = 0;
	unsigned int i;

	if (lock_range(fd, F_GETLK, range, F_WRLCK, &owner))
		call_failed("F_GETLK", "");
	for (i = 0; owner && i < all_procs; i++)
		if (i != self && progress->pid[i] == owner)
			owner = 0;
	if (owner)
		wrong_number("owner of a lock", owner);
}

static int is_new(const struct range *range, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (range[i].file == range[count].file &&
		    range[i].number == range[count].number)
			return 0;
	return 1;
}

/* How many it got: the next would be waited for in a circle. */
static unsigned int take_locks(struct worker *w, const int *fd, struct range *range)
{
	unsigned int count, wanted = 1 + pick(w, 3);
	int bad, error;

	for (count = 0; count < wanted; count++) {
		range[count] = (struct range){ pick(w, LOCK_FILES), pick(w, RANGES),
					       pick(w, 3) ? F_WRLCK : F_RDLCK };
		if (!is_new(range, count))
			return count;
		limit_time(LOCK_SECONDS);
		bad = lock_range(fd[range[count].file], F_SETLKW, &range[count],
				 range[count].type, NULL);
		error = errno;
		limit_time(0);
		errno = error;
		if (bad && errno != EDEADLK && errno != EINTR)
			call_failed("F_SETLKW", "");
		if (bad) {
			add(errno == EDEADLK ? DEADLOCKS : INTERRUPTED);
			return count;
		}
		enter(&range[count]);
		add(LOCKS);
		check_holder(fd[pick(w, LOCK_FILES)], &range[count]);
		if (pick(w, 2))
			usleep(pick(w, 5000));
	}
	return count;
}

static void locks(struct worker *w)
{
	struct range range[3];
	int fd[LOCK_FILES];
	char path[PATH_SIZE];
	unsigned int i, count;

	doing("locks");
	for (i = 0; i < LOCK_FILES; i++) {
		snprintf(path, sizeof(path), "%s/locked-%u", opt.dir, i);
		fd[i] = open(path, O_RDWR | O_CLOEXEC);
		if (fd[i] < 0)
			call_failed("open", path);
	}
	count = take_locks(w, fd, range);
	for (i = 0; i < count; i++)
		leave(&range[i]);
	/* A close unlocks as well. */
	for (i = 0; i < count && pick(w, 2); i++)
		if (lock_range(fd[range[i].file], F_SETLK, &range[i], F_UNLCK, NULL))
			call_failed("unlock", "");
	for (i = 0; i < LOCK_FILES; i++)
		close(fd[i]);
}

/* Cgroups. */

static void group_path(char *path, const char *name, const char *file)
{
	snprintf(path, PATH_SIZE, "%s/%s%s%s", opt.groups, name, *name ? "/" : "", file);
}

/* Losing is all right where others create and remove the same. */
static int move_to(const char *name, pid_t pid, int may_lose)
{
	char path[PATH_SIZE], text[NAME_SIZE];

	group_path(path, name, "cgroup.procs");
	snprintf(text, sizeof(text), "%d", pid);
	if (!write_text(path, text))
		return 1;
	if (!may_lose || (errno != ENOENT && errno != ENODEV))
		call_failed("move to", path);
	return 0;
}

static void check_group(const char *name)
{
	char text[PATH_SIZE], line[NAME_SIZE + 8];

	read_text("/proc/self/cgroup", text, sizeof(text));
	snprintf(line, sizeof(line), "0::/%s\n", name);
	if (!strstr(text, line))
		wrong("the process must be in cgroup", name);
}

static void make_group(const char *name, int may_lose)
{
	char path[PATH_SIZE];

	group_path(path, name, "");
	if (mkdir(path, 0755) && !(may_lose && errno == EEXIST))
		call_failed("mkdir", path);
}

static void remove_group(const char *name, int may_lose)
{
	char path[PATH_SIZE];

	group_path(path, name, "");
	if (rmdir(path) && !(may_lose && (errno == EBUSY || errno == ENOENT)))
		call_failed("rmdir", path);
	if (!may_lose && !rmdir(path))
		wrong("there must be no cgroup", path);
}

static void check_own_group(void *data)
{
	struct held *held = data;

	check_group(held->name);
}

/* Forks in a group of its own, so that the child begins there. */
static void start_in_group(struct held *held)
{
	snprintf(held->name, sizeof(held->name), "crowd-%u-%u", self,
		 (unsigned int)(held - worker.held));
	make_group(held->name, 0);
	move_to(held->name, 0, 0);
	check_group(held->name);
	start_child(&held->child, held->name, check_own_group, check_own_group, held);
	move_to("", 0, 0);
	check_group("");
}

static void end_in_group(struct held *held)
{
	end_child(&held->child, held->name);
	remove_group(held->name, 0);
	add(GROUPS);
}

static void shared_groups(struct worker *w)
{
	struct held held = { .fd = -1 };
	char path[PATH_SIZE], text[PATH_SIZE];
	unsigned int i;
	int fd;

	doing("cgroups of all");
	start_child(&held.child, "a child to move", NULL, NULL, NULL);
	for (i = 0; i < 2; i++) {
		snprintf(held.name, sizeof(held.name), "crowd-shared-%u",
			 pick(w, SHARED_GROUPS));
		make_group(held.name, 1);
		move_to(held.name, held.child.pid, 1);
		group_path(path, held.name, "cgroup.procs");
		fd = open(path, O_RDONLY);
		if (fd >= 0) {
			if (read(fd, text, sizeof(text)) < 0 && errno != ENODEV)
				call_failed("read", path);
			close(fd);
		}
	}
	end_child(&held.child, "a child to move");
	remove_group(held.name, 1);
	add(GROUPS);
}

static void remove_shared_groups(void)
{
	char name[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < SHARED_GROUPS; i++) {
		snprintf(name, sizeof(name), "crowd-shared-%u", i);
		remove_group(name, 1);
	}
}

/* User namespaces in each other. */

static void check_space(void *data)
{
	struct held *held = data;
	unsigned int first, parent, size;
	char text[NAME_SIZE];

	if (getuid() || geteuid())
		wrong_number("user in a namespace", getuid());
	read_text("/proc/self/uid_map", text, sizeof(text));
	if (sscanf(text, "%u %u %u", &first, &parent, &size) != 3 || first || size != 1)
		wrong("map of users", text);
	/* Seen from within, the parent's only user is 0 as well. */
	if (parent != (held->depth > 1 ? 0 : held->uid))
		wrong_number("user of the parent", parent);
}

static void enter_spaces(void *data)
{
	struct held *held = data;
	char map[NAME_SIZE];
	unsigned int i;

	if (syscall(SYS_setresuid, held->uid, held->uid, held->uid))
		call_failed("setresuid", "");
	for (i = 0; i < held->depth; i++) {
		/* Else /proc/self belongs to root. */
		if (prctl(PR_SET_DUMPABLE, 1))
			call_failed("prctl", "PR_SET_DUMPABLE");
		if (unshare(CLONE_NEWUSER))
			call_failed("unshare", "");
		snprintf(map, sizeof(map), "0 %u 1", i ? 0 : held->uid);
		if (write_text("/proc/self/uid_map", map))
			call_failed("write uid_map", map);
		/* The next one needs that its creator's group is known here. */
		if (write_text("/proc/self/setgroups", "deny") ||
		    write_text("/proc/self/gid_map", "0 0 1"))
			call_failed("write gid_map", "");
	}
	check_space(held);
}

static void check_owner(const struct held *held)
{
	uid_t owner;

	if (ioctl(held->fd, NS_GET_OWNER_UID, &owner))
		call_failed("NS_GET_OWNER_UID", "");
	if (owner != held->uid)
		wrong_number("owner of a user namespace", owner);
}

/* For some the child ends at once, and the file descriptor holds it. */
static void start_spaces(struct held *held, struct worker *w)
{
	char path[PATH_SIZE];

	held->depth = 1 + pick(w, DEPTH);
	held->uid = pick(w, 2) ? any_uid(w) : 0;
	start_child(&held->child, "user namespaces", enter_spaces, check_space, held);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", held->child.pid);
	held->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (held->fd < 0)
		call_failed("open", path);
	check_owner(held);
	if (pick(w, 2))
		end_child(&held->child, "user namespaces");
}

static void end_spaces(struct held *held)
{
	if (held->child.pid)
		end_child(&held->child, "user namespaces");
	check_owner(held);
	close(held->fd);
	add(SPACES);
}

/* Memory that may be merged with others' and made huge. */

static void fill_page(unsigned long *page, unsigned long value)
{
	unsigned int i;

	for (i = 0; i < 4096 / sizeof(*page); i++)
		page[i] = value;
}

static void check_page(const unsigned long *page, unsigned long value)
{
	unsigned int i;

	for (i = 0; i < 4096 / sizeof(*page); i++)
		if (page[i] != value)
			wrong_number("content of a page", value);
}

/* Values of four: pages of many processes are equal. */
static void use_memory(void *data)
{
	struct held *held = data;
	char *all = mmap(NULL, 2 * HUGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	if (all == MAP_FAILED)
		call_failed("mmap", "");
	held->memory = (char *)(((unsigned long)all + HUGE_SIZE - 1) & -HUGE_SIZE);
	if (held->flags & 1 && prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
		call_failed("prctl", "PR_SET_MEMORY_MERGE");
	if (held->flags & 2 && madvise(held->memory, HUGE_SIZE, MADV_HUGEPAGE))
		call_failed("madvise", "MADV_HUGEPAGE");
	for (i = 0; i < PAGES; i++)
		fill_page((unsigned long *)(held->memory + i * 4096), i % 4);
	if (!(held->flags & 1) && madvise(held->memory, HUGE_SIZE, MADV_MERGEABLE))
		call_failed("madvise", "MADV_MERGEABLE");
	/* What prevents it is no error: pages in use, none huge to be had. */
	if (held->flags & 4 && madvise(held->memory, HUGE_SIZE, MADV_COLLAPSE) &&
	    errno != EAGAIN && errno != ENOMEM && errno != EBUSY && errno != EINVAL)
		call_failed("madvise", "MADV_COLLAPSE");
}

static void check_memory(void *data)
{
	struct held *held = data;
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		check_page((unsigned long *)(held->memory + i * 4096), i % 4);
	if (held->flags & 8 && madvise(held->memory, HUGE_SIZE, MADV_UNMERGEABLE))
		call_failed("madvise", "MADV_UNMERGEABLE");
	for (i = 0; i < PAGES; i++)
		fill_page((unsigned long *)(held->memory + i * 4096), 100 + i);
	for (i = 0; i < PAGES; i++)
		check_page((unsigned long *)(held->memory + i * 4096), 100 + i);
}

/* Children of all kinds. */

enum kind { GROUP, SPACE, PAGE, KINDS };

static void start_held(struct held *held, struct worker *w)
{
	memset(held, 0, sizeof(*held));
	held->fd = -1;
	held->kind = 1 + pick(w, KINDS);
	held->flags = pick(w, 16);
	if (held->kind == 1 + GROUP && !opt.groups)
		held->kind = 1 + SPACE;
	switch (held->kind - 1) {
	case GROUP:
		doing("start a child in a cgroup");
		start_in_group(held);
		break;
	case SPACE:
		doing("start a child in user namespaces");
		start_spaces(held, w);
		break;
	default:
		doing("start a child with memory");
		start_child(&held->child, "memory", use_memory, check_memory, held);
	}
}

static void end_held(struct held *held)
{
	switch (held->kind - 1) {
	case GROUP:
		doing("end a child in a cgroup");
		end_in_group(held);
		break;
	case SPACE:
		doing("end a child in user namespaces");
		end_spaces(held);
		break;
	default:
		doing("end a child with memory");
		end_child(&held->child, "memory");
		add(MEMORY);
	}
	held->kind = 0;
}

static void children(struct worker *w)
{
	struct held *held = &w->held[pick(w, HELD)];

	if (held->kind)
		end_held(held);
	else if (gathering())
		start_held(held, w);
}

/* Quotas: of users and, with the same numbers, of projects. */

static const int quota_type[2] = { USRQUOTA, PRJQUOTA };

/* Some side by side, some far from each other; the last one is of all. */
static unsigned int owner_id(unsigned int proc, unsigned int owner)
{
	if (owner == OWNERS)
		return 50000;
	if (owner % 2)
		return 100000 + proc * OWNERS + owner;
	return ((owner + 1) << 22) + proc;
}

static void quota(int command, unsigned int type, unsigned int id, void *data,
		  const char *what)
{
	if (quotactl(QCMD(command, quota_type[type]), opt.device, id, data))
		call_failed(what, type ? "of a project" : "of a user");
}

static void file_path(char *path, unsigned int number)
{
	snprintf(path, PATH_SIZE, "%s/owned-%u-%u", opt.quota_dir, self, number);
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		call_failed("open", path);
	return fd;
}

static void count_file(struct worker *w, const struct owned *file, int by)
{
	if (file->owner < OWNERS)
		w->files[0][file->owner] += by;
	if (file->project < OWNERS)
		w->files[1][file->project] += by;
}

static void create_owned(struct worker *w, unsigned int number)
{
	static const char content[3 * 4096];
	struct owned *file = &w->file[number];
	char path[PATH_SIZE];
	size_t size = pick(w, sizeof(content));
	int fd;

	file_path(path, number);
	fd = open_file(path, O_CREAT | O_EXCL | O_WRONLY);
	if (write(fd, content, size) != (ssize_t)size)
		call_failed("write", path);
	close(fd);
	/* Root's, whom nobody counts. */
	*file = (struct owned){ .exists = 1, .owner = OWNERS, .project = OWNERS };
}

static void give_away(struct worker *w, unsigned int number)
{
	struct owned *file = &w->file[number];
	struct fsxattr attr;
	char path[PATH_SIZE];
	int fd;

	file_path(path, number);
	fd = open_file(path, O_RDONLY);
	count_file(w, file, -1);
	file->owner = pick(w, OWNERS + 1);
	if (fchown(fd, owner_id(self, file->owner), -1))
		call_failed("chown", path);
	file->project = pick(w, OWNERS + 1);
	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr))
		call_failed("FS_IOC_FSGETXATTR", path);
	attr.fsx_projid = owner_id(self, file->project);
	if (ioctl(fd, FS_IOC_FSSETXATTR, &attr))
		call_failed("FS_IOC_FSSETXATTR", path);
	count_file(w, file, 1);
	close(fd);
}

static void unlink_owned(struct worker *w, unsigned int number)
{
	char path[PATH_SIZE];

	file_path(path, number);
	if (unlink(path))
		call_failed("unlink", path);
	count_file(w, &w->file[number], -1);
	w->file[number].exists = 0;
}

static void check_usage(struct worker *w, unsigned int type, unsigned int owner)
{
	unsigned int id = owner_id(self, owner);
	struct dqblk block;

	quota(Q_GETQUOTA, type, id, &block, "Q_GETQUOTA");
	if (block.dqb_curinodes != w->files[type][owner])
		wrong_number("number of files of", id);
	if (block.dqb_ihardlimit != w->limit[type][owner])
		wrong_number("limit of", id);
}

static void set_limit(struct worker *w, unsigned int type, unsigned int owner)
{
	struct dqblk block = { .dqb_valid = QIF_ILIMITS,
			       .dqb_ihardlimit = 1000 + pick(w, 1000) };

	/* None: what has neither files nor a limit is forgotten. */
	if (!pick(w, 2))
		block.dqb_ihardlimit = 0;
	quota(Q_SETQUOTA, type, owner_id(self, owner), &block, "Q_SETQUOTA");
	w->limit[type][owner] = block.dqb_ihardlimit;
	check_usage(w, type, owner);
}

static void one_change(struct worker *w, unsigned int number)
{
	if (!w->file[number].exists) {
		if (gathering()) {
			create_owned(w, number);
			give_away(w, number);
		}
	} else if (gathering() && pick(w, 2)) {
		give_away(w, number);
	} else {
		unlink_owned(w, number);
	}
}

static void change_quotas(struct worker *w)
{
	unsigned int type = pick(w, 2), owner = pick(w, OWNERS);

	doing("wait for the file system with quotas");
	lock_mounted(pthread_rwlock_timedrdlock);
	doing("quotas");
	one_change(w, pick(w, FILES));
	check_usage(w, type, owner);
	if (!pick(w, 4))
		set_limit(w, type, owner);
	if (!pick(w, 64))
		quota(Q_SYNC, type, 0, NULL, "Q_SYNC");
	pthread_rwlock_unlock(&shared->mounted);
	add(CHANGES);
}

/* Half of the files stay, for check_all_usage(); limits do not. */
static void leave_files(struct worker *w)
{
	unsigned int i;

	doing("quotas at the end");
	lock_mounted(pthread_rwlock_timedrdlock);
	for (i = 0; i < FILES; i++)
		if (w->file[i].exists && i % 2)
			unlink_owned(w, i);
	for (i = 0; i < 2 * OWNERS; i++) {
		check_usage(w, i / OWNERS, i % OWNERS);
		while (w->limit[i / OWNERS][i % OWNERS])
			set_limit(w, i / OWNERS, i % OWNERS);
	}
	pthread_rwlock_unlock(&shared->mounted);
}

struct usage {
	unsigned long long files, bytes;
};

static struct usage sums[2][MAX_PROCS][OWNERS], of_all[2];

static struct usage *sum_of(unsigned int type, unsigned int id)
{
	unsigned int i;

	if (id == owner_id(0, OWNERS))
		return &of_all[type];
	for (i = 0; i < procs * OWNERS; i++)
		if (id == owner_id(i / OWNERS, i % OWNERS))
			return &sums[type][i / OWNERS][i % OWNERS];
	return NULL;
}

static void add_file(unsigned int type, unsigned int id, const struct stat *st)
{
	struct usage *sum = sum_of(type, id);

	if (!sum)
		wrong_number("owner of a file", id);
	sum->files++;
	sum->bytes += st->st_blocks * 512;
}

static void add_files(int remove)
{
	DIR *dir = opendir(opt.quota_dir);
	struct dirent *entry;
	struct fsxattr attr;
	struct stat st;
	int fd;

	memset(sums, 0, sizeof(sums));
	memset(of_all, 0, sizeof(of_all));
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "owned-", 6))
			continue;
		if (remove) {
			if (unlinkat(dirfd(dir), entry->d_name, 0))
				call_failed("unlink", entry->d_name);
			continue;
		}
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY);
		if (fd < 0 || fstat(fd, &st) || ioctl(fd, FS_IOC_FSGETXATTR, &attr))
			call_failed("look at", entry->d_name);
		close(fd);
		add_file(0, st.st_uid, &st);
		add_file(1, attr.fsx_projid, &st);
	}
	if (!dir || closedir(dir))
		call_failed("read", opt.quota_dir);
}

static void compare(unsigned int type, unsigned int id, const struct usage *sum)
{
	struct dqblk block;

	quota(Q_GETQUOTA, type, id, &block, "Q_GETQUOTA");
	if (block.dqb_curinodes != sum->files)
		wrong_number("sum of files of", id);
	if (block.dqb_curspace != sum->bytes)
		wrong_number("sum of bytes of", id);
}

static void check_all_usage(int remove)
{
	unsigned int i, type;

	sync();
	add_files(remove);
	for (type = 0; type < 2; type++) {
		compare(type, owner_id(0, OWNERS), &of_all[type]);
		for (i = 0; i < procs * OWNERS; i++)
			compare(type, owner_id(i / OWNERS, i % OWNERS),
				&sums[type][i / OWNERS][i % OWNERS]);
	}
}

/* Processes with something of all kinds. */

static void one_operation(struct worker *w)
{
	unsigned int what = pick(w, 16);

	if (what < 3)
		users(w);
	else if (what < 5)
		timers(w);
	else if (what < 6)
		race_and_end(w);
	else if (what < 9)
		locks(w);
	else if (what < 10 && opt.groups)
		shared_groups(w);
	else if (what < 12 && opt.device)
		change_quotas(w);
	else
		children(w);
}

static void work(void)
{
	struct worker *w = &worker;
	unsigned int i;

	memset(w->fds, -1, sizeof(w->fds));
	memset(w->timer, -1, sizeof(w->timer));
	while (time_left())
		one_operation(w);
	for (i = 0; i < HELD; i++)
		if (w->held[i].kind)
			end_held(&w->held[i]);
	doing("end");
	drop_users(w);
	if (opt.device)
		leave_files(w);
	/* Timers are left to the kernel. */
}

/* Processes that disturb them. */

/* Circles are rare where all do many other things. */
static void lock_only(void)
{
	while (time_left())
		locks(&worker);
}

static void hierarchy_path(char *path, unsigned int number, const char *file)
{
	snprintf(path, PATH_SIZE, "%s/hierarchy-%u%s", opt.dir, number, file);
}

static void mount_hierarchy(unsigned int number)
{
	char path[PATH_SIZE], options[NAME_SIZE];

	doing("mount a hierarchy");
	hierarchy_path(path, number, "");
	if (mkdir(path, 0755) && errno != EEXIST)
		call_failed("mkdir", path);
	snprintf(options, sizeof(options), "none,name=crowd-%u", number);
	if (mount("cgroup", path, "cgroup", 0, options))
		call_failed("mount", path);
	hierarchy_path(path, number, "/sub");
	if (mkdir(path, 0755))
		call_failed("mkdir", path);
	add(MOUNTS);
}

static void move_in_hierarchy(unsigned int number, const char *to, pid_t pid)
{
	char path[PATH_SIZE], text[NAME_SIZE];

	hierarchy_path(path, number, to);
	snprintf(text, sizeof(text), "%d", pid);
	if (write_text(path, text) && errno != ESRCH)
		call_failed("move to", path);
}

/* Their children follow; they may fork while they are moved back. */
static void empty_hierarchy(unsigned int number)
{
	char path[PATH_SIZE];
	FILE *file;
	int pid;

	doing("empty a hierarchy");
	for (;;) {
		hierarchy_path(path, number, "/sub/cgroup.procs");
		file = fopen(path, "r");
		if (!file)
			call_failed("open", path);
		while (fscanf(file, "%d", &pid) == 1)
			move_in_hierarchy(number, "/cgroup.procs", pid);
		fclose(file);
		hierarchy_path(path, number, "/sub");
		if (!rmdir(path))
			return;
		if (errno != EBUSY)
			call_failed("rmdir", path);
	}
}

static void unmount_hierarchy(unsigned int number)
{
	char path[PATH_SIZE];

	empty_hierarchy(number);
	doing("unmount a hierarchy");
	hierarchy_path(path, number, "");
	if (umount2(path, 0))
		call_failed("umount", path);
}

static void set_controller(const char *word)
{
	char path[PATH_SIZE];

	doing("turn a controller on or off");
	group_path(path, "", "cgroup.subtree_control");
	while (write_text(path, word)) {
		/* It may be on its way back from rebind(). */
		if (errno != ENOENT)
			call_failed(word, path);
		usleep(10000);
	}
}

/* While it is off and no dying cgroup has it. */
static void rebind(void)
{
	char path[PATH_SIZE];

	doing("mount a controller");
	hierarchy_path(path, HIERARCHIES, "");
	if (mkdir(path, 0755) && errno != EEXIST)
		call_failed("mkdir", path);
	if (mount("cgroup", path, "cgroup", 0, "pids")) {
		if (errno != EBUSY)
			call_failed("mount", path);
		return;
	}
	doing("unmount a controller");
	if (umount2(path, 0))
		call_failed("umount", path);
	add(REBINDS);
}

static void hierarchies(void)
{
	unsigned long long random = 0;
	unsigned int turn, i;

	for (turn = 0; time_left(); turn++) {
		set_controller(turn % 2 ? "-pids" : "+pids");
		if (turn % 2)
			rebind();
		if (turn >= HIERARCHIES)
			unmount_hierarchy(turn % HIERARCHIES);
		mount_hierarchy(turn % HIERARCHIES);
		doing("move processes in a hierarchy");
		for (i = 0; i < procs; i++) {
			if (next(&random) % 2 || !progress->pid[i] || progress->ended[i])
				continue;
			move_in_hierarchy(turn % HIERARCHIES, "/sub/cgroup.procs",
					  progress->pid[i]);
		}
		usleep(50000);
	}
	for (i = 0; i < HIERARCHIES && i < turn; i++)
		unmount_hierarchy(i);
	set_controller("-pids");
}

/* All usage is written and forgotten, or only the limits are no limits. */
static void disturb_quotas(unsigned int turn)
{
	int version = 4;	/* QFMT_VFS_V1; not looked at for hidden files */

	doing("Q_QUOTAOFF");
	quota(Q_QUOTAOFF, turn % 2, 0, NULL, "Q_QUOTAOFF");
	doing("Q_SYNC");
	quota(Q_SYNC, turn % 2, 0, NULL, "Q_SYNC");
	doing("Q_QUOTAON");
	quota(Q_QUOTAON, turn % 2, version, "", "Q_QUOTAON");
	doing("wait for the users of the file system");
	lock_mounted(pthread_rwlock_timedwrlock);
	doing("umount or remount");
	if (turn % 3) {
		if (mount(NULL, opt.quota_dir, NULL, MS_REMOUNT | MS_RDONLY, NULL))
			call_failed("remount read-only", opt.quota_dir);
		if (mount(NULL, opt.quota_dir, NULL, MS_REMOUNT, NULL))
			call_failed("remount", opt.quota_dir);
	} else {
		if (umount2(opt.quota_dir, 0))
			call_failed("umount", opt.quota_dir);
		if (mount(opt.device, opt.quota_dir, "ext4", 0, QUOTA_OPTIONS))
			call_failed("mount", opt.quota_dir);
	}
	pthread_rwlock_unlock(&shared->mounted);
	add(QUOTA_MOUNTS);
}

static void mount_quotas(void)
{
	unsigned int turn;

	for (turn = 0; time_left(); turn++) {
		disturb_quotas(turn);
		usleep(100000);
	}
}

static void run_process(void)
{
	struct sigaction action = { .sa_handler = interrupt };

	sigaction(SIGALRM, &action, NULL);
	worker.random = self;
	if (self < procs)
		work();
	else if (self == procs && opt.groups)
		hierarchies();
	else if (self == procs + 1 && opt.device)
		mount_quotas();
	else if (self >= procs + 2)
		lock_only();
}

static const char help[] =
	"usage: crowd_stress [DIR] " STRESS_USAGE "\n"
	"                    [-q QDIR:DEVICE] [-g CGROUP2]\n"
	STRESS_HELP;

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, STRESS_OPTIONS "q:g:")) != -1) {
		if (c == 'g') {
			opt.groups = optarg;
		} else if (c == 'q') {
			opt.quota_dir = strsep(&optarg, ":");
			opt.device = optarg;
			if (!opt.device)
				usage(help);
		} else if (!stress_option(c, optarg, MAX_PROCS)) {
			usage(help);
		}
	}
	if (argc > optind + 1)
		usage(help);
	opt.dir = argv[optind];
}

static void make_shared(void)
{
	pthread_rwlockattr_t attr;
	char path[PATH_SIZE];
	sigset_t blocked;
	unsigned int i;

	/* A child that is gone is named by who writes to it. */
	signal(SIGPIPE, SIG_IGN);
	shared = shared_memory(sizeof(*shared));
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	/* Else who mounts would never get it. */
	pthread_rwlockattr_setkind_np(&attr,
				      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&shared->mounted, &attr);
	for (i = 0; i < LOCK_FILES; i++) {
		snprintf(path, sizeof(path), "%s/locked-%u", opt.dir, i);
		close(open_file(path, O_CREAT | O_RDWR));
	}
	/* Of timers; children have it blocked as well. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
}

static void finish(void)
{
	char path[PATH_SIZE];
	unsigned int i;

	if (opt.device) {
		check_all_usage(0);
		check_all_usage(1);
	}
	if (opt.groups)
		remove_shared_groups();
	for (i = 0; i < LOCK_FILES; i++) {
		snprintf(path, sizeof(path), "%s/locked-%u", opt.dir, i);
		unlink(path);
	}
	for (i = 0; i <= HIERARCHIES; i++) {
		hierarchy_path(path, i, "");
		rmdir(path);
	}
}

int main(int argc, char **argv)
{
	int failed;

	if (argc == 2 && !strcmp(argv[1], "--after-exec"))
		return after_exec();
	arguments(argc, argv);
	begin_test();
	need("/proc/self/ns/user", "CONFIG_USER_NS");
	need("/sys/kernel/mm/ksm", "CONFIG_KSM");
	need("/sys/kernel/mm/transparent_hugepage", "CONFIG_TRANSPARENT_HUGEPAGE");
	if (!opt.dir)
		opt.dir = private_tmpfs();
	ksft_set_plan(1);
	make_shared();
	failed = run_processes(procs + 2 + LOCKERS, run_process);
	if (!failed)
		failed = check_in_child(finish);
	end_test("crowd_stress", failed, count_name, COUNTS);
}
