// SPDX-License-Identifier: GPL-2.0
/*
 * Any text as the value of hash_entries=, hash_memory= and dhash_entries=: each
 * table gets a size within its bounds, and each word that is ignored a warning.
 */

#include <stdarg.h>

#include "kernel.h"

unsigned long max_pfn = 1UL << 20, max_possible_pfn = 1UL << 24;
unsigned int warnings;

void pr_warn(const char *format, ...)
{
	char line[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	warnings++;
}

#include "boot_hash.c"

#define check(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "broken: %s\n", #condition);	\
			abort();					\
		}							\
	} while (0)

static const struct {
	const char *title;
	int flags;
	unsigned long bucket_size, automatic;
	struct boot_hash_bounds bounds;
} tables[] = {
	{ "Dentry cache", 0, 8, 1 << 17, { 1, 1 << 24 } },
	{ "Inode-cache", 0, 8, 1 << 16, { 64, 3 << 20 } },
	{ "TCP established", 0, 16, 1 << 12, { 1, 1 << 19 } },
	{ "uid", HASH_SOFT_LIMITS, 8, 1 << 13, { 128, 1 << 18 } },
	{ "page", HASH_OPTIONAL | HASH_SOFT_LIMITS, 8, 1 << 18, { 2, 1 << 28 } },
	{ "a", HASH_SOFT_LIMITS, 4096, 2, { 2, 2 } },
};

#define TABLES		(sizeof(tables) / sizeof(tables[0]))

static void check_table(unsigned int i, unsigned long kernel_pages)
{
	struct boot_hash_table table = {
		.bucket_size = tables[i].bucket_size,
		.nr_buckets = tables[i].automatic,
		.origin = BOOT_HASH_MEMORY,
	};
	bool optional = tables[i].flags & HASH_OPTIONAL;
	bool soft = tables[i].flags & HASH_SOFT_LIMITS;
	unsigned int before = warnings, invalid = 0, r;
	unsigned long long number;
	unsigned long n;

	boot_hash_name(table.name, tables[i].title);
	for (r = 0; r < nr_requests; r++) {
		const struct boot_hash_request *one = &requests[r];

		invalid += request_matches(one, &table) && !(optional && is_auto(one)) &&
			   boot_hash_parse(one->value, one->value_len, &number);
	}
	n = boot_hash_choose(&table, tables[i].flags, &tables[i].bounds, kernel_pages);
	check(warnings - before >= invalid);
	check(n == table.nr_buckets);
	check(n || (optional && table.origin == BOOT_HASH_OFF));
	check(boot_hash_origin_name(table.origin));
	if (!n)
		return;
	check(n == rounddown_pow_of_two(n) && n >= 2 && n <= 0x80000000UL);
	check(soft || n <= max(tables[i].bounds.most, 2ULL));
	check(soft || n >= tables[i].bounds.fewest);
	/* Without a warning, the size is the default or was asked for. */
	check(table.origin == BOOT_HASH_MEMORY || table.origin == BOOT_HASH_CMDLINE ||
	      warnings > before);
	boot_hash_register(&table, NULL, n);
}

/* The number again, in more bits than it may have. */
static void parse(char *text)
{
	static const char suffixes[] = "kmg";
	unsigned long long number = 12345;
	size_t len = strlen(text);
	unsigned __int128 wanted = 0;
	unsigned int base = 10, digit;
	const char *suffix, *c = text;

	if (boot_hash_parse(text, len, &number)) {
		check(number == 12345);
		return;
	}
	check(len && isdigit(text[0]));
	if (text[0] == '0' && tolower(text[1]) == 'x') {
		base = 16;
		c += 2;
	}
	for (; isxdigit(*c); c++) {
		digit = isdigit(*c) ? *c - '0' : tolower(*c) - 'a' + 10;
		check(digit < base);
		wanted = wanted * base + digit;
	}
	if (*c) {
		suffix = strchr(suffixes, tolower(*c));
		check(suffix && !c[1]);
		wanted <<= 10 * (suffix - suffixes + 1);
	}
	check(number == wanted);
}

enum { HASH_ENTRIES, HASH_MEMORY, DHASH_ENTRIES, PARAMETERS };

/* Each word is kept as a request, or ignored with a warning. */
static void check_setup(char *line, unsigned int parameter)
{
	static int (*const setup[PARAMETERS])(char *) = {
		hash_entries_setup, hash_memory_setup, dhash_entries_setup,
	};
	unsigned int before = nr_requests + warnings, words = 1;
	unsigned long long bytes = 0;
	const char *c;

	if (parameter == HASH_ENTRIES)
		for (c = line; *c; c++)
			words += *c == ',';
	if (parameter == HASH_MEMORY) {
		boot_hash_parse(line, strlen(line), &bytes);
		words = strcmp(line, "max") && bytes < SZ_1M;
	}
	setup[parameter](line);
	check(nr_requests + warnings - before == words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte is the size of memory; values are separated by new lines. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned long kernel_pages;
	unsigned int i, words, before;
	char *copy, *text, *line;

	if (!size)
		return 0;
	nr_requests = 0;
	nr_boot_hash_tables = 0;
	total_bytes = 0;
	memory_pages = 0;
	memory_is_max = false;
	warnings = 0;
	kernel_pages = data[0] % 32 ? 1UL << (data[0] % 32) : 0;
	/* As long as the text, so that AddressSanitizer sees a read behind its end. */
	copy = strndup((const char *)data + 1, size - 1);
	text = copy;
	for (i = 0; (line = strsep(&text, "\n")); i++) {
		parse(line);
		check_setup(line, i % PARAMETERS);
	}
	words = nr_requests;
	check(words <= BOOT_HASH_REQUESTS);
	check(boot_hash_pages(kernel_pages) || !kernel_pages);
	for (i = 0; i < TABLES; i++)
		check_table(i, kernel_pages);
	check(nr_boot_hash_tables <= TABLES);
	before = warnings;
	warn_unmatched_requests();
	for (i = 0; i < words; i++)
		before += !requests[i].matched;
	check(warnings == before);
	free(copy);
	return 0;
}
