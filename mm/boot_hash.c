// SPDX-License-Identifier: GPL-2.0
/*
 * Hash tables that get their size at boot.
 *
 * How many buckets?
 *
 * A table is fast while its chains are short, and chains are short while
 * there is about a bucket for each object. How many objects a cache can hold
 * follows from memory, so a struct boot_hash names the bytes of memory for
 * one bucket. Above 64 GiB objects become larger and fewer rather than more:
 * each time memory quadruples, the table only doubles, as in
 * alloc_large_system_hash(), which has always done so for the tables of the
 * VFS. Tables whose objects follow the CPUs name buckets for each CPU.
 *
 * Bigger is not better for its own sake. In a table with more buckets than
 * objects the chain is one object long, and what is left to pay is the cache
 * miss on the bucket: one that a smaller table might not have taken. So a
 * table that did not follow memory before has a maximum, reasoned from the
 * objects that can be in use, where it is defined; and /proc/hashstats shows
 * bytes beside chains.
 *
 *	          min      mem / mem_per_bucket       max
 *	 buckets   |______________/                ____|
 *	           .             /               _/
 *	           .            /            __/   .
 *	           .           /         __/       .
 *	           .          /       _/ (doubles when memory quadruples)
 *	           +---------+-------+-------------+------> memory
 *	                          64 GiB
 *
 * The administrator may choose any size from 2 buckets to what 1/16 of memory
 * holds, 1/256 for a table of which there are several:
 * hash_entries=NAME:N[,NAME:N...] on the command line, with the names of
 * /proc/hashstats. What cannot be taken is named in one warning, and the
 * machine boots: text that is no size is passed over, a size out of range
 * becomes the nearest possible one.
 */

#define pr_fmt(fmt) "boot_hash: " fmt

#include <linux/boot_hash.h>
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait_bit.h>

#include "boot_hash_policy.h"
#include "internal.h"

/* Guards the list, and what is subtracted from counters since a reset. */
DECLARE_RWSEM(boot_hash_rwsem);
/* In the order of their serial numbers. */
LIST_HEAD(boot_hash_tables);
static unsigned long last_serial;

/* What sizes follow, also those of tables that come later. */
static struct boot_hash_machine machine __ro_after_init;

/* Made later than at boot, and by modules: hash_entries= may name them. */
static const char * const later_tables[] __initconst = {
#if IS_ENABLED(CONFIG_FS_MBCACHE)
	"mbcache",
#endif
	NULL
};

const char *boot_hash_origin_name(enum boot_hash_origin origin)
{
	static const char * const names[] = {
		[BOOT_HASH_FIXED]	= "fixed",
		[BOOT_HASH_MEMORY]	= "memory",
		[BOOT_HASH_CPUS]	= "cpus",
		[BOOT_HASH_MINIMUM]	= "minimum",
		[BOOT_HASH_MAXIMUM]	= "maximum",
		[BOOT_HASH_CMDLINE]	= "command line",
		[BOOT_HASH_OFF]		= "off",
	};

	return names[origin];
}

/* Buckets for the memory of @machine, without any limit. */
static u64 buckets_for_memory(const struct boot_hash *hash,
			      const struct boot_hash_machine *machine)
{
	unsigned int shift = ilog2(hash->mem_per_bucket);
	u64 memory = (u64)machine->kernel_pages << PAGE_SHIFT;
	u64 step;

	/* Equal machines differ by what firmware and image take. */
	memory = round_up(memory, SZ_1M);
	if (IS_ENABLED(CONFIG_64BIT)) {
		for (step = SZ_64G; step < memory; step <<= 2)
			shift++;
	}
	return roundup_pow_of_two(max_t(u64, memory >> shift, 1));
}

/* A table may have 1/16 of memory; one of several of its name 1/256. */
static unsigned int share_of_memory(const struct boot_hash *hash)
{
	return hash->instance ? 256 : 16;
}

/* What that share of the memory of @machine holds. */
static u64 buckets_most(const struct boot_hash *hash,
			const struct boot_hash_machine *machine)
{
	u64 most = ((u64)machine->all_pages << PAGE_SHIFT) /
		   share_of_memory(hash);

	most = div64_u64(most, hash->bucket_size);
	most = clamp_t(u64, most, BOOT_HASH_FEWEST, BOOT_HASH_MOST);
	return rounddown_pow_of_two(most);
}

