/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lines_model - which cache lines move between CPUs, and how long locks are held
 *
 * The model has a cache of unlimited size for each CPU, and the protocol MSI.  A
 * line is modified in one cache, or shared by some, or in none.  It counts these
 * transfers:
 *
 *   read    a CPU reads a line that is modified in the cache of another CPU
 *   write   a CPU writes to a line that other CPUs have
 *   both    one instruction reads the line and writes to it; this is one transfer
 *
 * A line that no cache has modified comes from memory and is no transfer.
 *
 * An operation stands between open and close on one CPU, and has a label.  All
 * accesses change the state of lines; transfers are counted for the operation
 * that the CPU is in, outside of interrupts.  The first `warm` operations of a
 * label on each CPU do not count.  An operation during which the CPU switched to
 * another task does not count either.
 *
 * A lock is held from the atomic instruction of an acquiring function to the next
 * write of this CPU to the same bytes by another function.  Lines that move
 * meanwhile are counted, the line of the lock itself among them.
 *
 * Four labels that follow each other are a group: operations that run in turns.
 * Whether CPUs share bytes of a line, or the line only, is said for a group.
 *
 * Output, one record a line, numbers in hexadecimal where an x stands below:
 *
 *   op LABEL COUNTED SWITCHED INTERRUPTED INSNS TRANSFERS
 *   hit LABEL LINE.x KIND PC.x CALLER.x*4 COUNT
 *   line GROUP LINE.x BYTES_READ.x BYTES_WRITTEN.x SHARED
 *   lock LABEL ADDRESS.x KIND PC.x CALLER.x*4 COUNT INSNS CPUS.x TRANSFERS
 *
 * A line's number is its address / 64; PC and callers are the lower 32 bits.
 */
#ifndef BOOTHASH_LINES_MODEL_H
#define BOOTHASH_LINES_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SHIFT	6
#define LINE_BYTES	(1 << LINE_SHIFT)
#define CPUS_MAX	64
#define LABELS_MAX	256
#define GROUP_SHIFT	2
#define CALLERS		4
#define STACK_MAX	256
#define STACK_SEARCH	16	/* how far down a return may lead */
#define HELD_MAX	16
#define KEY_MAX		5

enum kind { READ, WRITE, BOTH };
enum lock { NO_LOCK, EXCLUSIVE, SHARED };

/* A table of counters that grows. */
struct map {
	unsigned int keys, values;	/* words of each */
	unsigned int bits;
	uint32_t *slots;		/* number of an entry + 1 */
	uint64_t *entries;		/* key and value of each */
	uint32_t used, room;
};

/* An instruction that accesses memory. */
struct place {
	uint32_t pc;
	uint16_t index;			/* in its block */
	uint8_t lock;			/* what an atomic instruction here acquires */
};

struct hit {
	uint64_t key[KEY_MAX];
};

struct held {
	uint64_t address, start;
	unsigned int size;
	size_t hits;			/* of the operation, when it was acquired */
	uint64_t key[KEY_MAX];
};

struct section {
	uint64_t key[KEY_MAX], insns, transfers;
};

struct cpu {
	bool open, counted, switched;
	unsigned int label;
	unsigned int irqs;		/* interrupts entered and not left */
	unsigned int interrupted;
	uint64_t insns, block;		/* before the block, and in it */
	uint32_t stack[STACK_MAX];
	int top, irq_top;
	uint64_t last_line;		/* of the access before */
	const struct place *last_place;
	bool last_read, last_moved;
	struct held held[HELD_MAX];
	unsigned int nr_held;
	/* Of this operation; they count when it ends. */
	struct hit *hits;
	size_t nr_hits, hits_room;
	struct section *sections;
	size_t nr_sections, sections_room;
};

struct label {
	uint64_t counted, switched, interrupted, insns, transfers;
	uint32_t done[CPUS_MAX];
};

static struct {
	unsigned int warm;
	struct cpu cpus[CPUS_MAX];
	struct label labels[LABELS_MAX];
	struct map lines, hits, bytes, locks;
} model = {
	.lines = { .keys = 1, .values = 2 },	/* owner + 1, sharers */
	.hits = { .keys = KEY_MAX, .values = 1 },
	.bytes = { .keys = 2, .values = 2 },	/* read, written */
	.locks = { .keys = KEY_MAX, .values = 4 },
};

