/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the stress tests share: processes that each check what must hold, a
 * watchdog, and the report in TAP.
 *
 * A process that fails says why and ends the test GRACE_SECONDS later: it may
 * hold locks that the others wait for. If the test does not end in time, the watchdog says
 * what each process is doing.
 */
#ifndef BOOTHASH_STRESS_H
#define BOOTHASH_STRESS_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "common.h"

#define STRESS_PROCS	320
#define STRESS_COUNTS	32
#define GRACE_SECONDS	2
#define PATH_SIZE	4096

#define STRESS_OPTIONS	"t:p:w:"
#define STRESS_USAGE	"[-t SECONDS] [-p PROCESSES] [-w SECONDS]"
#define STRESS_HELP						\
	"  without DIR the test has a tmpfs of its own\n"	\
	"  -w is how long after its time it may take to end\n"

static unsigned int procs = 8;		/* that do the work */
static unsigned int seconds = 10;
static unsigned int patience = 300;	/* seconds more until it is stuck */
static double start_time, end_time;
static unsigned int self;		/* number of this process */
static unsigned int all_procs;
static pid_t watchdog;

static struct {
	int failed;
	unsigned long long counts[STRESS_COUNTS];
	const char *doing[STRESS_PROCS];
	pid_t pid[STRESS_PROCS];
	char ended[STRESS_PROCS];
} *progress;

static void end_all(void);

static __printf(1, 2) __noreturn void stop(const char *format, ...)
{
	char text[PATH_SIZE + 512];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	if (getpid() == watchdog) {
		end_all();
		ksft_exit_fail_msg("%s\n", text);
	}
	flockfile(stdout); /* another thread may fail, too: print one line only */
	ksft_print_msg("process %u: %s\n", self, text);
	if (progress)
		__atomic_store_n(&progress->failed, 1, __ATOMIC_RELAXED);
	_exit(1);
}

static inline __noreturn void call_failed(const char *what, const char *name)
{
	stop("%s %s: %s", what, name, strerror(errno));
}

/* Not an error of a call: what it said is wrong. */
static inline __noreturn void wrong(const char *what, const char *name)
{
	stop("%s %s: not as expected", what, name);
}

static inline __noreturn void wrong_number(const char *what, unsigned long long number)
{
	stop("%s %llu: not as expected", what, number);
}

static inline void doing(const char *what)
{
	progress->doing[self] = what;
}

static inline void add(unsigned int kind)
{
	__atomic_add_fetch(&progress->counts[kind], 1, __ATOMIC_RELAXED);
}

static inline int has_failed(void)
{
	return __atomic_load_n(&progress->failed, __ATOMIC_RELAXED);
}

static inline int time_left(void)
{
	return now() < end_time && !has_failed();
}

static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int bad = fd < 0 || write(fd, text, strlen(text)) < 0;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return bad ? -1 : 0;
}

/* Memory that the processes share. */
static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		call_failed("mmap", "shared memory");
	return memory;
}

/* One of STRESS_OPTIONS, or not. */
static int stress_option(int option, const char *text, unsigned int max_procs)
{
	if (option == 't')
		seconds = to_number("-t", text, 1, 1000000);
	else if (option == 'p')
		procs = to_number("-p", text, 1, max_procs);
	else if (option == 'w')
		patience = to_number("-w", text, 1, 1000000);
	else
		return 0;
	return 1;
}

/* A test that this kernel does not have the option for is skipped. */
static inline void need(const char *path, const char *option)
{
	if (access(path, F_OK))
		ksft_exit_skip("no %s: needs %s\n", path, option);
}

static void begin_test(void)
{
	ksft_print_header();
	if (geteuid())
		ksft_exit_skip("needs root\n");
	need("/proc/sys/vm/drop_caches", "CONFIG_SYSCTL");
	watchdog = getpid();
	progress = shared_memory(sizeof(*progress));
}

