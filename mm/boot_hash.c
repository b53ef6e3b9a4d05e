// SPDX-License-Identifier: GPL-2.0
/*
 * Register of the tables of alloc_large_system_hash(), and the parameters that
 * size them.
 *
 *	hash_entries=NAME:N[,NAME:N...]
 *
 * sets the number of buckets of any of them. NAME follows from the title that
 * the table has in the boot log: see boot_hash_name(). An invalid value gets
 * one warning, which says what was expected and what happens now.
 *
 *	hash_memory=SIZE or hash_memory=max
 *
 * makes automatic sizes follow SIZE, or the memory that can be plugged in,
 * instead of the memory at boot.
 *
 * A larger table is not always faster. With more buckets than objects, a lookup
 * mostly costs the cache miss on the bucket. A smaller table may avoid it.
 */

#define pr_fmt(fmt) "boot_hash: " fmt

#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "boot_hash.h"

struct boot_hash_table boot_hash_tables[BOOT_HASH_TABLES] __ro_after_init;
unsigned int nr_boot_hash_tables __ro_after_init;

/* Bytes of all tables in the register. */
static u64 total_bytes __initdata;

const char *boot_hash_origin_name(enum boot_hash_origin origin)
{
	static const char * const names[] = {
		[BOOT_HASH_FIXED]	= "fixed",
		[BOOT_HASH_MEMORY]	= "memory",
		[BOOT_HASH_MINIMUM]	= "minimum",
		[BOOT_HASH_MAXIMUM]	= "maximum",
		[BOOT_HASH_CMDLINE]	= "command line",
		[BOOT_HASH_OFF]		= "off",
	};

	return names[origin];
}

/**
 * boot_hash_name - derive a table's name from its title
 * @name: result
 * @title: as passed to alloc_large_system_hash()
 *
 * Lower case, '-' for a blank, and without "-cache" at the end: "Dentry cache"
 * becomes "dentry" and "TCP established" becomes "tcp-established".
 */
void __init boot_hash_name(char name[BOOT_HASH_NAME_LEN], const char *title)
{
	char *end;

	strscpy(name, title, BOOT_HASH_NAME_LEN);
	for (end = name; *end; end++)
		*end = *end == ' ' ? '-' : tolower(*end);
	end -= strlen("-cache");
	if (end > name && !strcmp(end, "-cache"))
		*end = '\0';
}

/**
 * boot_hash_parse - read a number
 * @value: the text, not necessarily terminated
 * @len: its length
 * @number: result
 *
 * Decimal or 0x hexadecimal, with an optional suffix K, M or G (powers of
 * 1024). Not memparse(): it never reports an error.
 *
 * Return: 0; -EINVAL for other text, also for a sign or blank; -ERANGE if it
 * exceeds 64 bits. On an error, @number is unchanged.
 */
int __init boot_hash_parse(const char *value, size_t len, unsigned long long *number)
{
	char digits[32];
	unsigned long long parsed;
	unsigned int shift = 0;
	int err;

	if (!len)
		return -EINVAL;
	switch (tolower(value[len - 1])) {
	case 'g':
		shift += 10;
		fallthrough;
	case 'm':
		shift += 10;
		fallthrough;
	case 'k':
		shift += 10;
		len--;
	}
	/* kstrtoull() accepts a plus sign and a newline. */
	if (!len || !isdigit(value[0]) || !isxdigit(value[len - 1]))
		return -EINVAL;
	if (len >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, value, len);
	digits[len] = '\0';
	/* No octal: 010 is ten. */
	err = kstrtoull(digits, tolower(digits[1]) == 'x' ? 16 : 10, &parsed);
	if (err)
		return err;
	if (parsed > U64_MAX >> shift)
		return -ERANGE;
	*number = parsed << shift;
	return 0;
}