static void *must(void *memory)
{
	if (!memory) {
		fputs("lines: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static uint32_t slot_of(const struct map *map, const uint64_t *key)
{
	uint64_t hash = 0;
	unsigned int i;

	for (i = 0; i < map->keys; i++)
		hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15;
	return hash >> (64 - map->bits);
}

static uint64_t *entry_of(const struct map *map, uint32_t number)
{
	return map->entries + (size_t)number * (map->keys + map->values);
}

static void insert_slot(struct map *map, uint32_t number)
{
	uint32_t mask = (1U << map->bits) - 1;
	uint32_t slot = slot_of(map, entry_of(map, number));

	while (map->slots[slot])
		slot = (slot + 1) & mask;
	map->slots[slot] = number + 1;
}

static void grow_map(struct map *map)
{
	size_t words = map->keys + map->values;
	uint32_t i;

	map->bits = map->bits ? map->bits + 1 : 10;
	map->room = 1U << (map->bits - 1);
	map->entries = must(realloc(map->entries, map->room * words * sizeof(uint64_t)));
	free(map->slots);
	map->slots = must(calloc(1UL << map->bits, sizeof(*map->slots)));
	for (i = 0; i < map->used; i++)
		insert_slot(map, i);
}

/* The values of a key, 0 at first. */
static uint64_t *value_of(struct map *map, const uint64_t *key)
{
	size_t bytes = map->keys * sizeof(*key);
	uint32_t slot, mask;
	uint64_t *entry;

	if (map->used == map->room)
		grow_map(map);
	mask = (1U << map->bits) - 1;
	for (slot = slot_of(map, key); map->slots[slot]; slot = (slot + 1) & mask) {
		entry = entry_of(map, map->slots[slot] - 1);
		if (!memcmp(entry, key, bytes))
			return entry + map->keys;
	}
	entry = entry_of(map, map->used);
	memcpy(entry, key, bytes);
	memset(entry + map->keys, 0, map->values * sizeof(*entry));
	map->slots[slot] = ++map->used;
	return entry + map->keys;
}

/* What a record of an operation says of where it is: four words behind the first. */
static void key_of(const struct cpu *cpu, uint64_t *key, unsigned int kind,
		   uint64_t address, uint32_t pc)
{
	uint32_t callers[CALLERS] = { 0 };
	int i;

	for (i = 0; i < CALLERS && i < cpu->top; i++)
		callers[i] = cpu->stack[cpu->top - 1 - i];
	key[0] = (uint64_t)cpu->label << 32 | kind;
	key[1] = address;
	key[2] = (uint64_t)pc << 32 | callers[0];
	key[3] = (uint64_t)callers[1] << 32 | callers[2];
	key[4] = callers[3];
}

static bool in_operation(const struct cpu *cpu)
{
	return cpu->open && !cpu->irqs && !cpu->switched;
}

static void add_hit(struct cpu *cpu, enum kind kind, uint64_t line, uint32_t pc)
{
	if (!in_operation(cpu))
		return;
	if (cpu->nr_hits == cpu->hits_room) {
		cpu->hits_room = cpu->hits_room ? 2 * cpu->hits_room : 64;
		cpu->hits = must(realloc(cpu->hits, cpu->hits_room * sizeof(*cpu->hits)));
	}
	key_of(cpu, cpu->hits[cpu->nr_hits++].key, kind, line, pc);
}

static void access_line(unsigned int number, uint64_t line, uint64_t bytes, bool write,
			const struct place *place)
{
	struct cpu *cpu = &model.cpus[number];
	uint64_t *state = value_of(&model.lines, &line);
	uint64_t me = 1ULL << number, owner = state[0];
	bool same = cpu->last_read && cpu->last_place == place && cpu->last_line == line;
	bool moved = false;

	if (!write) {
		moved = owner && owner != number + 1;
		if (moved) {
			state[0] = 0;
			add_hit(cpu, READ, line, place->pc);
		}
		state[1] |= me;
	} else if (owner != number + 1) {
		if (same && cpu->last_moved) {
			/* One instruction: its read has fetched the line. */
			if (in_operation(cpu))
				cpu->hits[cpu->nr_hits - 1].key[0] |= BOTH;
		} else if (state[1] & ~me) {
			add_hit(cpu, same ? BOTH : WRITE, line, place->pc);
		}
		state[0] = number + 1;
		state[1] = me;
	}
	cpu->last_line = line;
	cpu->last_place = place;
	cpu->last_read = !write;
	cpu->last_moved = moved;
	if (cpu->counted && in_operation(cpu)) {
		uint64_t key[] = { (uint64_t)(cpu->label >> GROUP_SHIFT) << 32 | number, line };

		value_of(&model.bytes, key)[write] |= bytes;
	}
}

static uint64_t position(const struct cpu *cpu, const struct place *place)
{
	return cpu->insns + place->index;
}

static void release_locks(struct cpu *cpu, uint64_t address, unsigned int size,
			  const struct place *place)
{
	struct section *section;
	struct held *held;
	unsigned int i;

	for (i = cpu->nr_held; i-- > 0; ) {
		held = &cpu->held[i];
		if (address >= held->address + held->size || held->address >= address + size)
			continue;
		if (cpu->nr_sections == cpu->sections_room) {
			cpu->sections_room = cpu->sections_room ? 2 * cpu->sections_room : 64;
			cpu->sections = must(realloc(cpu->sections, cpu->sections_room *
						     sizeof(*cpu->sections)));
		}
		section = &cpu->sections[cpu->nr_sections++];
		memcpy(section->key, held->key, sizeof(held->key));
		section->insns = position(cpu, place) - held->start;
		section->transfers = cpu->nr_hits - held->hits;
		*held = cpu->held[--cpu->nr_held];
	}
}

static void acquire_lock(struct cpu *cpu, uint64_t address, unsigned int size,
			 const struct place *place)
{
	struct held *held;
	unsigned int i;

	for (i = 0; i < cpu->nr_held; i++)
		if (cpu->held[i].address == address)
			return;
	if (cpu->nr_held == HELD_MAX)
		return;
	held = &cpu->held[cpu->nr_held++];
	held->address = address;
	held->size = size;
	held->start = position(cpu, place);
	key_of(cpu, held->key, place->lock, address, place->pc);
	/* The transfer of its own line, by this instruction, is the last one if there is one. */
	held->hits = cpu->nr_hits;
	if (cpu->nr_hits) {
		const uint64_t *key = cpu->hits[cpu->nr_hits - 1].key;

		held->hits -= key[1] == address >> LINE_SHIFT && key[2] >> 32 == place->pc;
	}
}

static void model_access(unsigned int number, uint64_t address, unsigned int size, bool write,
			 const struct place *place)
{
	struct cpu *cpu = &model.cpus[number];
	uint64_t ones = size >= 64 ? ~0ULL : (1ULL << size) - 1;
	unsigned int start = address % LINE_BYTES;
	uint64_t line = address >> LINE_SHIFT;

	access_line(number, line, ones << start, write, place);
	if (start + size > LINE_BYTES)
		access_line(number, line + 1, ones >> (LINE_BYTES - start), write, place);
	if (!write || !in_operation(cpu))
		return;
	if (place->lock)
		acquire_lock(cpu, address, size, place);
	else if (cpu->nr_held)
		release_locks(cpu, address, size, place);
}

static void model_block(unsigned int number, unsigned int insns)
{
	struct cpu *cpu = &model.cpus[number];

	if (!in_operation(cpu))
		return;
	cpu->insns += cpu->block;
	cpu->block = insns;
}

static void model_call(unsigned int number, uint32_t back)
{
	struct cpu *cpu = &model.cpus[number];

	if (cpu->top == STACK_MAX) {
		memmove(cpu->stack, cpu->stack + STACK_MAX / 2, sizeof(cpu->stack) / 2);
		cpu->top = STACK_MAX / 2;
	}
	cpu->stack[cpu->top++] = back;
}

static void model_return(unsigned int number, uint32_t to)
{
	struct cpu *cpu = &model.cpus[number];
	int i;

	for (i = cpu->top - 1; i >= 0 && i >= cpu->top - STACK_SEARCH; i--)
		if (cpu->stack[i] == to) {
			cpu->top = i;
			return;
		}
}

static void model_interrupt(unsigned int number)
{
	struct cpu *cpu = &model.cpus[number];

	if (!cpu->irqs++) {
		cpu->irq_top = cpu->top;
		cpu->interrupted++;
	}
}

/* Exceptions, such as page faults, end in the same way. */
static void model_iret(unsigned int number)
{
	struct cpu *cpu = &model.cpus[number];

	if (cpu->irqs && !--cpu->irqs)
		cpu->top = cpu->irq_top;
}

static void model_switch(unsigned int number)
{
	struct cpu *cpu = &model.cpus[number];

	if (cpu->open && !cpu->irqs)
		cpu->switched = true;
}

static void model_open(unsigned int number, unsigned int label)
{
	struct cpu *cpu = &model.cpus[number];

	cpu->open = true;
	cpu->switched = false;
	cpu->counted = model.labels[label].done[number] >= model.warm;
	cpu->label = label;
	cpu->irqs = 0;
	cpu->interrupted = 0;
	cpu->insns = 0;
	cpu->block = 0;
	cpu->top = 0;
	cpu->last_read = false;
	cpu->nr_held = 0;
	cpu->nr_hits = 0;
	cpu->nr_sections = 0;
}

static void model_close(unsigned int number, unsigned int label)
{
	struct cpu *cpu = &model.cpus[number];
	struct label *of = &model.labels[label];
	uint64_t *value;
	size_t i;

	if (!cpu->open || cpu->label != label)
		return;
	cpu->open = false;
	of->done[number]++;
	if (!cpu->counted)
		return;
	if (cpu->switched) {
		of->switched++;
		return;
	}
	of->counted++;
	of->interrupted += cpu->interrupted;
	of->insns += cpu->insns + cpu->block;
	of->transfers += cpu->nr_hits;
	for (i = 0; i < cpu->nr_hits; i++)
		++*value_of(&model.hits, cpu->hits[i].key);
	for (i = 0; i < cpu->nr_sections; i++) {
		value = value_of(&model.locks, cpu->sections[i].key);
		value[0]++;
		value[1] += cpu->sections[i].insns;
		value[2] |= 1ULL << number;
		value[3] += cpu->sections[i].transfers;
	}
}

static void write_key(FILE *out, const char *name, const uint64_t *key)
{
	fprintf(out, "%s %u %llx %u %x %x %x %x %x", name, (unsigned int)(key[0] >> 32),
		(unsigned long long)key[1], (unsigned int)key[0], (uint32_t)(key[2] >> 32),
		(uint32_t)key[2], (uint32_t)(key[3] >> 32), (uint32_t)key[3], (uint32_t)key[4]);
}

/* Whether a CPU writes to bytes of the line that another one accesses. */
static bool bytes_shared(uint64_t (*bytes)[2])
{
	unsigned int i, j;

	for (i = 0; i < CPUS_MAX; i++)
		for (j = 0; j < CPUS_MAX; j++)
			if (i != j && bytes[i][1] & (bytes[j][0] | bytes[j][1]))
				return true;
	return false;
}

static void write_line(FILE *out, unsigned int group, uint64_t line)
{
	uint64_t bytes[CPUS_MAX][2] = { 0 }, all[2] = { 0 };
	unsigned int cpu, i;

	for (cpu = 0; cpu < CPUS_MAX; cpu++) {
		uint64_t key[] = { (uint64_t)group << 32 | cpu, line };

		memcpy(bytes[cpu], value_of(&model.bytes, key), sizeof(bytes[cpu]));
		for (i = 0; i < 2; i++)
			all[i] |= bytes[cpu][i];
	}
	fprintf(out, "line %u %llx %llx %llx %d\n", group, (unsigned long long)line,
		(unsigned long long)all[0], (unsigned long long)all[1], bytes_shared(bytes));
}

static void model_write(FILE *out)
{
	struct map seen = { .keys = 2, .values = 1 };
	const uint64_t *entry;
	uint32_t i;

	for (i = 0; i < LABELS_MAX; i++) {
		const struct label *of = &model.labels[i];

		if (of->counted || of->switched)
			fprintf(out, "op %u %llu %llu %llu %llu %llu\n", i,
				(unsigned long long)of->counted,
				(unsigned long long)of->switched,
				(unsigned long long)of->interrupted,
				(unsigned long long)of->insns,
				(unsigned long long)of->transfers);
	}
	for (i = 0; i < model.hits.used; i++) {
		entry = entry_of(&model.hits, i);
		write_key(out, "hit", entry);
		fprintf(out, " %llu\n", (unsigned long long)entry[KEY_MAX]);
		uint64_t key[] = { entry[0] >> (32 + GROUP_SHIFT), entry[1] };
		uint64_t *once = value_of(&seen, key);

		if (!(*once)++)
			write_line(out, key[0], key[1]);
	}
	for (i = 0; i < model.locks.used; i++) {
		entry = entry_of(&model.locks, i);
		write_key(out, "lock", entry);
		fprintf(out, " %llu %llu %llx %llu\n", (unsigned long long)entry[KEY_MAX],
			(unsigned long long)entry[KEY_MAX + 1],
			(unsigned long long)entry[KEY_MAX + 2],
			(unsigned long long)entry[KEY_MAX + 3]);
	}
}

#endif /* BOOTHASH_LINES_MODEL_H */
