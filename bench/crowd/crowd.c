// SPDX-License-Identifier: GPL-2.0
/*
 * crowd - what one more costs in a crowd of users, timers, cgroups, ...
 *
 * Makes a crowd of the first size, carries out some operations, makes it grow to
 * the next size, and so on. What keeps the crowd alive is as small as can be: an
 * open file for a user, a sleeping process for a cgroup.
 *
 * An emulator that knows the markers counts what is executed while operations
 * are carried out: a segment for each size and operation, in the order in which
 * the lines are printed:
 *
 *	KIND OPERATION SIZE OPERATIONS NANOSECONDS
 *
 * The members of the crowd that an operation goes to are drawn from it by a
 * generator that begins with the same number each time.
 *
 * KIND is one of
 *	users		STRIDE apart; setresuid() to one that is alive, to a new one
 *	namespaces	of users; one more, which ends
 *	quotas		on DIR, which DEVICE is mounted on; Q_GETQUOTA, new files
 *	timers		timer_gettime(), and one more that is made and deleted
 *	cgroups		in DIR, a task in each; move a task, fork into one
 *	locks		tasks that wait for locks of files in DIR; EDEADLK
 *	ksm, huge	processes that are scanned; one ends, another begins
 *	mounts		of a new hierarchy of cgroups on DIR, and its end
 *	addresses	of IPv4, on dummy devices; connect() from one
 *	devices		dummies; the index of a name, and the name of that index
 *	sockets		bound to paths in DIR; connect() to one
 *	files		in DIR, on FAT; one more that is made and removed
 *
 * and, of tables that the series leaves as they are, in kept.h,
 *	probes, traps	at the start and inside of functions; a hit, one more
 *	sessions	of PPPoE; receive a packet of one, one more
 *	rules, watches	of audit, for directories or files in DIR; open() of one
 *	measured	files in DIR, by IMA; one more
 *	keys		of encryption, of DIR's file system; the status of one
 *	clients		of an NFS server; SEQUENCE of one, one more session
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "markers.h"
#include "netlink.h"

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE	67
#endif

#define FIRST_ID	100000
#define NEW_ID		(FIRST_ID + 65536 * 40000U)	/* never in the crowd */
#define DIR_FILES	1000
#define FAT_FILES	100		/* a directory of FAT is searched from its start */
#define DEVICE_ADDRESSES 500		/* each new one is compared with them */
#define FIRST_ADDRESS	0x0a000001	/* 10.0.0.1 */
#define NAME_SIZE	64
#define MOST		1000000		/* members, operations */

static struct {
	const char *dir;
	const char *device;
	unsigned int stride;	/* between the numbers of users */
	unsigned int ops;
} opt = { .dir = ".", .stride = 1, .ops = 500 };

static const char *kind;
static unsigned long drawn = 1;
static int *held;		/* by member: a descriptor, a process, a timer */

/* A member of the crowd; the upper bits of a linear congruence. */
static unsigned int draw(unsigned int size)
{
	drawn = drawn * 6364136223846793005UL + 1442695040888963407UL;
	return (drawn >> 33) % size;
}

static unsigned int user(unsigned int member)
{
	return FIRST_ID + member * opt.stride;
}

static void name_of(char *name, const char *what, unsigned int number)
{
	snprintf(name, NAME_SIZE, "%s/%s-%u", opt.dir, what, number);
}