/* One size, kept as text until its table is allocated. */
struct boot_hash_request {
	const char	*param;
	const char	*name;
	unsigned int	name_len;
	const char	*value;
	unsigned int	value_len;
	bool		matched;	/* names a table */
};

#define BOOT_HASH_REQUESTS	64

static struct boot_hash_request requests[BOOT_HASH_REQUESTS] __initdata;
static unsigned int nr_requests __initdata;
/* Tables that were allocated before the command line was read. */
static unsigned int nr_early_tables __initdata;

static void __init add_request(const struct boot_hash_request *request)
{
	if (nr_requests == BOOT_HASH_REQUESTS) {
		pr_warn("%s: more than %u sizes, ignoring '%.*s'\n",
			request->param, BOOT_HASH_REQUESTS,
			(int)request->name_len, request->name);
		return;
	}
	if (!nr_requests)
		nr_early_tables = nr_boot_hash_tables;
	requests[nr_requests++] = *request;
}

static int __init hash_entries_setup(char *str)
{
	while (str) {
		size_t len = strcspn(str, ",");
		const char *colon = memchr(str, ':', len);

		if (!colon || colon == str) {
			pr_warn("hash_entries: expected NAME:BUCKETS, ignoring '%.*s'\n",
				(int)len, str);
		} else {
			struct boot_hash_request request = {
				.param		= "hash_entries",
				.name		= str,
				.name_len	= colon - str,
				.value		= colon + 1,
				.value_len	= str + len - colon - 1,
			};

			add_request(&request);
		}
		str = str[len] ? str + len + 1 : NULL;
	}
	return 1;
}
__setup("hash_entries=", hash_entries_setup);

/* Older parameters, each for one table. */
static int __init add_old_request(const char *param, const char *name,
				  const char *value)
{
	struct boot_hash_request request = {
		.param		= param,
		.name		= name,
		.name_len	= strlen(name),
		.value		= value,
		.value_len	= strlen(value),
	};

	add_request(&request);
	return 1;
}

static int __init dhash_entries_setup(char *str)
{
	return add_old_request("dhash_entries", "dentry", str);
}
__setup("dhash_entries=", dhash_entries_setup);

static int __init ihash_entries_setup(char *str)
{
	return add_old_request("ihash_entries", "inode", str);
}
__setup("ihash_entries=", ihash_entries_setup);

static int __init mhash_entries_setup(char *str)
{
	return add_old_request("mhash_entries", "mount", str);
}
__setup("mhash_entries=", mhash_entries_setup);

static int __init mphash_entries_setup(char *str)
{
	return add_old_request("mphash_entries", "mountpoint", str);
}
__setup("mphash_entries=", mphash_entries_setup);

static bool __init request_matches(const struct boot_hash_request *request,
				   const struct boot_hash_table *table)
{
	return strlen(table->name) == request->name_len &&
	       !strncmp(table->name, request->name, request->name_len);
}

/* Is the value "auto" (HASH_OPTIONAL tables only)? */
static bool __init is_auto(const struct boot_hash_request *request)
{
	return request->value_len == strlen("auto") &&
	       !strncmp(request->value, "auto", request->value_len);
}

/**
 * boot_hash_clamp - round and clamp a requested number of buckets
 * @wanted: number requested
 * @bounds: the limits
 * @origin: set to the reason
 *
 * Return: @wanted, rounded to a power of two within @bounds: up, or down near
 * the upper limit.
 */
unsigned long __init boot_hash_clamp(unsigned long long wanted,
				     const struct boot_hash_bounds *bounds,
				     enum boot_hash_origin *origin)
{
	if (wanted < bounds->fewest) {
		*origin = BOOT_HASH_MINIMUM;
		return roundup_pow_of_two(bounds->fewest);
	}
	if (wanted > bounds->most) {
		*origin = BOOT_HASH_MAXIMUM;
		return rounddown_pow_of_two(bounds->most);
	}
	*origin = BOOT_HASH_CMDLINE;
	return min(roundup_pow_of_two(wanted),
		   rounddown_pow_of_two(bounds->most));
}

