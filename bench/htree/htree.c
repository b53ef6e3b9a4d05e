// SPDX-License-Identifier: GPL-2.0
/*
 * htree - names that come to one large directory, are looked up, and change
 *
 * One phase for each call:
 *
 *   create   makes the files, empty, one after the other
 *   lookup   a stat of each of these files, in random order
 *   churn    removes one of the files, taken at random, and makes one with a new
 *            name, TIMES as often as there are files (-t); with -d DONE, the
 *            directory had that many times before
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
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "markers.h"

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

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
	unsigned int		done;
	unsigned int		times;
	const struct pattern	*pattern;
	unsigned int		*order;	/* numbers of the files */
} opt = { .files = 1000, .times = 1, .pattern = patterns };

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
	unsigned int i, at, done = opt.done * opt.files;

	for (i = 0; i < done + opt.times * opt.files; i++) {
		at = next(&random) % opt.files;
		if (i >= done)
			remove_file(opt.order[at]);
		opt.order[at] = opt.files + i;
		if (i >= done)
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

static void run(const struct phase *phase)
{
	double begin, seconds;

	/* What was freed before is gone after a grace period. */
	sync();
	usleep(200000);
	begin = now();
	mark(OPEN(1));
	phase->work();
	mark(CLOSE(1));
	seconds = now() - begin;
	printf("phase: %s\noperations: %u\nseconds: %.6f\n", phase->word,
	       opt.times * opt.files, seconds);
}

static const char help[] =
	"usage: htree DIR create|lookup|churn [-n FILES] [-p number|hex|photo|mail]\n"
	"             [-t TIMES] [-d DONE]\n";

static const struct pattern *find_pattern(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		if (!strcmp(word, patterns[i].word))
			return &patterns[i];
	usage(help);
	return NULL;
}

static const struct phase *find_phase(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(phases); i++)
		if (!strcmp(word, phases[i].word))
			return &phases[i];
	usage(help);
	return NULL;
}

static const struct phase *arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:p:t:d:")) != -1) {
		if (c == 'n')
			opt.files = to_number("-n", optarg, 1, 1000000);
		else if (c == 't')
			opt.times = to_number("-t", optarg, 1, 100);
		else if (c == 'd')
			opt.done = to_number("-d", optarg, 0, 100);
		else if (c == 'p')
			opt.pattern = find_pattern(optarg);
		else
			usage(help);
	}
	if (optind + 2 != argc)
		usage(help);
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