/* A process that sleeps for as long as this one lives. */
static int sleeper(unsigned long flags, int cgroup)
{
	struct clone_args args = {
		.flags = flags | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.exit_signal = SIGCHLD,
		.cgroup = cgroup,
	};
	int pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		fail(kind, "clone3");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* One that ends at once. */
static void come_and_go(unsigned long flags, int cgroup)
{
	struct clone_args args = {
		.flags = flags | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.exit_signal = SIGCHLD,
		.cgroup = cgroup,
	};
	int status, pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		_exit(0);
	if (pid < 0)
		fail(kind, "clone3");
	if (waitpid(pid, &status, 0) != pid || status)
		fail(kind, "waitpid");
}

/* Users: glibc's setresuid() would go through all threads. */

static void become(unsigned int id)
{
	if (syscall(SYS_setresuid, id, 0, 0))
		fail(kind, "setresuid");
}

static void add_user(unsigned int member)
{
	become(user(member));
	/* The file has the credentials of who opened it. */
	held[member] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (held[member] < 0)
		fail(kind, "/dev/null");
	become(0);
}

static void live_user(unsigned int member)
{
	become(user(member));
}

static void new_user(unsigned int member)
{
	static unsigned int made;

	(void)member;
	become(NEW_ID + made++ * opt.stride);
}

/* Namespaces of users. */

static void add_namespace(unsigned int member)
{
	held[member] = sleeper(CLONE_NEWUSER, -1);
}

static void one_more_namespace(unsigned int member)
{
	(void)member;
	come_and_go(CLONE_NEWUSER, -1);
}

/* Quotas. */

static void own_file(const char *what, unsigned int number, unsigned int id)
{
	char dir[NAME_SIZE], path[2 * NAME_SIZE];
	int fd;

	name_of(dir, what, number / DIR_FILES);
	if (number % DIR_FILES == 0 && (mkdir(dir, 0777) || chmod(dir, 0777)))
		fail(kind, dir);
	snprintf(path, sizeof(path), "%s/%u", dir, number);
	setfsuid(id);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (fd < 0)
		fail(kind, path);
	close(fd);
	setfsuid(0);
}

static void add_owner(unsigned int member)
{
	own_file("crowd", member, user(member));
}

static void get_quota(unsigned int member)
{
	struct dqblk quota;

	if (syscall(SYS_quotactl, QCMD(Q_GETQUOTA, USRQUOTA), opt.device,
		    user(member), &quota))
		fail(kind, "Q_GETQUOTA");
	if (quota.dqb_curinodes < 1) {
		errno = 0;
		fail(kind, "an owner without an inode");
	}
}

static void new_file(unsigned int member)
{
	static unsigned int made;

	own_file("more", made++, user(member));
}

/* Timers. */

static int new_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	int id;

	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
		fail(kind, "timer_create");
	return id;
}

static void add_timer(unsigned int member)
{
	held[member] = new_timer();
}

static void read_timer(unsigned int member)
{
	struct itimerspec value;

	if (syscall(SYS_timer_gettime, held[member], &value))
		fail(kind, "timer_gettime");
}

static void one_more_timer(unsigned int member)
{
	(void)member;
	if (syscall(SYS_timer_delete, new_timer()))
		fail(kind, "timer_delete");
}

/* Cgroups. */

static int open_cgroup(unsigned int member)
{
	char name[NAME_SIZE];
	int fd;

	name_of(name, "crowd", member);
	fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail(kind, name);
	return fd;
}

static void add_cgroup(unsigned int member)
{
	char name[NAME_SIZE];
	int fd;

	name_of(name, "crowd", member);
	if (mkdir(name, 0755))
		fail(kind, name);
	fd = open_cgroup(member);
	held[member] = sleeper(0, fd);
	close(fd);
}

static void move_task(unsigned int member)
{
	static int moved;
	int dir = open_cgroup(member), procs;
	char pid[16];

	if (!moved)
		moved = sleeper(0, -1);
	procs = openat(dir, "cgroup.procs", O_WRONLY);
	snprintf(pid, sizeof(pid), "%d", moved);
	if (procs < 0 || write(procs, pid, strlen(pid)) < 0)
		fail(kind, "cgroup.procs");
	close(procs);
	close(dir);
}

static void fork_into(unsigned int member)
{
	int fd = open_cgroup(member);

	come_and_go(0, fd);
	close(fd);
}

/* Blocked locks: of each file this process has byte 0, a waiter byte 1. */

static int lock(int fd, int how, off_t byte)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte,
		.l_len = 1,
	};

	return fcntl(fd, how, &range);
}

static int order[2], ready[2];	/* to and from the father of the waiters */

