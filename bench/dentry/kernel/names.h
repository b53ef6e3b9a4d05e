/* SPDX-License-Identifier: GPL-2.0 */
/* A file system, its directories, and names in them to look up. */
#ifndef DENTRY_BENCH_NAMES_H
#define DENTRY_BENCH_NAMES_H

#include <linux/dcache.h>
#include <linux/types.h>

#define NAME_SIZE	16
#define HOT_NAMES	10000	/* of a small set */

/* What a lookup is given; lies in one half of a cache line. */
struct key {
	struct dentry	*parent;
	u64		hash_len;
	char		name[NAME_SIZE];
};

int mount_names(void);
struct vfsmount *names_mount(void);
void set_key(struct key *key, char letter, unsigned int number);
struct dentry *add_name(const struct key *key, struct inode *inode,
			const struct dentry_operations *ops);
struct inode *new_file(void);
unsigned long nr_buckets(void);
unsigned int nodes_of(const struct key *key);

static inline struct qstr name_of(const struct key *key)
{
	return (struct qstr){ .hash_len = key->hash_len, .name = key->name };
}

#endif /* DENTRY_BENCH_NAMES_H */
