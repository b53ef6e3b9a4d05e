// SPDX-License-Identifier: GPL-2.0
/*
 * lookups - lookups of names between two marker instructions
 *
 * Makes a number of files two directories deep, as in a source tree, then looks
 * up their paths with stat(2), and as many paths whose last name does not
 * exist.  An emulator that knows the markers counts what is executed in
 * between, once for the files and once for the missing.  The work is a function
 * of the arguments alone.  With -l a loop of a known number of instructions
 * takes the place of the lookups, to check the emulator.
 *
 * Prints "name: value" lines.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "markers.h"

enum { FILES = 1, MISSING = 2, LOOP = 3 };

#define MOST		100000000
#define NAME_SIZE	48
#define DIRS		8	/* at each of the two levels */

static unsigned long files = 1000, rounds = 1;

static char *make_names(const char *kind)
{
	char *names = calloc(files, NAME_SIZE);
	unsigned long i;

	if (!names)
		fail("memory for names", kind);
	for (i = 0; i < files; i++)
		snprintf(names + i * NAME_SIZE, NAME_SIZE,
			 "dir-%lu/sub-%lu/%s-%06lu.c", i % DIRS,
			 i / DIRS % DIRS, kind, i);
	return names;
}

static void make_dirs(void)
{
	char path[NAME_SIZE];
	unsigned int i;

	for (i = 0; i < DIRS * (DIRS + 1); i++) {
		if (i < DIRS)
			snprintf(path, sizeof(path), "dir-%u", i);
		else
			snprintf(path, sizeof(path), "dir-%u/sub-%u", i % DIRS,
				 i / DIRS - 1);
		if (mkdir(path, 0755))
			fail("mkdir", path);
	}
}

static void make_files(const char *names)
{
	unsigned long i;

	for (i = 0; i < files; i++) {
		const char *name = names + i * NAME_SIZE;
		int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);

		if (fd < 0)
			fail("create", name);
		close(fd);
	}
}

/* Returns how many of the names were there. */
static unsigned long stat_all(const char *names)
{
	unsigned long i, there = 0;
	struct stat st;

	for (i = 0; i < files; i++)
		there += !stat(names + i * NAME_SIZE, &st);
	return there;
}

static unsigned long look_up_files(const char *names)
{
	unsigned long round, there = 0;

	mark(OPEN(FILES));
	for (round = 0; round < rounds; round++)
		there += stat_all(names);
	mark(CLOSE(FILES));
	return there;
}

static unsigned long look_up_missing(const char *names)
{
	unsigned long round, there = 0;

	mark(OPEN(MISSING));
	for (round = 0; round < rounds; round++)
		there += stat_all(names);
	mark(CLOSE(MISSING));
	return there;
}

static void look_up(const char *dir)
{
	char *present, *absent;
	unsigned long there;

	if (chdir(dir))
		fail("chdir", dir);
	present = make_names("file");
	absent = make_names("none");
	make_dirs();
	make_files(present);
	/* Once before: what happens on the first call only is not wanted. */
	there = stat_all(present) + stat_all(absent);
	there += look_up_files(present) + look_up_missing(absent);
	if (there != files * (rounds + 1)) {
		fprintf(stderr, "lookups: %s: other names than ours\n", dir);
		exit(1);
	}
	printf("files: %lu\nrounds: %lu\nstats: %lu\n", files, rounds,
	       2 * files * rounds);
}

/*
 * Two instructions a turn and two at the end.  Each jump ends a block, so that
 * the first turn is not in the block of the marker that opens.
 */
static void known_loop(unsigned long turns)
{
	unsigned long left = turns;

	asm volatile("nopl %c1(%%rax)\n\t"
		     "jmp 1f\n"
		     "1:\tdec %0\n\t"
		     "jnz 1b\n\t"
		     "nopl %c2(%%rax)\n\t"
		     "jmp 2f\n"
		     "2:"
		     : "+r" (left)
		     : "i" (OPEN(LOOP)), "i" (CLOSE(LOOP))
		     : "cc", "memory");
	printf("turns: %lu\ninstructions: %lu\n", turns, 2 * turns + 2);
}

static const char help[] =
	"usage: lookups DIR [-f FILES] [-r ROUNDS]\n"
	"       lookups -l TURNS\n";

int main(int argc, char **argv)
{
	unsigned long turns = 0;
	int c;

	while ((c = getopt(argc, argv, "f:r:l:")) != -1) {
		switch (c) {
		case 'f':
			files = to_number("-f", optarg, 1, MOST);
			break;
		case 'r':
			rounds = to_number("-r", optarg, 1, MOST);
			break;
		case 'l':
			turns = to_number("-l", optarg, 1, MOST);
			break;
		default:
			usage(help);
		}
	}
	if (optind != argc - !turns)
		usage(help);
	if (turns)
		known_loop(turns);
	else
		look_up(argv[optind]);
	return 0;
}
