// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that an operation takes while other CPUs do the same.
 *
 * A thread on each CPU repeats one operation, on objects that no other thread
 * uses: what they share are the tables and locks of the kernel. All run for
 * the same time. With one thread there is no contention: this is the control.
 *
 * Built into user-mode Linux with several CPUs by harness/guest/uml.py: each is a
 * thread of the host, so locks are real. Results go to the log, then the machine is
 * switched off.
 */
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/major.h>
#include <linux/math64.h>
#include <linux/mbcache.h>
#include <linux/moduleparam.h>
#include <linux/mount.h>
#include <linux/prandom.h>
#include <linux/pseudo_fs.h>
#include <linux/sched.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "../../lib/um/boot_hash_table.h"
#include "../../lib/um/um_bench.h"

#define THREADS_MAX	16U
#define INODES		1024	/* of each thread */
#define BLOCKS		512	/* of each thread; the LRU of a CPU has 16 */
#define ENTRIES		1024	/* of each thread, in a cache of its own */
#define BATCH		64	/* operations between two looks at the clock */

static unsigned int milliseconds = 200;
module_param(milliseconds, uint, 0);
MODULE_PARM_DESC(milliseconds, "Time of each case");

struct worker {
	struct task_struct	*task;
	unsigned int		number;
	const struct contended	*op;
	struct vfsmount		*mount;
	struct super_block	*sb;
	struct dentry		*dir;
	struct user_struct	*user;
	struct inode		*inodes[INODES];
	struct buffer_head	*buffers[BLOCKS];
	struct mb_cache		*cache;
	struct rnd_state	random;
	unsigned long		word;
	unsigned long		done;
	u64			ns;
	int			error;
} ____cacheline_aligned_in_smp;

struct contended {
	const char	*name;
	int		(*prepare)(struct worker *worker);
	int		(*operate)(struct worker *worker);
	void		(*finish)(struct worker *worker);
};

static struct worker *workers;
static struct vfsmount *shared;	/* by all threads of a case */
static unsigned int sharers;
static struct file *disk;
static bool start, stop;

/* --- inodes -------------------------------------------------------------- */

static int pseudo_context(struct fs_context *context)
{
	return init_pseudo(context, 0x626f6f74) ? 0 : -ENOMEM;
}

static struct file_system_type contention_fs = {
	.name			= "contention_bench",
	.init_fs_context	= pseudo_context,
	.kill_sb		= kill_anon_super,
};

/* File systems of their own: s_inode_list_lock is not what is measured. */
static int mount_one(struct worker *worker)
{
	worker->mount = kern_mount(&contention_fs);
	if (IS_ERR(worker->mount))
		return PTR_ERR(worker->mount);
	worker->sb = worker->mount->mnt_sb;
	return 0;
}

static void unmount_one(struct worker *worker)
{
	kern_unmount(worker->mount);
}

/* What creating a file and deleting it does to the inode table. */
static int create_evict(struct worker *worker)
{
	struct inode *inode = new_inode(worker->sb);

	if (!inode)
		return -ENOMEM;
	inode->i_ino = 1 + worker->done % INODES;
	insert_inode_hash(inode);
	clear_nlink(inode);
	iput(inode);
	return 0;
}

static int is_number(struct inode *inode, void *number)
{
	return inode->i_ino == *(unsigned long *)number;
}

static int add_inodes(struct worker *worker)
{
	unsigned long n;
	int error = mount_one(worker);

	for (n = 0; n < INODES && !error; n++) {
		struct inode *inode = new_inode(worker->sb);

		if (!inode)
			return -ENOMEM;
		inode->i_ino = n;
		__insert_inode_hash(inode, n);
		worker->inodes[n] = inode;
	}
	return error;
}

static void drop_inodes(struct worker *worker)
{
	unsigned long n;

	for (n = 0; n < INODES; n++)
		iput(worker->inodes[n]);
	unmount_one(worker);
}

/* A lookup by test(), as network file systems and btrfs do it. */
static int find_inode(struct worker *worker)
{
	unsigned long number = prandom_u32_state(&worker->random) % INODES;
	struct inode *inode = ilookup5(worker->sb, number, is_number, &number);

	if (inode != worker->inodes[number])
		return -ENOENT;
	iput(inode);
	return 0;
}

/* --- file systems that all threads use ----------------------------------- */

static int share(struct worker *worker, struct file_system_type *type)
{
	if (!sharers)
		shared = vfs_kern_mount(type, 0, "shared", NULL);
	if (IS_ERR(shared))
		return PTR_ERR(shared);
	sharers++;
	worker->sb = shared->mnt_sb;
	return 0;
}

