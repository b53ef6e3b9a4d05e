// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/hashstats: the size of each large system hash table, the distribution of
 * its objects, and the cost of its lookups.
 *
 * The format is described in Documentation/ABI/testing/procfs-hashstats: parsers
 * look for labels, so lines may be added.
 */

#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/hashstats_walk.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/string_choices.h>
#include <linux/uaccess.h>

/* Longest list of names, with the word before it. */
#define ONLY_LEN	512

/**
 * struct hashstats_reader - one open file
 * @walked_pos: position in the file whose table @stats describes, 0 if none
 * @newest: number of the last table that was registered before the file was
 *	read from its start
 * @only: names of the tables to show, separated by spaces; empty for all
 * @stats: result of the walk
 *
 * seq_file shows a table again when its text did not fit into the buffer. The
 * table is not walked again for that. The lock of the seq_file guards all members.
 */
struct hashstats_reader {
	loff_t			walked_pos;
	u64			newest;
	char			only[ONLY_LEN];
	struct hashstats	stats;
};

/*
 * Position 0 is the head of the file, position N is table N - 1. The numbers of
 * registered tables have gaps, and @only may leave tables out: walk_at() moves to
 * the next table that is shown.
 */
static int walk_at(struct hashstats_reader *reader, loff_t *pos)
{
	u64 number = *pos - 1;
	int err = -ENOENT;

	for (; number <= UINT_MAX; number++) {
		err = hashstats_walk(number, reader->only, &reader->stats);
		if (err != -ESRCH)
			break;
	}
	if (err == -ENOENT)
		err = hashstats_walk_registered(&number, reader->newest,
						reader->only, &reader->stats);
	*pos = number + 1;
	return err;
}

static void *hashstats_start(struct seq_file *m, loff_t *pos)
{
	struct hashstats_reader *reader = m->private;
	int err;

	if (!*pos) {
		reader->newest = hashstats_newest();
		reader->walked_pos = 0;
		return SEQ_START_TOKEN;
	}
	if (reader->walked_pos != *pos) {
		reader->walked_pos = 0;
		err = walk_at(reader, pos);
		if (err)
			return err == -ENOENT ? NULL : ERR_PTR(err);
		reader->walked_pos = *pos;
	}
	return &reader->stats;
}

static void hashstats_stop(struct seq_file *m, void *v)
{
}

static void *hashstats_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return hashstats_start(m, pos);
}

static void show_thousandths(struct seq_file *m, const char *label, u64 value)
{
	u32 rest;
	u64 whole = div_u64_rem(value, 1000, &rest);

	seq_printf(m, "%s: %llu.%03u\n", label, whole, rest);
}

static void show_spread(struct seq_file *m, const struct hashstats *stats)
{
	const struct hash_histogram *chains = &stats->chains;

	seq_printf(m, "objects: %llu\n", chains->objects);
	seq_printf(m, "used: %llu\n", hash_histogram_used(chains));
	show_thousandths(m, "used-expected",
			 hash_histogram_used_expected(chains));
	seq_printf(m, "longest: %u\n", chains->longest);
	seq_printf(m, "capped: %lu\n", stats->capped);
	show_thousandths(m, "nodes-per-hit",
			 hash_histogram_nodes_per_hit(chains));
	show_thousandths(m, "nodes-per-hit-expected",
			 hash_histogram_nodes_per_hit_expected(chains));
	show_thousandths(m, "variance-over-mean",
			 hash_histogram_variance_over_mean(chains));
	seq_printf(m, "walk-us: %llu\n", stats->walk_us);
	seq_printf(m, "walk-longest-us: %llu\n", stats->longest_us);
}

static void show_lookups(struct seq_file *m, const struct hashstats_info *info,
			 const struct hashstats_lookups *lookups)
{
	u64 all = (u64)lookups->hits + lookups->misses;

	seq_printf(m, "lookups: %llu\n", all);
	seq_printf(m, "hits: %lu\n", lookups->hits);
	show_thousandths(m, "hit-rate", hash_histogram_ratio(lookups->hits, all));
	show_thousandths(m, "nodes-per-counted-hit",
			 hash_histogram_ratio(lookups->hit_nodes,
					      lookups->hits));
	show_thousandths(m, "nodes-per-counted-miss",
			 hash_histogram_ratio(lookups->miss_nodes,
					      lookups->misses));
	if (info->chain == HASHSTATS_SLOT)
		seq_printf(m, "stale: %lu\n", lookups->miss_nodes);
	if (info->flags & HASHSTATS_CACHED) {
		seq_printf(m, "cache-hits: %lu\n", lookups->cache_hits);
		show_thousandths(m, "cache-hit-rate",
				 hash_histogram_ratio(lookups->cache_hits,
						      lookups->cache_hits +
						      all));
	}
}

