// SPDX-License-Identifier: GPL-2.0
/*
 * hash_functions - what hash functions make of the keys of a running kernel
 *
 * Reads keys, one a line, decimal or 0x and hexadecimal:
 *
 *	page INODE INDEX	address of the inode, number of the page
 *	buffer DEV BLOCK
 *	dentry PARENT HASH	address of the parent, d_name.hash
 *	name PARENT HASH	the same, with the hash that Linux 2.2 made of it
 *	inode SB INO		address of the super block
 *
 * and what some functions take in place of these:
 *
 *	layout SIZE OFFSET	size of struct inode, and where i_data is in it
 *	device DEV ADDRESS	the struct block_device of DEV; a device without
 *				such a line is hashed by its number
 *	vector FUNCTION X Y BITS VALUE	the kernel's own result, which the copy
 *				here must give as well
 *
 * All keys of a kind go through each function of that kind into tables of
 * several sizes. The functions are those of Chuck Lever, "Linux Kernel Hash
 * Table Behavior", CITI TR 00-1, 2000, with words of 64 bits as they are today;
 * those of Linux 6.12; and ours. Prints
 *
 *	keys KIND N
 *	spread KIND FUNCTION bits B hit X ideal X miss X ideal X vmr X longest N
 *	chains KIND FUNCTION bits B LENGTH:BUCKETS ...
 *	time KIND FUNCTION waits X stream X
 *	vectors N
 *
 * hit: nodes that a successful lookup examines, mean over all keys. miss:
 * nodes of one that fails, where an eighth of the keys is not in the table and
 * looked up. ideal: what a random function would give. vmr: variance of the chain
 * lengths over their mean. chains: for the size whose load is nearest to 1.
 * waits: nanoseconds of a hash that needs the result of the one before; stream:
 * of one that does not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hash_copies.h"
#include "common.h"

#define LEAST_BITS	8
#define MOST_BITS	20
#define MOST_KEYS	(4u << 20)
#define MOST_DEVICES	64
#define MOST_WORDS	6

#define PAGE_SHIFT	12
/* The prime that the paper chose. */
#define PAPER		2654435761ull

enum kind { PAGE, BUFFER, DENTRY, NAME, INODE, KINDS };

static const char * const kind_name[KINDS] = {
	"page", "buffer", "dentry", "name", "inode",
};

/*
 * x is what differs most: index, block, hash, number. y is the address beside
 * it, or the device, and z what is hashed in the place of y: the address of
 * the mapping, of the block device.
 */
struct key {
	u64	x, y, z;
};

static struct {
	unsigned int	least, most;
	unsigned int	only;	/* one size alone */
	int		no_times;
} opt = { .least = LEAST_BITS, .most = MOST_BITS };

/*
 * Linux 2.2 divides the address of an inode by the largest power of 2 that
 * divides its size; 584 bytes is that of 6.12 in the tests' configuration.
 */
static unsigned int inode_shift = 3;
static u64 data_offset;

static struct keys {
	struct key	*keys;
	u32		nr, room;
} keys_of[KINDS];

static struct {
	u64	dev, address;
} devices[MOST_DEVICES];
static unsigned int nr_devices;

static u32 *counts;

static inline u64 mask(unsigned int bits)
{
	return (1ull << bits) - 1;
}

/* The paper's pages: Linux 2.2, ... */

static inline u64 page_sum(const struct key *key)
{
	return (key->y >> inode_shift) + key->x;
}

static inline u32 page_original(const struct key *key, unsigned int bits)
{
	u64 sum = page_sum(key);

	return (sum + (sum >> bits)) & mask(bits);
}

/* ... with the offset in bytes once more, ... */
static inline u32 page_offset(const struct key *key, unsigned int bits)
{
	u64 sum = page_sum(key) + (key->x << PAGE_SHIFT);

	return (sum + (sum >> bits)) & mask(bits);
}

