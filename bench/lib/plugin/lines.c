// SPDX-License-Identifier: GPL-2.0
/*
 * lines - cache lines that move between the CPUs of a guest
 *
 * A plugin for QEMU's TCG.  It feeds the accesses of a guest to the model in
 * lines_model.h, and writes what that found.
 *
 * Markers (x86.h) of user space say what is observed: BEGIN and END around all of
 * it, OPEN and CLOSE around an operation.  Before BEGIN nothing is instrumented, so
 * that a guest boots fast.  At END the file is written.
 *
 * Accesses to kernel memory are observed, and those to a window of user memory,
 * in which a program may do what has a known answer.
 *
 * For a QEMU that runs one CPU at a time (-accel tcg,thread=single): then nothing
 * here runs twice at a time, and an interrupt comes between two blocks.
 *
 * Arguments: out=FILE and then config=FILE, which has these lines, with addresses
 * in hexadecimal:
 *
 *   warm OPERATIONS		of a label on each CPU, which do not count
 *   switch ADDRESS		of the function that switches tasks
 *   interrupt ADDRESS		where the kernel enters an interrupt
 *   exclusive START END	a function that acquires a lock
 *   shared START END		a function that acquires a lock for reading
 *   window START END		of user memory
 *
 * Compiled with -DAPI=N, the version of the plugin API.
 */
#include "lines_model.h"
#include "x86.h"

/* The fixed mappings above are registers of devices. */
#define KERNEL_END	0xffffffffff000000ULL
#define RANGES_MAX	64
#define WORD_MAX	32

struct range {
	uint64_t start, end;
	enum lock lock;
};

struct block {
	uint64_t address;
	uint32_t back;			/* where a call returns to */
	unsigned int insns;
	enum { OTHER, CALL, RETURN } end;
};

static struct range acquiring[RANGES_MAX], window;
static uint64_t interrupts[RANGES_MAX * 4], switch_to;
static size_t nr_acquiring, nr_interrupts;
/* The last block of each CPU, and the one that an interrupt came after. */
static const struct block *before[CPUS_MAX], *interrupted[CPUS_MAX];
static bool observing;
static qemu_plugin_id_t self;
static FILE *out;

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	bool user = address - window.start < window.end - window.start;

	if (observing && (user || (address & KERNEL && address < KERNEL_END)))
		model_access(cpu, address, 1U << qemu_plugin_mem_size_shift(info),
			     qemu_plugin_mem_is_store(info), data);
}

static void on_block(unsigned int cpu, void *data)
{
	const struct block *block = data, *last = before[cpu];

	if (!observing)
		return;
	model_block(cpu, block->insns);
	if (last && last->end == CALL)
		model_call(cpu, last->back);
	else if (last && last->end == RETURN)
		model_return(cpu, block->address);
	before[cpu] = block;
}

static void on_interrupt(unsigned int cpu, void *data)
{
	(void)data;
	if (!observing)
		return;
	if (!model.cpus[cpu].irqs)
		interrupted[cpu] = before[cpu];
	before[cpu] = NULL;
	model_interrupt(cpu);
}

static void on_return(unsigned int cpu, void *data)
{
	bool inside = model.cpus[cpu].irqs;

	(void)data;
	if (!observing)
		return;
	model_iret(cpu);
	if (inside && !model.cpus[cpu].irqs)
		before[cpu] = interrupted[cpu];
}