static void show_wakes(struct seq_file *m, const struct hashstats_wakes *wakes)
{
	/* Other CPUs count while the sums are taken: do not go below 0. */
	unsigned long foreign = wakes->examined -
				min(wakes->examined, wakes->matched);

	seq_printf(m, "wakes: %lu\n", wakes->wakes);
	seq_printf(m, "entries-examined: %lu\n", wakes->examined);
	seq_printf(m, "entries-matched: %lu\n", wakes->matched);
	seq_printf(m, "functions-called: %lu\n", wakes->called);
	show_thousandths(m, "foreign-per-wake",
			 hash_histogram_ratio(foreign, wakes->wakes));
}

static void show_rows(struct seq_file *m, const struct hash_histogram *chains)
{
	unsigned int i;

	seq_puts(m, "size    buckets    objects sum-pct\n");
	for (i = 0; i < HASH_HISTOGRAM_ROWS; i++) {
		if (i < HASH_HISTOGRAM_LONG)
			seq_printf(m, "%4u", i);
		else
			seq_puts(m, " >15");
		seq_printf(m, " %10llu %10llu %7u\n", chains->rows[i].buckets,
			   chains->rows[i].objects,
			   hash_histogram_sum_pct(chains, i));
	}
}

static void show_table(struct seq_file *m, const struct hashstats *stats)
{
	const struct hashstats_info *info = stats->info;
	bool on = hashstats_counting_is_on();

	seq_printf(m, "\nname: %s\n", stats->name);
	seq_printf(m, "buckets: %lu\n", stats->nr_buckets);
	seq_printf(m, "bytes: %llu\n", stats->bytes);
	seq_printf(m, "sized-by: %s\n", stats->sized_by);
	if (!info)
		return;
	show_spread(m, stats);
	if (info->lookups &&
	    (on || stats->lookups.hits || stats->lookups.misses ||
	     stats->lookups.cache_hits))
		show_lookups(m, info, &stats->lookups);
	if (info->wakes && (on || stats->wakes.wakes))
		show_wakes(m, &stats->wakes);
	show_rows(m, &stats->chains);
}

static int hashstats_show(struct seq_file *m, void *v)
{
	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "version: 1\n");
		seq_printf(m, "counting: %s\n",
			   str_on_off(hashstats_counting_is_on()));
	} else {
		show_table(m, v);
	}
	return 0;
}

static const struct seq_operations hashstats_ops = {
	.start	= hashstats_start,
	.next	= hashstats_next,
	.stop	= hashstats_stop,
	.show	= hashstats_show,
};

static int hashstats_open(struct inode *inode, struct file *file)
{
	/*
	 * Mode 0600 is not enough: root of a container without a user namespace
	 * is the owner, can choose keys, and would see which ones collide.
	 */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return seq_open_private(file, &hashstats_ops,
				sizeof(struct hashstats_reader));
}

static int show_only(struct seq_file *m, const char *names)
{
	struct hashstats_reader *reader = m->private;

	if (!*names)
		return -EINVAL;
	mutex_lock(&m->lock);
	strscpy(reader->only, names);
	reader->walked_pos = 0;
	mutex_unlock(&m->lock);
	return 0;
}

static ssize_t hashstats_write(struct file *file, const char __user *ubuf,
			       size_t count, loff_t *ppos)
{
	char text[ONLY_LEN];
	size_t prefix;

	/* The host may have passed the open file to a container. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, ubuf, count))
		return -EFAULT;
	text[count] = '\0';
	prefix = str_has_prefix(text, "only ");

	if (sysfs_streq(text, "on"))
		hashstats_counting_set(true);
	else if (sysfs_streq(text, "off"))
		hashstats_counting_set(false);
	else if (sysfs_streq(text, "reset"))
		hashstats_counting_reset();
	else if (prefix)
		return show_only(file->private_data,
				 strim(text + prefix)) ?: count;
	else
		return -EINVAL;
	return count;
}

static const struct proc_ops hashstats_proc_ops = {
	.proc_open	= hashstats_open,
	.proc_read_iter	= seq_read_iter,
	.proc_lseek	= seq_lseek,
	.proc_write	= hashstats_write,
	.proc_release	= seq_release_private,
};

static int __init hashstats_init(void)
{
	proc_create("hashstats", 0600, NULL, &hashstats_proc_ops);
	return 0;
}
fs_initcall(hashstats_init);