static void unshare(struct worker *worker)
{
	if (!--sharers)
		kern_unmount(shared);
}

static int share_pseudo(struct worker *worker)
{
	return share(worker, &contention_fs);
}

/* The list of a super block's inodes, without the table. */
static int list_inode(struct worker *worker)
{
	struct inode *inode = new_inode(worker->sb);

	if (!inode)
		return -ENOMEM;
	iput(inode);
	return 0;
}

/* A directory of the thread's own. */
static int share_tmpfs(struct worker *worker)
{
	char name[] = { 'a' + worker->number, 0 };
	struct dentry *dentry;
	int error = share(worker, get_fs_type("tmpfs"));

	if (error)
		return error;
	dentry = simple_start_creating(shared->mnt_root, name);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);
	worker->dir = vfs_mkdir(&nop_mnt_idmap, d_inode(shared->mnt_root),
				dget(dentry), 0700, NULL);
	simple_done_creating(dentry);
	return PTR_ERR_OR_ZERO(worker->dir);
}

static void unshare_tmpfs(struct worker *worker)
{
	dput(worker->dir);
	unshare(worker);
}

/* Create a file and delete it. */
static int tmpfs_file(struct worker *worker)
{
	struct dentry *dentry = simple_start_creating(worker->dir, "file");
	int error;

	if (IS_ERR(dentry))
		return PTR_ERR(dentry);
	error = vfs_create(&nop_mnt_idmap, dentry, 0600, NULL);
	if (!error)
		error = vfs_unlink(&nop_mnt_idmap, d_inode(worker->dir), dentry,
				   NULL);
	simple_done_creating(dentry);
	return error;
}

/* --- users --------------------------------------------------------------- */

static int make_user(struct worker *worker)
{
	worker->user = alloc_uid(KUIDT_INIT(1000 + worker->number));
	return worker->user ? 0 : -ENOMEM;
}

static void drop_user(struct worker *worker)
{
	free_uid(worker->user);
}

/* What setresuid() does to the table of users. */
static int find_user_again(struct worker *worker)
{
	struct user_struct *user = alloc_uid(worker->user->uid);

	if (user != worker->user)
		return -ENOENT;
	free_uid(user);
	return 0;
}

/* --- bits ---------------------------------------------------------------- */

/* A lock that nobody waits for: what most buffers and inodes do. */
static int lock_bit(struct worker *worker)
{
	wait_on_bit_lock(&worker->word, 0, TASK_UNINTERRUPTIBLE);
	clear_and_wake_up_bit(0, &worker->word);
	return 0;
}

/* Clear the bit, as another task might. */
static int clear_at_once(struct wait_bit_key *key, int mode)
{
	clear_bit(key->bit_nr, key->flags);
	return 0;
}

/* A wait without the two task switches, which take longer than the rest. */
static int wait_bit(struct worker *worker)
{
	set_bit(0, &worker->word);
	return wait_on_bit_action(&worker->word, 0, clear_at_once,
				  TASK_UNINTERRUPTIBLE);
}

/* --- buffers ------------------------------------------------------------- */

static unsigned int block_of(struct worker *worker, unsigned int n)
{
	return worker->number * BLOCKS + n;
}

static int add_buffers(struct worker *worker)
{
	struct block_device *bdev = file_bdev(disk);
	unsigned int n;

	for (n = 0; n < BLOCKS; n++) {
		worker->buffers[n] = __bread(bdev, block_of(worker, n), PAGE_SIZE);
		if (!worker->buffers[n])
			return -EIO;
	}
	return 0;
}

static void drop_buffers_of(struct worker *worker)
{
	unsigned int n;

	for (n = 0; n < BLOCKS; n++)
		brelse(worker->buffers[n]);
}

static int find_buffer(struct worker *worker)
{
	unsigned int n = prandom_u32_state(&worker->random) % BLOCKS;
	struct buffer_head *bh;

	bh = __find_get_block(file_bdev(disk), block_of(worker, n), PAGE_SIZE);
	if (bh != worker->buffers[n])
		return -ENOENT;
	brelse(bh);
	return 0;
}

/* --- extended attributes ------------------------------------------------- */

static u32 key_of(struct worker *worker, unsigned int n)
{
	return (worker->number * ENTRIES + n) * 0x9e3779b1U;
}

static int fill_cache(struct worker *worker)
{
	unsigned int n;
	int error = 0;

#ifdef HAVE_BOOT_HASH
	worker->cache = mb_cache_create();
#else
	worker->cache = mb_cache_create(10);
#endif
	if (!worker->cache)
		return -ENOMEM;
	for (n = 0; n < ENTRIES && !error; n++)
		error = mb_cache_entry_create(worker->cache, GFP_KERNEL,
					      key_of(worker, n), n, true);
	return error;
}