static void on_switch(unsigned int cpu, void *data)
{
	(void)data;
	if (observing)
		model_switch(cpu);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* What was translated before is gone. */
static void begin(qemu_plugin_id_t id)
{
	observing = true;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
}

static void on_marker(unsigned int cpu, void *data)
{
	unsigned int kind = (uintptr_t)data & 0xff;
	unsigned int label = (uintptr_t)data >> 8;

	if (kind == BEGIN && !observing) {
		qemu_plugin_reset(self, begin);
	} else if (observing && kind == OPEN) {
		before[cpu] = NULL;
		model_open(cpu, label);
	} else if (observing && kind == CLOSE) {
		model_close(cpu, label);
	} else if (observing && kind == END) {
		observing = false;
		model_write(out);
		fputs("end\n", out);
		fflush(out);
	}
}

static enum lock acquires(const struct qemu_plugin_insn *insn, uint64_t address)
{
	size_t i;

	for (i = 0; i < nr_acquiring; i++)
		if (address >= acquiring[i].start && address < acquiring[i].end)
			return is_atomic(insn) ? acquiring[i].lock : NO_LOCK;
	return NO_LOCK;
}

/* Blocks and places stay for good: QEMU may still run code that it has dropped. */
static void watch_accesses(struct qemu_plugin_tb *tb, bool kernel)
{
	size_t i, insns = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		struct place *place = must(calloc(1, sizeof(*place)));

		place->pc = address;
		place->index = i;
		place->lock = kernel ? acquires(insn, address) : NO_LOCK;
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, place);
	}
}

static struct block *new_block(struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, insns - 1);
	struct block *block = must(calloc(1, sizeof(*block)));
	size_t i = 0, size = qemu_plugin_insn_size(last);
	uint8_t code[INSN_MAX + 2] = { 0 };

	block->address = qemu_plugin_tb_vaddr(tb);
	block->insns = insns;
	block->back = qemu_plugin_insn_vaddr(last) + size;
	if (size > INSN_MAX || !copy_code(last, code, size))
		return block;
	while (is_prefix(code[i]) || (code[i] & 0xf0) == 0x40)
		i++;
	if (code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10))
		block->end = CALL;
	else if (code[i] == 0xc3 || code[i] == 0xc2)
		block->end = RETURN;
	return block;
}

static void watch_kernel(struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	size_t i, insns = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, insns - 1);

	for (i = 0; i < nr_interrupts; i++)
		if (interrupts[i] == address)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_interrupt,
							     QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (address == switch_to)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_switch, QEMU_PLUGIN_CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, new_block(tb));
	if (is_return(last))
		qemu_plugin_register_vcpu_insn_exec_cb(last, on_return, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
}

static void watch_markers(struct qemu_plugin_tb *tb)
{
	size_t i, insns = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uintptr_t data = marker(insn);

		if (data)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)data);
	}
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	bool kernel = qemu_plugin_tb_vaddr(tb) & KERNEL;

	(void)id;
	if (!kernel)
		watch_markers(tb);
	if (!observing)
		return;
	if (kernel)
		watch_kernel(tb);
	watch_accesses(tb, kernel);
}

static bool read_config(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256], word[WORD_MAX];
	unsigned long long start, end;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		int found = sscanf(line, "%31s %llx %llx", word, &start, &end);
		bool range = found == 3, one = found == 2;

		if (one && !strcmp(word, "warm") && sscanf(line, "%*s %u", &model.warm) == 1) {
			continue;
		} else if (one && !strcmp(word, "switch")) {
			switch_to = start;
		} else if (one && !strcmp(word, "interrupt") &&
			   nr_interrupts < sizeof(interrupts) / sizeof(*interrupts)) {
			interrupts[nr_interrupts++] = start;
		} else if (range && !strcmp(word, "window")) {
			window = (struct range){ start, end, NO_LOCK };
		} else if (range && nr_acquiring < RANGES_MAX &&
			   (!strcmp(word, "exclusive") || !strcmp(word, "shared"))) {
			acquiring[nr_acquiring++] = (struct range){ start, end,
				*word == 'e' ? EXCLUSIVE : SHARED };
		} else {
			fclose(file);
			return false;
		}
	}
	fclose(file);
	return true;
}

static int refuse(const char *why)
{
	fprintf(stderr, "lines: %s\n", why);
	return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (argc < 1 || argc > 2 || strncmp(argv[0], "out=", 4) ||
	    (argc == 2 && strncmp(argv[1], "config=", 7)))
		return refuse("accepted: out=FILE and then config=FILE");
	if (!info->system_emulation || info->system.max_vcpus > CPUS_MAX)
		return refuse("only a system of 64 CPUs or less can be observed");
	if (argc == 2 && !read_config(argv[1] + 7))
		return refuse("cannot read the file of config=, or a line of it");
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return refuse("cannot write to the file of out=");
	self = id;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