/* ... and multiplicative. The product's bits that are taken are below 2^32. */
static inline u32 page_mult(const struct key *key, unsigned int bits)
{
	return (key->y + (key->x << PAGE_SHIFT)) * PAPER >> (32 - bits) &
	       mask(bits);
}

/* The paper's buffers: Linux 2.2, ... */
static inline u32 buffer_original(const struct key *key, unsigned int bits)
{
	return (key->x ^ key->y) & mask(bits);
}

/* ... multiplicative with several shifts, ... */
static inline u32 buffer_mult_11(const struct key *key, unsigned int bits)
{
	return key->x * PAPER >> 11 & mask(bits);
}

static inline u32 buffer_mult_16(const struct key *key, unsigned int bits)
{
	return key->x * PAPER >> 16 & mask(bits);
}

static inline u32 buffer_mult_17(const struct key *key, unsigned int bits)
{
	return key->x * PAPER >> 17 & mask(bits);
}

static inline u32 buffer_mult_18(const struct key *key, unsigned int bits)
{
	return key->x * PAPER >> 18 & mask(bits);
}

static inline u32 buffer_mult_full(const struct key *key, unsigned int bits)
{
	return key->x * PAPER >> (32 - bits) & mask(bits);
}

/* ... and by 127. */
static inline u32 buffer_shift_add(const struct key *key, unsigned int bits)
{
	u64 block = key->x;

	return ((block << 7) - block + (block >> 10) + (block >> 18)) &
	       mask(bits);
}

/* The paper's dentries: Linux 2.2, ... */
static inline u32 dentry_original(const struct key *key, unsigned int bits)
{
	u64 hash = key->x + key->y;

	return (hash ^ hash >> bits ^ hash >> 2 * bits) & mask(bits);
}

/* ... with addition, ... */
static inline u32 dentry_addition(const struct key *key, unsigned int bits)
{
	u64 hash = key->x + key->y;

	return (hash + (hash >> bits) + (hash >> 2 * bits)) & mask(bits);
}

/* ... and multiplicative. */
static inline u32 dentry_mult_11(const struct key *key, unsigned int bits)
{
	return (key->x + key->y) * PAPER >> 11 & mask(bits);
}

static inline u32 dentry_mult_17(const struct key *key, unsigned int bits)
{
	return (key->x + key->y) * PAPER >> 17 & mask(bits);
}

static inline u32 dentry_mult_full(const struct key *key, unsigned int bits)
{
	return (key->x + key->y) * PAPER >> (32 - bits) & mask(bits);
}

/* The paper's inodes: Linux 2.2; multiplicative is as for dentries. */
static inline u32 inode_original(const struct key *key, unsigned int bits)
{
	u64 tmp = key->x | key->y;

	return (tmp + (tmp >> bits) + (tmp >> 2 * bits)) & mask(bits);
}

/* Linux 6.12 and ours: a name's hash has its parent in it, ... */
static inline u32 dentry_mainline(const struct key *key, unsigned int bits)
{
	return (u32)key->x >> (32 - bits);
}

/* ... names that are being looked up have another table, ... */
static inline u32 dentry_in_lookup(const struct key *key, unsigned int bits)
{
	return golden_32(key->x + key->y / CACHE_LINE, bits);
}

/* ... inodes, ... */
static inline u32 inode_mainline(const struct key *key, unsigned int bits)
{
	return inode_6_12(key->x, key->y, bits);
}

/* ... and the slots of mm/page_hash.c. */
static inline u32 page_slot(const struct key *key, unsigned int bits)
{
	return (golden_64(key->z, 32) + key->x) & mask(bits);
}

/* For any kind: hash_pair() of both words, ... */
static inline u32 any_pair(const struct key *key, unsigned int bits)
{
	return pair_64(key->x, key->z, bits);
}

/* ... their sum by hash_64() as 6.12 has it, ... */
static inline u32 any_hash_64(const struct key *key, unsigned int bits)
{
	return golden_64(key->x + key->z, bits);
}

