// SPDX-License-Identifier: GPL-2.0
/*
 * htree - names that come to one large directory, are looked up, and change
 *
 * One phase for each call:
 *
 *   create   makes the files, empty, one after the other
 *   lookup   a stat of each of these files, in random order
 *   churn    removes one of the files, taken at random, and makes one with a new
 *            name, so often as there are files
 *
 * The names have a pattern:
 *
 *   number   f000123, seven letters
 *   hex      5c93ae1f123, eight random digits and a number
 *   photo    IMG_20240517_000123.jpg, 23 letters
 *   mail     1718000123.M000123P04242.host:2,S, 33 letters
 *
 * What is done is a function of the arguments alone. An emulator that knows the
 * markers counts what is executed in the phase.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

#ifndef __x86_64__
#error The markers are instructions of x86-64.
#endif

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define MARKER(kind, label)	(0x62680000 + (label) * 256 + (kind))
#define OPEN_PHASE		MARKER(1, 1)
#define CLOSE_PHASE		MARKER(2, 1)

#define NAME_SIZE	64

static void name_number(char *name, unsigned int i)
{
	snprintf(name, NAME_SIZE, "f%06u", i);
}

static void name_hex(char *name, unsigned int i)
{
	unsigned long long random = i;

	snprintf(name, NAME_SIZE, "%08x%u", (unsigned int)next(&random), i);
}

static void name_photo(char *name, unsigned int i)
{
	snprintf(name, NAME_SIZE, "IMG_20240517_%06u.jpg", i);
}

static void name_mail(char *name, unsigned int i)
{
	snprintf(name, NAME_SIZE, "%u.M%06uP04242.host:2,S", 1718000000 + i, i);
}

static const struct pattern {
	const char	*word;
	void		(*name)(char *name, unsigned int i);
} patterns[] = {
	{ "number",	name_number },
	{ "hex",	name_hex },
	{ "photo",	name_photo },
	{ "mail",	name_mail },
};

static struct {
	const char		*dir;
	unsigned int		files;
	const struct pattern	*pattern;
	unsigned int		*order;	/* numbers of the files */
} opt = { .files = 1000, .pattern = patterns };

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "htree: %s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static void make_file(unsigned int i)
{
	char name[NAME_SIZE];
	int fd;

	opt.pattern->name(name, i);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (fd < 0)
		fail("create", name);
	close(fd);
}

static void remove_file(unsigned int i)
{
	char name[NAME_SIZE];

	opt.pattern->name(name, i);
	if (unlink(name))
		fail("unlink", name);
}

static void create(void)
{
	unsigned int i;

	for (i = 0; i < opt.files; i++)
		make_file(i);
}

static void look_up(void)
{
	char name[NAME_SIZE];
	struct stat st;
	unsigned int i;

	for (i = 0; i < opt.files; i++) {
		opt.pattern->name(name, opt.order[i]);
		if (stat(name, &st))
			fail("stat", name);
	}
}

static void churn(void)
{
	unsigned long long random = 2;
	unsigned int i, at;

	for (i = 0; i < opt.files; i++) {
		at = next(&random) % opt.files;
		remove_file(opt.order[at]);
		opt.order[at] = opt.files + i;
		make_file(opt.order[at]);
	}
}

static const struct phase {
	const char	*word;
	void		(*work)(void);
} phases[] = {
	{ "create",	create },
	{ "lookup",	look_up },
	{ "churn",	churn },
};

static void shuffle(void)
{
	unsigned long long random = 1;
	unsigned int i, at;

	opt.order = malloc(opt.files * sizeof(*opt.order));
	if (!opt.order)
		fail("malloc", "");
	for (i = 0; i < opt.files; i++) {
		opt.order[i] = i;
		at = next(&random) % (i + 1);
		opt.order[i] = opt.order[at];
		opt.order[at] = i;
	}
}

/* A no-op that nothing else uses; which it is has to be a constant. */
static __always_inline void mark(int marker)
{
	asm volatile("nopl %c0(%%rax)" : : "i" (marker) : "memory");
}

static void run(const struct phase *phase)
{
	double begin, seconds;

	/* What was freed before is gone after a grace period. */
	sync();
	usleep(200000);
	begin = now();
	mark(OPEN_PHASE);
	phase->work();
	mark(CLOSE_PHASE);
	seconds = now() - begin;
	printf("phase: %s\noperations: %u\nseconds: %.6f\n", phase->word,
	       opt.files, seconds);
}

static void print_usage(void)
{
	fputs("usage: htree DIR create|lookup|churn [-n FILES] [-p number|hex|photo|mail]\n",
	      stderr);
	exit(2);
}

static const struct pattern *find_pattern(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		if (!strcmp(word, patterns[i].word))
			return &patterns[i];
	print_usage();
	return NULL;
}

static const struct phase *find_phase(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(phases); i++)
		if (!strcmp(word, phases[i].word))
			return &phases[i];
	print_usage();
	return NULL;
}

static const struct phase *arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:p:")) != -1) {
		if (c == 'n')
			opt.files = option_number(optarg, c, 1000000);
		else if (c == 'p')
			opt.pattern = find_pattern(optarg);
		else
			print_usage();
	}
	if (optind + 2 != argc)
		print_usage();
	opt.dir = argv[optind];
	return find_phase(argv[optind + 1]);
}

int main(int argc, char **argv)
{
	const struct phase *phase = arguments(argc, argv);

	shuffle();
	if (chdir(opt.dir))
		fail("chdir", opt.dir);
	run(phase);
	return 0;
}
