// SPDX-License-Identifier: GPL-2.0
/*
 * readstats - how long reading /proc/hashstats takes
 *
 * Reads the whole file N times with read(2) and a buffer of each given size,
 * and prints the time as seen from outside: minimum, median and maximum.  Then
 * the longest walk of a table and its longest stretch without a reschedule
 * point, as the kernel measured and printed them (walk-us, walk-longest-us),
 * each the worst of all reads.  A file without these fields gets no such lines.
 *
 * Prints "name: value" lines.
 */
#include <fcntl.h>
#include <unistd.h>

#include "common.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define READS_MAX	100000
#define BUFFER_MAX	(16UL << 20)

struct worst {
	const char *label;
	double us;		/* negative: never seen */
	char table[64];
};

static struct worst worst[] = {
	{ .label = "walk-us: ", .us = -1 },
	{ .label = "walk-longest-us: ", .us = -1 },
};

static const char *path = "/proc/hashstats";

/* Read all of it; the text is kept, ended by a zero, in *text. */
static size_t read_all(char **text, size_t *space, size_t buffer)
{
	size_t used = 0;
	ssize_t got;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		fail("read", path);
	do {
		if (used + buffer + 1 > *space) {
			*space = 2 * (used + buffer + 1);
			*text = realloc(*text, *space);
			if (!*text)
				fail("allocate", "memory");
		}
		got = read(fd, *text + used, buffer);
		if (got < 0)
			fail("read", path);
		used += got;
	} while (got);
	close(fd);
	(*text)[used] = 0;
	return used;
}

static void look_at(const char *line, size_t length, char *table)
{
	size_t i;

	if (length > 6 && length - 6 < sizeof(worst[0].table) &&
	    !strncmp(line, "name: ", 6)) {
		memcpy(table, line + 6, length - 6);
		table[length - 6] = 0;
	}
	for (i = 0; i < ARRAY_SIZE(worst); i++) {
		size_t label = strlen(worst[i].label);
		double us;

		if (length <= label || strncmp(line, worst[i].label, label))
			continue;
		us = strtod(line + label, NULL);
		if (us > worst[i].us) {
			worst[i].us = us;
			memcpy(worst[i].table, table,
			       sizeof(worst[i].table));
		}
	}
}

static void look_for_walks(const char *text)
{
	char table[sizeof(worst[0].table)] = "";

	while (*text) {
		size_t length = strcspn(text, "\n");

		look_at(text, length, table);
		text += length + (text[length] == '\n');
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(size_t buffer, unsigned int reads)
{
	double *ms = calloc(reads, sizeof(*ms));
	size_t space = 0, bytes = 0;
	char *text = NULL;
	unsigned int i;

	if (!ms)
		fail("allocate", "memory");
	for (i = 0; i < reads; i++) {
		double begin = 1e3 * now();

		bytes = read_all(&text, &space, buffer);
		ms[i] = 1e3 * now() - begin;
		look_for_walks(text);
	}
	qsort(ms, reads, sizeof(*ms), ascending);
	printf("buffer: %zu\nbytes: %zu\nreads: %u\n", buffer, bytes, reads);
	printf("read-ms-min: %.3f\nread-ms-median: %.3f\nread-ms-max: %.3f\n\n",
	       ms[0], ms[reads / 2], ms[reads - 1]);
	free(text);
	free(ms);
}

static const char help[] =
	"usage: readstats [-n READS] [-f FILE] [BUFFER-SIZE...]\n";

int main(int argc, char **argv)
{
	unsigned int reads = 11;
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "n:f:")) != -1) {
		switch (c) {
		case 'n':
			reads = to_number("-n", optarg, 1, READS_MAX);
			break;
		case 'f':
			path = optarg;
			break;
		default:
			usage(help);
		}
	}
	if (optind == argc)
		measure(65536, reads);
	for (; optind < argc; optind++)
		measure(to_number("BUFFER-SIZE", argv[optind], 1, BUFFER_MAX), reads);
	for (i = 0; i < ARRAY_SIZE(worst); i++) {
		if (worst[i].us >= 0)
			printf("worst-%s%.0f\nworst-%.*s-table: %s\n",
			       worst[i].label, worst[i].us,
			       (int)strlen(worst[i].label) - 5,
			       worst[i].label, worst[i].table);
	}
	return 0;
}