/* ... by hash_64() with the constant of 32 bits, ... */
static inline u32 any_const_32(const struct key *key, unsigned int bits)
{
	return (key->x + key->z) * PAPER >> (64 - bits);
}

/* ... by hash_32() of the lower half, ... */
static inline u32 any_hash_32(const struct key *key, unsigned int bits)
{
	return golden_32(key->x + key->z, bits);
}

/* ... and a function without structure, for the noise. */
static inline u32 any_random(const struct key *key, unsigned int bits)
{
	return mix(key->x ^ mix(key->z)) >> (64 - bits);
}

typedef u32 (*hash_fn)(const struct key *key, unsigned int bits);
typedef void (*timed_fn)(const struct key *keys, u32 nr, unsigned int bits);

/* Loops for the times, with the function in them as in its caller. */

#define STREAM(hash)							\
static void hash##_stream(const struct key *keys, u32 nr,		\
			  unsigned int bits)				\
{									\
	u32 i, bucket;							\
									\
	for (i = 0; i < nr; i++) {					\
		bucket = hash(&keys[i], bits);				\
		__asm__ volatile("" : : "r" (bucket));			\
	}								\
}

#define WAITS(hash)							\
static void hash##_waits(const struct key *keys, u32 nr,		\
			 unsigned int bits)				\
{									\
	struct key key;							\
	u32 i, bucket = 0;						\
									\
	for (i = 0; i < nr; i++) {					\
		key = keys[i];						\
		key.x += bucket;					\
		bucket = hash(&key, bits);				\
	}								\
	__asm__ volatile("" : : "r" (bucket));				\
}

STREAM(page_original)
STREAM(page_offset)
STREAM(page_mult)
STREAM(buffer_original)
STREAM(buffer_mult_11)
STREAM(buffer_mult_16)
STREAM(buffer_mult_17)
STREAM(buffer_mult_18)
STREAM(buffer_mult_full)
STREAM(buffer_shift_add)
STREAM(dentry_original)
STREAM(dentry_addition)
STREAM(dentry_mult_11)
STREAM(dentry_mult_17)
STREAM(dentry_mult_full)
STREAM(inode_original)
STREAM(dentry_mainline)
STREAM(dentry_in_lookup)
STREAM(inode_mainline)
STREAM(page_slot)
STREAM(any_pair)
STREAM(any_hash_64)
STREAM(any_const_32)
STREAM(any_hash_32)
STREAM(any_random)

WAITS(page_original)
WAITS(page_offset)
WAITS(page_mult)
WAITS(buffer_original)
WAITS(buffer_mult_11)
WAITS(buffer_mult_16)
WAITS(buffer_mult_17)
WAITS(buffer_mult_18)
WAITS(buffer_mult_full)
WAITS(buffer_shift_add)
WAITS(dentry_original)
WAITS(dentry_addition)
WAITS(dentry_mult_11)
WAITS(dentry_mult_17)
WAITS(dentry_mult_full)
WAITS(inode_original)
WAITS(dentry_mainline)
WAITS(dentry_in_lookup)
WAITS(inode_mainline)
WAITS(page_slot)
WAITS(any_pair)
WAITS(any_hash_64)
WAITS(any_const_32)
WAITS(any_hash_32)
WAITS(any_random)