/*
 * Apply @request to @table, whose automatic size is @automatic. An invalid
 * request leaves the table unchanged.
 */
static void __init apply_request(struct boot_hash_request *request,
				 struct boot_hash_table *table,
				 const struct boot_hash_table *automatic,
				 const struct boot_hash_bounds *bounds,
				 bool optional)
{
	unsigned long long wanted;
	enum boot_hash_origin origin;

	request->matched = true;
	if (optional && is_auto(request)) {
		table->nr_buckets = automatic->nr_buckets;
		table->origin = automatic->origin;
		return;
	}
	if (boot_hash_parse(request->value, request->value_len, &wanted)) {
		pr_warn("%s: %s: expected a number of buckets (N, NK, NM or NG%s), ignoring '%.*s'\n",
			request->param, table->name, optional ? ", or auto" : "",
			(int)request->value_len, request->value);
		return;
	}
	/* As in the older parameters, 0 means the automatic size. */
	if (!wanted) {
		table->nr_buckets = optional ? 0 : automatic->nr_buckets;
		table->origin = optional ? BOOT_HASH_OFF : automatic->origin;
		return;
	}
	table->nr_buckets = boot_hash_clamp(wanted, bounds, &origin);
	table->origin = origin;
	if (origin != BOOT_HASH_CMDLINE)
		pr_warn("%s: %s: expected %llu to %llu buckets, using %lu instead of '%.*s'\n",
			request->param, table->name, bounds->fewest,
			bounds->most, table->nr_buckets,
			(int)request->value_len, request->value);
}

/* hash_memory= in pages; 0 if it was not given. */
static unsigned long memory_pages __initdata;
static bool memory_is_max __initdata;

static int __init hash_memory_setup(char *str)
{
	unsigned long long bytes = 0;

	if (!strcmp(str, "max")) {
		memory_is_max = true;
		return 1;
	}
	boot_hash_parse(str, strlen(str), &bytes);
	if (bytes < SZ_1M) {
		pr_warn("hash_memory: expected a size of 1M or more (N, NK, NM or NG) or max, ignoring '%s'\n",
			str);
		return 1;
	}
	memory_is_max = false;
	/* More would overflow the size of a table with 32 bits. */
	memory_pages = min_t(u64, bytes >> PAGE_SHIFT, ULONG_MAX >> 8);
	return 1;
}
__setup("hash_memory=", hash_memory_setup);

/**
 * boot_hash_pages - get the memory for automatic sizes
 * @kernel_pages: memory that the kernel maps at boot, in pages
 *
 * hash_memory=max adds the memory above that of the boot which, according to
 * firmware, can be plugged in. A hole between the two counts, too.
 *
 * Return: number of pages.
 */
unsigned long __init boot_hash_pages(unsigned long kernel_pages)
{
	if (memory_is_max)
		return kernel_pages + max_t(u64, max_possible_pfn, max_pfn) - max_pfn;
	return memory_pages ?: kernel_pages;
}

/*
 * All tables together get at most 1/4 of memory. With 32 bits, this is low
 * memory, since no table is in high memory. Each keeps a page: TCP, for one,
 * derives other limits from the size of its table.
 */
static void __init limit_total(struct boot_hash_table *table,
			       unsigned long long fewest,
			       u64 memory)
{
	u64 most = memory >> 2;
	u64 left = most - min(most, total_bytes);
	unsigned long wanted = table->nr_buckets;

	/* The size of memory may not be known yet. */
	if (!memory)
		return;
	fewest = max(fewest, PAGE_SIZE / table->bucket_size);
	while (table->nr_buckets >> 1 >= fewest &&
	       (u64)table->nr_buckets * table->bucket_size > left)
		table->nr_buckets >>= 1;
	if (table->nr_buckets == wanted)
		return;
	table->origin = BOOT_HASH_MAXIMUM;
	pr_warn("%s: expected at most 1/4 of memory for all tables, using %lu buckets instead of %lu\n",
		table->name, table->nr_buckets, wanted);
}