/* Seen by the test alone; goes with its last process. */
static const char *private_tmpfs(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		ksft_exit_skip("no mounts of its own: %s\n", strerror(errno));
	if (mount("tmpfs", "/tmp", "tmpfs", 0, NULL)) {
		if (errno == ENODEV)
			ksft_exit_skip("needs CONFIG_TMPFS\n");
		call_failed("mount", "/tmp");
	}
	return "/tmp";
}

/* Each process has a group of its own, with what it forked. */
static void end_all(void)
{
	unsigned int i;

	if (!progress)
		return;
	/* The last one is that of check_in_child(). */
	for (i = 0; i <= all_procs; i++)
		if (progress->pid[i] && !progress->ended[i])
			kill(-progress->pid[i], SIGKILL);
}

/* A signal that ends the test ends all of its processes. */
static void end_early(int number)
{
	end_all();
	signal(number, SIG_DFL);
	raise(number);
}

static void give_up(int number)
{
	unsigned int i;

	(void)number;
	for (i = 0; i <= all_procs; i++)
		if (progress->doing[i])
			ksft_print_msg("process %u is stuck in: %s\n", i,
				       progress->doing[i]);
	end_all();
	ksft_exit_fail_msg("no end %u s after the time of the test or a failure\n", patience);
}

static void end_rest(int number)
{
	(void)number;
	end_all();
	/* One that cannot be killed is what the watchdog is for. */
	signal(SIGALRM, give_up);
	alarm(patience);
}

static int wait_all(void)
{
	int status, failed = 0;
	unsigned int i;
	pid_t pid;

	while ((pid = wait(&status)) > 0) {
		/* Its children may be left; its number is soon reused. */
		if (status)
			kill(-pid, SIGKILL);
		for (i = 0; i < all_procs; i++)
			if (progress->pid[i] == pid)
				progress->ended[i] = 1;
		if (!status || failed)
			continue;
		failed = 1;
		if (WIFSIGNALED(status))
			ksft_print_msg("a process ended by signal %d\n",
				       WTERMSIG(status));
		/* Other processes may report why this one failed. */
		signal(SIGALRM, end_rest);
		alarm(GRACE_SECONDS);
	}
	return failed;
}

static int run_processes(unsigned int number, void (*run)(void))
{
	pid_t pid;

	all_procs = number;
	start_time = now();
	end_time = start_time + seconds;
	signal(SIGALRM, give_up);
	signal(SIGINT, end_early);
	signal(SIGTERM, end_early);
	alarm(seconds + patience);
	for (self = 0; self < all_procs; self++) {
		pid = fork();
		if (pid < 0)
			call_failed("fork", "");
		if (!pid) {
			signal(SIGALRM, SIG_DFL);
			signal(SIGINT, SIG_DFL);
			signal(SIGTERM, SIG_DFL);
			setpgid(0, 0);
			progress->pid[self] = getpid();
			run();
			doing(NULL);
			exit(0);
		}
		setpgid(pid, pid);
		progress->pid[self] = pid;
	}
	return wait_all();
}

/* In a process of its own: also when it fails there is a report. */
static int check_in_child(void (*check)(void))
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		setpgid(0, 0);
		doing("the check at the end");
		check();
		_exit(0);
	}
	if (pid > 0) {
		setpgid(pid, pid);
		progress->pid[all_procs] = pid;
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	progress->ended[all_procs] = 1;
	return status;
}

static __noreturn void end_test(const char *test, int failed, const char * const *names,
				unsigned int number)
{
	char text[1024];
	unsigned int i;
	size_t at = 0;

	for (i = 0; i < number; i++)
		at += snprintf(text + at, sizeof(text) - at, "%s%llu %s", i ? ", " : "",
			       progress->counts[i], names[i]);
	ksft_print_msg("%s\n", text);
	ksft_test_result(!failed, "%s\n", test);
	ksft_finished();
}

#endif /* BOOTHASH_STRESS_H */