static void wait_for_lock(unsigned int member)
{
	char name[NAME_SIZE];
	int fd;

	name_of(name, "lock", member);
	fd = open(name, O_RDWR);
	if (fd < 0 || lock(fd, F_SETLK, 1))
		fail(kind, name);
	if (write(ready[1], "", 1) != 1)
		fail(kind, "write");
	lock(fd, F_SETLKW, 0);
	_exit(1);
}

/* A process with few descriptors, since a fork copies all that there are. */
static void start_father(void)
{
	unsigned int member;

	if (pipe(order) || pipe(ready))
		fail(kind, "pipe");
	switch (fork()) {
	case -1:
		fail(kind, "fork");
		break;
	case 0:
		/* So that it ends when the crowd does. */
		close(order[1]);
		while (read(order[0], &member, sizeof(member)) > 0) {
			int pid = fork();

			if (pid < 0)
				fail(kind, "fork");
			if (!pid) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				wait_for_lock(member);
			}
		}
		_exit(0);
	}
}

static void add_waiter(unsigned int member)
{
	char name[NAME_SIZE], byte;

	if (!member)
		start_father();
	name_of(name, "lock", member);
	held[member] = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (held[member] < 0 || lock(held[member], F_SETLK, 0))
		fail(kind, name);
	if (write(order[1], &member, sizeof(member)) != sizeof(member) ||
	    read(ready[0], &byte, 1) != 1)
		fail(kind, "pipe");
}

static void settle(void)
{
	/* The last waiters are between their write and their wait. */
	sleep(1);
}

static void try_lock(unsigned int member)
{
	/* Its waiter waits for us. If not, we would wait forever. */
	if (!lock(held[member], F_SETLKW, 1) || errno != EDEADLK)
		fail(kind, "no EDEADLK");
}

/* Processes that are scanned. */

static void begin_ksm(void)
{
	if (prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
		fail(kind, "PR_SET_MEMORY_MERGE");
}

static void begin_huge(void)
{
	void *area = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED || madvise(area, 4 << 20, MADV_HUGEPAGE))
		fail(kind, "MADV_HUGEPAGE");
	memset(area, 1, 4 << 20);
}

static void add_process(unsigned int member)
{
	held[member] = sleeper(0, -1);
}

/* A new process goes to the head of its chain. */
static void replace_process(unsigned int member)
{
	int status;

	if (kill(held[member], SIGKILL) ||
	    waitpid(held[member], &status, 0) != held[member])
		fail(kind, "kill");
	held[member] = sleeper(0, -1);
}

/* Hierarchies. */

static void add_nothing(unsigned int member)
{
	(void)member;
}

static void mount_hierarchy(unsigned int member)
{
	static unsigned int made;
	char options[NAME_SIZE];

	(void)member;
	/* One that goes is not gone at once. */
	snprintf(options, sizeof(options), "none,name=crowd-%u", made++);
	if (mount("none", opt.dir, "cgroup", 0, options))
		fail(kind, "mount");
	if (umount(opt.dir))
		fail(kind, "umount");
}

/* Devices and addresses. */

static void device_name(char *name, unsigned int number)
{
	snprintf(name, IFNAMSIZ, "crowd%u", number);
}

static void add_device(unsigned int member)
{
	char name[IFNAMSIZ];

	device_name(name, member);
	add_dummy(name);
}

static int any_socket(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail(kind, "socket");
	return fd;
}

static void find_device(unsigned int member)
{
	struct ifreq request;

	device_name(request.ifr_name, member);
	if (ioctl(any_socket(), SIOCGIFINDEX, &request) ||
	    ioctl(any_socket(), SIOCGIFNAME, &request))
		fail(kind, request.ifr_name);
}

static void add_member_address(unsigned int member)
{
	static unsigned int device;

	if (member % DEVICE_ADDRESSES == 0) {
		char name[IFNAMSIZ];

		add_device(member / DEVICE_ADDRESSES);
		device_name(name, member / DEVICE_ADDRESSES);
		device = if_nametoindex(name);
	}
	add_address(device, FIRST_ADDRESS + member);
}