/**
 * boot_hash_buckets - size of a table when the administrator names none
 * @hash: the table
 * @machine: what the size follows
 * @origin: what decided
 *
 * Context: any.
 * Return: number of buckets, a power of two.
 */
unsigned long boot_hash_buckets(const struct boot_hash *hash,
				const struct boot_hash_machine *machine,
				enum boot_hash_origin *origin)
{
	u64 least = max(hash->min, BOOT_HASH_FEWEST);
	u64 most = buckets_most(hash, machine);
	u64 buckets = 0;

	*origin = BOOT_HASH_FIXED;
	if (hash->mem_per_bucket) {
		*origin = BOOT_HASH_MEMORY;
		buckets = buckets_for_memory(hash, machine);
		/* The allocator hands out pages: do not waste one. */
		least = max_t(u64, least, PAGE_SIZE / hash->bucket_size);
	}
	if (hash->buckets_per_cpu) {
		u64 cpus = (u64)hash->buckets_per_cpu * machine->cpus;

		if (cpus > buckets) {
			*origin = BOOT_HASH_CPUS;
			buckets = roundup_pow_of_two(cpus);
		}
	}
	least = rounddown_pow_of_two(least);
	if (buckets < least) {
		if (*origin != BOOT_HASH_FIXED)
			*origin = BOOT_HASH_MINIMUM;
		buckets = least;
	}
	if (hash->max)
		most = min_t(u64, most, rounddown_pow_of_two(hash->max));
	if (buckets > most) {
		*origin = BOOT_HASH_MAXIMUM;
		buckets = most;
	}
	return buckets;
}

/**
 * boot_hash_limit - size of a table for which the administrator named one
 * @hash: the table
 * @machine: gives the upper bound
 * @wanted: buckets that were asked for, not 0
 * @origin: what decided
 *
 * Context: any.
 * Return: number of buckets, the next power of two within what can work.
 */
unsigned long boot_hash_limit(const struct boot_hash *hash,
			      const struct boot_hash_machine *machine,
			      unsigned long long wanted,
			      enum boot_hash_origin *origin)
{
	u64 most = buckets_most(hash, machine);

	if (wanted < BOOT_HASH_FEWEST) {
		*origin = BOOT_HASH_MINIMUM;
		return BOOT_HASH_FEWEST;
	}
	if (wanted > most) {
		*origin = BOOT_HASH_MAXIMUM;
		return most;
	}
	*origin = BOOT_HASH_CMDLINE;
	return roundup_pow_of_two(wanted);
}

/**
 * boot_hash_parse - read a number of buckets
 * @value: the text, not necessarily terminated
 * @len: its length
 * @buckets: where the number goes
 *
 * Decimal, or hexadecimal with 0x, and K, M or G behind it for the powers of
 * 1024. Stricter than memparse(), which takes what it can and is silent.
 *
 * Context: any.
 * Return: 0; -EINVAL for what is no such number, among it a sign, a space and
 * nothing at all; -ERANGE when it does not fit into 64 bits.
 */
int boot_hash_parse(const char *value, size_t len, unsigned long long *buckets)
{
	char digits[32];
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
	/* kstrtoull() takes a plus sign and a newline. */
	if (!len || !isdigit(value[0]) || !isxdigit(value[len - 1]))
		return -EINVAL;
	if (len >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, value, len);
	digits[len] = '\0';
	/* No octal: 010 buckets are ten. */
	err = kstrtoull(digits, tolower(digits[1]) == 'x' ? 16 : 10, buckets);
	if (err)
		return err;
	if (*buckets > U64_MAX >> shift)
		return -ERANGE;
	*buckets <<= shift;
	return 0;
}
EXPORT_SYMBOL_GPL(boot_hash_parse);

/*
 * What the command line asks for. It is read before the tables are made and
 * is kept as text, which stays after boot, so that a warning can say what was
 * used instead. @claimed and @said are guarded by boot_hash_rwsem.
 */
struct boot_hash_request {
	const char	*param;		/* the parameter, for warnings */
	const char	*name;
	unsigned int	name_len;
	const char	*value;
	unsigned int	value_len;
	bool		claimed;	/* there is such a table */
	bool		said;		/* that it was not taken as it is */
};

