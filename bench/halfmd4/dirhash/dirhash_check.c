// SPDX-License-Identifier: GPL-2.0
/*
 * dirhash_check - hashes of random names by fs/ext4/hash.c, base and ours
 *
 * Names of 0 to 255 bytes, short ones as often as long ones: letters, any
 * bytes, or bytes from 0x80 on, at any address, or with nothing mapped behind
 * their end. All hashes, with char signed and unsigned, with and without a
 * seed; hash and minor hash must be equal. Ends at the first that is not.
 */
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "ext4.h"

#define LONGEST		255
#define ROOM		4096	/* a page, or a part of one */

static unsigned long long random_state;
static unsigned long long lengths[LONGEST + 1];

static char *page_with_nothing_behind(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *start = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED || munmap(start + page, page)) {
		perror("dirhash_check: mmap");
		exit(2);
	}
	return start + page - ROOM;
}

static int random_length(void)
{
	unsigned long long chance = next(&random_state);

	return chance >> 32 & 1 ? chance % 33 : chance % (LONGEST + 1);
}

static void fill(char *name, int len)
{
	unsigned long long kind = next(&random_state) % 4, byte;
	int i;

	for (i = 0; i < len; i++) {
		byte = next(&random_state) >> 20;
		if (kind == 0)
			name[i] = 'a' + byte % 26;
		else if (kind == 1)
			name[i] = 0x80 | byte;
		else
			name[i] = byte;
	}
}

static bool same(const char *name, int len, int version, u32 *seed)
{
	struct dx_hash_info base = { .hash_version = version, .seed = seed };
	struct dx_hash_info ours = base;
	int i;

	base_dirhash(NULL, name, len, &base);
	ours_dirhash(NULL, name, len, &ours);
	if (base.hash == ours.hash && base.minor_hash == ours.minor_hash)
		return true;
	printf("version %d length %d base %08x %08x ours %08x %08x name",
	       version, len, base.hash, base.minor_hash, ours.hash,
	       ours.minor_hash);
	for (i = 0; i < len; i++)
		printf(" %02x", (unsigned char)name[i]);
	putchar('\n');
	return false;
}

static bool check_name(char *room)
{
	unsigned long long chance = next(&random_state);
	int len = random_length(), version;
	char *name = room + ROOM - len;
	u32 seed[4], i;

	if (chance & 1)
		name -= chance >> 1 & 15;
	for (i = 0; i < 4; i++)
		seed[i] = next(&random_state) >> 32;
	fill(name, len);
	lengths[len]++;
	for (version = 0; version < DX_HASH_SIPHASH; version++)
		if (!same(name, len, version, chance & 32 ? seed : NULL))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	unsigned int names = 100000, n, seen = 0;
	char *room = page_with_nothing_behind();
	int c;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == 'n')
			names = to_number("-n", optarg, 1, 1000000000);
		else if (c == 's')
			random_state = to_number("-s", optarg, 1, 1000000000);
		else
			break;
	}
	if (c != -1 || optind != argc)
		usage("usage: dirhash_check [-n NAMES] [-s SEED]\n");
	for (n = 0; n < names; n++)
		if (!check_name(room))
			return 1;
	for (n = 0; n <= LONGEST; n++)
		seen += !!lengths[n];
	printf("names %u lengths %u versions %d same\n", names, seen,
	       DX_HASH_SIPHASH);
	return 0;
}