/* The route of a packet that has a source address asks for the address. */
static void connect_from(unsigned int member)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(FIRST_ADDRESS + member),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		fail(kind, "bind");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons(9);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		fail(kind, "connect");
	close(fd);
}

/* Sockets with a path, and files of FAT. */

/* Directories of some files each: no directory has all of them. */
static void path_of(char *path, const char *what, unsigned int number,
		    unsigned int files)
{
	char dir[NAME_SIZE];

	name_of(dir, what, number / files);
	snprintf(path, 2 * NAME_SIZE, "%s/%u", dir, number);
}

/* The directory of that path, made with its first file. */
static void make_dir_of(const char *what, unsigned int number, unsigned int files)
{
	char dir[NAME_SIZE];

	name_of(dir, what, number / files);
	if (number % files == 0 && mkdir(dir, 0777) && errno != EEXIST)
		fail(kind, dir);
}

static struct sockaddr_un socket_path(unsigned int member)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[2 * NAME_SIZE];

	path_of(path, "crowd", member, DIR_FILES);
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		fail(kind, path);
	}
	strcpy(address.sun_path, path);
	return address;
}

static int unix_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail(kind, "socket");
	return fd;
}

static void add_socket(unsigned int member)
{
	struct sockaddr_un address = socket_path(member);

	make_dir_of("crowd", member, DIR_FILES);
	held[member] = unix_socket();
	if (bind(held[member], (struct sockaddr *)&address, sizeof(address)))
		fail(kind, address.sun_path);
}

static void connect_to(unsigned int member)
{
	struct sockaddr_un address = socket_path(member);
	static int fd = -1;

	if (fd < 0)
		fd = unix_socket();
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		fail(kind, address.sun_path);
}

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		fail(kind, path);
	close(fd);
}

static void add_file(unsigned int member)
{
	char path[2 * NAME_SIZE];

	make_dir_of("crowd", member, FAT_FILES);
	path_of(path, "crowd", member, FAT_FILES);
	make_file(path);
}

static void one_more_file(unsigned int member)
{
	static int made;
	char path[2 * NAME_SIZE];

	(void)member;
	/* The first operation is not counted. */
	if (!made++)
		make_dir_of("more", 0, FAT_FILES);
	path_of(path, "more", 0, FAT_FILES);
	make_file(path);
	if (unlink(path))
		fail(kind, path);
}

#include "kept.h"

struct operation {
	const char *name;
	void (*run)(unsigned int member);
};

static const struct kind {
	const char *name;
	void (*begin)(void);
	void (*add)(unsigned int member);
	void (*settle)(void);
	struct operation operations[2];
} kinds[] = {
	{ "users", NULL, add_user, NULL,
	  { { "live", live_user }, { "new", new_user } } },
	{ "namespaces", NULL, add_namespace, NULL,
	  { { "new", one_more_namespace } } },
	{ "quotas", NULL, add_owner, NULL,
	  { { "get", get_quota }, { "create", new_file } } },
	{ "timers", NULL, add_timer, NULL,
	  { { "gettime", read_timer }, { "create", one_more_timer } } },
	{ "cgroups", NULL, add_cgroup, NULL,
	  { { "move", move_task }, { "fork", fork_into } } },
	{ "locks", NULL, add_waiter, settle, { { "deadlock", try_lock } } },
	{ "ksm", begin_ksm, add_process, NULL,
	  { { "replace", replace_process } } },
	{ "huge", begin_huge, add_process, NULL,
	  { { "replace", replace_process } } },
	{ "mounts", NULL, add_nothing, NULL, { { "mount", mount_hierarchy } } },
	{ "addresses", NULL, add_member_address, NULL,
	  { { "connect", connect_from } } },
	{ "devices", NULL, add_device, NULL, { { "find", find_device } } },
	{ "sockets", NULL, add_socket, NULL, { { "connect", connect_to } } },
	{ "files", NULL, add_file, NULL, { { "create", one_more_file } } },
	{ "probes", begin_probes, add_member_probe, NULL,
	  { { "hit", hit_probe }, { "register", one_more_probe } } },
	{ "traps", begin_traps, add_member_probe, NULL, { { "hit", hit_probe } } },
	{ "sessions", NULL, add_session, NULL,
	  { { "receive", receive_packet }, { "connect", one_more_session } } },
	{ "rules", begin_rules, add_directory, NULL, { { "open", open_below } } },
	{ "watches", begin_rules, add_watch, NULL, { { "open", open_watched } } },
	{ "measured", NULL, add_measured, NULL,
	  { { "measure", one_more_measured } } },
	{ "keys", NULL, add_key, NULL, { { "status", find_key } } },
	{ "clients", NULL, add_client, NULL,
	  { { "sequence", send_sequence }, { "create", one_more_nfs_session } } },
};

