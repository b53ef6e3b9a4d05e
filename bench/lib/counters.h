/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of the kernel: set to 0 before a phase, printed after it. */
#ifndef BOOTHASH_COUNTERS_H
#define BOOTHASH_COUNTERS_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("write", path);
	close(fd);
}

/* Between two lines that a script finds; only lines with a text, NULL: all. */
static void print_file(const char *title, const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	char line[4096];

	if (!file)
		fail("open", path);
	printf("=== %s\n", title);
	while (fgets(line, sizeof(line), file))
		if (!text || strstr(line, text))
			fputs(line, stdout);
	puts("=== end");
	fclose(file);
}

#endif /* BOOTHASH_COUNTERS_H */
