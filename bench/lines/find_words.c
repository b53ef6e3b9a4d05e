// SPDX-License-Identifier: GPL-2.0
/*
 * find_words - where words stand in a file, such as the memory of a guest
 *
 *	find_words FILE < WORDS
 *
 * WORDS are hexadecimal numbers of 64 bits.  Prints "WORD OFFSET", hexadecimal,
 * for each aligned word of the file that equals one of them.  Holes of the file
 * are skipped.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

#define BITS		16
#define SLOTS		(1 << BITS)
#define WORDS_MAX	(SLOTS / 2)

static uint64_t slots[SLOTS];

static uint64_t *slot_of(uint64_t word)
{
	unsigned int slot = word * 0x9e3779b97f4a7c15 >> (64 - BITS);

	while (slots[slot] && slots[slot] != word)
		slot = (slot + 1) % SLOTS;
	return &slots[slot];
}

int main(int argc, char **argv)
{
	unsigned long long word;
	unsigned int words = 0;
	const uint64_t *memory;
	struct stat status;
	off_t start, end = 0, i;
	int fd;

	if (argc != 2)
		usage("find_words: accepted: FILE, and words on standard input\n");
	while (scanf("%llx", &word) == 1) {
		if (!word || ++words > WORDS_MAX)
			usage("find_words: accepted: 1 to 32768 words that are not 0\n");
		*slot_of(word) = word;
	}
	if (!words || !feof(stdin))
		usage("find_words: accepted: 1 to 32768 words that are not 0\n");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &status))
		fail("cannot read", argv[1]);
	memory = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		fail("cannot map", argv[1]);
	while ((start = lseek(fd, end, SEEK_DATA)) >= 0) {
		end = lseek(fd, start, SEEK_HOLE);
		for (i = start / 8; i < end / 8; i++)
			if (memory[i] && *slot_of(memory[i]))
				printf("%llx %llx\n", (unsigned long long)memory[i],
				       (unsigned long long)i * 8);
	}
	return 0;
}