#define FUNCTION(kind, name, hash)					\
	{ kind, name, hash, hash##_stream, hash##_waits }

static const struct function {
	enum kind	kind;
	const char	*name;
	hash_fn		hash;
	timed_fn	stream, waits;
} functions[] = {
	FUNCTION(PAGE, "original", page_original),
	FUNCTION(PAGE, "offset", page_offset),
	FUNCTION(PAGE, "mult", page_mult),
	FUNCTION(PAGE, "slot", page_slot),
	FUNCTION(PAGE, "hash-32", any_hash_32),
	FUNCTION(PAGE, "const-32", any_const_32),
	FUNCTION(PAGE, "hash-64", any_hash_64),
	FUNCTION(PAGE, "pair", any_pair),
	FUNCTION(PAGE, "random", any_random),
	FUNCTION(BUFFER, "original", buffer_original),
	FUNCTION(BUFFER, "mult-11", buffer_mult_11),
	FUNCTION(BUFFER, "mult-16", buffer_mult_16),
	FUNCTION(BUFFER, "mult-17", buffer_mult_17),
	FUNCTION(BUFFER, "mult-18", buffer_mult_18),
	FUNCTION(BUFFER, "mult-full", buffer_mult_full),
	FUNCTION(BUFFER, "shift-add", buffer_shift_add),
	FUNCTION(BUFFER, "hash-32", any_hash_32),
	FUNCTION(BUFFER, "const-32", any_const_32),
	FUNCTION(BUFFER, "hash-64", any_hash_64),
	FUNCTION(BUFFER, "pair", any_pair),
	FUNCTION(BUFFER, "random", any_random),
	FUNCTION(DENTRY, "original", dentry_original),
	FUNCTION(DENTRY, "addition", dentry_addition),
	FUNCTION(DENTRY, "mult-11", dentry_mult_11),
	FUNCTION(DENTRY, "mult-17", dentry_mult_17),
	FUNCTION(DENTRY, "mult-full", dentry_mult_full),
	FUNCTION(DENTRY, "mainline", dentry_mainline),
	FUNCTION(DENTRY, "in-lookup", dentry_in_lookup),
	FUNCTION(DENTRY, "hash-32", any_hash_32),
	FUNCTION(DENTRY, "const-32", any_const_32),
	FUNCTION(DENTRY, "hash-64", any_hash_64),
	FUNCTION(DENTRY, "pair", any_pair),
	FUNCTION(DENTRY, "random", any_random),
	FUNCTION(NAME, "original", dentry_original),
	FUNCTION(NAME, "addition", dentry_addition),
	FUNCTION(NAME, "mult-11", dentry_mult_11),
	FUNCTION(NAME, "mult-17", dentry_mult_17),
	FUNCTION(NAME, "mult-full", dentry_mult_full),
	FUNCTION(NAME, "hash-32", any_hash_32),
	FUNCTION(NAME, "const-32", any_const_32),
	FUNCTION(NAME, "hash-64", any_hash_64),
	FUNCTION(NAME, "pair", any_pair),
	FUNCTION(NAME, "random", any_random),
	FUNCTION(INODE, "original", inode_original),
	FUNCTION(INODE, "mult", dentry_mult_full),
	FUNCTION(INODE, "mainline", inode_mainline),
	FUNCTION(INODE, "hash-32", any_hash_32),
	FUNCTION(INODE, "const-32", any_const_32),
	FUNCTION(INODE, "hash-64", any_hash_64),
	FUNCTION(INODE, "pair", any_pair),
	FUNCTION(INODE, "random", any_random),
};

/* The copies that the kernel's results are compared with. */

static u32 vector_hash_32(u64 x, u64 y, unsigned int bits)
{
	(void)y;
	return golden_32(x, bits);
}

static u32 vector_hash_64(u64 x, u64 y, unsigned int bits)
{
	(void)y;
	return golden_64(x, bits);
}

static const struct vector {
	const char	*name;
	u32		(*hash)(u64 x, u64 y, unsigned int bits);
} vectors[] = {
	{ "hash_32", vector_hash_32 },
	{ "hash_64", vector_hash_64 },
	{ "hash_pair", pair_64 },
	{ "inode_hash", inode_6_12 },
};

static unsigned int nr_vectors;

static void print_vectors(void)
{
	unsigned int i, v;

	for (v = 0; v < ARRAY_SIZE(vectors); v++) {
		for (i = 0; i < 8; i++) {
			u64 x = mix(2 * i) >> 8 * i, y = mix(2 * i + 1);
			unsigned int bits = 6 + 3 * i;

			printf("vector %s %#llx %#llx %u %#x\n",
			       vectors[v].name, (unsigned long long)x,
			       (unsigned long long)y, bits,
			       vectors[v].hash(x, y, bits));
		}
	}
}

/* Reading. */

static void bad_line(unsigned int line, const char *what)
{
	fprintf(stderr,
		"hash_functions: line %u: %s; accepted: page, buffer, dentry, name, inode, layout or device with two numbers, vector with a function and four numbers\n",
		line, what);
	exit(1);
}

static u64 number_of(const char *word, unsigned int line)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(word, &end, 0);
	if (errno || end == word || *end || *word == '-')
		bad_line(line, word);
	return value;
}

