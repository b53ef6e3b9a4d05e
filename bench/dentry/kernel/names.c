// SPDX-License-Identifier: GPL-2.0
/*
 * Names to look up: a ramfs that is mounted nowhere, directories of 256 files.
 *
 * Dentries are made by hand. That of a file leads to an inode that is not looked
 * at, as a lookup of a name does not.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mount.h>
#include <linux/ramfs.h>
#include <linux/rculist_bl.h>
#include <linux/stringhash.h>

#include "../../lib/um/boot_hash_table.h"
#include "names.h"

#define DIRS		1024
#define DIR_NAMES	256

static struct vfsmount *mnt;
static struct dentry *dirs[DIRS];
static const struct boot_hash_table *table;

struct vfsmount *names_mount(void)
{
	return mnt;
}

/* A directory's number is in its name, a file's is unique in all of them. */
static void name_key(struct key *key, struct dentry *parent, char letter,
		     unsigned int number)
{
	key->parent = parent;
	snprintf(key->name, sizeof(key->name), "%c%07x", letter, number);
	key->hash_len = hashlen_string(parent, key->name);
}

void set_key(struct key *key, char letter, unsigned int number)
{
	name_key(key, dirs[number / DIR_NAMES % DIRS], letter, number);
}

struct dentry *add_name(const struct key *key, struct inode *inode,
			const struct dentry_operations *ops)
{
	const struct qstr name = name_of(key);
	struct dentry *dentry = d_alloc(key->parent, &name);

	if (!dentry)
		return NULL;
	/* d_release() alone needs no flag of the dentry. */
	if (ops)
		dentry->d_op = ops;
	d_add(dentry, inode);
	return dentry;
}

struct inode *new_file(void)
{
	return ramfs_get_inode(mnt->mnt_sb, NULL, S_IFREG | 0644, 0);
}

unsigned long nr_buckets(void)
{
	return table->nr_buckets;
}

/* What a lookup examines; all of the chain if the name is not there. */
unsigned int nodes_of(const struct key *key)
{
	struct hlist_bl_head *heads = table->table;
	const u32 hash = hashlen_hash(key->hash_len);
	const unsigned int bits = ilog2(table->nr_buckets);
	struct hlist_bl_node *node;
	struct dentry *dentry;
	unsigned int nodes = 0;

	rcu_read_lock();
	hlist_bl_for_each_entry_rcu(dentry, node, &heads[hash >> (32 - bits)],
				    d_hash) {
		nodes++;
		if (dentry->d_parent == key->parent &&
		    dentry->d_name.hash_len == key->hash_len)
			break;
	}
	rcu_read_unlock();
	return nodes;
}

static int make_dir(unsigned int n)
{
	struct inode *inode = ramfs_get_inode(mnt->mnt_sb, NULL, S_IFDIR | 0755, 0);
	struct key key;

	if (!inode)
		return -ENOMEM;
	name_key(&key, mnt->mnt_root, 'd', n);
	dirs[n] = add_name(&key, inode, NULL);
	return dirs[n] ? 0 : -ENOMEM;
}

int mount_names(void)
{
	struct file_system_type *type = get_fs_type("ramfs");
	unsigned int n;
	int error;

	table = boot_hash_table("dentry");
	if (!type || !table)
		return -ENODEV;
	mnt = kern_mount(type);
	if (IS_ERR(mnt))
		return PTR_ERR(mnt);
	for (n = 0; n < DIRS; n++) {
		error = make_dir(n);
		if (error)
			return error;
	}
	return 0;
}
