// SPDX-License-Identifier: GPL-2.0
/*
 * multiuser - several users run the same script at the same time
 *
 * Each -n is a round: so many users, each a process in a directory of its own
 * below DIR, are begun together and run `sh SCRIPT` there; the round ends with
 * the last of them. -w is a round before these that is not reported, and warms
 * the caches. With -r users see nothing but what is below ROOT: SCRIPT is a name
 * there, DIR one outside.
 *
 * A script has to leave its directory empty and to end with status 0, else the
 * program fails.
 *
 * A reported round is between two marker instructions, for an emulator that
 * counts what is executed in between.
 *
 * Prints "name: value" lines, a group for each round. The time is in hundredths
 * of a second, as the benchmark of 1991 has it, and in seconds.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "counters.h"
#include "markers.h"

#define MAX_ROUNDS	16
#define MAX_USERS	1000
#define NAME_SIZE	32
#define STATS		"/proc/hashstats"

static struct {
	const char *dir, *script, *root;
	unsigned int rounds;
	unsigned int users[MAX_ROUNDS];
	unsigned int warm;		/* users of the round before */
	int counters;
} opt;

static void enter(const char *path)
{
	if (chdir(path))
		fail("enter", path);
}

static void user_name(char *name, unsigned int user)
{
	snprintf(name, NAME_SIZE, "user-%u", user);
}

static void make_dirs(unsigned int users)
{
	char name[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < users; i++) {
		user_name(name, i);
		if (mkdir(name, 0755))
			fail("mkdir", name);
	}
}

static void remove_dirs(unsigned int users)
{
	char name[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < users; i++) {
		user_name(name, i);
		if (rmdir(name))
			fail("rmdir", name);
	}
}

/* Never returns; begins when nobody can write to @line any more. */
static void run_script(unsigned int user, int line)
{
	static char * const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C",
					      "HOME=.", NULL };
	char name[NAME_SIZE], byte;

	user_name(name, user);
	enter(name);
	if (opt.root && chroot(opt.root))
		fail("change the root to", opt.root);
	if (read(line, &byte, 1))
		fail("wait at", "the starting line");
	execle("/bin/sh", "sh", opt.script, NULL, environment);
	fail("execute", "/bin/sh");
}

static void start_user(unsigned int user, const int *line)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("start", "a user");
	if (pid)
		return;
	close(line[1]);
	run_script(user, line[0]);
}

static void wait_for(unsigned int users)
{
	unsigned int i, failed = 0;
	int status;

	for (i = 0; i < users; i++) {
		if (wait(&status) < 0)
			fail("wait for", "a user");
		failed += !!status;
	}
	if (failed) {
		fprintf(stderr, "multiuser: %u of %u scripts failed\n", failed, users);
		exit(1);
	}
}

/* Seconds until the last script has ended. */
static double run_users(unsigned int users, int counted)
{
	unsigned int i;
	double begin;
	int line[2];

	if (pipe2(line, O_CLOEXEC))
		fail("make", "a pipe");
	for (i = 0; i < users; i++)
		start_user(i, line);
	close(line[0]);
	if (counted)
		mark(OPEN(1));
	begin = now();
	close(line[1]);
	wait_for(users);
	begin = now() - begin;
	if (counted)
		mark(CLOSE(1));
	return begin;
}

static void report(unsigned int users, double seconds)
{
	printf("users: %u\nhundredths: %.0f\n", users, seconds * 100);
	printf("seconds: %.6f\n", seconds);
	printf("scripts-per-hour: %.1f\n", users * 3600 / seconds);
	if (opt.counters)
		print_file("counters", STATS, NULL);
	fflush(stdout);
}

static void run_round(unsigned int users)
{
	double seconds;

	make_dirs(users);
	if (opt.counters)
		write_text(STATS, "reset");
	seconds = run_users(users, 1);
	report(users, seconds);
	remove_dirs(users);
}

static void warm_up(void)
{
	make_dirs(opt.warm);
	run_users(opt.warm, 0);
	remove_dirs(opt.warm);
}

static const char help[] =
	"usage: multiuser DIR SCRIPT -n USERS [-n USERS]... [-w USERS] [-r ROOT] [-c]\n"
	"  -n is a round of so many users, -w one before them to warm up\n"
	"  -r shows users only what is below ROOT, where SCRIPT is\n"
	"  -c counts lookups and prints /proc/hashstats after each round\n";

static void add_round(unsigned int users)
{
	if (opt.rounds == MAX_ROUNDS) {
		fprintf(stderr, "multiuser: -n: accepted: %u at most\n", MAX_ROUNDS);
		exit(2);
	}
	opt.users[opt.rounds++] = users;
}

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:w:r:c")) != -1) {
		if (c == 'n')
			add_round(to_number("-n", optarg, 1, MAX_USERS));
		else if (c == 'w')
			opt.warm = to_number("-w", optarg, 1, MAX_USERS);
		else if (c == 'r')
			opt.root = optarg;
		else if (c == 'c')
			opt.counters = 1;
		else
			usage(help);
	}
	if (argc - optind != 2 || !opt.rounds)
		usage(help);
	opt.dir = argv[optind];
	opt.script = argv[optind + 1];
}

int main(int argc, char **argv)
{
	unsigned int i;

	arguments(argc, argv);
	if (opt.counters)
		write_text(STATS, "on");
	enter(opt.dir);
	warm_up();
	for (i = 0; i < opt.rounds; i++)
		run_round(opt.users[i]);
	return 0;
}