static void *allocate(void *old, size_t nr, size_t size)
{
	void *memory = realloc(old, nr * size);

	if (!memory) {
		fprintf(stderr, "hash_functions: no memory for %zu bytes\n",
			nr * size);
		exit(1);
	}
	return memory;
}

static void add_key(enum kind kind, u64 y, u64 x)
{
	struct keys *of = &keys_of[kind];

	if (of->nr == MOST_KEYS) {
		fprintf(stderr, "hash_functions: more than %u keys of kind %s\n",
			MOST_KEYS, kind_name[kind]);
		exit(1);
	}
	if (of->nr == of->room) {
		of->room = of->room ? 2 * of->room : 4096;
		of->keys = allocate(of->keys, of->room, sizeof(*of->keys));
	}
	of->keys[of->nr++] = (struct key){ x, y, y };
}

static void add_device(u64 dev, u64 address, unsigned int line)
{
	if (nr_devices == MOST_DEVICES)
		bad_line(line, "too many devices");
	devices[nr_devices].dev = dev;
	devices[nr_devices++].address = address;
}

static void set_layout(u64 size, u64 offset, unsigned int line)
{
	if (!size || offset >= size)
		bad_line(line, "no size of an inode");
	inode_shift = __builtin_ctzll(size);
	data_offset = offset;
}

static void check_vector(char **words, unsigned int line)
{
	u64 x = number_of(words[2], line), y = number_of(words[3], line);
	u64 bits = number_of(words[4], line);
	u64 value = number_of(words[5], line);
	unsigned int v;

	for (v = 0; v < ARRAY_SIZE(vectors); v++)
		if (!strcmp(words[1], vectors[v].name))
			break;
	if (v == ARRAY_SIZE(vectors) || !bits || bits > 32)
		bad_line(line, words[1]);
	if (vectors[v].hash(x, y, bits) != value) {
		fprintf(stderr,
			"hash_functions: line %u: %s(%s, %s, %s) is %s in the kernel and %#x here\n",
			line, words[1], words[2], words[3], words[4], words[5],
			vectors[v].hash(x, y, bits));
		exit(1);
	}
	nr_vectors++;
}

static int is_key(char **words, unsigned int line)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++) {
		if (strcmp(words[0], kind_name[kind]))
			continue;
		add_key(kind, number_of(words[1], line),
			number_of(words[2], line));
		return 1;
	}
	return 0;
}

static void read_line(char **words, unsigned int nr, unsigned int line)
{
	if (nr == 6 && !strcmp(words[0], "vector"))
		check_vector(words, line);
	else if (nr != 3)
		bad_line(line, nr ? words[0] : "nothing");
	else if (is_key(words, line))
		return;
	else if (!strcmp(words[0], "layout"))
		set_layout(number_of(words[1], line),
			   number_of(words[2], line), line);
	else if (!strcmp(words[0], "device"))
		add_device(number_of(words[1], line),
			   number_of(words[2], line), line);
	else
		bad_line(line, words[0]);
}