static void destroy_cache(struct worker *worker)
{
	mb_cache_destroy(worker->cache);
}

/* Forget a block of attributes and remember it again. */
static int recreate_entry(struct worker *worker)
{
	unsigned int n = prandom_u32_state(&worker->random) % ENTRIES;
	u32 key = key_of(worker, n);
	struct mb_cache_entry *entry;

	entry = mb_cache_entry_delete_or_get(worker->cache, key, n);
	if (entry)
		return -EBUSY;
	return mb_cache_entry_create(worker->cache, GFP_KERNEL, key, n, true);
}

/* --- threads ------------------------------------------------------------- */

static const struct contended ops[] = {
	{ "create_evict", mount_one, create_evict, unmount_one },
	{ "find_inode", add_inodes, find_inode, drop_inodes },
	{ "lock_bit", NULL, lock_bit, NULL },
	{ "wait_bit", NULL, wait_bit, NULL },
	{ "find_buffer", add_buffers, find_buffer, drop_buffers_of },
	{ "recreate_entry", fill_cache, recreate_entry, destroy_cache },
	{ "list_inode", share_pseudo, list_inode, unshare },
	{ "tmpfs_file", share_tmpfs, tmpfs_file, unshare_tmpfs },
	{ "find_user", make_user, find_user_again, drop_user },
};

static int work(void *data)
{
	struct worker *worker = data;
	unsigned int n;
	u64 began;

	while (!READ_ONCE(start))
		cond_resched();
	began = ktime_get_ns();
	while (!READ_ONCE(stop) && !worker->error) {
		for (n = 0; n < BATCH && !worker->error; n++) {
			worker->error = worker->op->operate(worker);
			worker->done++;
		}
		cond_resched();
	}
	worker->ns = ktime_get_ns() - began;
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int start_threads(const struct contended *op, unsigned int threads)
{
	unsigned int n;

	for (n = 0; n < threads; n++) {
		struct worker *worker = &workers[n];

		memset(worker, 0, sizeof(*worker));
		worker->number = n;
		worker->op = op;
		prandom_seed_state(&worker->random, n + 1);
		if (op->prepare)
			worker->error = op->prepare(worker);
		if (worker->error)
			return worker->error;
		worker->task = kthread_create_on_cpu(work, worker, n, "contend/%u");
		if (IS_ERR(worker->task))
			return PTR_ERR(worker->task);
		wake_up_process(worker->task);
	}
	return 0;
}

static int run_case(const struct contended *op, unsigned int threads)
{
	unsigned long done = 0;
	u64 ns = 0;
	unsigned int n;
	int error;

	start = false;
	stop = false;
	error = start_threads(op, threads);
	if (error)
		return error;
	WRITE_ONCE(start, true);
	/* The control thread has the CPU of the first one: it sleeps. */
	schedule_timeout_uninterruptible(msecs_to_jiffies(milliseconds));
	WRITE_ONCE(stop, true);
	for (n = 0; n < threads; n++) {
		kthread_stop(workers[n].task);
		error = error ?: workers[n].error;
		done += workers[n].done;
		ns += workers[n].ns;
		if (op->finish)
			op->finish(&workers[n]);
	}
	if (!error)
		pr_info("contention_bench: op %s threads %u done %lu ps %llu\n",
			op->name, threads, done, div64_ul(ns * 1000, done));
	return error;
}

static int open_disk(void)
{
	/* Only an exclusive holder may set the block size. */
	disk = bdev_file_open_by_dev(MKDEV(RAMDISK_MAJOR, 0), BLK_OPEN_READ,
				     &disk, NULL);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	return set_blocksize(disk, PAGE_SIZE);
}

static int run_all(void)
{
	unsigned int n, threads;
	int error;

	for (n = 0; n < ARRAY_SIZE(ops); n++) {
		for (threads = 1; threads <= min(num_online_cpus(), THREADS_MAX); threads++) {
			error = run_case(&ops[n], threads);
			if (error) {
				pr_info("contention_bench: op %s threads %u error %d\n",
					ops[n].name, threads, error);
				return error;
			}
		}
	}
	return 0;
}

static int __init run_contention_bench(void)
{
	int error = open_disk();

	workers = kvcalloc(min(num_online_cpus(), THREADS_MAX), sizeof(*workers),
			   GFP_KERNEL);
	if (!error)
		error = workers ? run_all() : -ENOMEM;
	pr_info("contention_bench: end %d\n", error);
	power_off();
	return 0;
}
late_initcall(run_contention_bench);
