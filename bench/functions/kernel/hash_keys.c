// SPDX-License-Identifier: GPL-2.0
/*
 * hash_keys - the keys of hash tables, of what is in memory now
 *
 * Built into a kernel by `make bench-functions`, for hash_functions. A file in
 * debugfs for each kind of key, below hash_keys:
 *
 *	page	page INODE INDEX	pages in the page cache, by address of the
 *					inode and number of the page
 *	buffer	buffer DEV BLOCK	buffers of block devices
 *	dentry	dentry PARENT HASH	names, also those of no file, by address of
 *					the parent and d_name.hash
 *	name	name PARENT HASH	the same, with the hash of Linux 2.2
 *	inode	inode SB INO		inodes in the inode table, by address of
 *					the super block and number
 *	about	what else hashes need: layout SIZE OFFSET of struct inode, and
 *		device DEV ADDRESS of each block device; and for the copies of
 *		functions, vector FUNCTION X Y BITS VALUE
 *
 * The keys are collected when a file is opened, without a lock for longer than
 * one directory. ENOSPC: there are more than MOST_KEYS.
 */

#include <linux/bitops.h>
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include <linux/writeback.h>

#define MOST_KEYS	BIT(20)

/* The address or the device first, as the lines have it. */
struct hash_key {
	unsigned long	first;
	u64		second;
};

struct hash_keys {
	const struct kind	*kind;
	size_t			nr;
	bool			full;
	struct hash_key		keys[];
};

struct kind {
	const char	*name;
	void		(*visit)(struct inode *inode, struct hash_keys *to);
};

static void add_key(struct hash_keys *to, unsigned long first, u64 second)
{
	if (to->nr < MOST_KEYS)
		to->keys[to->nr++] = (struct hash_key){ first, second };
	else
		to->full = true;
}

static void visit_folios(struct inode *inode, struct hash_keys *to,
			 void (*visit)(struct inode *inode, struct folio *folio,
				       struct hash_keys *to))
{
	struct folio_batch batch;
	pgoff_t index = 0;
	unsigned int i;

	folio_batch_init(&batch);
	while (filemap_get_folios(&inode->i_data, &index, ULONG_MAX, &batch)) {
		for (i = 0; i < folio_batch_count(&batch); i++)
			visit(inode, batch.folios[i], to);
		folio_batch_release(&batch);
		cond_resched();
	}
}

static void add_page_keys(struct inode *inode, struct folio *folio,
			  struct hash_keys *to)
{
	long i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		add_key(to, (unsigned long)inode, folio->index + i);
}

static void visit_pages(struct inode *inode, struct hash_keys *to)
{
	visit_folios(inode, to, add_page_keys);
}

static void add_buffer_keys(struct inode *inode, struct folio *folio,
			    struct hash_keys *to)
{
	struct buffer_head *head, *bh;

	folio_lock(folio);
	head = folio->mapping == &inode->i_data ? folio_buffers(folio) : NULL;
	bh = head;
	while (bh) {
		if (buffer_mapped(bh))
			add_key(to, bh->b_bdev->bd_dev, bh->b_blocknr);
		bh = bh->b_this_page != head ? bh->b_this_page : NULL;
	}
	folio_unlock(folio);
}

static void visit_buffers(struct inode *inode, struct hash_keys *to)
{
	if (sb_is_blkdev_sb(inode->i_sb))
		visit_folios(inode, to, add_buffer_keys);
}

static void visit_device(struct inode *inode, struct hash_keys *to)
{
	struct block_device *bdev;

	if (!sb_is_blkdev_sb(inode->i_sb))
		return;
	bdev = I_BDEV(inode);
	add_key(to, bdev->bd_dev, (unsigned long)bdev);
}

static void visit_inode(struct inode *inode, struct hash_keys *to)
{
	if (!inode_unhashed(inode) && !hlist_fake(&inode->i_hash))
		add_key(to, (unsigned long)inode->i_sb, inode->i_ino);
}

static u32 hash_of_today(const struct qstr *name)
{
	return name->hash;
}

/* A word of 32 bits, turned by four for each character. */
static u32 hash_of_2_2(const struct qstr *name)
{
	u32 i, hash = 0;

	for (i = 0; i < name->len; i++)
		hash = rol32(hash, 4) ^ name->name[i];
	return hash;
}

/* Each name is in one directory, which has one dentry. */
static void add_children(struct inode *inode, struct hash_keys *to,
			 u32 (*hash)(const struct qstr *name))
{
	struct dentry *parent, *child;

	parent = S_ISDIR(inode->i_mode) ? d_find_any_alias(inode) : NULL;
	if (!parent)
		return;
	spin_lock(&parent->d_lock);
	hlist_for_each_entry(child, &parent->d_children, d_sib) {
		spin_lock_nested(&child->d_lock, DENTRY_D_LOCK_NESTED);
		if (!d_unhashed(child))
			add_key(to, (unsigned long)parent, hash(&child->d_name));
		spin_unlock(&child->d_lock);
	}
	spin_unlock(&parent->d_lock);
	dput(parent);
}