static void read_all(void)
{
	char text[256], *words[MOST_WORDS], *word;
	unsigned int line = 0, nr;

	while (fgets(text, sizeof(text), stdin)) {
		line++;
		nr = 0;
		for (word = strtok(text, " \t\n"); word;
		     word = strtok(NULL, " \t\n")) {
			if (nr == MOST_WORDS)
				bad_line(line, word);
			words[nr++] = word;
		}
		read_line(words, nr, line);
	}
	if (!line)
		bad_line(line, "nothing on standard input");
}

static u64 address_of(u64 dev)
{
	unsigned int i;

	for (i = 0; i < nr_devices; i++)
		if (devices[i].dev == dev)
			return devices[i].address;
	return dev;
}

/* What stands for the address or the device of a key. */
static void fill_in(void)
{
	u32 i;

	for (i = 0; i < keys_of[PAGE].nr; i++)
		keys_of[PAGE].keys[i].z += data_offset;
	for (i = 0; i < keys_of[BUFFER].nr; i++)
		keys_of[BUFFER].keys[i].z = address_of(keys_of[BUFFER].keys[i].y);
}

/* Counting. */

struct chains {
	double		hit, miss, miss_ideal, vmr;
	unsigned int	longest;
};

static double buckets(unsigned int bits)
{
	return 1u << bits;
}

/* In parts that have nothing to do with the order of the keys. */
#define PARTS	8

static void add_part(const struct function *function, const struct keys *of,
		     unsigned int bits, unsigned int part, int what)
{
	u32 i;

	for (i = 0; i < of->nr; i++)
		if (mix(i) % PARTS == part)
			counts[function->hash(&of->keys[i], bits)] += what;
}

/*
 * An eighth of the keys at a time is taken out of the table, and looked up.
 * From the counts that count_hits() left, which stay as they are.
 */
static void count_misses(const struct function *function,
			 const struct keys *of, unsigned int bits,
			 struct chains *chains)
{
	double nodes = 0, present = 0;
	unsigned int part;
	u32 i, absent;

	for (part = 0; part < PARTS; part++) {
		add_part(function, of, bits, part, -1);
		absent = 0;
		for (i = 0; i < of->nr; i++) {
			if (mix(i) % PARTS != part)
				continue;
			absent++;
			nodes += counts[function->hash(&of->keys[i], bits)];
		}
		add_part(function, of, bits, part, 1);
		present += (double)absent * (of->nr - absent);
	}
	chains->miss = nodes / of->nr;
	chains->miss_ideal = present / of->nr / buckets(bits);
}

static void count_hits(const struct function *function,
		       const struct keys *of, unsigned int bits,
		       struct chains *chains)
{
	double nodes = 0, squares = 0, load = of->nr / buckets(bits);
	u32 i;

	chains->longest = 0;
	memset(counts, 0, sizeof(*counts) << bits);
	for (i = 0; i < of->nr; i++) {
		u32 length = ++counts[function->hash(&of->keys[i], bits)];

		/* The objects of a chain of k take 1 + 2 + ... + k nodes. */
		nodes += length;
		squares += 2.0 * length - 1;
		if (length > chains->longest)
			chains->longest = length;
	}
	chains->hit = nodes / of->nr;
	chains->vmr = squares / buckets(bits) / load - load;
}

/* From the counts that count_hits() left. */
static void print_chains(const struct function *function, unsigned int bits,
			 unsigned int longest)
{
	u32 *of_length = allocate(NULL, longest + 1, sizeof(*of_length));
	u32 i;

	memset(of_length, 0, (longest + 1) * sizeof(*of_length));
	for (i = 0; i < 1u << bits; i++)
		of_length[counts[i]]++;
	printf("chains %s %s bits %u", kind_name[function->kind],
	       function->name, bits);
	for (i = 0; i <= longest; i++)
		if (of_length[i])
			printf(" %u:%u", i, of_length[i]);
	putchar('\n');
	free(of_length);
}

