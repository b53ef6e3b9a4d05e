// SPDX-License-Identifier: GPL-2.0
/*
 * lines_trace - run the model of lines_model.h on a trace that was written by hand
 *
 * Reads events from standard input, one a line, and writes what the model found.
 * Addresses are hexadecimal.  PC is also the identity of an instruction: a read
 * and a write behind it with the same PC are one instruction.
 *
 *   warm OPERATIONS
 *   open CPU LABEL		close CPU LABEL
 *   read CPU ADDRESS SIZE PC	write CPU ADDRESS SIZE PC
 *   both CPU ADDRESS SIZE PC	an atomic instruction
 *   exclusive CPU ADDRESS SIZE PC	an atomic instruction that acquires a lock
 *   shared CPU ADDRESS SIZE PC	the same, for reading
 *   block CPU INSNS		the CPU executes so many instructions
 *   call CPU PC		return CPU PC
 *   interrupt CPU		iret CPU
 *   switch CPU			to another task
 */
#include "lines_model.h"

#define WORDS_MAX	5
#define PLACES_MAX	1024

static struct place places[PLACES_MAX];
static size_t nr_places;

static const struct place *place_at(uint32_t pc, enum lock lock)
{
	size_t i;

	for (i = 0; i < nr_places; i++)
		if (places[i].pc == pc && places[i].lock == lock)
			return &places[i];
	if (nr_places == PLACES_MAX) {
		fputs("lines_trace: more than 1024 instructions\n", stderr);
		exit(1);
	}
	places[nr_places] = (struct place){ .pc = pc, .lock = lock };
	return &places[nr_places++];
}

static bool access_memory(const char *name, unsigned int cpu, char **words)
{
	enum lock lock = !strcmp(name, "exclusive") ? EXCLUSIVE :
			 !strcmp(name, "shared") ? SHARED : NO_LOCK;
	bool both = lock || !strcmp(name, "both");
	uint64_t address = strtoull(words[2], NULL, 16);
	unsigned int size = strtoul(words[3], NULL, 10);
	const struct place *place = place_at(strtoul(words[4], NULL, 16), lock);

	if (!both && strcmp(name, "read") && strcmp(name, "write"))
		return false;
	if (!size || size > LINE_BYTES)
		return false;
	if (both || !strcmp(name, "read"))
		model_access(cpu, address, size, false, place);
	if (both || !strcmp(name, "write"))
		model_access(cpu, address, size, true, place);
	return true;
}

static bool event(char **words, int found)
{
	unsigned int cpu = found > 1 ? strtoul(words[1], NULL, 10) : 0;
	unsigned long number = found > 2 ? strtoul(words[2], NULL, 10) : 0;
	uint32_t pc = found > 2 ? strtoul(words[2], NULL, 16) : 0;
	const char *name = words[0];

	if (found == 2 && !strcmp(name, "warm")) {
		model.warm = cpu;
		return true;
	}
	if (cpu >= CPUS_MAX)
		return false;
	if (found == 5)
		return access_memory(name, cpu, words);
	if (found == 2 && !strcmp(name, "interrupt"))
		model_interrupt(cpu);
	else if (found == 2 && !strcmp(name, "iret"))
		model_iret(cpu);
	else if (found == 2 && !strcmp(name, "switch"))
		model_switch(cpu);
	else if (found == 3 && number < LABELS_MAX && !strcmp(name, "open"))
		model_open(cpu, number);
	else if (found == 3 && number < LABELS_MAX && !strcmp(name, "close"))
		model_close(cpu, number);
	else if (found == 3 && !strcmp(name, "block"))
		model_block(cpu, number);
	else if (found == 3 && !strcmp(name, "call"))
		model_call(cpu, pc);
	else if (found == 3 && !strcmp(name, "return"))
		model_return(cpu, pc);
	else
		return false;
	return true;
}

int main(void)
{
	char line[256], shown[256], *words[WORDS_MAX + 1];
	unsigned int number = 0;

	while (fgets(line, sizeof(line), stdin)) {
		int found = 0;

		number++;
		strcpy(shown, line);
		shown[strcspn(shown, "\n")] = 0;
		for (char *word = strtok(line, " \t\n"); word && found <= WORDS_MAX;
		     word = strtok(NULL, " \t\n"))
			words[found++] = word;
		if (found && !event(words, found)) {
			fprintf(stderr, "lines_trace: line %u is no event: %s\n", number, shown);
			return 2;
		}
	}
	model_write(stdout);
	return 0;
}
