/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prototypes of QEMU's plugin API that our plugins use: QEMU comes without a
 * header.  API is the version that a plugin is compiled for.
 */
#ifndef BOOTHASH_QEMU_H
#define BOOTHASH_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int cpu, void *data);

typedef uint32_t qemu_plugin_meminfo_t;
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int cpu,
		qemu_plugin_meminfo_t info, uint64_t address, void *data);

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef struct qemu_info_t {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
} qemu_info_t;

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
	QEMU_PLUGIN_CB_R_REGS,
	QEMU_PLUGIN_CB_RW_REGS,
};

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
		qemu_plugin_vcpu_udata_cb_t cb,
		enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		qemu_plugin_vcpu_udata_cb_t cb,
		enum qemu_plugin_cb_flags flags, void *data);
enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W,
	QEMU_PLUGIN_MEM_RW,
};

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
		qemu_plugin_vcpu_mem_cb_t cb, enum qemu_plugin_cb_flags flags,
		enum qemu_plugin_mem_rw rw, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
void qemu_plugin_reset(qemu_plugin_id_t id,
		       void (*cb)(qemu_plugin_id_t id));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
#if API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to,
			     size_t size);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif

EXPORT int qemu_plugin_version = API;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
			       int argc, char **argv);

#endif /* BOOTHASH_QEMU_H */