static void run_size(const struct function *function, unsigned int bits,
		     int with_chains)
{
	const struct keys *of = &keys_of[function->kind];
	struct chains chains;

	count_hits(function, of, bits, &chains);
	count_misses(function, of, bits, &chains);
	printf("spread %s %s bits %u hit %.4f ideal %.4f",
	       kind_name[function->kind], function->name, bits, chains.hit,
	       1 + (of->nr - 1) / (2 * buckets(bits)));
	printf(" miss %.4f ideal %.4f vmr %.4f longest %u\n", chains.miss,
	       chains.miss_ideal, chains.vmr, chains.longest);
	if (with_chains)
		print_chains(function, bits, chains.longest);
}

/* The size whose load is nearest to 1, of those that there are. */
static unsigned int full_size(u32 nr)
{
	unsigned int bits = LEAST_BITS;

	/* The next is twice as large: between them lies the root of 2. */
	while (bits < MOST_BITS && (u64)nr * nr >= 2ull << 2 * bits)
		bits++;
	return bits;
}

static void run_sizes(const struct function *function)
{
	unsigned int bits, full = full_size(keys_of[function->kind].nr);

	if (opt.only) {
		run_size(function, opt.only, 1);
		return;
	}
	for (bits = LEAST_BITS; bits <= MOST_BITS; bits++)
		if (bits == full ||
		    (bits >= opt.least && bits <= opt.most))
			run_size(function, bits, bits == full);
}

/* So few keys that they stay in the inner cache. */
#define TIMED_KEYS	1024u

static double nanoseconds(timed_fn timed, const struct keys *of)
{
	u32 nr = of->nr < TIMED_KEYS ? of->nr : TIMED_KEYS;
	double start, seconds, best = 1;
	int turn, i;

	for (turn = 0; turn < 20; turn++) {
		start = now();
		for (i = 0; i < 20; i++)
			timed(of->keys, nr, 16);
		seconds = now() - start;
		if (seconds < best)
			best = seconds;
	}
	return best * 1e9 / 20 / nr;
}

static void run(const struct function *function)
{
	const struct keys *of = &keys_of[function->kind];

	run_sizes(function);
	if (!opt.no_times)
		printf("time %s %s waits %.2f stream %.2f\n",
		       kind_name[function->kind], function->name,
		       nanoseconds(function->waits, of),
		       nanoseconds(function->stream, of));
	fflush(stdout);
}

static void refuse(const char *wrong)
{
	fprintf(stderr,
		"hash_functions: %s; accepted: -b BITS of the smallest table, -B BITS of the largest, -o BITS of one alone (%u to %u), -n (no times), -v (print test vectors), keys on standard input\n",
		wrong, LEAST_BITS, MOST_BITS);
	exit(2);
}

static unsigned int option(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || end == text || value < LEAST_BITS ||
	    value > MOST_BITS)
		refuse(text);
	return value;
}

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "b:B:o:nv")) != -1) {
		switch (c) {
		case 'b':
			opt.least = option(optarg);
			break;
		case 'B':
			opt.most = option(optarg);
			break;
		case 'o':
			opt.only = option(optarg);
			break;
		case 'n':
			opt.no_times = 1;
			break;
		case 'v':
			print_vectors();
			exit(0);
		default:
			refuse("unknown option");
		}
	}
	if (optind < argc)
		refuse(argv[optind]);
	if (opt.least > opt.most)
		refuse("-b is larger than -B");
}

int main(int argc, char **argv)
{
	unsigned int i;

	arguments(argc, argv);
	read_all();
	fill_in();
	counts = allocate(NULL, 1u << MOST_BITS, sizeof(*counts));
	for (i = 0; i < KINDS; i++)
		printf("keys %s %u\n", kind_name[i], keys_of[i].nr);
	for (i = 0; i < ARRAY_SIZE(functions); i++)
		if (keys_of[functions[i].kind].nr)
			run(&functions[i]);
	printf("vectors %u\n", nr_vectors);
	return 0;
}