/**
 * boot_hash_choose - apply the command line to a table's size
 * @table: name, bucket size, automatic size and origin; updated
 * @flags: of alloc_large_system_hash()
 * @bounds: of the automatic size
 * @kernel_pages: memory that the kernel maps at boot in pages, 0 if unknown yet
 *
 * The last valid request for a table wins. Without HASH_SOFT_LIMITS, @bounds
 * limit requests as well, since code may depend on them.
 *
 * Return: number of buckets; 0 if a HASH_OPTIONAL table was not requested.
 * Also stored in @table.
 */
unsigned long __init boot_hash_choose(struct boot_hash_table *table, int flags,
				      const struct boot_hash_bounds *bounds,
				      unsigned long kernel_pages)
{
	u64 memory = (u64)kernel_pages << PAGE_SHIFT;
	struct boot_hash_bounds hard = *bounds;
	struct boot_hash_table automatic = *table;
	bool optional = flags & HASH_OPTIONAL;
	unsigned int i;

	if (flags & HASH_SOFT_LIMITS) {
		hard.fewest = 0;
		/* 1/16 of memory, the default of mm_init.c. */
		if (memory)
			hard.most = div64_ul(memory >> 4, table->bucket_size);
	}
	/* With one bucket, hash_32(x, 0) shifts by 32, which is undefined. */
	hard.fewest = max(hard.fewest, 2ULL);
	hard.most = clamp(hard.most, hard.fewest, 0x80000000ULL);

	if (optional) {
		table->nr_buckets = 0;
		table->origin = BOOT_HASH_OFF;
	}
	for (i = 0; i < nr_requests; i++) {
		if (request_matches(&requests[i], table))
			apply_request(&requests[i], table, &automatic, &hard,
				      optional);
	}
	if (table->nr_buckets)
		limit_total(table, max(hard.fewest, bounds->fewest), memory);
	return table->nr_buckets;
}

/**
 * boot_hash_register - add a table to the register
 * @table: output of boot_hash_choose(); copied
 * @buckets: the table itself, or NULL
 * @nr_buckets: allocated, fewer than in @table if memory was short
 */
void __init boot_hash_register(struct boot_hash_table *table, void *buckets,
			       unsigned long nr_buckets)
{
	if (nr_buckets < table->nr_buckets) {
		table->origin = BOOT_HASH_MAXIMUM;
		pr_warn("%s: cannot allocate %lu buckets, using %lu\n",
			table->name, table->nr_buckets, nr_buckets);
	}
	table->table = buckets;
	table->nr_buckets = nr_buckets;
	total_bytes += (u64)nr_buckets * table->bucket_size;
	if (nr_boot_hash_tables == BOOT_HASH_TABLES) {
		pr_warn("%s: more than %u tables, not registered\n",
			table->name, BOOT_HASH_TABLES);
		return;
	}
	boot_hash_tables[nr_boot_hash_tables++] = *table;
}

/* Warn about requests that name no table. */
static int __init warn_unmatched_requests(void)
{
	static char names[BOOT_HASH_TABLES * BOOT_HASH_NAME_LEN] __initdata;
	size_t len = 0;
	unsigned int i;

	for (i = nr_early_tables; i < nr_boot_hash_tables; i++)
		len += scnprintf(names + len, sizeof(names) - len, " %s",
				 boot_hash_tables[i].name);
	for (i = 0; i < nr_requests; i++) {
		if (!requests[i].matched)
			pr_warn("%s: expected one of%s, ignoring '%.*s'\n",
				requests[i].param, names,
				(int)requests[i].name_len, requests[i].name);
	}
	return 0;
}
late_initcall(warn_unmatched_requests);