#define BOOT_HASH_REQUESTS	64

static struct boot_hash_request requests[BOOT_HASH_REQUESTS];
static unsigned int nr_requests __ro_after_init;

static void __init add_request(const struct boot_hash_request *request)
{
	if (nr_requests == BOOT_HASH_REQUESTS) {
		pr_warn("%s: more than %u sizes, %.*s ignored\n",
			request->param, BOOT_HASH_REQUESTS,
			(int)request->name_len, request->name);
		return;
	}
	requests[nr_requests++] = *request;
}

/**
 * boot_hash_setup - take a parameter that names the size of one table
 * @hash: the table
 * @param: the parameter, without the equals sign
 * @value: what stands behind it; kept
 *
 * For parameters from before hash_entries=, with the same meaning. The last
 * one on the command line decides.
 *
 * Context: from a __setup() function.
 * Return: 1, for __setup().
 */
int __init boot_hash_setup(struct boot_hash *hash, const char *param,
			   char *value)
{
	struct boot_hash_request request = {
		.param		= param,
		.name		= hash->name,
		.name_len	= strlen(hash->name),
		.value		= value,
		.value_len	= strlen(value),
	};

	add_request(&request);
	return 1;
}

static int __init hash_entries_setup(char *str)
{
	const char *end = str + strlen(str);

	for (;;) {
		size_t len = strcspn(str, ",");
		const char *colon = memchr(str, ':', len);

		if (!colon || colon == str) {
			pr_warn("hash_entries=%.*s: NAME:BUCKETS is accepted, ignored\n",
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
		str += len;
		if (str == end)
			return 1;
		str++;
	}
}
__setup("hash_entries=", hash_entries_setup);

/* Does @request name @hash? */
static bool is_for(const struct boot_hash_request *request,
		   const struct boot_hash *hash)
{
	return strlen(hash->name) == request->name_len &&
	       !strncmp(hash->name, request->name, request->name_len);
}

/* The size that memory gives an optional table. */
#define AUTO_SIZE	U64_MAX

/* Why the text of @request is no size of @hash; NULL if it is one. */
static const char *not_a_size(const struct boot_hash_request *request,
			      const struct boot_hash *hash,
			      unsigned long long *wanted)
{
	bool optional = hash->flags & BOOT_HASH_OPTIONAL;

	if (optional && request->value_len == strlen("auto") &&
	    !strncmp(request->value, "auto", request->value_len)) {
		*wanted = AUTO_SIZE;
		return NULL;
	}
	if (boot_hash_parse(request->value, request->value_len, wanted))
		return optional ?
		       "is no number of buckets (N, NK, NM, NG or auto)" :
		       "is no number of buckets (N, NK, NM or NG)";
	if (!*wanted && !optional)
		return "is no size (2 or more)";
	if (*wanted == AUTO_SIZE)
		--*wanted;
	return NULL;
}

/* Buckets for what the command line asks for; 0 if for no table. */
static unsigned long buckets_for_request(const struct boot_hash *hash,
					 unsigned long long wanted,
					 enum boot_hash_origin *origin)
{
	if (hash->flags & BOOT_HASH_OPTIONAL) {
		if (wanted == AUTO_SIZE)
			return boot_hash_buckets(hash, &machine, origin);
		if (!wanted) {
			*origin = BOOT_HASH_OFF;
			return 0;
		}
	}
	return boot_hash_limit(hash, &machine, wanted, origin);
}

/* Is @request taken as it is? If not, say what was used instead. */
static void check_request(struct boot_hash_request *request,
			  const struct boot_hash *hash)
{
	enum boot_hash_origin origin;
	unsigned long long wanted;
	const char *why = not_a_size(request, hash, &wanted);

	if (!why) {
		if (hash->flags & BOOT_HASH_OPTIONAL &&
		    (!wanted || wanted == AUTO_SIZE))
			return;
		boot_hash_limit(hash, &machine, wanted, &origin);
		if (origin == BOOT_HASH_CMDLINE)
			return;
		if (origin == BOOT_HASH_MINIMUM)
			why = "is too few (2 or more)";
		else if (hash->instance)
			why = "is more than 1/256 of memory holds";
		else
			why = "is more than 1/16 of memory holds";
	}
	request->said = true;
	pr_warn("%s: %s buckets: '%.*s' %s, used: %lu (%s)\n", request->param,
		hash->name, (int)request->value_len, request->value, why,
		hash->nr_buckets, boot_hash_origin_name(hash->origin));
}

static unsigned long choose_buckets(struct boot_hash *hash)
{
	unsigned long buckets;
	unsigned int i;

	if (hash->flags & BOOT_HASH_OPTIONAL) {
		hash->origin = BOOT_HASH_OFF;
		buckets = 0;
	} else {
		buckets = boot_hash_buckets(hash, &machine, &hash->origin);
	}
	for (i = 0; i < nr_requests; i++) {
		const struct boot_hash_request *request = &requests[i];
		unsigned long long wanted;

		if (!is_for(request, hash) ||
		    not_a_size(request, hash, &wanted))
			continue;
		buckets = buckets_for_request(hash, wanted, &hash->origin);
	}
	return buckets;
}

/*
 * @hash has its table, or none if it is optional and off: say what is not as it
 * was asked for, and enter it.
 */
static void enter(struct boot_hash *hash, unsigned long wanted)
{
	unsigned int i;

	if (hash->nr_buckets < wanted) {
		hash->origin = BOOT_HASH_MAXIMUM;
		pr_warn_ratelimited("%s: no memory in one piece for %lu buckets, used: %lu\n",
				    hash->name, wanted, hash->nr_buckets);
	}
	atomic_set(&hash->walkers, 0);
	down_write(&boot_hash_rwsem);
	for (i = 0; i < nr_requests; i++) {
		if (!is_for(&requests[i], hash))
			continue;
		requests[i].claimed = true;
		if (!requests[i].said)
			check_request(&requests[i], hash);
	}
	hash->serial = ++last_serial;
	list_add_tail(&hash->node, &boot_hash_tables);
	up_write(&boot_hash_rwsem);
}

/**
 * boot_hash_alloc - size, allocate and register a table
 * @hash: the table; its members up to @hash->flags are set
 * @flags: HASH_EARLY and HASH_ZERO, as alloc_large_system_hash() takes them
 *
 * The size is what the command line names, else follows the machine. When
 * so much memory is not to be had in one piece the table becomes smaller.
 *
 * Context: __init. With HASH_EARLY before the page allocator is up, without
 * it after that; interrupts may be off. Takes boot_hash_rwsem. With hashdist
 * the pages are interleaved if numa_policy_init() has run.
 * Return: the buckets, @hash->nr_buckets of them; NULL for a table that is
 * optional if nobody asked for it. Panics if there is no page.
 */
void *__init boot_hash_alloc(struct boot_hash *hash, int flags)
{
	unsigned long buckets;

	machine.kernel_pages = nr_kernel_pages;
	machine.all_pages = nr_all_pages;
	machine.cpus = num_possible_cpus();
	buckets = choose_buckets(hash);
	if (!buckets) {
		enter(hash, 0);
		return NULL;
	}
	/* A high limit would switch off the scaling, but that is done here. */
	hash->table = alloc_large_system_hash(hash->title, hash->bucket_size,
					      buckets, 0, flags, &hash->bits,
					      NULL, 0, buckets);
	hash->nr_buckets = 1UL << hash->bits;
	enter(hash, buckets);
	return hash->table;
}

/**
 * boot_hash_create - size, allocate and register a table after boot
 * @hash: the table; its members up to @hash->flags are set, the others 0
 *
 * For modules, and for caches that come and go. All that have one name are
 * sized alike, by the memory that there was at boot or by the command line.
 * When there is not so much memory the table becomes smaller.
 *
 * Context: process context, may sleep; allocates with GFP_KERNEL and takes
 * boot_hash_rwsem. @hash->chain_length may be called before this returns.
 * Return: the buckets, zeroed; NULL when there is no memory for the fewest.
 */
void *boot_hash_create(struct boot_hash *hash)
{
	unsigned long wanted = choose_buckets(hash), buckets = wanted;

	for (;;) {
		gfp_t mask = GFP_KERNEL;

		/* Nobody shall be killed for more than the fewest. */
		if (buckets > max(hash->min, BOOT_HASH_FEWEST))
			mask |= __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
		hash->table = kvcalloc(buckets, hash->bucket_size, mask);
		if (hash->table)
			break;
		if (!(mask & __GFP_NOWARN))
			return NULL;
		buckets >>= 1;
	}
	hash->nr_buckets = buckets;
	hash->bits = ilog2(buckets);
	enter(hash, wanted);
	return hash->table;
}
EXPORT_SYMBOL_GPL(boot_hash_create);

/**
 * boot_hash_destroy - take a table out of the register and free its buckets
 * @hash: a table that boot_hash_create() made, without objects
 *
 * Context: process context, may sleep; takes boot_hash_rwsem and waits for
 * those who walk this table just now, but not for walks of others. When it
 * returns nobody calls @hash->chain_length any more.
 */
void boot_hash_destroy(struct boot_hash *hash)
{
	down_write(&boot_hash_rwsem);
	list_del(&hash->node);
	up_write(&boot_hash_rwsem);
	wait_var_event(&hash->walkers, !atomic_read_acquire(&hash->walkers));
	kvfree(hash->table);
}
EXPORT_SYMBOL_GPL(boot_hash_destroy);

/**
 * boot_hash_get_from - find a table of the register and keep it from going
 * @serial: the first number that it may have
 *
 * Context: process context, may sleep; takes boot_hash_rwsem.
 * Return: the table with the lowest number from @serial on, which the caller
 * gives back by boot_hash_put(); NULL if there is none.
 */
struct boot_hash *boot_hash_get_from(unsigned long serial)
{
	struct boot_hash *hash, *found = NULL;

	down_read(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node) {
		if (hash->serial >= serial) {
			atomic_inc(&hash->walkers);
			found = hash;
			break;
		}
	}
	up_read(&boot_hash_rwsem);
	return found;
}

/**
 * boot_hash_put - let a table go
 * @hash: what boot_hash_get_from() gave; not to be touched after this
 *
 * Context: any but NMI.
 */
void boot_hash_put(struct boot_hash *hash)
{
	/*
	 * Fully ordered: the walk is over before boot_hash_destroy() sees 0.
	 * After that @hash may be gone, and is but a number to wake_up_var().
	 */
	if (atomic_dec_and_test(&hash->walkers))
		wake_up_var(&hash->walkers);
}

/* Does @request name a table that may come yet? */
static bool __init is_for_later(const struct boot_hash_request *request)
{
	unsigned int i;

	for (i = 0; later_tables[i]; i++) {
		if (strlen(later_tables[i]) == request->name_len &&
		    !strncmp(later_tables[i], request->name, request->name_len))
			return true;
	}
	return false;
}

/* What came to nothing: names of no table, and no sizes. */
static void __init check_unclaimed(struct boot_hash_request *request,
				   const char *names)
{
	static const struct boot_hash later __initconst = {};
	unsigned long long wanted;
	const char *why;

	if (!is_for_later(request)) {
		pr_warn("%s=%.*s:%.*s: no such table, ignored; there are:%s\n",
			request->param, (int)request->name_len, request->name,
			(int)request->value_len, request->value, names);
		return;
	}
	why = not_a_size(request, &later, &wanted);
	if (!why)
		return;
	request->said = true;
	pr_warn("%s: %.*s buckets: '%.*s' %s, ignored\n", request->param,
		(int)request->name_len, request->name,
		(int)request->value_len, request->value, why);
}

/* All tables of the kernel are there, but for those that come later. */
static int __init boot_hash_unclaimed(void)
{
	const struct boot_hash *hash;
	char names[512];
	size_t len = 0;
	unsigned int i;

	down_write(&boot_hash_rwsem);
	list_for_each_entry(hash, &boot_hash_tables, node)
		len += scnprintf(names + len, sizeof(names) - len, " %s",
				 hash->name);
	for (i = 0; later_tables[i]; i++)
		len += scnprintf(names + len, sizeof(names) - len, " %s",
				 later_tables[i]);
	for (i = 0; i < nr_requests; i++) {
		if (!requests[i].claimed)
			check_unclaimed(&requests[i], names);
	}
	up_write(&boot_hash_rwsem);
	return 0;
}
late_initcall(boot_hash_unclaimed);