static void visit_dentries(struct inode *inode, struct hash_keys *to)
{
	add_children(inode, to, hash_of_today);
}

static void visit_names(struct inode *inode, struct hash_keys *to)
{
	add_children(inode, to, hash_of_2_2);
}

/* An inode that has a reference stays on the list, and so does the place. */
static void visit_inodes(struct sb_inode_list *list, struct hash_keys *to)
{
	struct inode *inode, *last = NULL;

	spin_lock(&list->lock);
	list_for_each_entry(inode, &list->inodes, i_sb_list) {
		if (!igrab(inode))
			continue;
		spin_unlock(&list->lock);

		to->kind->visit(inode, to);
		iput(last);
		last = inode;

		cond_resched();
		spin_lock(&list->lock);
	}
	spin_unlock(&list->lock);
	iput(last);
}

static void visit_super(struct super_block *sb, void *data)
{
	int cpu;

	for_each_possible_cpu(cpu)
		visit_inodes(per_cpu_ptr(sb->s_inodes, cpu), data);
}

static struct hash_keys *collect(const struct kind *kind)
{
	struct hash_keys *to = vmalloc(struct_size(to, keys, MOST_KEYS));

	if (!to)
		return ERR_PTR(-ENOMEM);
	to->kind = kind;
	to->nr = 0;
	to->full = false;
	iterate_supers(visit_super, to);
	if (to->full) {
		vfree(to);
		return ERR_PTR(-ENOSPC);
	}
	return to;
}

static void *keys_start(struct seq_file *m, loff_t *pos)
{
	struct hash_keys *from = m->private;

	return *pos < from->nr ? &from->keys[*pos] : NULL;
}

static void *keys_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return keys_start(m, pos);
}

static void keys_stop(struct seq_file *m, void *v)
{
}

static int keys_show(struct seq_file *m, void *v)
{
	const struct hash_keys *from = m->private;
	const struct hash_key *key = v;

	seq_printf(m, "%s %#lx %#llx\n", from->kind->name, key->first,
		   key->second);
	return 0;
}

static const struct seq_operations keys_seq_ops = {
	.start	= keys_start,
	.next	= keys_next,
	.stop	= keys_stop,
	.show	= keys_show,
};

static int keys_open(struct inode *inode, struct file *file)
{
	struct hash_keys *keys = collect(inode->i_private);
	int err;

	if (IS_ERR(keys))
		return PTR_ERR(keys);
	err = seq_open(file, &keys_seq_ops);
	if (err)
		vfree(keys);
	else
		((struct seq_file *)file->private_data)->private = keys;
	return err;
}

static int keys_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;

	vfree(m->private);
	return seq_release(inode, file);
}

static const struct file_operations keys_fops = {
	.open		= keys_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= keys_release,
};

/* The kernel's functions, for words of all widths and tables of some sizes. */
static int vectors_show(struct seq_file *m, void *v)
{
	unsigned int i, bits;
	u64 x = 1, y = 1;

	for (i = 0; i < 16; i++) {
		bits = 8 + i;
		x = x * GOLDEN_RATIO_64 + i;
		y = y * GOLDEN_RATIO_64 + x;
		seq_printf(m, "vector hash_32 %#x 0 %u %#x\n", (u32)x, bits,
			   hash_32(x, bits));
		seq_printf(m, "vector hash_64 %#llx 0 %u %#x\n", x >> i, bits,
			   hash_64(x >> i, bits));
		seq_printf(m, "vector hash_pair %#llx %#llx %u %#x\n", x >> i, y,
			   bits, hash_pair(x >> i, y, bits));
	}
	return 0;
}

static int about_show(struct seq_file *m, void *v)
{
	static const struct kind devices = { "device", visit_device };
	struct hash_keys *keys = collect(&devices);
	size_t i;

	if (IS_ERR(keys))
		return PTR_ERR(keys);
	seq_printf(m, "layout %zu %zu\n", sizeof(struct inode),
		   offsetof(struct inode, i_data));
	for (i = 0; i < keys->nr; i++)
		seq_printf(m, "device %#lx %#llx\n", keys->keys[i].first,
			   keys->keys[i].second);
	vfree(keys);
	return vectors_show(m, v);
}
DEFINE_SHOW_ATTRIBUTE(about);

static const struct kind kinds[] = {
	{ "page",	visit_pages },
	{ "buffer",	visit_buffers },
	{ "dentry",	visit_dentries },
	{ "name",	visit_names },
	{ "inode",	visit_inode },
};

static int __init hash_keys_init(void)
{
	struct dentry *dir = debugfs_create_dir("hash_keys", NULL);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		debugfs_create_file(kinds[i].name, 0400, dir,
				    (void *)&kinds[i], &keys_fops);
	debugfs_create_file("about", 0400, dir, NULL, &about_fops);
	return 0;
}
late_initcall(hash_keys_init);