#define NR_KINDS	(sizeof(kinds) / sizeof(*kinds))

static void measure(const struct operation *operation, unsigned int size)
{
	double start;
	unsigned int i;

	/* What is done once is not counted. */
	operation->run(draw(size));
	start = now();
	mark(OPEN(1));
	for (i = 0; i < opt.ops; i++)
		operation->run(draw(size));
	mark(CLOSE(1));
	printf("%s %s %u %u %.0f\n", kind, operation->name, size, opt.ops,
	       1e9 * (now() - start));
	fflush(stdout);
}

/* A user who may not raise a limit can still measure a small crowd. */
static void raise_limit(int resource, rlim_t most)
{
	const struct rlimit limit = { most, most };

	setrlimit(resource, &limit);
}

static void run(const struct kind *one, char **sizes)
{
	unsigned int size = 0, wanted, i;

	if (one->begin)
		one->begin();
	for (; *sizes; sizes++) {
		wanted = strtoul(*sizes, NULL, 10);
		held = realloc(held, wanted * sizeof(*held));
		if (!held)
			fail(kind, "realloc");
		for (; size < wanted; size++)
			one->add(size);
		if (one->settle)
			one->settle();
		for (i = 0; i < 2 && one->operations[i].name; i++)
			measure(&one->operations[i], size);
	}
}

static void show_usage(void)
{
	unsigned int i;

	fprintf(stderr, "usage: crowd KIND [-d DIR] [-b DEVICE] [-s STRIDE] [-n OPS] SIZE...\n"
		"kinds:");
	for (i = 0; i < NR_KINDS; i++)
		fprintf(stderr, " %s", kinds[i].name);
	fprintf(stderr, "\n");
	exit(2);
}

static const struct kind *find_kind(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_KINDS; i++) {
		if (!strcmp(name, kinds[i].name))
			return &kinds[i];
	}
	show_usage();
	return NULL;
}

/* The sizes grow. */
static void check_sizes(char **sizes)
{
	unsigned int before = 0, size;

	if (!*sizes)
		show_usage();
	for (; *sizes; sizes++, before = size) {
		size = to_number("SIZE", *sizes, 1, MOST);
		if (size <= before) {
			fprintf(stderr, "crowd: SIZE %u after %u: accepted: larger ones\n",
				size, before);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	const struct kind *one;
	int letter;

	while ((letter = getopt(argc, argv, "d:b:s:n:")) != -1) {
		switch (letter) {
		case 'd':
			opt.dir = optarg;
			break;
		case 'b':
			opt.device = optarg;
			break;
		case 's':
			opt.stride = to_number("-s", optarg, 1, 1 << 20);
			break;
		case 'n':
			opt.ops = to_number("-n", optarg, 1, MOST);
			break;
		default:
			show_usage();
		}
	}
	if (optind == argc)
		show_usage();
	one = find_kind(argv[optind]);
	kind = one->name;
	check_sizes(argv + optind + 1);
	raise_limit(RLIMIT_NOFILE, 1 << 20);
	raise_limit(RLIMIT_NPROC, RLIM_INFINITY);
	raise_limit(RLIMIT_SIGPENDING, RLIM_INFINITY);
	run(one, argv + optind + 1);
	return 0;
}
